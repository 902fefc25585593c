"""A program that a line hides: bash itself runs each line, and what it started was seen, or the line cannot be read.

The refused program is a file `curl` that leaves a mark. A line that leaves the mark names `curl` among its programs, or
among those that it may start, or is unreadable.

spec: @command_policies
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import pytest
from campaign import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.functions.shell.lines import shell_read

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="no bash")

PROGRAMS = [
    "curl x",
    "c\\url x",
    "'cu'\"rl\" x",
    "$'\\x63url' x",
    "cu{r,}l x",
    "./cur? x",
    "cur[l] x",
    "$(echo curl) x",
    "`echo curl` x",
    "${NO:-curl} x",
    "X=curl; $X x",
    "A=1 curl x",
    ">/dev/null curl x",
    "2>&1 curl x",
    '"$PWD"/curl x',
]
"""Ways to write the program."""

Means = Callable[[str], str]
PLAIN: list[Means] = [
    lambda line: f"time {line}",
    lambda line: f"time ! {line}",
    lambda line: f"! time -p {line}",
    lambda line: f"time {{ {line}; }}",
    lambda line: f"exec {line}",
    lambda line: f"exec -a q {line}",
    lambda line: f"command {line}",
    lambda line: f"command -p -- {line}",
    lambda line: f"builtin command {line}",
    lambda line: f"coproc {line}\nwait",
    lambda line: f"coproc N {{ {line}; }}\nwait",
    lambda line: f"env {line}",
    lambda line: f"env -i PATH=$PATH MARK=$MARK {line}",
    lambda line: f"nohup {line}",
    lambda line: f"nohup >/dev/null {line}",
    lambda line: f"nohup <<E {line}\nE",
    lambda line: f"nohup <<< a {line}",
    lambda line: f"nice -n 1 {line}",
    lambda line: f"timeout -k 1 5 {line}",
    lambda line: f"setsid -w {line}",
    lambda line: f"stdbuf -o0 {line}",
    lambda line: f"setpriv --no-new-privs {line}",
    lambda line: f"prlimit --core=0 {line}",
    lambda line: f"choom -n 0 {line}",
    lambda line: f"flock lock {line}",
    lambda line: f"echo y | xargs {line}",
    lambda line: f"find . -maxdepth 0 -exec {line} \\;",
    lambda line: f"f() {{ {line}; }}; f",
    lambda line: f"ls() {{ {line}; }}; ls",
    lambda line: f"function ls {{ {line}; }}; ls",
    lambda line: f"x=$({line})",
    lambda line: f'echo "$({line})"',
    lambda line: f"cat <({line})",
    lambda line: f"({line})",
    lambda line: f"if {line}; then :; fi",
    lambda line: f"for i in 1; do {line}; done",
    lambda line: f"case a in a) {line};; esac",
    lambda line: f"true && {line} | cat",
    lambda line: f"true |& {line}",
    lambda line: f"cat <<E\n$({line})\nE",
    lambda line: f"unbuffer {line}",
    lambda line: f"busybox env {line}",
    lambda line: f"strace -o /dev/null {line}",
]
QUOTED: list[Means] = [
    lambda line: f"eval {quote(line)}",
    lambda line: f"bash -c {quote(line)}",
    lambda line: f"bash -e -c -- {quote(line)}",
    lambda line: f"bash <<< {quote(line)}",
    lambda line: f"bash <<'E'\n{line}\nE",
    lambda line: f"bash <<E\n{line}\nE",
    lambda line: f"bash - <<'E'\n{line}\nE",
    lambda line: f"echo {quote(line)} | bash",
    lambda line: f"echo {quote(line)} | bash -",
    lambda line: f"bash <(echo {quote(line)})",
    lambda line: f"source <(echo {quote(line)})",
    lambda line: f". /dev/stdin <<< {quote(line)}",
    lambda line: f"source /dev/fd/3 3<<< {quote(line)}",
    lambda line: f"BASH_ENV=<(echo {quote(line)}) bash -c :",
    lambda line: f"env -S {quote(line)}",
    lambda line: f"trap {quote(line)} EXIT",
    lambda line: f"trap -- {quote(line)} EXIT",
    lambda line: f"shopt -s expand_aliases\nalias q={quote(line)}\nq",
    lambda line: f"find . -maxdepth 0 -exec sh -c {quote(line)} \\;",
    lambda line: f"printf %s {quote(line)} | xargs -I[] sh -c []",
    lambda line: f"echo {quote(line)} | xargs env",
    lambda line: f"declare {quote(f'a[$({line})]=1')}",
    lambda line: f"[[ -v {quote(f'a[$({line})]')} ]]",
    lambda line: f"let {quote(f'a[$({line})]=1')}",
    lambda line: f"printf -v {quote(f'a[$({line})]')} x",
    lambda line: f"read {quote(f'a[$({line})]')} <<< x",
    lambda line: f"x={quote(f'a[$({line})]')}; echo $((x))",
    lambda line: f"x={quote(f'$({line})')}; echo ${{x@P}}",
    lambda line: f"PS4={quote(f'$({line})')}; set -x; :",
    lambda line: f"mapfile -C {quote(f'{line}; :')} -c 1 <<< x",
    lambda line: f"compgen -C {quote(f'{line}; :')} x",
    lambda line: f"git -c {quote(f'alias.q=!{line}')} q",
    lambda line: f"awk {quote('BEGIN{system(' + json.dumps(line) + ')}')}",
    lambda line: f"perl -e {quote(f'system({line!r})')}",
    lambda line: f"{sys.executable} -c {quote(f'import os; os.system({line!r})')}",
    lambda line: f"{sys.executable} - <<'E'\nimport os; os.system({line!r})\nE",
    lambda line: f"echo {quote(f'import os; os.system({line!r})')} | {sys.executable}",
    lambda line: f"sed {quote(f'1e {line}')} curl",
    lambda line: f"make -f - <<'E'\nall:\n\t{line}\nE",
    lambda line: f"make -f - <<< {quote(f'all:; {line}')}",
    lambda line: f"/lib64/ld-linux-x86-64.so.2 {BASH} -c {quote(line)}",
]
ODD = ["hash -p ./curl q; q x", "env -a q curl x", "PATH=.:$PATH; hash -r; curl x", "exec {fd}</dev/null curl x"]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program `curl` that makes the file `$MARK`."""
    folder = tmp_path_factory.mktemp("box")
    program = folder / "curl"
    program.write_text('#!/bin/sh\n: > "$MARK"\n')
    program.chmod(0o755)
    return folder


