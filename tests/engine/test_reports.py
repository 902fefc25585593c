"""Reports: what they say, and that no text of a model, file or person acts in any form of them.

1. Each section has what the views have. 2. Hostile texts are inert in Markdown and HTML. 3. Seals and faults. 4. The
command: forms by name, refusals. 5. PDF by a real Chromium, where there is one.

spec: @report
"""

from __future__ import annotations

import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from driving import DONE, GO_ON, script
from engine_cli import engine as cli
from hypothesis import given, settings
from hypothesis import strategies as some
from markdown_it import MarkdownIt

import engine
from engine.errors import EngineError
from engine.reports import pdf as printing
from engine.reports.facts import report
from engine.reports.html import html
from engine.reports.markdown import markdown
from engine.reports.parts import Code, Facts, Points, Report, Section, Table, Text

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "](javascript:alert(1)) [a](http://evil.example) ![b](http://evil.example/b.png)",
    "```\n# Heading\n<b>bold</b>\n````\n~~~\n",
    "| a | b |\n| --- | --- |\n",
    "http://evil.example www.evil.example mail@evil.example <http://evil.example>",
    "*a* _b_ **c** ~~d~~ `e` ``f` &lt; \\",
    "\x1b[2J\u202egnp.exe\u202c\x00",
    "</pre></code></td></table><h1>x</h1>",
    "- a",
    "1. a",
    "---",
    "+",
    "line\n\n- item\n1. one\n> quote\n    code\n",
]
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "code", "pre", "table", "thead",
    "tbody", "tr", "th", "td", "ul", "li", "dl", "dt", "dd", "p",
}  # fmt: skip
INERT = {
    "heading", "paragraph", "inline", "text", "softbreak", "fence", "code_inline", "table", "thead", "tbody", "tr", "th",
    "td", "bullet_list", "list_item",
}  # fmt: skip


class Tags(HTMLParser):
    """The tags and the attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[tuple[str, str]] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {(tag, name) for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def kinds(text: str) -> list[str]:
    """The kinds of what a renderer finds in a Markdown text, tables, addresses and HTML included."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    found = []
    for token in parser.parse(text):
        for each in (token, *(token.children or ())):
            found.append(each.type.removesuffix("_open").removesuffix("_close"))
    return found


def blocks(text: str) -> list[str]:
    return [kind for kind in kinds(text) if kind not in ("text", "code_inline", "softbreak", "inline", "paragraph")]


def made_of(text: str) -> Report:
    parts = [
        Facts([("Name", text), ("Code", Code(text))]),
        Points([text]),
        Table(("A", "B"), [(text, Code(text)), ("", Code(""))], 3),
        Text("Text", text),
    ]
    return Report(text, [Section("Section", parts), Section("None", [], "Nothing.")])


HARMLESS = made_of("word")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_inert(text: str) -> None:
    expect_inert(text)


@settings(max_examples=60)
@given(text=some.text("<>`|*_[]()!&#~:@$\\^\n\r\t -+=.w/'\"ab1\u2028\x1b", max_size=60))
def test_any_text_is_inert(text: str) -> None:
    expect_inert(text)


def expect_inert(text: str) -> None:
    report = made_of(text)
    made = markdown(report)
    assert set(kinds(made)) <= INERT
    assert blocks(made) == blocks(markdown(HARMLESS))  # no text begins one
    assert "http://evil" not in "".join(line for line in made.splitlines() if line.startswith("- Name"))
    page = Tags(html(report))
    assert page.tags == Tags(html(HARMLESS)).tags
    assert set(page.tags) <= TAGS
    assert page.attributes == {
        ("html", "lang"), ("meta", "charset"), ("meta", "http-equiv"), ("meta", "content"), ("meta", "name"), ("th", "scope")
    }  # fmt: skip
    assert "\x1b" not in made + page.text
    assert "\u202e" not in made + page.text


@pytest.fixture
def ran(db: engine.Database, tmp_path: Path) -> engine.Database:
    root = tmp_path / "work"
    root.mkdir()
    (root / "notes.md").write_text("The port is 8080.\n")
    edit = '<set path="notes.md"><<SEARCH\n8080\nSEARCH\n<<REPLACE\n<script>9090\nREPLACE</set>'
    answers = (
        '<get path="notes.md"/>' + GO_ON,
        edit + "<sh>false</sh>" + GO_ON,
        "<subtask>look</subtask>" + GO_ON,
        {"text": '<update status="200">It is **9090**.</update>', "usage": {"prompt_tokens": 100, "cost": 0.5}},
    )
    model = script(tmp_path, *answers)
    db.run(
        "Use `port` 9090", run="demo", model=model, root=root, max_depth=1, sandbox="off", on_proposal=lambda _: True
    )
    return db


def test_a_report_says_what_the_views_say(ran: engine.Database) -> None:
    text = markdown(report(ran, "demo"))
    for line in (
        "# Report on `demo`",
        "- Status: done",
        "Use `port` 9090",
        "It is **9090**.",
        "| `notes.md` | 2 |",
        "| 2 | sh | `false` | exit:1 | the app |",
        "+The port is <script>9090.",
        "- Record of demo: 4 turns as sealed; the last seal is " + ran.verify("demo").runs[0].digest + ".",
        "- SQLite finds no fault in the file.",
    ):
        assert line in text.splitlines(), line
    assert "| 1 | `demo` | 2 | `notes.md` | changed | 1 | 1 | command | the app |" in text
    assert "- Run 1 below: demo-1: done, " in text
    assert "- The update of the model has the status done." in text.replace("Turn 4: ", "")


def test_a_record_that_was_changed_is_told(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db") as db:
        db.run("go", run="demo", model=script(tmp_path, DONE))
        guards = db.rows("select name, sql from sqlite_schema where type = 'trigger' and tbl_name = 'turns'")
        for guard in guards:
            db.execute(f"drop trigger {guard['name']}")
        db.execute("update turns set response = 'forged' where sequence = 1")
        for guard in guards:
            db.execute(guard["sql"])
        text = markdown(report(db, "demo"))
    assert "- Record of demo: it is not as it was sealed." in text
    assert "- demo, turn 1: " in text


def test_the_command_writes_the_form_that_the_name_says(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db") as db:
        db.run("go", run="demo", model=script(tmp_path, DONE))
    option = ["--db", str(tmp_path / "t.db")]
    printed = cli(tmp_path, "report", "demo", *option).stdout
    assert printed.startswith("# Report on `demo`\n\n## Summary\n\n- Run: `demo`\n")
    assert cli(tmp_path, "report", "demo", "r.md", *option).returncode == 0
    assert (tmp_path / "r.md").read_text() == printed
    cli(tmp_path, "report", "demo", "r.html", *option)
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    wrong = cli(tmp_path, "report", "demo", "r.doc", *option)
    assert (wrong.returncode, "the name must end in .md or .html or .pdf" in wrong.stderr) == (2, True)
    nowhere = cli(tmp_path, "report", "demo", "none/r.md", *option)
    assert "cannot write 'none/r.md': No such file or directory" in nowhere.stderr
    assert (tmp_path / "r.md").stat().st_mode & 0o777 == 0o600


def test_without_chromium_a_pdf_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "BROWSERS", ("no-such-browser",))
    with pytest.raises(EngineError, match="501 PDF needs Chromium"):
        printing.pdf("<p>x")


@pytest.mark.skipif(not any(map(shutil.which, printing.BROWSERS)), reason="no Chromium is installed")
def test_chromium_prints_the_page(ran: engine.Database) -> None:
    assert printing.pdf(html(report(ran, "demo"))).startswith(b"%PDF-")
