"""The contract: the examples of its guide run, and it and the tests name each other.

1. The blocks of the guide run in their order in a fresh folder, and print what stands below them.
2. The SPEC.md of each folder of sql/ has a section for each file there, in their order. SPEC.md stays short.
3. Each threat has its tests. 4. An anchor without a test, or a citation without an anchor, is a hole. 5. Each link of
a document leads somewhere, and no section is named without one.

A file cites an anchor on a line ``spec: @anchor @anchor``: in a comment of a `.test` or SQL file, in
a comment or docstring of a Python file.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from audit import audit
from record_guards import sql_files
from rooms import ROOT, contract, rooms, section

import engine

SPEC = ROOT / "SPEC.md"
LINES, GUIDE_LINES = 2000, 490
"""The most lines of SPEC.md, and of the guide in it."""
ALONE = ("099", "986")
"""Files of modules that their sections of SPEC.md have no heading for: offers, and guards of the record."""
OF_NO_CODE = {"rooms", "threats", "corpus", "fuzz", "kept_runs"}
"""Anchors of what documents and tests keep."""
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([a-z0-9_-]+))?\)")
HEADING = re.compile(r"^#+ (.+?)(?: \{#([a-z0-9_-]+)\})?$", re.MULTILINE)
ITALICS = re.compile(r"(?<!\*)\*([^*\n]+)\*(?!\*)")
REFERENCE = re.compile(r"(?<![\w@/.{`:])@([a-z][a-z0-9_]{3,})\b")
ANCHOR = re.compile(r"\{#([a-z0-9_-]+)\}")
CITATION = re.compile(r"^[\s#*\"-]*spec:((?: @[a-z0-9_-]+)+)\s*(?:\"\"\")?$", re.MULTILINE)
# These hold citations as examples of the form.
ABOUT_THE_FORM = {"test_sqltest.py", "test_lint_sql.py"}

BLOCK = re.compile(r"^```(python|sql|yaml)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"(?:#|--) (\w+\.(?:py|sql|yaml))\n")
DATABASE = "agent.db"
SECONDS = 300


def test_the_guide_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    blocks = list(guide())
    assert len(blocks) > 8
    for language, text, expected in blocks:
        if name := FILE.match(text):
            (tmp_path / name[1]).write_text(text, encoding="utf-8")
        else:
            printed = run_python(text, tmp_path) if language == "python" else run_sql(text, tmp_path / DATABASE)
            assert printed == expected, text
    for path in tmp_path.glob("*.db"):
        audit(path)


def test_each_threat_names_tests_that_there_are() -> None:
    """spec: @threats"""
    threats = section("threats")
    rows = [line for line in threats.splitlines() if line.startswith("| ") and "::" in line]
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", threats)
    assert len(rows) > 20
    assert len(named) >= len(rows)
    for file, name in named:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), f"{file}::{name}"


def guide() -> Iterator[tuple[str, str, str]]:
    """The blocks of the guide: their language, their text, and what they print."""
    text = SPEC.read_text(encoding="utf-8")
    yield from BLOCK.findall(text[: text.index("\n# Contract\n")])


def run_python(program: str, folder: Path) -> str:
    """What `program` prints, run in `folder` by a process of its own."""
    environment = {**os.environ, "PYTHONPATH": "."}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{program}\n{done.stderr}"
    return done.stdout


def run_sql(script: str, path: Path) -> str:
    """The rows of the last statement of `script`, a line each, in the form of `.test` files."""
    rows: list[tuple[object, ...]] = []
    with closing(sqlite3.connect(path)) as connection:
        engine.register(connection)
        with connection:
            for statement in statements(script):
                rows = connection.execute(statement).fetchall()
    return "".join("  ".join(shown(value) for value in row) + "\n" for row in rows)


def statements(script: str) -> Iterator[str]:
    """The statements of `script`, each with its semicolon."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def shown(value: object) -> str:
    """A value as `.test` files show it."""
    return "NULL" if value is None else str(value) or "(empty)"


def anchors() -> list[str]:
    """The anchors of the contract, headings shown in fenced blocks left out."""
    return ANCHOR.findall(unfenced(contract()))


