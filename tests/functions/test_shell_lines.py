"""`shell_read`: which programs a command line starts, and what of it is not known from its text.

spec: @command_policies
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.shell.lines import shell_read


def read(line: str) -> dict[str, Any]:
    found = shell_read(line)
    assert found is not None
    read: dict[str, Any] = json.loads(found)
    return read


def programs(line: str) -> list[str]:
    return [each["program"] for each in read(line)["programs"]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", []),
        ("vim", ["vim"]),
        ("vim\nls", ["vim", "ls"]),
        ("a;b&&c||d|e&f", ["a", "b", "c", "d", "e", "f"]),
        ("(top)", ["top"]),
        ("{ top; }", ["top"]),
        ("! vim x", ["vim"]),
        ("/usr/bin/vim x", ["vim"]),
        ("\\vim x", ["vim"]),
        ("\"v\"i'm' x", ["vim"]),
        ("A=1 B=2 vim x", ["vim"]),
        ("env A=1 -u B vim x", ["env", "vim"]),
        ("sudo -u bob -- less y", ["sudo", "less"]),
        ("nohup nice -n 5 htop", ["nohup", "nice", "htop"]),
        ("timeout -k 1 5s vim x", ["timeout", "vim"]),
        ("xargs -n 1 vim", ["xargs", "vim"]),
        ("find . -name '*.py' -exec vim {} \\;", ["find", "vim"]),
        ("find . -exec a {} + -exec b {} \\;", ["find", "a", "b"]),
        ("bash -lc 'cd x && vim y'", ["bash", "cd", "vim"]),
        ("sh -c \"sh -c 'vim x'\"", ["sh", "sh", "vim"]),
        ("eval vim x", ["eval", "vim"]),
        ("env -S 'vim x'", ["env", "vim"]),
        ("bash <<'E'\nvim x\nE", ["bash", "vim"]),
        ('echo "$(nano z)" `man ls`', ["echo", "nano", "man"]),
        ("diff <(less a) b", ["diff", "less"]),
        ("if a; then vim; else less; fi", ["a", "vim", "less"]),
        ("for f in *; do vim $f; done", ["vim"]),
        ("f() { vim; }; f", ["vim", "f"]),
        ("x=$(vim y)", ["vim"]),
        ("exec vim", ["exec", "vim"]),
        ("uv run python", ["uv", "python"]),
        ("bash -s a <<'E'\nvim x\nE", ["bash", "vim"]),
        ("env -iS 'vim x'", ["env", "vim"]),
        ("env -S'vim x' a", ["env", "a", "vim"]),
        ("env --split-string='vim x'", ["env", "vim"]),
        ("env - vim", ["env", "vim"]),
        ("sudo -nu bob vim", ["sudo", "vim"]),
        ("bash --rcfile x -c vim", ["bash", "vim"]),
        ("bash -o pipefail -c vim", ["bash", "vim"]),
        ("bash -euo pipefail -c vim", ["bash", "vim"]),
        ("script -qc vim /dev/null", ["script", "vim"]),
        ("su bob -c 'vim x'", ["su", "vim"]),
        ("watch -n 1 'a; vim x'", ["watch", "a", "vim"]),
        ("trap 'vim x' EXIT", ["trap", "vim"]),
        ("nice -5 time -p vim", ["nice", "time", "vim"]),
        # none of these starts vim
        ("command -v vim", ["command"]),
        ("trap - EXIT", ["trap"]),
        ("more-itertools", ["more-itertools"]),
        ("echo $((1 << 3)) 'vim'", ["echo"]),
        ('echo "vim; less" # vim', ["echo"]),
        ("cat <<'E'\nvim x\nE", ["cat"]),
        ("grep vim x", ["grep"]),
    ],
)
def test_the_programs_of_a_line_are_those_that_a_shell_starts(line: str, expected: list[str]) -> None:
    assert programs(line) == expected


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("python", 1),
        ("python3 -i", 1),
        ("python a.py", 0),
        ("python -c 'x'", 0),
        ("python -m x", 0),
        ("python --version", 0),
        ("echo x | python", 0),
        ("python < a.py", 0),
        ("python <<E\nx\nE", 0),
        ("bash", 1),
    ],
)
def test_a_bare_program_has_nothing_to_do(line: str, bare: int) -> None:
    assert read(line)["programs"][-1]["bare"] == bare


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("cat <<E > a.txt\nx\nE", ["a.txt"]),
        ("cat > a.txt <<'E'\nx\nE", ["a.txt"]),
        ("cat <<-E >> 'b c'\nx\nE", ["b c"]),
        ("tee a b <<E\nx\nE", ["a", "b"]),
        ("cat <<E | tee a\nx\nE", ["a"]),
        ("(cat <<E\nx\nE\n) > a", ["a"]),
        ("cat <<E\nx\nE", []),
        ("cat <<E > /dev/null\nx\nE", []),
        ("python <<E > out.log\nx\nE", []),
        ("echo x > a", []),
        ("cat <<< x", []),
    ],
)
def test_the_files_that_a_heredoc_is_written_to(line: str, writes: list[str]) -> None:
    assert read(line)["writes"] == writes


@pytest.mark.parametrize(
    "line",
    [
        "$EDITOR x",
        "a=vim; $a x",
        "`which vim` x",
        "echo vim | sh",
        'bash -c "$X"',
        "eval $X",
        "echo 'x",
        "a && ",
        "x\0y",
        "a " * 20_000,
        # the grammar ends a word or begins a comment there, a shell does not
        "a x\r#; vim",
        "a x\f#; vim",
        "a\u00a0/../vim",
        "vi\\\nm x",
        "a x\n\\vim y",
    ],
)
def test_what_the_text_does_not_tell_is_unreadable(line: str) -> None:
    assert (read(line)["readable"], read(line)["plain"]) == (0, 0)


@pytest.mark.parametrize(
    "line",
    [
        "ls *.py",
        "ls ~",
        "ls $X",
        "ls > a",
        "ls 2>&1",
        "A=1 ls",
        "ls {a,b}",
        "ls [ab]",
        "ls $(a)",
        "f() { ls; }",
        "cat <<E\nE",
        # what they set may be PATH
        "for PATH in x; do ls; done",
        "export 'PATH=x'; ls",
        "unset PATH; ls",
        "env PATH=x ls",
        # another shell than bash runs what is in these
        "[[ a || ls ]]",
        "((ls))",
        "ls $'\\'; a #'",
        "ls # a",
        "ls \u202e",
    ],
)
def test_a_line_that_the_shell_changes_is_not_plain(line: str) -> None:
    assert (read(line)["readable"], read(line)["plain"]) == (1, 0)


@pytest.mark.parametrize(
    "line", ["ls -la src", "git commit -m 'a * b'", "cd x && make -j4 | tail -5", "ls \\*", "bash -c 'ls x'"]
)
def test_a_line_of_plain_words_is_plain(line: str) -> None:
    assert (read(line)["readable"], read(line)["plain"]) == (1, 1)


PIECES = [
    "a",
    "vim",
    " ",
    "|",
    "<<E\n",
    "\n",
    "E",
    "$(",
    ")",
    "'",
    '"',
    "`",
    ";",
    "&&",
    "{",
    "}",
    ">",
    "<",
    "\\",
    "é",
    "$",
    "$'",
    "sh -c ",
    "#",
    "=",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_line_raises(line: str) -> None:
    assert set(read(line)) == {"readable", "plain", "stays", "programs", "maybe", "writes"}


@pytest.mark.parametrize(
    "line",
    [
        "(" * 20_000,
        "$(" * 9_000,
        "a|" * 9_999,
        "`" * 19_999,
        "env " * 4_999,
        "sh -c 'sh -c " * 1_400,
        "if a; then " * 1_500,
        "<" * 19_999,
        "find . " + "-exec a " * 2_000,
    ],
)
def test_what_is_nested_deeply_or_long_is_given_up(line: str) -> None:
    assert len(read(line)["programs"]) <= 500
    assert len(shell_read(line) or "") <= 200_000
