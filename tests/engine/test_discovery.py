"""Discovery: what is found by words and by meaning, and what a file or a query from elsewhere can do to it.

1. Tools, skills and entries are found by words and by meaning. 2. Texts that change or go are found anew or no more.
3. Vectors of another embedder, of another length or not finite count as none. 4. Without an embedder words are searched, and
it is said. 5. A query is no syntax. 6. A get with like lists, and shows nothing. 7. The commands.
8. Long texts are found by each of their pieces. 9. Rules, references and skills.

spec: @discovery @discovery_ranks @get_like
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import agents_project as project
import pytest
from driving import DONE, GO_ON, script
from engine_cli import engine as cli

import engine
from engine import plugins
from engine.discovery import embedders
from engine.discovery import finding as discovery
from engine.errors import EngineError
from engine.functions.discovery.queries import find_query, name_words
from engine.functions.discovery.vectors import packed, signs, vectors_apart, vectors_cosine
from engine.rules import imports
from engine.rules.folders import Domain, Found
from engine.skills import changing as skills
from engine.skills.sources import of_path

FILES = {
    "docs/refunds.md": "# Refunds\n\nMoney goes back to customers within 14 days; above 500 EUR two people approve.",
    "docs/holidays.md": "# Holidays\n\nAsk your team lead two weeks ahead.",
    "src/parseInvoice.py": "def parseInvoice(text): ...",
}


@pytest.fixture
def read(db: engine.Database, tmp_path: Path) -> engine.Database:
    """A database with a run that saw three files."""
    root = project.make(tmp_path / "shop", FILES)
    db.run("read", model=script(tmp_path, DONE), root=root, run="demo")
    return db


def names(db: engine.Database, query: str, **options: object) -> list[str]:
    return [row["name"] for row in discovery.discover(db, query, **options)]


class _Letters:
    """Counts letters: equal letters, equal vectors."""

    def __init__(self, name: str = "letters", length: int = 26) -> None:
        self.name = name
        self.length = length
        self.texts: list[str] = []

    def missing(self) -> str | None:
        return None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [[1.0 + text.lower().count(chr(97 + n % 26)) for n in range(self.length)] for text in texts]


class _Broken(_Letters):
    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0]] * (len(texts) + 1)


class _Plugin:
    def __init__(self, *given: _Letters) -> None:
        self.given = given

    @plugins.hookimpl
    def engine_embedders(self) -> tuple[_Letters, ...]:
        return self.given


@pytest.fixture
def letters() -> Iterator[_Letters]:
    """An embedder of a plugin."""
    found = _Letters()
    plugin = _Plugin(found)
    plugins.manager().register(plugin)
    yield found
    plugins.manager().unregister(plugin)


def test_what_is_known_is_found_by_its_words_and_by_its_meaning(read: engine.Database) -> None:
    pytest.importorskip("wordllama")
    found = discovery.discover(read, "who must agree before clients are paid back")
    assert (found[0]["kind"], found[0]["name"]) == ("entry", "docs/refunds.md")
    assert "meaning" in found[0]["found_by"]
    assert names(read, "parse_invoice")[0] == "src/parseInvoice.py"
    assert names(read, "delete entries", kinds=("tool",))[0] == "rm"


def test_ranks_are_joined_by_their_reciprocals(read: engine.Database, letters: _Letters) -> None:
    both = {row["name"]: row for row in discovery.discover(read, "refunds")}["docs/refunds.md"]
    assert set(both["found_by"].split(",")) == {"words", "meaning"}
    assert both["score"] <= 1 / 61
    read.execute("update search_rankers set weight = 0 where name = 'meaning'")
    assert discovery.discover(read, "refunds")[0]["score"] == pytest.approx(0.6 / 61)


@pytest.mark.parametrize("by_meaning", [False, True])
def test_a_long_text_is_found_by_each_of_its_pieces(
    db: engine.Database, tmp_path: Path, letters: _Letters, by_meaning: bool
) -> None:
    filler = "".join(f"line {number} says nothing\n" for number in range(1, 601))
    long = filler + "the harbour master approves moorings\n" + filler
    root = project.make(tmp_path / "port", {"long.md": long, "short.md": "moorings\n"})
    if not by_meaning:
        db.execute("update search_rankers set weight = 0 where name = 'meaning'")
    db.run(
        "read", model=script(tmp_path, '<get path="**" like="harbour master"/>', DONE), root=root, run="demo", yolo=True
    )
    found = [row for row in discovery.discover(db, "harbour master", kinds=("entry",)) if row["name"] == "long.md"]
    assert len(found) == 1, "a text once, however many of its pieces are found"
    line = found[0]["line"]
    piece = "".join(long.splitlines(keepends=True)[line - 1 :])[:4_000]
    assert by_meaning or "harbour master" in piece
    pieces = db.rows("select line, text from search_texts where name = 'long.md' order by line")
    assert "".join(row["text"] for row in pieces) == long
    assert all(len(row["text"]) <= 4_000 for row in pieces)
    body = db.value("select body from known_entries where run = 'demo' and path like 'log://turn_1/get/%'")
    assert ", line " in body


def test_rules_references_and_long_skills_are_found(db: engine.Database, tmp_path: Path, letters: _Letters) -> None:
    db.execute("update search_rankers set weight = 0 where name = 'meaning'")
    root = project.make(
        tmp_path / "shop",
        {
            "AGENTS.md": "# Shop\n\nSee the [house style](docs/style.md).\n",
            "docs/style.md": "# Style\n\n" + "x\n" * 3_000 + "Quokka indentation.\n",
            ".agents/skills/sign/SKILL.md": project.skill("sign", "Sign it.", "step\n" * 1_000 + "Wombat seal.\n"),
        },
    )
    db.run("read", model=script(tmp_path, DONE), root=root)
    imports.add(db, str(root), Found("x", [Domain("taste", recall=["t"], rules=["Prefer platypus names."])]))
    found = {
        word: [(row["kind"], row["name"]) for row in discovery.discover(db, word, kinds=("rule", "reference", "skill"))]
        for word in ("platypus", "quokka", "wombat")
    }
    assert found == {
        "platypus": [("rule", "rule://taste/01")],
        "quokka": [("reference", "docs/style.md")],
        "wombat": [("skill", "sign")],
    }
    assert discovery.discover(db, "wombat", kinds=("skill",))[0]["line"] > 700
    (root / ".agents/skills/sign/SKILL.md").write_text(project.skill("sign", "Sign it.", "gone"), encoding="utf-8")
    db.run("again", model=script(tmp_path, DONE), root=root)
    assert discovery.discover(db, "wombat", kinds=("skill",)) == []


def test_a_text_that_changes_or_goes_is_found_anew_or_no_more(
    db: engine.Database, tmp_path: Path, letters: _Letters
) -> None:
    root = project.make(tmp_path / "shop", FILES)
    db.run("read", model=script(tmp_path, DONE), root=root)
    assert names(db, "holidays", kinds=("entry",))[0] == "docs/holidays.md"
    made = len(letters.texts)
    assert names(db, "holidays", kinds=("entry",))[0] == "docs/holidays.md"
    assert len(letters.texts) == made + 1, "only the query"
    (root / "docs/holidays.md").write_text("# Vacation\n", encoding="utf-8")
    (root / "src/parseInvoice.py").unlink()
    db.run("again", model=script(tmp_path, DONE), root=root)
    found = discovery.discover(db, "vacation", kinds=("entry",))
    assert (found[0]["name"], found[0]["beginning"]) == ("docs/holidays.md", "# Vacation\n")
    assert "src/parseInvoice.py" not in names(db, "parseInvoice")
    assert db.value("select count(*) from search_texts where kind = 'entry'") == 2
    db.execute("insert into text_search (text_search, rank) values ('integrity-check', 1)")


def test_vectors_of_another_embedder_are_not_compared(read: engine.Database, letters: _Letters) -> None:
    assert names(read, "refunds")
    letters.name, letters.length = "longer", 40
    assert "meaning" in discovery.discover(read, "refunds")[0]["found_by"]
    counts = read.rows("select length(vector) / 4 as numbers, count(*) as n from text_vectors group by embedder")
    assert {row["numbers"] for row in counts} == {26, 40}
    assert len({row["n"] for row in counts}) == 1


def test_a_planted_vector_counts_as_none(read: engine.Database, letters: _Letters) -> None:
    before = names(read, "refunds")
    numbers = (array("f", [math.nan] * 26), array("f", [math.inf] * 26), array("f", [0.0] * 26), array("f", [1.0]))
    for vector in (b"", b"\x00", *map(packed, numbers)):
        read.execute("update text_vectors set vector = ?", (vector,))
        assert {row["found_by"] for row in discovery.discover(read, "refunds")} == {"words"}
        for bits in (b"", b"\0" * 9_000, b"\xff" * 4):
            read.execute("update text_vectors set bits = ?", (bits,))
            for options in ({}, {"kinds": ("entry", "tool")}):
                assert before[0] in names(read, "refunds", **options)


def test_an_embedder_that_fails_keeps_nothing(read: engine.Database) -> None:
    plugin = _Plugin(_Broken())
    plugins.manager().register(plugin)
    try:
        with pytest.raises(EngineError, match="500 embedder 'letters'"):
            discovery.discover(read, "refunds")
    finally:
        plugins.manager().unregister(plugin)
    assert read.value("select count(*) from text_vectors where embedder = 'letters'") == 0


def test_without_an_embedder_words_are_searched(read: engine.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "find_spec", lambda _: None)
    found = discovery.discover(read, "refunds")
    assert found[0]["name"] == "docs/refunds.md"
    assert {row["found_by"] for row in found} == {"words"}
    assert read.value("select count(*) from text_vectors") == 0


def test_a_query_is_no_syntax(read: engine.Database, letters: _Letters) -> None:
    for query in ("", " ", '"', "a\0b", "text: x", "words : *", "\ud800", "x " * 500_000):
        assert len(discovery.discover(read, query)) <= 10
    for query in ("refunds NEAR(", "^refunds OR", '"refunds', "refunds\0--", "refunds*) union select 1"):
        assert "docs/refunds.md" in names(read, query)


def test_names_are_found_by_their_parts() -> None:
    assert name_words("src/readFile.py") == "src/readFile.py src read File py"
    assert find_query("how do I readFile?") == '"readfile" OR "read" OR "file"'
    assert find_query("the") == '"the"'
    assert (find_query("…"), find_query(None), name_words(None)) == ('""', None, None)


def test_vectors_are_compared() -> None:
    one, other = array("f", [1, 0, -1]), array("f", [2, 0, -2])
    assert vectors_cosine(packed(one), packed(other)) == pytest.approx(1)
    assert vectors_cosine(packed(one), packed(array("f", [-1, 0, 1]))) == pytest.approx(-1)
    assert vectors_cosine(packed(one), packed(array("f", [1, 0]))) is None
    assert vectors_cosine("text", packed(one)) is None
    assert vectors_apart(signs(one), signs(other)) == 0
    assert vectors_apart(signs(one), signs(array("f", [-1, 1, 1]))) == 3
    assert vectors_apart(b"\0", b"\0\0") is None


def test_a_purge_leaves_no_text(read: engine.Database, letters: _Letters) -> None:
    read.insert("verb_set", run="demo", path="known://secret", body="the owl flies at midnight")
    assert "known://secret" in names(read, "owl")
    from engine.db.purging import purge

    purge(read, "demo")
    assert read.value("select count(*) from search_texts where text like '%owl%'") == 0
    assert "known://secret" not in names(read, "owl")


def test_a_get_with_like_lists_and_shows_nothing(db: engine.Database, tmp_path: Path, letters: _Letters) -> None:
    root = project.make(tmp_path / "shop", FILES)
    answers = (f'<get path="docs/**" like="refunds"/>{GO_ON}', f'<get path="none/**" like="x"/>{GO_ON}', DONE)
    db.run("find", model=script(tmp_path, *answers), root=root, run="demo")
    rows = db.rows("select outcome, message from commands where action = 'get' order by id")
    lines = rows[0]["message"].splitlines()
    assert lines[1].startswith("* docs/refunds.md - ")
    assert not any("src/" in line for line in lines)
    assert rows[1]["message"].startswith("0 entries")
    assert (
        db.value(
            "select count(*) from known_entries where run = 'demo' and visibility = 'visible' and path glob 'docs/*'"
        )
        == 0
    )


def test_files_of_skills_are_found(db: engine.Database, tmp_path: Path, letters: _Letters) -> None:
    """A like on skill://** found none, and a search no file of a skill that was added."""
    root = project.make(
        tmp_path / "shop",
        {
            ".agents/skills/sign/SKILL.md": project.skill("sign", "Sign it.", "Read details.md."),
            ".agents/skills/sign/details.md": "The wombat seal.\n",
        },
    )
    project.make(tmp_path / "pack", {"SKILL.md": project.skill("pack", "Pack it.", "x"), "how.md": "The quokka box.\n"})
    skills.add(db, of_path(tmp_path / "pack"), scope=skills.GLOBAL, by="test")
    answers = [f'<get path="skill://**" like="{words}"/>{GO_ON}' for words in ("wombat seal", "quokka box", "pack it")]
    db.run("find", model=script(tmp_path, *answers, DONE), root=root, run="demo")
    found = [row["message"].splitlines()[1] for row in db.rows("select message from commands where action = 'get'")]
    assert [line.split(" - ")[0] for line in found] == [
        "* skill://sign/details.md",
        "* skill://pack/how.md",
        "* skill://pack",
    ]
    skills.add(db, of_path(tmp_path / "shop/.agents/skills/sign"), scope=skills.GLOBAL, by="test")
    assert "skill://sign/details.md" in names(db, "wombat", scopes=["global"])
    db.insert("verb_forget_skill", scope="global", name="pack")
    assert "skill://pack/how.md" not in names(db, "quokka")