def unfenced(text: str) -> str:
    """A text without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def citations(files: Iterable[Path]) -> dict[str, list[str]]:
    """Each anchor cited in `files`, with the files that cite it, as paths in the project."""
    cited: dict[str, list[str]] = {}
    for path in sorted(files):
        for names in CITATION.findall(path.read_text(encoding="utf-8")):
            for name in names.split():
                cited.setdefault(name[1:], []).append(str(path.relative_to(ROOT)))
    return cited


def cited_in() -> list[Path]:
    """All `.test` and Python files under tests/."""
    found = [path for kind in ("*.py", "*.test") for path in (ROOT / "tests").rglob(kind)]
    return [path for path in found if path.name not in ABOUT_THE_FORM]


def test_anchors_are_unique() -> None:
    found = anchors()
    assert sorted(found) == sorted(set(found))


def test_every_anchor_is_cited_by_a_test() -> None:
    untested = set(anchors()) - set(citations(cited_in()))
    assert not untested, f"no file under tests/ has a line 'spec: @...' for: {', '.join(sorted(untested))}"


def code() -> list[Path]:
    """The SQL files, and all Python files of the engine."""
    python = (path for folder in ("engine", "functions") for path in (ROOT / folder).rglob("*.py"))
    return [*sql_files(), *python]


def test_every_anchor_is_cited_by_the_code_that_keeps_it() -> None:
    kept = set(anchors()) - OF_NO_CODE - set(citations(code()))
    assert not kept, f"no file of the code has a line 'spec: @...' for: {', '.join(sorted(kept))}"


@pytest.mark.parametrize("where", ["tests", "code"])
def test_every_citation_is_an_anchor(where: str) -> None:
    cited = citations(cited_in() if where == "tests" else code())
    unknown = {name: files for name, files in cited.items() if name not in anchors()}
    assert not unknown, f"no SPEC.md has {{#...}} for: {unknown}"


def test_every_sql_file_cites_an_anchor() -> None:
    silent = [path.name for path in sql_files() if not citations([path])]
    assert not silent


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in sql_files()}))
def test_the_contract_of_a_folder_follows_its_files(folder: str) -> None:
    headings = re.findall(r"^## (\d{3} .*)$", (ROOT / "sql" / folder / "SPEC.md").read_text("utf-8"), re.MULTILINE)
    numbers = [number for heading in headings for number in re.findall(r"\b\d{3}\b", heading)]
    files = [path.name[:3] for path in sql_files() if path.parent.name == folder]
    assert numbers == [number for number in dict.fromkeys(files) if number not in ALONE]


def test_what_everybody_reads_first_is_short() -> None:
    """spec: @rooms"""
    lines = SPEC.read_text(encoding="utf-8").splitlines()
    assert len(lines) < LINES
    assert lines.index("# Contract") < GUIDE_LINES


def prose(document: Path) -> str:
    """The text of `document` without its code."""
    return re.sub(r"`[^`\n]*`", "", unfenced(document.read_text(encoding="utf-8")))


def leads_to(document: Path) -> set[str]:
    """The fragments of a link that `document` has: its anchors, and its headings as GitHub makes fragments of them."""
    headings = HEADING.findall(unfenced(document.read_text(encoding="utf-8")))
    return {anchor or re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title, anchor in headings}


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *rooms()]
TITLES = {
    title.lstrip("0123456789 ") for room in rooms() for title, _ in HEADING.findall(room.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("room", DOCUMENTS, ids=lambda room: str(room.relative_to(ROOT)))
def test_links_and_references_lead_somewhere(room: Path) -> None:
    text = prose(room)
    for path, anchor in LINK.findall(text):
        target = (room.parent / path).resolve() if path else room
        assert target.exists(), path
        assert not anchor or anchor in leads_to(target), (path, anchor)
    assert set(REFERENCE.findall(text)) <= set(anchors())
    assert not [name for name in ITALICS.findall(text) if name in TITLES], "a section is named by a link or its anchor"


def test_every_type_of_event_is_told_with_its_keys() -> None:
    """spec: @on_event"""
    table = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section("on_event"), re.MULTILINE))
    for kind in get_args(engine.Event):
        hints = get_type_hints(kind)
        (name,) = get_args(hints["type"])
        missing = {
            key for key in hints if key not in ("type", "id", "run") and not re.search(rf"\b{key}\b", table[name])
        }
        assert not missing, (name, missing)
