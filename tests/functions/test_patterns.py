"""What patterns promise: 1. kinds, 2. paths, 3. passages, 4. errors, 5. hostile, 6. speed.

spec: @patterns
"""

from __future__ import annotations

import json

import pytest
from campaign import examples
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

from engine.functions.limits import Allowance
from engine.functions.patterns.kinds import pattern_error, pattern_kind, pattern_match, pattern_search
from engine.functions.patterns.replacing import pattern_replace

PAGE = "<?xml version='1.0' encoding='latin-1'?>\n<page><title id='1'>é</title></page>"
DATA = json.dumps({"books": [{"name": "Emma", "price": 5}, {"name": "Ulysses"}]})
NOTATION = st.text(alphabet="ab/*?[]!(){}|\\.$@'=~s0-9 +^:\n", max_size=30)


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        ("abc", "literal"),
        ("", "literal"),
        ("[abc]", "literal"),
        ("{a,b}", "literal"),
        ("c++", "literal"),
        ("$5", "literal"),
        ("// comment", "literal"),
        ("/etc/", "literal"),
        ("/usr/local/", "literal"),
        ("/src/my.app/", "literal"),
        ("s/foo/bar", "literal"),
        ("app/[id]/page.tsx", "literal"),
        ("https://x/y?q=1", "literal"),
        ("*.py", "glob"),
        ("a?c", "glob"),
        ("**", "glob"),
        ("[abc]*.js", "glob"),
        ("x[0-9]", "glob"),
        ("!(x)", "glob"),
        ("/src/*/", "glob"),
        ("/a.*b/i", "regex"),
        ("/TODO/i", "regex"),
        ("/\\.md$/", "regex"),
        ("/https?://x/", "regex"),
        ("$.a.b", "jsonpath"),
        ("$..name", "jsonpath"),
        ("$[0]", "jsonpath"),
        ("//div[@class='x']/a", "xpath"),
        ("//x/i", "xpath"),
        ("/a/b[1]", "xpath"),
        ("/a/child::b", "xpath"),
        ("s/a/b/", "sed"),
        ("s/a/b/g; s/c/d/", "sed"),
        (None, None),
    ],
)
def test_the_shape_decides_the_kind(pattern: str | None, kind: str | None) -> None:
    assert pattern_kind(pattern) == kind


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("a.py", "a.py", 1),
        ("a.py", "A.py", 0),
        ("*.py", "a.py", 1),
        ("*.py", "b/a.py", 0),
        ("*", ".env", 1),
        ("src/*", "src/.env", 1),
        ("**/*.py", "a.py", 1),
        ("**/*.py", "a/b/c.py", 1),
        ("src/**", "src/a/b", 1),
        ("src/**.py", "src/a/b.py", 1),
        ("src/a**", "src/abc/d", 1),
        ("a?c", "abc", 1),
        ("a?c", "a/c", 0),
        ("x[0-9]", "x4", 1),
        ("!(*.md)", "a.py", 1),
        ("!(*.md)", "a.md", 0),
        ("src/!(a|b).py", "src/a.py", 0),
        ("src/!(a|b).py", "src/c.py", 1),
        ("src/**/!(*_test).py", "src/a/b.py", 1),
        ("src/**/!(*_test).py", "src/a/b_test.py", 0),
        ("!(node_modules)/**", "src/a.js", 1),
        ("!(node_modules)/**", "node_modules/a.js", 0),
        ("**/.*", "a/.env", 1),
        ("**/*", ".github/workflows/ci.yml", 1),
        ("v[!0-9]", "vx", 1),
        ("v[!0-9]", "v1", 0),
        ("page-[a-z][0-9].md", "page-b7.md", 1),
        ("日本*", "日本語.md", 1),
        ("(draft)*", "(draft) one", 1),
        ("known://*", "known://a/b", 1),
        ("known://*", "unknown://a", 0),
        ("known://*/x", "known://a/b/x", 1),
        ("known://*x", "known://a/x", 1),
        ("known://a*", "known://ab", 1),
        ("known://a*", "known://a/b", 0),
        ("known://a/*", "known://a/b/c", 0),
        ("known://a/**", "known://a/b/c", 1),
        ("log://turn_*/sh/*", "log://turn_3/sh/ls", 1),
        ("*://turn_1/*", "sh://turn_1/ls", 1),
        ("https://x/*?q=1", "https://x/a?q=1", 1),
        ("a\\*b", "a\\*b", 1),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", 1),
        ("/\\.md$/", "docs/a.md", 1),
        ("/\\.MD$/i", "docs/a.md", 1),
        ("/^md/", "docs/a.md", 0),
        ("/etc/", "src/etc/x", 0),
        ("$.books", DATA, 1),
        ("//title", PAGE, 1),
        ("s/books/x/", DATA, 1),
    ],
)
def test_a_pattern_means_whole_paths(pattern: str, path: str, matches: int) -> None:
    assert pattern_match(pattern, path) == matches


def test_null_stays_null() -> None:
    assert pattern_match(None, "a") is pattern_match("a", None) is pattern_search(None, "a") is None
    assert pattern_search("a", None) is pattern_error(None) is None


