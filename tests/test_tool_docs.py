"""What the model reads: each tool's doc keeps the same form, and all of it stays small.

spec: @tool_docs
"""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import pytest

TEMPLATES = Path(__file__).parent.parent / "templates"
DOCS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((TEMPLATES / "tools").glob("*.md"))}
SYSTEM_CHARACTERS = 9_000
REMINDER_CHARACTERS = 600


def stripped(text: str) -> str:
    """`text` as it is sent: without the rationale in its comments."""
    return re.sub(r"[ \t]*<!--.*?-->", "", text, flags=re.DOTALL).strip()


@pytest.mark.parametrize("name", DOCS)
def test_a_doc_is_header_examples_constraints(name: str) -> None:
    lines = stripped(DOCS[name]).splitlines()
    assert re.fullmatch(rf"## <{name}[ >].+ - \w.+", lines[0])
    assert sum(line.startswith("Example: <") for line in lines) >= 2
    assert sum(line.startswith("* YOU MUST") for line in lines) >= 2


@pytest.mark.parametrize("name", DOCS)
def test_each_line_of_a_doc_has_its_reason_beside_it(name: str) -> None:
    lines = [line for line in DOCS[name].splitlines() if line.startswith(("##", "Example:", "*"))]
    assert [line for line in lines if not re.search(r" <!-- .+ -->$", line)] == []


def test_the_system_text_with_all_tools_stays_small() -> None:
    tools = [{"name": name, "doc": stripped(text)} for name, text in DOCS.items()]
    persona = (TEMPLATES / "personas" / "default.md").read_text(encoding="utf-8").strip()
    template = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False).from_string(
        (TEMPLATES / "system.md.j2").read_text(encoding="utf-8")
    )
    text = template.render(tools=tools, persona=persona, native=1, anchors=0, untold=None, plain=0)
    assert len(text) < SYSTEM_CHARACTERS
    assert "<!--" not in text
    assert "\n\n\n" not in text


def test_the_reminders_of_each_turn_stay_small() -> None:
    assert len((TEMPLATES / "instructions.md").read_text(encoding="utf-8")) < REMINDER_CHARACTERS
