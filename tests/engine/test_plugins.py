"""A plugin that is installed beside the engine: everything it adds works, and no file of the engine knows of it.

The package under tests/examples/plugin adds a scheme, a tool, an effect handler, a function, a packet section, a recording
veto, an acceptance veto, a content override and a vote. It is found by its entry point, in a process of its own.

spec: @plugins @tools_extension @packet_sections_extension
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from audit import audit
from driving import DONE, GO_ON, begin, script

import engine
from engine.packets import layout
from engine.schema import build, update
from engine.schema.plugin_files import compile_uses, run_files

PLUGIN = Path(__file__).parent.parent / "examples" / "plugin"
PROGRAM = """
import json, sys
import engine
path, root, model, *queries = sys.argv[1:]
with engine.open(path) as db:
    result = db.run("Look at the sky", model=model, root=root, run="demo", yolo=True)
    print(json.dumps({"status": result.status, "answer": result.answer, "reason": result.reason,
                      "rows": [db.rows(query) for query in queries]}))
"""


@pytest.fixture
def run(tmp_path: Path, workspace_dir: Path) -> Any:
    """Run a script in a process that has the plugin; returns how it ended and the rows of some queries."""

    def started(answers: list[str], *queries: str) -> Any:
        environment = {**os.environ, "PYTHONPATH": str(PLUGIN)}
        arguments = [str(tmp_path / "p.db"), str(workspace_dir), script(tmp_path, *answers), *queries]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return started


LOG = "select action, state, outcome, body from run_log where turn is not null"


def log(result: Any, place: int = 0) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in result["rows"][place]]


def test_a_tool_and_its_effect_fill_entries_of_a_scheme_that_a_section_shows(run: Any) -> None:
    result = run(
        ["<weather>Basel</weather>", DONE],
        LOG,
        "select path, body, writer, visibility from known_entries where scheme = 'weather'",
        "select body from packet_texts where turn = 2 order by ordinal",
        "select name from engine_modules",
    )
    assert log(result, 3) == [("weather",)]
    assert (result["status"], result["answer"]) == (200, "Done.")
    assert log(result)[0] == ("weather", "resolved", None, "Basel: rain")
    assert log(result, 1) == [("weather://Basel", "rain", "plugin", "summarized")]
    system, user = (row["body"] for row in result["rows"][2])
    assert "<weather>Basel</weather> asks for the sky" in system
    assert "keeps a failure" not in system, "the rationale is not for the model"
    assert "</summary>\n<forecast>\nBasel ☔\n</forecast>\n<log>" in user.replace("\n\n", "\n")


def test_a_plugin_projects_the_bodies_of_its_scheme(run: Any) -> None:
    """spec: @plugin_projections"""
    result = run(
        ["<weather>Basel</weather>" + GO_ON, '<get path="weather://Basel"/>' + GO_ON, DONE],
        "select body from packet_texts where turn > 1 and role = 'user' order by turn",
        "select k.body, c.chars, c.summary_chars, c.shown from known_entries as k join contents as c on c.body = k.body "
        "where k.scheme = 'weather'",
    )
    short, whole = "\nBasel ☔\n:::weather://Basel", "\nOver Basel there is rain.\n:::weather://Basel"
    texts = [row["body"] for row in result["rows"][0]]
    assert [(short in text, whole in text) for text in texts] == [(True, False), (True, True)]
    assert log(result, 1) == [("rain", 25, 7, "Over Basel there is rain.")]


def test_what_an_effect_fails_at_is_told_to_the_model(run: Any) -> None:
    result = run(["<weather>Rome</weather>" + GO_ON, "<weather>Atlantis</weather>" + GO_ON, DONE], LOG)
    assert result["status"] == 200
    assert [entry for entry in log(result) if entry[0] == "weather"] == [
        ("weather", "failed", "not_found", "no weather for Rome"),
        ("weather", "failed", "error", "LookupError: the sea is too deep"),
    ]


def test_a_recording_veto_refuses_the_command_of_a_model(run: Any) -> None:
    result = run(['<set path="known://a">good weather</set>' + GO_ON, DONE], LOG, "select name from engine_modules")
    assert log(result)[0] == ("set", "failed", "permission", "Not noted: the weather is never good.")
    assert log(result, 1) == [], "a run that does not ask for the weather has the rule of the house alone"


def test_an_acceptance_veto_stops_what_was_accepted(run: Any, workspace_dir: Path) -> None:
    result = run(["<weather>Basel</weather>", "<sh>touch wet.txt</sh>" + GO_ON, DONE], LOG)
    assert ("sh", "failed", "permission", "Not in the rain.") in log(result)
    assert not (workspace_dir / "wet.txt").exists()


def test_a_content_override_changes_what_is_written(run: Any, workspace_dir: Path) -> None:
    run(["<weather>Basel</weather>", '<set path="forecast.txt">Sun everywhere</set>' + DONE])
    assert (workspace_dir / "forecast.txt").read_text(encoding="utf-8") == "Basel ☔\n"


def test_a_vote_ends_the_loop(run: Any) -> None:
    result = run(["<weather>Chur</weather>" + GO_ON, DONE], "select turn from turn_timeline")
    assert (result["status"], result["answer"], result["reason"]) == (200, "Out for a walk.", "sunshine")
    assert len(result["rows"][0]) == 1


def test_a_file_is_still_good_when_the_plugin_is_gone(run: Any, tmp_path: Path) -> None:
    run(["<weather>Basel</weather>", DONE])
    with engine.open(tmp_path / "p.db") as db:
        assert db.value("select body from known_entries where path = 'weather://Basel'") == "rain"
        assert db.value("select count(*) from sqlite_schema where name like '%weather%'") == 0
        model = script(tmp_path, "<weather>Basel</weather>" + GO_ON, '<set path="known://a">good weather</set>' + DONE)
        assert db.run("Look again", run="after", model=model).status == 200
        assert (
            db.value("select body from run_log where run = 'after' and action = 'weather'")
            == "No rule performs <weather>."
        )
        assert "weather>" not in db.value(
            "select body from packet_texts where run = 'after' and role = 'system' limit 1"
        )
        with pytest.raises(engine.ValidationError, match=r"400 weather : No rule performs <weather>\."):
            db.execute("insert into commands (run_id, writer, action) values (1, 'client', 'weather')")
    audit(tmp_path / "p.db")
    run(["<weather>Chur</weather>"])


def test_a_veto_of_a_clients_write_raises_and_leaves_nothing(db: engine.Database) -> None:
    begin(db, "demo")
    db.execute(
        "create trigger commands__veto after insert on commands when new.path = 'known://no' "
        "begin insert into vetoes (command_id, message) values (new.id, 'not here'); end"
    )
    with pytest.raises(engine.PermissionDenied, match="403 set known://no: not here"):
        db.insert("verb_set", run="demo", path="known://no", body="x")
    assert db.value("select count(*) from commands where path = 'known://no'") == 0
    db.insert("verb_set", run="demo", path="known://yes", body="x")
    db.execute("drop trigger commands__veto")


@pytest.mark.usefixtures("in_folder")
def test_a_veto_holds_after_the_engine_made_its_triggers_anew(db: engine.Database) -> None:
    begin(db, "demo")
    db.execute(
        "create trigger commands__veto after insert on commands when new.path = 'known://no' "
        "begin insert into vetoes (command_id, message) values (new.id, 'not here'); end"
    )
    db.execute("update engine_meta set value = 'another engine' where key = 'sources'")
    db.close()
    with engine.open(db.path, trust=True) as again:
        with pytest.raises(engine.PermissionDenied, match="403 set known://no: not here"):
            again.insert("verb_set", run="demo", path="known://no", body="x")
        assert again.value("select count(*) from known_entries where path = 'known://no'") == 0
        assert again.value("select count(*) from commands where path = 'known://no'") == 0
        again.execute("drop trigger commands__veto")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("create table if not exists trial (a integer;", 'near ";": syntax error'),
        ("create view run_log as select 1;", "view run_log already exists"),
        ("insert into statuses (code, name, meaning) values (200, 'a', 'b');", "UNIQUE constraint failed"),
        ("create view trial as select nope from runs;", "view 'trial': no such column: nope"),
        (
            "create trigger events__insert after /* insert on */ update of kind on events "
            "begin insert into nope values (1); end;",
            r"trigger 'events__insert' on 'events': no such table: main\.nope",
        ),
        (
            "create view trial as select 1 as a; "
            "create trigger trial__take instead of insert on trial begin select nope(new.a); end;",
            "trigger 'trial__take' on 'trial': no such function: nope",
        ),
    ],
)
def test_what_is_wrong_with_the_sql_of_a_plugin_is_told_with_its_file(db: engine.Database, sql: str, said: str) -> None:
    files = [("good.sql", "create view good as select 1 as a;"), ("trial.sql", sql)]
    with (
        pytest.raises(engine.ValidationError, match=f"400 trial.sql, the SQL file of a plugin: {said}"),
        db.transaction(),
    ):
        compile_uses(db.connection, run_files(db.connection, files))
    assert db.value("select count(*) from sqlite_schema where name in ('good', 'trial', 'events__insert')") == 0


def test_a_view_of_one_file_may_read_what_a_later_file_makes() -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        files = [("a.sql", "create view trial as select b from there;"), ("b.sql", "create table there (b integer);")]
        compile_uses(connection, run_files(connection, files))
        assert connection.execute("select * from trial").fetchall() == []


def test_a_view_that_a_later_file_drops_is_not_compiled() -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        files = [("a.sql", "create view trial as select 1 as a;"), ("b.sql", "drop view trial;")]
        compile_uses(connection, run_files(connection, files))
        assert connection.execute("select name from sqlite_schema").fetchall() == []


def test_a_trigger_of_an_app_beside_that_of_a_plugin_may_call_what_is_registered_later(tmp_path: Path) -> None:
    plugin = ("trial.sql", "create trigger runs__trial after insert on runs begin select 1; end;")
    with engine.open(tmp_path / "t.db") as db:
        db.execute("create trigger runs__app after insert on runs begin select app(new.id); end")
        update.prepare(db.connection, True, build.installed()._replace(plugins=(plugin,)))
        db.connection.create_scalar_function("app", lambda _: None, flags=apsw.SQLITE_INNOCUOUS)
        db.start("Go", model="scripted:none", run="demo")
        db.execute("drop trigger runs__app")


def test_a_wrong_plugin_is_refused_where_its_build_is_made() -> None:
    wrong = build.installed()._replace(plugins=(("trial.sql", "create view trial as select nope from runs;"),))
    with pytest.raises(engine.ValidationError, match=r"400 trial\.sql, the SQL file of a plugin: view 'trial'"):
        wrong.fresh  # noqa: B018


@pytest.mark.parametrize(
    ("file", "values", "said"),
    [
        ("sections/trial.j2", {}, "template sections/trial.j2: not found"),
        ("sections/prompt.j2", {}, r"template sections/prompt.j2: 'rows' is undefined"),
        ("sections/prompt.j2", {"rows": 1}, r"template sections/prompt.j2: 'int' object is not iterable"),
    ],
)
def test_a_template_that_is_missing_or_wrong_is_named(file: str, values: dict[str, Any], said: str) -> None:
    with pytest.raises(engine.EngineError, match=f"500 {said}"):
        layout.laid_out(file, **values)
