"""Behavioural threads on a real folder: what they refuse and ask for, what the model reads, and how a person adds
some.

spec: @threads @shipped_threads @thread_files @thread_events @thread_reports @thread_past
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from delegating import Cast, gives
from driving import DONE, script
from engine_cli import engine
from rooms import contract

import engine as library
from engine.errors import Conflict, EngineError, NotFound, ValidationError
from engine.functions.shell.lines import shell_read
from engine.threads.joining import add_threads, explain_threads, remove_thread, switch_thread

RED, GREEN = "import sys\nsys.exit(1)\n", "print('ok')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    (root / "tools").mkdir(parents=True)
    (root / "deploy.sh").write_text("echo deployed\n", encoding="utf-8")
    (root / "tools" / "clean.py").write_text("print('clean')\n", encoding="utf-8")
    (root / "test_a.py").write_text(RED, encoding="utf-8")
    return root


def drive(db: library.Database, folder: Path, *answers: str, run: str = "demo", **options: Any) -> library.Result:
    """Drive a prompt; the scripted model counts the answers of the run before it."""
    before = db.value("select responses from runs where alias = ?", (run,)) or 0
    model = script(folder.parent, *[""] * before, *answers)
    return db.run("go", run=run, root=folder, yolo=True, sandbox="off", model=model, **options)


def use(db: library.Database, names: str) -> None:
    db.insert("setting_layers", name="threads", layer="file", value=names)


def results(db: library.Database, run: str = "demo") -> list[tuple[Any, ...]]:
    query = "select turn, action, coalesce(outcome, state) as ended from command_results where run = ? and turn > 0"
    return [tuple(row.values()) for row in db.rows(query, (run,))]


def packets(db: library.Database, turn: int) -> str:
    return "".join(row["body"] for row in db.rows("select body from packet_texts where turn = ?", (turn,)))


def test_a_script_runs_once_it_was_read(folder: Path, tmp_path: Path) -> None:
    with library.open(tmp_path / "t.db") as db:
        use(db, "read_before_run")
        done = drive(
            db,
            folder,
            "<sh>cd tools && python3 -u clean.py; sh ./deploy.sh</sh>",
            '<get path="tools/clean.py"/>',
            "<sh>cd tools && python3 -u clean.py; sh ../deploy.sh</sh>",
            '<get path="deploy.sh"/><sh>./deploy.sh</sh>',
            "<sh>sh ./deploy.sh && echo done</sh>",
            '<set path="own.sh">echo own</set><update status="102">on</update>',
            "<sh>sh own.sh</sh>",
            DONE,
        )
        assert done.status == 200
        assert [row for row in results(db) if row[1] == "sh"] == [
            (1, "sh", "blocked"),
            (3, "sh", "blocked"),
            (4, "sh", "blocked"),
            (5, "sh", "resolved"),
            (7, "sh", "resolved"),
        ]
        told = [row["told"] for row in explain_threads(db, "demo")["log"]]
        assert told[0].startswith("Blocked by the thread read_before_run: You have not read deploy.sh")
        assert '<get path="deploy.sh"/>' in packets(db, 2)
        assert db.value("select count(*) from effects where kind = 'process'") == 2
        assert db.value("select max(streak) from turns") == 0


def test_a_loop_does_not_end_as_done_on_red_tests(folder: Path, tmp_path: Path) -> None:
    with library.open(tmp_path / "t.db") as db:
        use(db, "finish_clean")
        done = drive(
            db,
            folder,
            "<sh>python3 test_a.py</sh>",
            DONE,
            "It is all done.",
            f'<set path="test_a.py">{GREEN}</set><update status="102">on</update>',
            "<sh>python3 test_a.py | tail -1</sh>",
            DONE,
            "<sh>python3 test_a.py</sh>",
            DONE,
            overwrite_unseen=True,
        )
        assert (done.status, done.turns) == (200, 8)
        blocked = [row["turn"] for row in explain_threads(db, "demo")["log"] if row["kind"] == "blocked"]
        assert blocked == [2, 3, 6]
        assert "The tests failed when they ran last" in packets(db, 3)
        assert "The tests failed when they ran last" in packets(db, 4)
        # it is for each prompt, and giving up is always open
        red, cannot = "<sh>python3 -m unittest nothing_here</sh>", '<update status="422">cannot</update>'
        assert drive(db, folder, red, cannot).status == 422
        assert drive(db, folder, DONE).turns == 1


def test_no_loop_ends_as_done_while_a_proposal_is_open(folder: Path, tmp_path: Path) -> None:
    with library.open(tmp_path / "t.db") as db:
        use(db, "finish_clean")
        db.execute(
            "create trigger app_asks after update of phase on turns when new.phase = 'answered' and new.sequence = 1 begin "
            "insert into commands (run_id, writer, action, body) "
            "values (new.run_id, 'plugin', 'ask_user', 'Which port?'); end"
        )
        assert drive(db, folder, DONE, '<update status="422">It waits.</update>').status == 422
        assert "open proposals of this run: 1" in packets(db, 2)
        db.execute("drop trigger app_asks")
        db.resolve("demo", accept=True, body="8080")
        assert drive(db, folder, DONE).status == 200


def test_the_model_is_asked_for_tests_after_an_edit(folder: Path, tmp_path: Path) -> None:
    edit = f'<set path="test_a.py">{GREEN}</set>'
    with library.open(tmp_path / "t.db") as db:
        use(db, "test_after_edit")
        done = drive(db, folder, edit + DONE, "<sh>python3 test_a.py</sh>", DONE, overwrite_unseen=True)
        assert (done.status, done.turns) == (200, 3)
        assert "have not run the tests since" in packets(db, 2)
        # asked once; and not at all where they ran within the turn, nor where no shell is open
        assert drive(db, folder, edit + DONE, DONE, overwrite_unseen=True).turns == 2
        within = edit + "<sh>python3 test_a.py</sh>" + DONE
        assert drive(db, folder, within, overwrite_unseen=True).turns == 1
        assert drive(db, folder, edit + DONE, overwrite_unseen=True, no_processes=True).turns == 1


def test_a_run_without_threads_has_no_trigger_for_them(folder: Path, tmp_path: Path) -> None:
    with library.open(tmp_path / "t.db") as db:
        assert drive(db, folder, "<sh>sh ./deploy.sh</sh>", DONE).status == 200
        hung = "select count(*) from temp.sqlite_schema where type = 'trigger'"
        assert db.value(hung) == 0
        assert switch_thread(db, "read_before_run", on=True, run="demo")["state"] == "on"
        assert drive(db, folder, "<sh>sh ./deploy.sh</sh>", DONE).status == 200
        assert db.value(hung) == 2
        assert [row[2] for row in results(db)] == ["resolved", "resolved", "blocked", "resolved"]
        assert switch_thread(db, "read_before_run", on=False, run="demo")["state"] == "off"
        assert drive(db, folder, "<sh>sh ./deploy.sh</sh>", DONE).status == 200
        assert results(db)[4][2] == "resolved"
        use(db, "all")
        with pytest.raises(Conflict, match="is used in the setting threads"):
            switch_thread(db, "read_before_run", on=False, run="demo")


def test_a_rewind_brings_the_points_back(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "threads.toml"
    point = '[[thread.point]]\nwait = [{ event = "turn" }]\n'
    file.write_text(f'[[thread]]\nname = "count"\npurpose = "counts"\n{point * 5}', encoding="utf-8")
    with library.open(tmp_path / "t.db") as db:
        add_threads(db, file, root=str(folder))
        on = '<update status="102">on</update>'
        assert drive(db, folder, on, on, DONE).status == 200
        assert explain_threads(db, "demo")["now"][0]["point"] == 4
        db.rewind("demo", 2)
        assert drive(db, folder, DONE).status == 200
        assert explain_threads(db, "demo")["now"][0]["point"] == 3


def test_the_example_of_the_contract_does_what_it_says(folder: Path, tmp_path: Path) -> None:
    """spec: @thread_files"""
    example = re.search(r"```toml\n(\[\[thread\]\].*?)```", contract(), re.DOTALL)
    assert example is not None
    (tmp_path / "schema.toml").write_text(example[1], encoding="utf-8")
    (folder / "Makefile").write_text("check-schema:\n\ttest -f schema/b.sql\n", encoding="utf-8")
    with library.open(tmp_path / "t.db") as db:
        assert add_threads(db, tmp_path / "schema.toml", root=str(folder), by="Ada") == ["schema"]
        done = drive(
            db,
            folder,
            '<set path="schema/a.sql">select 1;</set><update status="102">on</update>',
            "<sh>make check-schema</sh>",
            DONE,
            '<set path="schema/b.sql">select 2;</set><sh>make check-schema</sh>',
            DONE,
        )
        assert (done.status, done.turns) == (200, 5)
        log = explain_threads(db, "demo")["log"]
        assert [(row["turn"], row["kind"], row["point"], row["event"]) for row in log] == [
            (1, "waited", 1, "edit"),
            (3, "blocked", 2, "finish"),
            (4, "waited", 2, "ran"),
        ]


BAD = """nothing = 1
[[thread]]
name = "a b"
purpos = "x"
priority = 0

