"""`shell_paths`: the paths below a root that a command line names.

spec: @agents
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.shell.lines import shell_paths


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("cd web && make", ["web"]),
        ("cd s; (cd billing; ls x ../y) && ls z", "s s/billing s/billing/x s/y s/z"),
        ("cd .. && cat p/web/x other/web", ["web/x"]),
        ("cat ./web/a /home/p/web/b /home/px/web/c ../p/d ../../web", ["web/a", "web/b", "d"]),
        ("cat 'a b/c' a\\ b/d", ["b/c", "a b/c", "b/d", "a b/d"]),
        ("make --file=web/x OUT=y", ["web/x", "OUT=y", "OUT", "y"]),
        ("git show HEAD:web/a", ["show", "HEAD:web/a", "HEAD", "web/a"]),
        ("bash -c 'cd web && cat x'", ["cd web && cat x", "web", "web/x"]),
        ("""python -c "open('web/a')" """, ["open('web/a')", "web/a"]),
        ("git commit -m 'fix the web' # in src/x", ["commit", "fix the web"]),
        ("cat > src/x.py <<END\nimport web/y\nEND\nls z", ["src/x.py", "z"]),
        ("cat <<<text\necho $((1 << 2))\nls web", ["2", "text", "web"]),
        ("cat src/*.c lib/$x/y $x/z web*", ["src", "lib"]),
        ("ls 'a", ["a"]),
        ("cd web\ncat app.js > ../out/log", ["web", "web/app.js", "out/log"]),
    ],
)  # fmt: skip
def test_the_paths_that_a_line_names(line: str, paths: list[str] | str) -> None:
    found = json.loads(shell_paths(line, "/home/p") or "")
    assert sorted(found) == sorted(paths.split() if isinstance(paths, str) else paths)


@given(st.text("'\"\\\n $`;&|()<># /.=a-E", max_size=200))
def test_no_line_leads_out_of_its_root(line: str) -> None:
    for path in json.loads(shell_paths(line, "/r") or ""):
        assert path
        assert not path.startswith(("/", "../"))


def test_of_a_long_line_a_bounded_number_of_words_is_read() -> None:
    assert len(json.loads(shell_paths(" ".join(f"a/{number}" for number in range(9_000)), None) or "")) == 200
    assert shell_paths(None, "/r") is None
