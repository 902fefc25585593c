"""What paths promise: 1. schemes, 2. one canonical spelling, 3. slugs, 4. refusals, 5. what is a glob."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

from engine.functions.paths import path_error, path_is_pattern, path_normalize, path_readable, path_scheme, path_slug

ANY_PATH = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="abA%2F/.?*[]!()%:\\ é", max_size=40),
    st.text(alphabet="ab%2Ff3./ é?*[]", max_size=40).map(lambda rest: "Known://" + rest),
)


@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        ("known://a", "known"),
        ("HTTPS://x", "https"),
        ("src/a.py", None),
        ("://a", None),
        ("", None),
        (None, None),
    ],
)
def test_the_scheme_stands_before_the_first_separator(path: str | None, scheme: str | None) -> None:
    assert path_scheme(path) == scheme


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("./x", "x"),
        ("a//b/./c", "a/b/c"),
        ("a/../b", "b"),
        ("../x", "../x"),
        ("src/**/*.py", "src/**/*.py"),
        ("file://./x", "x"),
        ("FILE://src//a b.py", "src/a b.py"),
        ("KNOWN://Plan A", "known://Plan%20A"),
        ("known://Plan%20A", "known://Plan%20A"),
        ("known://é/%C3%A9", "known://%C3%A9/%C3%A9"),
        ("known://a%2Fb", "known://a/b"),
        ("known://*/[x]?", "known://*/[x]?"),
        ("known://what%3F", "known://what%3F"),
        ("known://%2A/%21(a)", "known://%2A/%21(a)"),
        ("known://%21%28a%29[%21a-z]", "known://%21(a)[%21a-z]"),
        ("known://!%28a%29[!%28a-z]", "known://%21(a)[!(a-z]"),
        ("known://a[!%28b%29]", "known://a[%21(b)]"),
        ("known://a!%28b", "known://a!(b"),
        ("known://Hello%21%21", "known://Hello!!"),
        ("known://100%", "known://100%25"),
        ("known://%zz%FF", "known://%25zz%25FF"),
        ("HTTPS://Example.org/A?q=%zz&r=[1]", "https://Example.org/A?q=%zz&r=[1]"),
        ("/.*\\.md$/", "/.*\\.md$/"),
        (None, None),
    ],
)
def test_one_spelling_is_canonical(path: str | None, canonical: str | None) -> None:
    assert path_normalize(path) == canonical


def test_normalizing_makes_no_pattern_of_a_name() -> None:
    pieces = ("!", "%21", "(", "%28", ")", "%29", "[", "%5B", "]", "%5D", "a-b", "%2A", "%3F")
    names = ("known://" + "".join(given) for n in range(1, 5) for given in product(pieces, repeat=n))
    assert [name for name in names if not path_is_pattern(name) and path_is_pattern(path_normalize(name))] == []


@given(ANY_PATH)
def test_normalizing_twice_changes_nothing_more(path: str) -> None:
    once = path_normalize(path)
    assert path_normalize(once) == once


@given(ANY_PATH)
def test_a_path_that_is_fine_stays_fine_when_normalized(path: str) -> None:
    normal = path_normalize(path)
    assert normal is not None
    if path_error(path) is None and len(normal) <= 512:
        assert path_error(normal) is None


@given(ANY_PATH)
def test_normalizing_neither_makes_nor_unmakes_a_glob(path: str) -> None:
    if "\\" not in path and ".." not in path:
        assert path_is_pattern(path_normalize(path)) == path_is_pattern(path)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("ls -la", "ls_-la"),
        ("a,b, c", "a/b/_c"),
        ("first\nsecond\n", "first_second"),
        ("/src//x/", "src/x"),
        ("what? é", "what%3F_%C3%A9"),
        ("it's (ok)!*~", "it's_(ok)!%2A~"),
        ("src/**/!(a).py", "src/%2A%2A/%21(a).py"),
        (" , ,", "_"),
        ("", ""),
        (None, None),
    ],
)
def test_a_slug_is_readable_and_encoded(text: str | None, slug: str | None) -> None:
    assert path_slug(text) == slug


def test_a_slug_is_cut_before_it_is_encoded() -> None:
    assert path_slug("é" * 100) == "%C3%A9" * 80


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("log://turn_1/set/gr%C3%B6%C3%9Fe.md", "log://turn_1/set/größe.md"),
        ("known://%E6%97%A5%E6%9C%AC/a%20b", "known://日本/a b"),
        ("known://100%25%3F%5B%0A%E2%80%AE%C3", "known://100%25%3F%5B%0A%E2%80%AE%C3"),
        ("a%20b.md", "a%20b.md"),
        ("https://x/%C3%84", "https://x/%C3%84"),
        ("echo a://%20", "echo a://%20"),
    ],
)
def test_a_path_for_a_person_has_letters_for_escapes(path: str, read: str) -> None:
    assert path_readable(path) == read


@given(ANY_PATH)
def test_a_path_for_a_person_names_the_same_entry(path: str) -> None:
    canonical = path_normalize(path) or ""
    assert path_normalize(path_readable(canonical)) == canonical


@given(st.text(max_size=120))
def test_a_slug_makes_a_canonical_path(text: str) -> None:
    path = f"log://turn_1/set/{path_slug(text)}"
    assert path_normalize(path) == path


@given(st.text(st.one_of(st.sampled_from("*!()[]?\\{}-a"), st.characters()), max_size=120))
def test_a_slug_is_no_pattern(text: str) -> None:
    """The log of `get src/*.py` was at a path that stood for others too."""
    path = f"log://turn_1/set/{path_slug(text)}"
    assert path_is_pattern(path) == 0
    assert path_normalize(path) == path


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("", "empty"),
        (" ", "empty"),
        (" /", "empty"),
        ("a/../ ", "empty"),
        ("x" * 513, "513 characters"),
        ("a\x00b", "U+0000"),
        ("known://a\nb", "U+000A"),
        ("/etc/passwd", "outside the project folder"),
        ("\\share", "outside the project folder"),
        ("C:\\x", "outside the project folder"),
        ("file:///etc/passwd", "outside the project folder"),
        ("FILE:///etc/passwd", "outside the project folder"),
        ("file://File:///etc/passwd", "outside the project folder"),
        ("file://", "empty"),
        ("./\\share", "outside the project folder"),
        ("a/../C:\\x", "outside the project folder"),
        ("../x", "leaves the project folder"),
        ("a/../../x", "leaves the project folder"),
        ("a\\..\\..\\x", "leaves the project folder"),
        ("**/../x", "leaves the project folder"),
        (".", "project root itself"),
    ],
)
def test_a_bad_path_is_refused_with_its_reason(path: str, complaint: str) -> None:
    assert complaint in (path_error(path) or "")


@pytest.mark.parametrize("path", ["a", "a/../b", "..a/b", "known://../x", "**", "https://x/y", "x" * 512, ".env", None])
def test_a_good_path_has_no_error(path: str | None) -> None:
    assert path_error(path) is None


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("*.py", 1),
        ("a?", 1),
        ("x[0-9].md", 1),
        ("x[!a-z]", 1),
        ("known://*", 1),
        ("app/[id]/page.tsx", 0),
        ("app/[user-id]/page.tsx", 0),
        ("a\\*b", 0),
        ("a\\\\*b", 1),
        ("https://x/y?q=1", 0),
        ("https://x/*", 1),
        ("plain", 0),
        (None, None),
    ],
)
def test_only_wildcards_make_a_pattern(path: str | None, pattern: int | None) -> None:
    assert path_is_pattern(path) == pattern


def test_ten_thousand_paths_are_normalized_at_once() -> None:
    check_cost(2, lambda: [path_normalize(f"known://plans/a b/{number}") for number in range(10_000)])