def test_the_commands_find_by_meaning(tmp_path: Path) -> None:
    pytest.importorskip("wordllama")
    root = project.make(
        tmp_path / "shop",
        {**FILES, ".claude/skills/pay-out/SKILL.md": project.skill("pay-out", "Pay out wages.", "Do.")},
    )
    cli(root, "run", "--model", script(tmp_path, DONE), "read")
    done = cli(root, "find", "--meaning", "--json", "clients get their cash back")
    assert {(row["kind"], row["path"]) for row in json.loads(done.stdout)} >= {("entry", "docs/refunds.md")}
    assert done.stderr == ""
    done = cli(root, "find", "--meaning", "--json", "wages")
    assert {(row["kind"], row["path"]) for row in json.loads(done.stdout)} >= {("skill", "skill://pay-out")}
    found = json.loads(cli(root, "skills", "search", "--json", "salaries of employees").stdout)
    assert [row["name"] for row in found] == ["pay-out"]


def test_a_long_text_does_not_crowd_out_others(db: engine.Database, tmp_path: Path) -> None:
    db.execute("update search_rankers set weight = 0 where name = 'meaning'")
    long = "harbour harbour harbour harbour\n" * 9_000
    root = project.make(tmp_path / "port", {"long.md": long, "short.md": "The harbour " + "is far from here. " * 100})
    model = script(tmp_path, '<get path="**" like="harbour"/>', DONE)
    db.run("read", model=model, root=root, run="demo", yolo=True)
    assert db.value("select count(*) from search_texts where name = 'long.md'") > 50
    assert names(db, "harbour", kinds=("entry",)) == ["long.md", "short.md"]


