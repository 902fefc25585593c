"""Why: reasons in words, each with a row that exists.

1. Every command, entry, turn, prompt and file of runs of every kind has a reason, and every reason names a row. 2. So of
random runs. 3. What decided: policies, grants, yolo, modes, limits. 4. What was loaded. 5. Looking installs nothing. 6. The
command: words, rows, JSON, hostile texts.

spec: @why
"""

from __future__ import annotations

import json
from pathlib import Path

import agents_project as project
import pytest
from driving import DONE, GO_ON, script
from engine_cli import engine as cli
from every_run import every_run
from fresh import fresh
from hypothesis import given, settings
from hypothesis import strategies as some

import engine
from engine.db.missing import shown
from engine.effects import gate
from engine.errors import Conflict, NotFound
from engine.history.why import Why
from engine.models.aliases import add_alias

VIEWS = ("command", "turn", "prompt", "entry", "file", "choice", "cost", "guidance")


def subjects(db: engine.Database) -> set[tuple[str, str, str]]:
    return set(db.tuples("select distinct run, topic, subject from reason_subjects"))


def expect_reasons(db: engine.Database) -> int:
    """Every subject has a reason, and each reason names a row; returns how many reasons there are."""
    with shown(db.connection, ["why"]):
        found = [row for view in VIEWS for row in db.rows(f"select * from {view}_reasons")]
        asked = subjects(db)
        past = db.rows("select * from past_entry_reasons")
        told = {(row["run"], row["turn"], row["subject"]) for row in past if row["place"] == 10}
        assert set(db.tuples("select run, turn, path from context_at")) <= told
        past += db.rows("select * from past_choice_reasons where turn = 1")
        assert {row["subject"] for row in past} >= {name for (name,) in db.tuples("select name from settings")}
        assert asked - {(row["run"], row["topic"], row["subject"]) for row in found} == set()
        assert [row for row in found if not row["says"].strip()] == []
        rows: dict[tuple[str, ...], set[tuple[object, ...]]] = {}
        for row in [*found, *past]:
            key = json.loads(row["key"])
            columns = (row["source"], *key)
            if columns not in rows:
                rows[columns] = set(db.tuples(f"select {', '.join(key)} from {row['source']}"))
            assert tuple(key.values()) in rows[columns], row
        for topic, wanted in (
            ("command", "select r.alias, c.id from commands as c join runs as r on r.id = c.run_id"),
            ("entry", "select run, path from known_entries"),
            ("prompt", "select run, loop from loop_list"),
            ("turn", "select run, turn from past_turns"),
        ):
            assert {(run, topic, str(name)) for run, name in db.tuples(wanted)} <= asked
    return len(found)


def test_runs_of_every_kind_have_reasons_that_name_rows(tmp_path: Path) -> None:
    path = every_run().put(tmp_path)
    before = path.read_bytes()
    with engine.open(path, read_only=True) as db:
        assert expect_reasons(db) > 5_000
        assert not db.has("why")
    assert path.read_bytes() == before


COMMANDS = [
    '<get path="notes.md"/>',
    '<get path="nothing.md"/>',
    '<set path="notes.md">new</set>',
    '<set path="known://fact" tags="a">a fact</set>',
    '<set path="known://**" visibility="archived"/>',
    '<set path="log://turn_1/x">no</set>',
    '<rm path="known://fact"/>',
    '<mv path="notes.md" to="other.md"/>',
    "<sh>true</sh>",
    "<sh>exit 2</sh>",
    "<sh>vim notes.md</sh>",
    '<ask_user question="Which?"/>',
    "<nonsense/>",
    "<think>hm</think>",
]


@settings(max_examples=12)
@given(
    turns=some.lists(some.lists(some.sampled_from(COMMANDS), max_size=3), min_size=1, max_size=3),
    decisions=some.lists(some.sampled_from([True, False, None, "text"]), min_size=1, max_size=4),
    options=some.sampled_from([{}, {"yolo": True}, {"mode": "ask"}, {"max_turns": 1}, {"no_proposals": True}]),
)
def test_random_runs_have_reasons_that_name_rows(
    tmp_path_factory: pytest.TempPathFactory, turns: list[list[str]], decisions: list[bool | str | None], options: dict
) -> None:
    root = tmp_path_factory.mktemp("why") / "work"
    root.mkdir()
    (root / "notes.md").write_text("old\n")
    left = list(decisions)
    answers = ["".join(turn) + GO_ON for turn in turns]
    with fresh() as db:
        db.run(
            "go",
            run="demo",
            model=script(root.parent, *answers, DONE),
            root=root,
            sandbox="off",
            on_proposal=lambda _: left.pop() if left else None,
            **options,
        )
        assert expect_reasons(db) > 100