[[thread.point]]
wait = [{ event = "edit", path = 1 }, "edit"]
then = 2

[[thread]]
name = "ok"
purpose = "x"
repeat = "always"
[[thread.point]]
block = [{ event = "done" }]
"""
BAD_ROWS = """[[thread]]
name = "fine"
purpose = "x"
[[thread.point]]
wait = [{ event = "turn" }]

[[thread]]
name = "restless"
purpose = "x"
repeat = true
[[thread.point]]
request = [{ event = "ping" }]
[[thread.point]]
request = [{ event = "ask" }]
block = [{ event = "finsh" }]
"""


def test_all_that_is_wrong_with_a_file_is_told_at_once(folder: Path, tmp_path: Path) -> None:
    """spec: @thread_files"""
    file = tmp_path / "bad.toml"
    with library.open(tmp_path / "t.db") as db:
        for text, expected in (
            (
                BAD,
                [
                    "1: there is no key 'nothing'; a file has [[thread]] tables",
                    "2: a name has at most 40 of a-z, 0-9, _ and -, not 'a b'",
                    "2: a thread has no key 'purpos'; it has name, purpose, priority, repeat, each_prompt, tool, point",
                    "2: a thread needs purpose",
                    "2: priority is from 1 to 1000, not 0",
                    "7: a point has no key 'then'; it has request, wait, block, interrupt",
                    '7: wait must be a list of patterns such as { event = "edit", path = "src/**" }',
                    "7: wait of 'edit': event, message and fields are texts",
                    "11: repeat must be true or false, or a whole number",
                    # the patterns that can be read are looked at as well
                    "15: thread 'ok', point 1: done has already happened, so it cannot be blocked; you can block command, "
                    "finish, ask, check, tell, or an event of threads",
                ],
            ),
            (
                BAD_ROWS,
                [
                    "7: thread 'restless': has a loop of points without a request, so it would never end",
                    "13: thread 'restless', point 2: a request of ask needs a message that says what to do",
                    "13: thread 'restless', point 2: no thread requests finsh; the events of the engine are ask, check, "
                    "command, done, edit, failed, finish, ran, tell, turn",
                ],
            ),
        ):
            file.write_text(text, encoding="utf-8")
            with pytest.raises(ValidationError) as told:
                add_threads(db, file, root=str(folder))
            assert told.value.message.splitlines() == [f"{file}:{line}" for line in expected]
            assert not db.rows("select * from thread_list where level <> 'shipped'")
        for text, error in (
            ("[[thread]\n", ":1: is not TOML"),
            ('[[thread]]\nname = "n"\npriority = ' + "9" * 5_000, ":3: a number has too many digits"),
            (
                "[[thread]]\nrepeat = 92233720368547758079\n",
                ":1: repeat is true, or the number of a point from 1 to 20",
            ),
            ("", "has no [[thread]] table"),
            ('[[thread]]\nname = "n"\npurpose = "p"\npoint = 3\n', "point must be a list"),
        ):
            file.write_text(text, encoding="utf-8")
            with pytest.raises(ValidationError, match=re.escape(error)):
                add_threads(db, file, root=str(folder))
        with pytest.raises(NotFound):
            add_threads(db, tmp_path / "none.toml", root=str(folder))


def test_the_command_adds_explains_and_removes(folder: Path) -> None:
    (folder / "t.toml").write_text(
        '[[thread]]\nname = "quiet"\npurpose = "no notes"\n[[thread.point]]\n'
        'block = [{ event = "command", path = "known://*", message = "Keep no notes." }]\n',
        encoding="utf-8",
    )
    assert engine(folder, "allow", "threads", "add", "t.toml").returncode == 0
    assert "already exists" in engine(folder, "allow", "threads", "add", "t.toml").stderr
    assert engine(folder, "allow", "threads", "enable", "read_before_run").returncode == 0
    listed = {
        row["name"]: row["state"] for row in json.loads(engine(folder, "allow", "threads", "list", "--json").stdout)
    }
    shipped = {"check_after_edit": "off", "finish_clean": "off", "read_before_run": "on", "test_after_edit": "off"}
    assert listed == {**shipped, "quiet": "on"}
    model = script(folder.parent, '<set path="known://a">x</set>' + DONE, DONE)
    assert engine(folder, "run", "--model", model, "--run", "demo", "go").returncode == 0
    said = engine(folder, "allow", "threads", "explain", "demo").stdout
    assert "Blocked by the thread quiet: Keep no notes." in said
    assert "block command" in said
    assert json.loads(engine(folder, "allow", "threads", "explain", "demo", "--json").stdout)["log"][0]["point"] == 1
    assert "Keep no notes." in engine(folder, "allow", "threads", "show", "quiet").stdout
    assert engine(folder, "allow", "threads", "disable", "quiet").returncode == 0
    assert engine(folder, "allow", "threads", "rm", "quiet").returncode == 0
    for words, error in (
        (("rm", "quiet"), "not found here"),
        (("rm", "finish_clean"), "is built in"),
        (("explain", "nobody"), "there is no such run"),
        (("show", "quiet"), "not found here"),
    ):
        failed = engine(folder, "allow", "threads", *words)
        assert failed.returncode != 0
        assert error in failed.stderr


def test_a_thread_whose_event_another_waits_for_can_be_removed(folder: Path, tmp_path: Path) -> None:
    """Every later run failed until the one that waits was removed as well."""
    (tmp_path / "two.toml").write_text(
        '[[thread]]\nname = "says"\npurpose = "x"\n[[thread.point]]\nrequest = [{ event = "ready" }]\n'
        '[[thread]]\nname = "hears"\npurpose = "x"\n[[thread.point]]\nwait = [{ event = "ready" }]\n',
        encoding="utf-8",
    )
    with library.open(tmp_path / "t.db") as db:
        assert add_threads(db, tmp_path / "two.toml", root=str(folder)) == ["says", "hears"]
        removed = remove_thread(db, "says", root=str(folder))
        assert removed["unheard"] == ["thread hears, point 1: its wait of ready never happens now"]
        assert drive(db, folder, DONE).status == 200
        assert [(row["thread"], row["point"]) for row in explain_threads(db, "demo")["now"]] == [("hears", 1)]
        assert remove_thread(db, "hears", root=str(folder))["unheard"] == []


def test_threads_of_a_relative_root_take_part_in_that_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "t.toml"
    file.write_text(
        '[[thread]]\nname = "never"\npurpose = "x"\n[[thread.point]]\nblock = [{ event = "finish", message = "No." }]\n',
        encoding="utf-8",
    )
    with library.open(tmp_path / "t.db") as db:
        for change in (
            lambda root: add_threads(db, file, root=root),
            lambda root: switch_thread(db, "finish_clean", on=True, root=root),
            lambda root: remove_thread(db, "never", root=root),
        ):
            with pytest.raises(NotFound, match="no such folder: 'nowhere'"):
                change("nowhere")
        assert add_threads(db, file, root="folder") == ["never"]
        assert db.rows("select root from projects") == [{"root": str(folder)}]
        assert drive(db, folder, DONE, max_turns=1).status == 499
        assert switch_thread(db, "never", on=False, root=Path("folder"))["state"] == "off"
        assert drive(db, folder, DONE).status == 200
        remove_thread(db, "never", root="./folder")
        assert not db.rows("select * from thread_list where level = 'project'")


def test_what_was_removed_is_still_named_in_the_past(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        '[[thread]]\nname = "no"\npurpose = "x"\n[[thread.point]]\n'
        'block = [{ event = "command", action = "sh", message = "No." }]\n',
        encoding="utf-8",
    )
    with library.open(tmp_path / "t.db") as db:
        add_threads(db, file, root=str(folder))
        assert drive(db, folder, "<sh>ls</sh>", "<sh>ls</sh>", "<sh>ls</sh>", DONE).status == 200
        # what was blocked did not run, so it does not count as run too often
        assert [row[2] for row in results(db)][:3] == ["blocked", "blocked", "blocked_again"]
        remove_thread(db, "no", root=str(folder))
        assert drive(db, folder, "<sh>ls</sh>", DONE).status == 200
        assert results(db)[4][2] == "resolved"
        add_threads(db, file, root=str(folder))
        assert {row["thread"] for row in explain_threads(db, "demo")["log"]} == {"no"}
        with pytest.raises(EngineError):
            add_threads(db, file, root=str(folder))


@pytest.mark.parametrize(
    ("line", "scripts"),
    [
        ("sh ./x.sh", ["./x.sh"]),
        ("bash -eu x.sh a b", ["x.sh"]),
        ("bash -c 'sh y.sh'", ["y.sh"]),
        ("./x a", ["./x"]),
        (". env.sh; source 'a b.sh'", ["env.sh", "a b.sh"]),
        ("python3.11 -W error -u x.py -c", ["x.py"]),
        ("python -m pytest tests; python -c 'x.py'", []),
        (".venv/bin/python x.py", [".venv/bin/python", "x.py"]),
        ("sudo env A=1 node --require z x.js", ["x.js"]),
        ("deno run -A x.ts", ["x.ts"]),
        ("uv run x/y.py", ["x/y.py"]),
        ("cat x.sh; grep -r x.py .; pythonic x.py", []),
    ],
)
def test_a_line_names_the_files_that_it_runs(line: str, scripts: list[str]) -> None:
    """spec: @shipped_threads"""
    read = json.loads(shell_read(line) or "")
    assert [script for program in read["programs"] for script in program["scripts"]] == scripts


def test_threads_hold_in_a_child_and_ask_before_a_result_is_verified(folder: Path, tmp_path: Path) -> None:
    with library.open(tmp_path / "t.db") as db:
        use(db, "read_before_run,test_after_edit")
        parts = {"demo": [gives("Deploy"), DONE], "demo-1": ["<sh>sh deploy.sh</sh>", '<get path="deploy.sh"/>', DONE]}
        options = {"root": folder, "yolo": True, "sandbox": "off"}
        assert db.run("go", run="demo", model=Cast(parts), max_depth=1, **options).status == 200
        assert results(db, "demo-1")[:2] == [(1, "sh", "blocked"), (2, "get", "resolved")]
        assert [row["told"] for row in explain_threads(db, "demo")["log"]] == []
        # the turn in which it asks is not verified, and no attempt is spent on it
        edit = Cast({"edit": [f'<set path="new.py">{GREEN}</set>{DONE}', DONE]})
        result = db.run("go", run="edit", model=edit, accept_command="test -s new.py", accept_attempts=1, **options)
        assert (result.turns, result.accepted) == (2, True)
        assert "have not run the tests since" in edit.seen("edit", 1)
        assert db.rows("select turn, attempt, verdict from acceptances") == [
            {"turn": 2, "attempt": 1, "verdict": "pass"}
        ]
