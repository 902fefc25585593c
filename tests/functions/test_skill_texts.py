"""The head of a SKILL.md, and links of Markdown: what is read of them, and what is not.

spec: @skills @references @functions
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.links import MOST_LINKS, markdown_links, terms_share
from engine.functions.skills import LONGEST_HEAD, skill_head


def head(text: str, name: str = "") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(skill_head(text, name) or "")
    return found


@pytest.mark.parametrize(
    ("value", "description"),
    [
        ("Deploys it.", "Deploys it."),
        ("Deploys: all # of it", "Deploys: all"),
        ('"Deploys \\"it\\"."', 'Deploys "it".'),
        ("'It''s it'", "It's it"),
        (">-\n  Deploys\n  it.\n\n  Now.", "Deploys it. Now."),
        ("|\n  Deploys\n  it.", "Deploys it."),
        ("Deploys\n  it.", "Deploys it."),
        ("  spaced   out ", "spaced out"),
    ],
)
def test_a_description_is_one_line_however_it_is_written(value: str, description: str) -> None:
    for text in (
        f"---\nname: deploy\ndescription: {value}\nlicense: MIT\n---\n\nDo it.\n",
        f"---\ndescription: {value}\nname: deploy\n---\nDo it.",
    ):
        found = head(text.replace("\n", "\r\n"))
        others = ["license"] if "license" in text else []
        told = {"name": "deploy", "description": description, "body": "Do it.", "problem": None, "others": others}
        assert found == told


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"a \u2014 b", "a \u2014 b"),
        (r"\x41\u00e9\U0001F600", "A\u00e9\U0001f600"),
        (r"\uD83D\uDE00", "\U0001f600"),
        (r"\uD83D alone", "alone"),
        (r"one\ntwo\tthree\_four", "one two three four"),
        (r"a \\ b \/ \"c\"", 'a \\ b / "c"'),
        (r"\U00110000x\u0000y", "xy"),
    ],
)
def test_escapes_of_yaml_are_characters(written: str, read: str) -> None:
    assert head(f'---\nname: x\ndescription: "{written}"\n---\nBody')["description"] == read


@pytest.mark.parametrize("rule", ["---", "--- ", "---\t", "---   "])
def test_blanks_behind_the_lines_around_a_head_are_nothing(rule: str) -> None:
    found = head(f"{rule}\nname: x\ndescription: d\n{rule}\n\nBody\n---\nmore")
    assert (found["name"], found["description"], found["body"]) == ("x", "d", "Body\n---\nmore")


def test_what_a_head_says_besides_is_named() -> None:
    found = head("---\nname: x\ndescription: d\nallowed-tools: Bash(git *)\nmodel: opus\nmodel: x\n---\nBody")
    assert found["others"] == ["allowed-tools", "model"]


def test_a_head_makes_nothing() -> None:
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    found = head(f"---\nname: bomb\n{bomb}description: *c\nmetadata:\n  description: hidden\n---\nBody")
    assert found["description"] == ""
    assert "no description" in found["problem"]
    for value in ("!!python/object/apply:os.system [ls]", "[a, b]", "{a: b}", "&x text"):
        assert head(f"---\nname: x\ndescription: {value}\n---\nBody")["description"] == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---\nname: x\n---\nBody", "no description"),
        ("---\nname: ../x\ndescription: d\n---\nBody", "its name"),
        ("---\nname: Shout\ndescription: d\n---\nBody", "its name"),
        ("---\nname: x\x1b\ndescription: d\n---\nBody", "its name"),
        ("---\nname: x\ndescription: d\n---\n \n", "no text"),
        (f"---\nname: x\ndescription: {'d' * LONGEST_HEAD}\n---\nBody", "no end"),
        ("", "its name"),
    ],
)  # fmt: skip
def test_what_cannot_be_offered_says_why(text: str, problem: str) -> None:
    assert problem in head(text)["problem"]


def test_a_text_without_a_head_is_described_by_its_first_line() -> None:
    assert head("\n# How to review\n\nRead.", "review") == {
        "name": "review", "description": "How to review", "body": "# How to review\n\nRead.", "problem": None, "others": [],
    }  # fmt: skip


@given(st.text(max_size=300), st.text(max_size=20))
def test_no_text_breaks_them(text: str, name: str) -> None:
    assert len(head(f"---\n{text}\n---\n{text}", name)["description"]) <= 1_024
    assert len(json.loads(markdown_links(text, "a/") or "")) <= MOST_LINKS
    assert 0 <= (terms_share(text, name) or 0) <= 1


def links(text: str, folder: str = "") -> list[tuple[int, str, str]]:
    return [tuple(link.values()) for link in json.loads(markdown_links(text, folder) or "")]


def test_links_to_files_are_found_and_others_are_not() -> None:
    text = """[One](docs/one.md) and [two  words](<docs/two words.md> "title")
![image](a.png) [web](https://example.org) [mail](mailto:a@b) [root](/etc/passwd) [here](#part) [drive](C:\\x)
```
[code](code.md)
```
[again](./docs/../docs/one.md#part) [up](../up.md) [coded](%2e%2e/%2e%2e/x.md) [spaces](a%20b.md?x=1)
"""
    assert links(text) == [
        (1, "One", "docs/one.md"),
        (1, "two words", "docs/two words.md"),
        (2, "web", "https://example.org"),
        (6, "spaces", "a b.md"),
    ]
    assert links("[up](../up.md) [out](../../out.md)", "src/") == [(1, "up", "up.md")]
    assert len(links("\n".join(f"[a](f{number})" for number in range(300)))) == MOST_LINKS


def test_a_link_around_an_image_is_a_link() -> None:
    assert links("[![build state](i.svg)](doc.md) ![x](y.png)") == [(1, "build state", "doc.md")]
    assert links('[![](i.svg "t") the guide](<a b.md>)') == [(1, "the guide", "a b.md")]
    assert links("[![](i.svg)](doc.md#part)") == [(1, "doc.md#part", "doc.md")]
    assert links("[![a](i.svg)](https://ci.example/x) [b](c.md)") == [
        (1, "a", "https://ci.example/x"),
        (1, "b", "c.md"),
    ]
    assert links("![![a](b)](c)") == []


def test_words_of_a_title_are_found_in_their_forms() -> None:
    assert terms_share("Testing guide", "fix the failing tests") == 0.5
    assert terms_share("Testing guide", "read the guide and test it") == 1
    assert terms_share("Releases", "fix the parser") == 0
    assert terms_share("the", "the") == 0
