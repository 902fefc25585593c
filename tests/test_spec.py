"""SPEC.md and the tests name each other: an anchor without a test, or the reverse, is a hole.

A file cites an anchor on a line ``spec: @anchor @anchor``: in a comment of a `.test` or SQL file, in
a comment or docstring of a Python test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ANCHOR = re.compile(r"\{#([a-z0-9_-]+)\}")
CITATION = re.compile(r"^[\s#*\"-]*spec:((?: @[a-z0-9_-]+)+)\s*(?:\"\"\")?$", re.MULTILINE)
# These hold citations as examples of the form.
ABOUT_THE_FORM = {"test_sqltest.py", "test_lint_sql.py"}


def anchors() -> list[str]:
    """The anchors of SPEC.md in their order, headings shown in fenced blocks left out."""
    text = (ROOT / "SPEC.md").read_text(encoding="utf-8")
    return ANCHOR.findall(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


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


@pytest.mark.parametrize("where", ["tests", "sql"])
def test_every_citation_is_an_anchor(where: str) -> None:
    cited = citations(cited_in() if where == "tests" else (ROOT / "sql").rglob("*.sql"))
    unknown = {name: files for name, files in cited.items() if name not in anchors()}
    assert not unknown, f"SPEC.md has no {{#...}} for: {unknown}"


def test_every_sql_file_cites_an_anchor() -> None:
    silent = [path.name for path in (ROOT / "sql").glob("*.sql") if not citations([path])]
    assert not silent