def test_nor_do_its_pieces_by_meaning(db: engine.Database, tmp_path: Path, letters: _Letters) -> None:
    db.execute("update search_rankers set weight = 0 where name = 'words'")
    # each piece begins otherwise, so that all have a vector of their own, and all are near
    lines = [f"{'z' * number} harbour " + "harbour " * 560 for number in range(150)]
    root = project.make(tmp_path / "port", {"long1.md": "\n".join(lines[:75]), "long2.md": "\n".join(lines[75:])})
    project.make(root, {f"short{number}.md": f"The harbour {'q' * number}\n" for number in range(8)})
    db.run("read", model=script(tmp_path, DONE), root=root, run="demo")
    found = names(db, "harbour " * 60, kinds=("entry",), limit=20)
    assert db.value("select count(*) from search_texts where name glob 'long*'") > 100
    assert len(found) == len(set(found)) == 10


def test_a_get_with_like_and_an_embedder_that_fails_searches_words_and_says_so(
    db: engine.Database, tmp_path: Path
) -> None:
    plugin = _Plugin(_Broken())
    plugins.manager().register(plugin)
    try:
        root = project.make(tmp_path / "shop", FILES)
        db.run("find", model=script(tmp_path, '<get path="**" like="refunds"/>', DONE), root=root, run="demo")
    finally:
        plugins.manager().unregister(plugin)
    state, message = db.tuples("select state, message from commands where action = 'get'")[0]
    assert state == "resolved"
    assert "in words alone (embedder 'letters': " in message.splitlines()[0]
    assert message.splitlines()[1].startswith("* docs/refunds.md - ")