def ran(db: engine.Database, root: Path, *answers: str, **options: object) -> engine.Result:
    root.mkdir(exist_ok=True)
    (root / "notes.md").write_text("old\n")
    options = {"run": "demo", "root": root, "sandbox": "off", "overwrite_unseen": True, **options}
    options = {"model": script(root.parent, *answers), **options}
    return db.run("go", **options)  # type: ignore[arg-type]


def rows(found: Why, source: str) -> list[str]:
    return [row.says for row in found.rows if row.source == source]


def test_what_decided_is_told_by_its_row(db: engine.Database, tmp_path: Path) -> None:
    answers = "<sh>vim x</sh>" + GO_ON, '<set path="notes.md">new</set>' + GO_ON, DONE
    ran(db, tmp_path / "work", *answers, yolo=True)
    refused = db.why("demo", "vim x")
    assert rows(refused, "policies") == ["The policy editor (shipped) says for vim: refuse."]
    assert any(
        told.startswith("The policy editor rejected the command line vim x: Refused: vim needs")
        for told in rows(refused, "decisions")
    )
    changed = db.why("demo", "log://turn_2/set/notes.md")
    assert "The option yolo accepted writing notes.md." in rows(changed, "decisions")
    assert rows(changed, "run_options") == ["Prompt 1 has the option yolo: accept every proposal, except questions."]
    file = [row.says for row in db.why("demo", "notes.md").rows if row.topic == "file"]
    assert file[0].startswith("Turn 2 of demo changed it by set (+1 -1 lines); decided by yolo, at ")
    assert file[1] == "The prompt was: go"


def test_a_mode_closes_a_tool_and_a_scheme_its_entries(db: engine.Database, tmp_path: Path) -> None:
    ran(db, tmp_path / "work", "<sh>true</sh>" + GO_ON, '<set path="rule://x">no</set>' + GO_ON, DONE, mode="ask")
    closed = db.why("demo", "true")
    assert "Prompt 1 has the mode ask: read only: no file is changed and no shell command is run." in rows(
        closed, "loop_list"
    )
    assert rows(closed, "tool_list") == [
        "The tool <sh> can be used in the modes act, but not with the options no_proposals, no_processes."
    ]
    assert rows(db.why("demo", "rule://x"), "schemes") == [
        "Entries of rule (a rule) may be written by: client, plugin, system."
    ]


def test_a_limit_names_its_setting_and_the_layer_of_that(db: engine.Database, tmp_path: Path) -> None:
    ran(db, tmp_path / "work", GO_ON, GO_ON, max_turns=1)
    ended = db.why("demo")
    assert any("Turn 1: The limit of turns: stopped at the limit of 1 turn" in told for told in rows(ended, "votes"))
    assert "The setting max_loop_turns is 1, from: an option of the prompt." in rows(ended, "loop_list")
    db.execute("update settings set value = '7' where name = 'max_strikes'")
    told = db.why("demo", "max_strikes")
    assert told.rows[0].says == "max_strikes is 7, from: this database."
    assert rows(told, "setting_layers") == ["The place file sets 7."]


def test_the_past_is_told_as_the_turn_had_it(db: engine.Database, tmp_path: Path) -> None:
    answers = (
        '<set path="known://a">one</set>' + GO_ON,
        '<set path="known://a" visibility="archived"/>' + GO_ON,
        GO_ON,
    )
    ran(db, tmp_path / "work", *answers, max_turns=3)
    db.execute("update settings set value = '9' where name = 'max_strikes'")
    db.execute("update settings set value = '7' where name = 'max_strikes'")
    then, now = db.why("demo", "max_strikes", at=2), db.why("demo", "max_strikes")
    assert then.rows[0].says == "On turn 2: The setting max_strikes was 3."
    assert then.rows[1].says.startswith("It became 9 at ")
    assert {row.source for row in then.rows[:2]} == {"event_list"}
    assert now.rows[0].says == "max_strikes is 7, from: this database."
    db.run("again", run="demo", max_turns=1)
    told = db.why("demo", "max_strikes", at=4).rows[0].says
    assert told == "On turn 4: The setting max_strikes is 7, from: this database."
    db.execute("update settings set value = '3' where name = 'max_strikes'")
    told = db.why("demo", "max_strikes", at=4).rows[0].says
    assert told == "On turn 4: The setting max_strikes was 7, from: this database."
    entry = [db.why("demo", "known://a", at=turn) for turn in (1, 2, 3)]
    told_first = [next(row.says for row in each.rows if row.topic == "entry") for each in entry]
    assert [says.partition(":")[0] for says in told_first] == [
        "The run did not have it on turn 1.",
        "On turn 2 it was visible",
        "On turn 3 it was archived",
    ]
    assert "By the command set known://a." in rows(entry[1], "command_results")
    assert any(row.says.startswith("It has changed since, on turn 2") for row in entry[1].rows)
    assert "Prompt 1 was given max_turns 3." in db.why("demo", "max_turns", at=2).text
    assert "Prompt 2 was given max_turns 1." in db.why("demo", "max_turns", at=4).text
    with pytest.raises(NotFound, match="there is no turn 9"):
        db.why("demo", "known://a", at=9)
    assert expect_reasons(db) > 100


