"""What brings a module into a file: an option, a setting, a command, a file of the project, a call of Python.

1. A plain run, looks and the usual commands bring none. 2. Each use brings its module, and the run is the one that a file
with all modules would have: its packets are the same, byte for byte. 3. A file takes in only what it used.

spec: @modules
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine_cli
import pytest
from driving import DONE, GO_ON, script
from fresh import take_in_all
from test_pictures_sent import png

import engine
from engine.db import missing

Case = tuple[str, set[str], Callable[[engine.Database, Path], None]]


def modules(db: engine.Database) -> set[str]:
    return {row["name"] for row in db.rows("select name from engine_modules")}


def drive(db: engine.Database, folder: Path, *answers: str, **options: Any) -> engine.Result:
    model = script(folder, *answers)
    return db.run("Do it", run="demo", model=model, root=folder / "root", yolo=True, **options)


def _agents(db: engine.Database, folder: Path) -> None:
    (folder / "root" / "AGENTS.md").write_text("Answer briefly.\n", encoding="utf-8")
    drive(db, folder, f'<get path="a.py"/>{GO_ON}', DONE)
    assert "Answer briefly." in packets(db)


def _skill(db: engine.Database, folder: Path) -> None:
    place = folder / "root" / ".agents" / "skills" / "sums"
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text("---\nname: sums\ndescription: adds numbers\n---\nAdd.\n", encoding="utf-8")
    drive(db, folder, f'<get path="skill://sums"/>{GO_ON}', DONE)
    assert "adds numbers" in packets(db)


def _acceptance(db: engine.Database, folder: Path) -> None:
    drive(db, folder, DONE, DONE, accept_command="test -f a.py")
    assert db.value("select accepted from loop_results where run = 'demo'") == 1


def _delegation(db: engine.Database, folder: Path) -> None:
    assert drive(db, folder, f"<subtask>Count</subtask>{GO_ON}", DONE, DONE, max_depth=1).status == 200
    assert db.value("select count(*) from children") == 1


def _delegation_by_setting(db: engine.Database, folder: Path) -> None:
    db.execute("update settings set value = '1' where name = 'max_depth'")
    drive(db, folder, DONE)
    assert "subtask" in packets(db)


def _threads(db: engine.Database, folder: Path) -> None:
    db.execute("update settings set value = 'test_after_edit' where name = 'threads'")
    drive(db, folder, f'<get path="a.py"/>{GO_ON}', f'<set path="a.py">y\n</set>{GO_ON}', DONE, DONE, DONE)
    assert db.value("select count(*) from thread_log where run = 'demo'") > 0


def _plan(db: engine.Database, folder: Path) -> None:
    drive(db, folder, f'<set path="plan://task">- [x] one\n- [ ] two\n</set>{GO_ON}', DONE)
    assert db.value("select count(*) from plan_steps where run = 'demo'") == 2


def _job(db: engine.Database, folder: Path) -> None:
    drive(db, folder, f'<sh background="1">sleep 600</sh>{GO_ON}', DONE)
    assert db.value("select count(*) from jobs where ended_at is not null") == 1


def _picture(db: engine.Database, folder: Path) -> None:
    (folder / "root" / "shot.png").write_bytes(png(64, 48))
    drive(db, folder, f'<get path="shot.png"/>{GO_ON}', DONE)
    assert db.value("select count(*) from packet_pictures where run = 'demo'") > 0


def _like(db: engine.Database, folder: Path) -> None:
    drive(db, folder, f'<set path="known://sea">waves</set><get path="known://**" like="waves"/>{GO_ON}', DONE)
    assert "known://sea" in packets(db)


def _undo(db: engine.Database, folder: Path) -> None:
    drive(db, folder, f'<get path="a.py"/>{GO_ON}', f'<set path="a.py">y\n</set>{GO_ON}', DONE)
    db.undo("demo")
    assert (folder / "root" / "a.py").read_text("utf-8") == "x\n"


def _purge(db: engine.Database, folder: Path) -> None:
    drive(db, folder, DONE)
    db.purge("demo")
    assert db.value("select count(*) from runs") == 0


CASES: tuple[Case, ...] = (
    ("an AGENTS.md", {"instructions"}, _agents),
    ("a skill of the project", {"skills"}, _skill),
    ("a criterion", {"acceptance"}, _acceptance),
    ("a depth", {"delegation"}, _delegation),
    ("a setting of the depth", {"delegation"}, _delegation_by_setting),
    ("a thread in force", {"threads"}, _threads),
    ("a plan", {"relations"}, _plan),
    ("a command in the background", {"jobs"}, _job),
    ("a picture", {"pictures"}, _picture),
    ("a get by meaning", {"discovery"}, _like),
    ("an undo", {"undo"}, _undo),
    ("a purge", {"purge"}, _purge),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.py").write_text("x\n", encoding="utf-8")
    return tmp_path


def packets(db: engine.Database) -> str:
    """All packets of the run, in their order."""
    rows = db.rows("select role, body from packet_texts where run = 'demo' order by turn, ordinal")
    return "\n".join(f"[{row['role']}]\n{row['body']}" for row in rows)


@pytest.mark.parametrize(("what", "needed", "use"), CASES, ids=[name for name, *_ in CASES])
def test_a_use_brings_its_module_and_the_packets_are_those_of_a_whole_file(
    what: str, needed: set[str], use: Callable[[engine.Database, Path], None], tmp_path: Path
) -> None:
    sent = []
    for is_whole in (False, True):
        place = tmp_path / "work"
        place.mkdir()
        (place / "root").mkdir()
        (place / "root" / "a.py").write_text("x\n", encoding="utf-8")
        with engine.open(place / "t.db") as db:
            if is_whole:
                take_in_all(db)
            use(db, place)
            if not is_whole:
                assert modules(db) == needed, what
            sent.append(packets(db))
        place.rename(tmp_path / f"work{is_whole}")
    assert sent[0] == sent[1]


def test_a_plain_run_brings_none(folder: Path) -> None:
    with engine.open(folder / "t.db") as db:
        edit = '<set path="a.py">y\n</set><set path="known://x">1</set>'
        result = drive(
            db, folder, f'<get path="a.py"/>{GO_ON}', f"{edit}<sh>cat a.py</sh>{GO_ON}", f"<rm path='a.py'/>{DONE}"
        )
        assert result.status == 200
        db.fork("demo", "other")
        db.run("More", run="other", model=script(folder, DONE))
        db.abort("other")
        assert modules(db) == set()


def test_commands_that_look_bring_none(folder: Path) -> None:
    with engine.open(folder / "t.db") as db:
        drive(db, folder, DONE)
    looks = (
        ["runs"], ["show", "demo"], ["log", "demo"], ["status"], ["plan", "demo"], ["allow", "threads"], ["rules", "list"],
        ["skills", "list"], ["workflow", "list"], ["tools"], ["costs"], ["events"], ["doctor"], ["relations", "list"],
    )  # fmt: skip
    for look in looks:
        # the doctor fails where no model is found
        done = engine_cli.engine(folder, *look, "--db", str(folder / "t.db"), env={"ANTHROPIC_API_KEY": "none"})
        assert done.returncode == 0, (look, done.stderr)
        assert "no such table" not in done.stderr + done.stdout
    with engine.open(folder / "t.db", read_only=True) as db:
        assert modules(db) == set()


@pytest.mark.parametrize("look", ["runs", "show", "log", "context", "packet", "costs"])
def test_the_usual_looks_name_no_module(folder: Path, look: str) -> None:
    with engine.open(folder / "t.db") as db:
        edit = f'<set path="a.py">y\n</set><sh>cat a.py</sh>{GO_ON}'
        drive(db, folder, edit, DONE)
    missing._tables_of.cache_clear()
    assert engine_cli.engine(folder, look, "--db", str(folder / "t.db")).returncode == 0
    assert missing._tables_of.cache_info().currsize == 0


def test_many_tools_bring_discovery(folder: Path) -> None:
    tools = []
    for number in range(61):
        names: dict[str, Any] = {}
        exec(f'def tool_{number}(x: int) -> int:\n    """Tool {number}."""\n    return x', names)
        tools.append(names[f"tool_{number}"])
    with engine.open(folder / "t.db", tools=tools) as db:
        drive(db, folder, DONE)
        assert modules(db) == {"function_tools", "discovery"}
        narrowed = json.loads(db.value("select json_group_array(tool) from tool_choices") or "[]")
        assert narrowed or db.value("select count(*) from tool_narrowings") == 1