def starts(box: Path, line: str) -> bool:
    """Whether bash starts the program by this line."""
    mark = box / "mark"
    mark.unlink(missing_ok=True)
    environment = {"PATH": f"{box}:{os.environ['PATH']}", "MARK": str(mark), "HOME": str(box)}
    subprocess.run(
        [str(BASH), "-c", line],
        cwd=box,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    return mark.exists()


def is_seen(line: str) -> bool:
    """Whether the reading says that the line starts the program, may start it, or cannot be read."""
    found = json.loads(shell_read(line) or "")
    names = {each["program"] for each in (*found["programs"], *found["maybe"])}
    return not found["readable"] or "curl" in names


def test_each_means_hides_nothing(box: Path) -> None:
    lines = [means("curl x") for means in (*PLAIN, *QUOTED)] + PROGRAMS + ODD
    started = [line for line in lines if starts(box, line)]
    assert [line for line in started if not is_seen(line)] == []
    # some of the programs are not installed everywhere
    assert len(started) > 0.8 * len(lines)


@given(
    st.sampled_from(PROGRAMS),
    st.lists(st.sampled_from(PLAIN), max_size=2),
    st.lists(st.sampled_from(QUOTED), max_size=2),
    st.lists(st.sampled_from(PLAIN), max_size=2),
)
@settings(examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_means_within_means_hide_nothing(
    box: Path, line: str, inner: list[Means], quoted: list[Means], outer: list[Means]
) -> None:
    for means in (*inner, *quoted, *outer):
        line = means(line)
    assert is_seen(line) or not starts(box, line)


@pytest.mark.parametrize(
    "line",
    [
        "grep -rn curl src",
        "git commit -m 'use httpx, not curl'",
        "git log --grep=curl -p",
        "pip install curl",
        "sudo -E apt-get install -y curl",
        "command -v curl",
        "which curl || echo none",
        "sed -i 's/curl/httpx/' a.py",
        "sed -n '/curl/p' a.py",
        "awk '/curl/ {print $1}' log",
        "echo 'curl x'",
        "cat docs/curl.md",
        "cat <<E\ncurl x\nE",
        "rm -rf build/curl",
        "python -m pytest -k other tests",
    ],
)
def test_a_line_that_only_speaks_of_a_program_is_read(line: str) -> None:
    found = json.loads(shell_read(line) or "")
    assert found["readable"]
    assert "curl" not in {each["program"] for each in (*found["programs"], *found["maybe"])}
