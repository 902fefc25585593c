"""From a red test to a green one, on a package from the package index, with its own tests run in the sandbox.

A mistake is planted in a copy of the package. A scripted run finds it by searching, mends it wrongly, sees its tests fail,
mends it rightly and sees them pass: under yolo, with a person at a terminal, and with decisions from other processes.

spec: @proposals @resolutions @yolo_mode @command_policies @grants @sandbox @file_changes
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from audit import audit
from engine_cli import database, engine, engine_process, script
from sandboxed import require_sandbox
from terminal import OpenTerminal

import engine as library
from engine.system.user import user_name

pytestmark = pytest.mark.slow

PACKAGE = "toolz==1.1.0"
SHA256 = "15ccc861ac51c53696de0a5d6d4607f99c210739caf987b5d2054f3efed429d8"
TRIES, SECONDS_A_TRY = 3, 300
MODULE, TESTS = "toolz/dicttoolz.py", "toolz/tests/test_dicttoolz.py"
RIGHT, PLANTED, WRONG = (
    f"        remaining.{name}(keys)\n"
    for name in ("difference_update", "intersection_update", "symmetric_difference_update")
)

SOME_TESTS, ALL_TESTS = f"python -m pytest -q {TESTS}", "python -m pytest -q"
SEARCH = "grep -n remaining toolz/*.py"
NEW = "CHANGES.txt"
ON = '<update status="102">on</update>'


def edit(before: str, after: str) -> str:
    return f'<set path="{MODULE}"><<SEARCH\n{before}SEARCH\n<<REPLACE\n{after}REPLACE</set>'


LOOK = [
    f"<sh>{SOME_TESTS}</sh>{ON}",
    f'<get path="toolz/**/*.py" manifest>def dissoc</get><env>{SEARCH}</env>{ON}',
    f'<get path="{MODULE}"/>{ON}',
    f"{edit(PLANTED, WRONG)}<sh>{SOME_TESTS}</sh>{ON}",
]
"""Runs the tests, searches, reads, and mends it wrongly: what is missing already is put back."""
MEND = [
    f'{edit(WRONG, RIGHT)}<set path="{NEW}">dissoc removes keys again.</set><sh>{ALL_TESTS}</sh>{ON}',
    '<update status="200">dissoc removes the keys again; all tests pass.</update>',
]
ANSWER = "dissoc removes the keys again; all tests pass.\n"


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it was released, with its tests; skips where the index that pip is set up for does not give it."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "wanted").write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n")
    words = ("download", "-q", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check", "--no-input")
    said = ""
    for _ in range(TRIES):
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pip", *words, "-d", str(folder), "-r", str(folder / "wanted")],
                capture_output=True,
                text=True,
                timeout=SECONDS_A_TRY,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            said = str(error)
            continue
        said = done.stderr.strip()
        if done.returncode == 0:
            break
        assert "HASHES" not in said, said
    archives = list(folder.glob("*.whl"))
    if not archives:
        pytest.skip(f"pip cannot download {PACKAGE}: {' '.join(said.splitlines()[-1:])}")
    assert hashlib.sha256(archives[0].read_bytes()).hexdigest() == SHA256
    with zipfile.ZipFile(archives[0]) as archive:
        archive.extractall(folder / "package")
    return folder / "package"


@pytest.fixture
def folder(unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package with the mistake in it. The Python that tests runs its tests too, and hears nothing of these."""
    require_sandbox()
    for name in [name for name in os.environ if name.startswith(("PYTEST_", "COV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # its tests need none of our plugins, which take a second
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    root = Path(shutil.copytree(unpacked, tmp_path / "package"))
    text = (root / MODULE).read_text()
    assert text.count(RIGHT) == 1
    (root / MODULE).write_text(text.replace(RIGHT, PLANTED))
    return root


def test_under_yolo_it_goes_to_the_end_by_itself(folder: Path, unpacked: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [*LOOK, f"<sh>vim {MODULE}</sh>{ON}", *MEND])
    assert engine(folder, "allow", "policy", "add", "python -m pytest -q toolz/*", "--accept").returncode == 0
    done = engine_process(folder, "run", "--yolo", "--model", model, "--run", "mend", "The tests fail. Mend the code.")
    assert (done.returncode, done.stdout) == (0, ANSWER)
    assert_mended(folder, unpacked, "yolo")
    assert decisions(folder) == [
        (SOME_TESTS, "accept", "policy python -m pytest -q toolz/*"),
        (SEARCH, "accept", "sandbox"),
        (MODULE, "accept", "yolo"),
        (SOME_TESTS, "accept", "policy python -m pytest -q toolz/*"),
        (f"vim {MODULE}", "reject", "policy editor"),
        (MODULE, "accept", "yolo"),
        (NEW, "accept", "yolo"),
        (ALL_TESTS, "accept", "yolo"),
    ]


def test_a_person_at_a_terminal_decides(
    open_terminal: OpenTerminal, folder: Path, unpacked: Path, tmp_path: Path
) -> None:
    model = script(tmp_path / "s.jsonl", [*LOOK, f"<sh>rm {TESTS}</sh><sh>{SOME_TESTS}</sh>{ON}", *MEND])
    terminal = open_terminal("run", "--model", model, "--run", "mend", "Mend it.", NO_COLOR="1")
    for shown, asked, answer in (
        (f"$ {SOME_TESTS}", "accept?", "y"),
        (f"+{WRONG.rstrip()}", "accept?", "y"),
        (f"$ {SOME_TESTS}", "accept?", "y"),
        (f"$ rm {TESTS}", "accept?", "n"),
        ("", "why not?", "mend the code, not its tests"),
        (f"+{RIGHT.rstrip()}", "accept?", "a"),  # the file after it is not asked about
        (f"$ {ALL_TESTS}", "accept?", "y"),
    ):
        terminal.expect(shown)
        terminal.expect(asked)
        terminal.type(f"{answer}\n")
    assert terminal.end() == (0, ANSWER)
    assert_mended(folder, unpacked, user_name(), by_grant="grant 1")
    assert decisions(folder) == [
        (SOME_TESTS, "accept", user_name()),
        (SEARCH, "accept", "sandbox"),
        (MODULE, "accept", user_name()),
        (SOME_TESTS, "accept", user_name()),
        (f"rm {TESTS}", "reject", user_name()),
        (MODULE, "accept", user_name()),
        (NEW, "accept", "grant 1"),
        (ALL_TESTS, "accept", user_name()),
    ]
    told = engine(folder, "packet", "mend", "--role", "user").stdout
    assert "mend the code, not its tests" in told


def test_other_processes_decide(folder: Path, unpacked: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [*LOOK, *MEND])
    waits = engine_process(folder, "run", "--model", model, "--run", "mend", "Mend it.")
    assert (waits.returncode, waits.stdout) == (6, "")
    assert engine_process(folder, "accept", "mend", "--by", "Ada").returncode == 0
    assert engine_process(folder, "resume", "mend").returncode == 6
    codes: list[int] = []
    while not codes or codes[-1] == 6:
        done = engine_process(folder, "accept", "mend", "--all", "--continue", "--by", "Grace")
        codes.append(done.returncode)
        assert len(codes) <= 5, done.stderr
    assert (codes, done.stdout) == ([6, 6, 6, 6, 0], ANSWER)
    assert_mended(folder, unpacked, "Grace", last=5)
    assert decisions(folder) == [
        (SOME_TESTS, "accept", "Ada"),
        (SEARCH, "accept", "sandbox"),
        *((target, "accept", "Grace") for target in (MODULE, SOME_TESTS, MODULE, NEW, ALL_TESTS)),
    ]


def decisions(folder: Path) -> list[tuple[object, ...]]:
    """What was decided on, what was decided and by whom, in its order."""
    return rows(folder, "select target, decision, decided_by from decisions order by proposal_id")


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    with library.open(database(folder), read_only=True) as db:
        return [tuple(row.values()) for row in db.rows(query)]


def assert_mended(folder: Path, unpacked: Path, editor: str, by_grant: str | None = None, last: int = 6) -> None:
    """The files are those released and the new one; the log tells of red, of green in turn `last`, and of who did it."""
    names = {path.relative_to(unpacked) for path in unpacked.rglob("*.py")}
    assert {path.relative_to(folder) for path in folder.rglob("*.py")} == names
    assert [name for name in names if (folder / name).read_bytes() != (unpacked / name).read_bytes()] == []
    assert (folder / NEW).read_text() == "dissoc removes keys again.\n"
    assert rows(folder, "select command, sandbox, exit_code from processes order by effect_id") == [
        (SOME_TESTS, "bubblewrap", 1),
        (SEARCH, "bubblewrap", 0),
        (SOME_TESTS, "bubblewrap", 1),
        (ALL_TESTS, "bubblewrap", 0),
    ]
    ran = rows(folder, "select turn, outcome from run_log where action = 'sh' and target like 'python%' order by turn")
    assert [row for row in ran if row[1] != "aborted"] == [(1, "exit:1"), (4, "exit:1"), (last, None)]
    (found,) = rows(folder, "select body from run_log where action = 'get' and turn = 2")
    assert MODULE in str(found[0])
    changes = "select turn, path, change, added, removed, decided_by from file_changes where cause = 'command'"
    assert rows(folder, f"{changes} order by command_id") == [
        (4, MODULE, "changed", 1, 1, editor),
        (last, MODULE, "changed", 1, 1, editor),
        (last, NEW, "created", 1, 0, by_grant or editor),
    ]
    assert rows(folder, "select count(*) from file_changes where cause <> 'command' and path like '%.py'") == [(0,)]
    assert rows(folder, "select count(*) from open_proposals") == [(0,)]
    audit(database(folder))