def test_a_cost_says_where_it_comes_from(db: engine.Database, tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    used = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": DONE, "usage": {**used, "cost": 0.25}}) + "\n")
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": DONE, "usage": used}) + "\n")
    add_alias(db, "priced", f"scripted:{tmp_path / 'b.jsonl'}", price=(2.0, 4.0, None))
    db.run("go", run="stated", model=f"scripted:{tmp_path / 'a.jsonl'}", root=root)
    db.run("go", run="priced", model="priced", root=root)
    assert db.tuples("select cost, cost_from from turns order by id") == [(0.25, "provider"), (2.0, "person")]
    stated, priced = db.why("stated", "cost"), db.why("priced", "cost")
    assert "The provider or its model stated the cost of 1 answer, such as that of turn 1." in stated.text
    assert "A price that you had set gives the cost of 1 answer, such as that of turn 1." in priced.text
    assert "The cost follows from the price that you had set for the model." in db.why("priced", 1).text


def test_threads_grants_and_checks_are_named(db: engine.Database, tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "deploy.sh").write_text("echo deployed\n")
    db.insert("setting_layers", name="threads", layer="file", value="read_before_run")
    db.start("go", run="demo", root=root, model=script(tmp_path, DONE))
    gate.give_grant(db, "demo", "process", None, by="Ada")
    db.abort("demo")
    answers = (DONE, "<sh>sh deploy.sh</sh>" + GO_ON, "<sh>echo one</sh>" + GO_ON, DONE, DONE)
    ran(db, root, *answers, accept_command="false", accept_attempts=1)
    blocked = db.why("demo", "sh deploy.sh")
    assert rows(blocked, "thread_log") == [
        "The thread read_before_run blocked it at its point 1: "
        "the run must read a script of the project before it runs the script."
    ]
    granted = db.why("demo", "echo one")
    assert rows(granted, "decisions") == ["The grant 1 accepted the command line echo one."]
    assert rows(granted, "grants") == ["Ada had granted process for any target."]
    checked = db.why("demo", "prompt 2")
    [check] = rows(checked, "acceptances")
    assert check.startswith("Check 1 by a command on turn 4: fail: ran 'false', exit=1")
    assert expect_reasons(db) > 100


def test_a_child_says_which_prompt_it_is_for(db: engine.Database, tmp_path: Path) -> None:
    ran(db, tmp_path / "work", "<subtask>look</subtask>", DONE, DONE, max_depth=1)
    child = db.why("demo-1")
    assert [row.says for row in child.rows[:2]] == [
        "The run demo started it for a part of its work (subtask).",
        "It works for prompt 1 of demo.",
    ]
    assert rows(db.why("demo", "look"), "run_overview") == [
        "It delegated the work to the child run demo-1, which is done."
    ]


def test_handoffs_and_steps_of_a_workflow_are_named(db: engine.Database, tmp_path: Path) -> None:
    first = script(tmp_path, '<handoff persona="billing">The order is A1.</handoff>')
    billing = engine.Handoff("billing", "You refund.", when="it is about money")
    ran(db, tmp_path / "work", handoffs=[billing], model=first)
    assert rows(db.why("demo", "prompt 1"), "prompt_handoffs") == [
        "It was handed over to the persona billing, which continues in prompt 2."
    ]
    assert rows(db.why("demo", "prompt 2"), "prompt_handoffs") == [
        "Prompt 1 was handed over to the persona billing: The order is A1."
    ]
    steps = "name: w\ndescription: d\nsteps:\n  - {id: a, instruction: go}\n  - {id: b, needs: [a], instruction: on}\n"
    (tmp_path / "w.yaml").write_text(steps)
    db.run_workflow(tmp_path / "w.yaml", run="flow", model=script(tmp_path, DONE), root=tmp_path / "work")
    assert rows(db.why("flow-b"), "step_list") == ["It is the step b of the workflow run flow, after a."]
    assert rows(db.why("flow"), "step_list") == [
        "The step a is completed in the run flow-a.",
        "The step b is completed in the run flow-b, needs a.",
    ]
    assert expect_reasons(db) > 100


def test_guidance_says_why_it_is_loaded_or_not(db: engine.Database, tmp_path: Path) -> None:
    root = project.make(tmp_path / "ledger", {"AGENTS.md": project.ROOT}, project.CODE, project.skills())
    ran(db, root, DONE)
    assert [row.source for row in db.why("demo", "AGENTS.md").rows if row.topic == "instructions"] == [
        "setting_list",
        "prompt_layers",
    ]
    skill = db.value("select name from skills limit 1")
    assert {"skills", "prompt_layers"} <= {row.source for row in db.why("demo", f"skill://{skill}").rows}
    assert expect_reasons(db) > 100


def test_rules_say_which_word_loaded_them(db: engine.Database, tmp_path: Path) -> None:
    db.execute("insert into rule_sets (project_id) values (null)")
    for name in ("testing", "style", "gone"):
        db.execute("insert into rule_domains (rule_set_id, name) values (1, ?)", (name,))
    db.execute("insert into rule_keywords (rule_set_id, domain_id, kind, word) values (1, 1, 'recall', 'go')")
    db.execute("insert into rule_keywords (rule_set_id, domain_id, kind, word) values (1, 2, 'recall', 'paint')")
    ran(db, tmp_path / "work", DONE)
    assert db.why("demo", "testing").rows[0].says == "Prompt 1 loaded it: it has the word go."
    assert db.why("demo", "style").rows[0].says == "Prompt 1 did not load it, because none of its words match."
    expect_reasons(db)


def test_a_fork_answers_for_its_past(db: engine.Database, tmp_path: Path) -> None:
    ran(db, tmp_path / "work", '<set path="known://a">one</set>' + GO_ON, DONE)
    db.fork("demo", "child", at=2)
    told = db.why("child", 1)
    assert told.rows[0].key == {"run": "demo", "loop": 1}
    assert "was forked from demo, before its turn 2" in db.why("child").text
    with pytest.raises(NotFound, match="nothing is known about '2'"):
        db.why("child", 2)


def test_unknown_names_are_404_with_the_nearest(db: engine.Database, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="run 'demo': there is no such run"):
        db.why("demo")
    ran(db, tmp_path / "work", DONE)
    with pytest.raises(NotFound, match=r"did you mean notes\.md\?"):
        db.why("demo", "note.md")
    with pytest.raises(TypeError, match=r"name must be a text or None, not 1\.5"):
        db.why("demo", 1.5)  # type: ignore[arg-type]


def test_the_command_prints_words_rows_and_json(tmp_path: Path) -> None:
    evil = "\x1b[2Jfake\nthe turn 9:\n  It never happened. <script>"
    with engine.open(tmp_path / "t.db") as db:
        ran(db, tmp_path / "work", f'<set path="known://{evil}">x</set><sh>echo {evil}</sh>' + GO_ON, DONE)
    db_option = ["--db", str(tmp_path / "t.db")]
    printed = cli(tmp_path, "why", "demo", "1", "--rows", *db_option).stdout
    assert printed.splitlines()[:3] == [
        "the turn 1",
        "  It is the first turn of prompt 1.",
        "    select * from loop_list where run is 'demo' and loop is 1",
    ]
    with engine.open(tmp_path / "t.db", read_only=True) as db:
        for number in db.tuples("select id from commands"):
            printed = cli(tmp_path, "why", "demo", f"command {number[0]}", "--rows", *db_option).stdout
            assert "\x1b" not in printed
            assert [line for line in printed.splitlines() if line.startswith("the turn")] == []
        statements = [line.strip() for line in printed.splitlines() if line.startswith("    select")]
        assert all(db.sql(statement) for statement in statements)
    told = json.loads(cli(tmp_path, "why", "demo", "model", "--json", *db_option).stdout)
    assert {row["topic"] for row in told["rows"]} == {"setting", "model"}
    assert told["text"].startswith("the setting model:\n  model is ")
    missing = cli(tmp_path, "why", "demo", "nothing", *db_option)
    assert (missing.returncode, "nothing is known about 'nothing'" in missing.stderr) == (2, True)


def test_tables_of_an_app_with_such_names_are_not_in_the_way(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db") as db:
        ran(db, tmp_path / "work", DONE)
        for name in ("turn_reasons", "reason_subjects", "skills"):
            db.execute(f"create table {name} (run text, topic text)")
        assert db.why("demo", 1).rows[0].says == "It is the first turn of prompt 1."
        with db.transaction(), pytest.raises(Conflict, match=r"contains table .* a name that the engine needs"):
            db.why("demo", 1)
        db.execute("drop table skills")
        db.execute("drop table turn_reasons")
        db.execute("drop table reason_subjects")
        with db.transaction():
            assert db.why("demo", 1).rows[0].says == "It is the first turn of prompt 1."
        assert not db.has("why")