@pytest.mark.parametrize(
    ("pattern", "text", "position"),
    [
        ("needle", "hay Needle", 5),
        ("STRASSE", "die Straße", 5),
        ("x", "ßßx", 3),
        ("é", "😀É", 2),
        ("", "abc", 1),
        ("x", "abc", 0),
        ("fo*ar", "see foo bar", 5),
        ("foo.*bar", "foobar", 1),
        ("a*b", "a\nb", 0),
        ("a**b", "a\nb", 1),
        ("*two*", "one\ntwo", 5),
        ("why?", "say why?", 5),
        ("/n.edle/", "a needle", 3),
        ("/TODO/", "a TODO", 3),
        ("/^b/m", "a\nb", 3),
        ("$.books[?@.price < 9].name", DATA, 1),
        ("$.books[?search(@.name, 'ss')]", DATA, 1),
        ("$.books[?match(@.name, 'E')]", DATA, 0),
        ("$.films", DATA, 0),
        ("//title[@id='1']", PAGE, 1),
        ("//p", "<!doctype html><p>one<p>two", 1),
        ("//book", PAGE, 0),
        ("//TODO", "x = 1  //todo later", 8),
        ("s/b/c/", "abc", 2),
    ],
)
def test_a_pattern_finds_a_passage(pattern: str, text: str, position: int) -> None:
    assert pattern_search(pattern, text) == position


@pytest.mark.parametrize(
    "pattern",
    [
        "/(a/i",
        "/a{1000}{/" + "x" * 1000,
        "/(?:(?:a{1000}){1000}){1000}/",
        "$.a[",
        "$..a..b..c",
        "$[?@.a =~ /x/]".replace("/", "|"),
        "//a[",
        "//a[//b[//c]]",
    ],
)
def test_an_invalid_pattern_has_an_error_and_finds_nothing(pattern: str) -> None:
    assert pattern_error(pattern) or pattern_kind(pattern) == "literal"
    assert pattern_match(pattern, DATA) == pattern_match(pattern, PAGE) == 0


@pytest.mark.parametrize("pattern", ["abc", "*.py", "/a+/", "$.a", "//a", "s/a/b/", "/etc/"])
def test_a_valid_pattern_has_no_error(pattern: str) -> None:
    assert pattern_error(pattern) is None


@pytest.mark.parametrize("pattern", ["/(a|aa)+$/", "/(a+)+$/", "*a*a*a*a*a*a*b", "s/(a|aa)+$/b/"])
def test_a_hostile_pattern_ends(pattern: str) -> None:
    text = "a" * 1_000_000 + "!"

    def search() -> None:
        with Allowance():  # in which a pattern that ran out of time is not run again
            assert pattern_search(pattern, text) == 0

    check_cost(5, search)
    assert pattern_match(pattern, text) == 0


def test_a_pattern_that_ran_out_of_time_says_so_and_is_not_run_again() -> None:
    pattern, text = "/(b|bb)+$/", "b" * 1_000_000 + "!"
    assert pattern_search(pattern, text) == 0
    assert "took longer" in (pattern_error(pattern) or "")
    check_cost(4, lambda: [pattern_match(pattern, text) for _ in range(1000)])
    assert pattern_match(pattern, text) == 0


def test_entities_are_not_expanded_or_fetched() -> None:
    secret = "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><a>&x;</a>"
    assert pattern_search("//a[string-length(text()) > 0]", secret) == 0
    lines = [f"<!ENTITY l{n} '&l{n - 1};&l{n - 1};&l{n - 1};&l{n - 1};'>" for n in range(1, 30)]
    laughs = f"<!DOCTYPE a [<!ENTITY l0 'ha'>{''.join(lines)}]><a>&l29;</a>"
    check_cost(5, lambda: pattern_search("//a[string-length(.) > 100]", laughs))


@examples(150)
@given(st.one_of(st.text(max_size=30), NOTATION), st.one_of(st.text(max_size=60), NOTATION))
def test_no_pattern_ever_raises(pattern: str, text: str) -> None:
    assert pattern_match(pattern, text) in (0, 1)
    assert 0 <= (pattern_search(pattern, text) or 0) <= len(text) + 1
    pattern_error(pattern)


@given(st.text(alphabet="ab./-_", max_size=20).map(lambda rest: "a" + rest))
def test_a_path_matches_itself(path: str) -> None:
    assert pattern_match(path, path) == 1


@pytest.mark.parametrize("pattern", ["src/**/*.py", "known://*", "plain"])
def test_ten_thousand_matches_are_cheap(pattern: str) -> None:
    paths = [f"src/engine/functions/file_{number}.py" for number in range(10_000)]
    pattern_match(pattern, "")
    check_cost(1, lambda: [pattern_match(pattern, path) for path in paths])


@pytest.mark.parametrize(
    ("pattern", "replacement", "text", "replaced"),
    [
        ("one", "two", "one, one, One", "two, two, One"),
        ("a.b", "-", "a.b axb", "- axb"),
        (r"/(\d+)-(\d+)/", r"\2:\1", "1-2 and 30-40", "2:1 and 40:30"),
        ("/x*/", "-", "abc", None),
        ("/TODO/", "DONE", "TODO todo TODO", "DONE todo DONE"),
        ("/todo/i", r"\0&", "TODO", "0&"),
        ("n?w", "old", "now or new", "old or old"),
        ("s/a/b/", "ignored", "aaa", "baa"),
        ("s/a/b/g;s/b/c/", "ignored", "aa", "cb"),
        ("$.a", "x", '{"a": 1}', None),
        ("//p", "x", "<p/>", None),
        ("gone", "x", "here", None),
        ("", "x", "here", None),
        ("/(/", "x", "((", None),
        (None, "x", "here", None),
        ("a", None, "here", None),
        ("a", "x", None, None),
    ],
)
def test_a_pattern_replaces_what_it_finds(pattern: str, replacement: str, text: str, replaced: str | None) -> None:
    assert pattern_replace(pattern, replacement, text) == replaced


def test_a_replacement_has_bounds() -> None:
    assert pattern_replace("a", "x" * 100_000, "a" * 100_000) is None
    assert pattern_replace("/(a|aa)+$/", "x", "a" * 5_000 + "b") is None
