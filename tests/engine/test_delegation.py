"""Delegation: subtask and execute give work to child runs.

1. The tools: who has them, what comes of them, what is refused without asking a model. 2. Tiers. 3. Limits. 4. What parent
and child know of each other. 5. Files: claims, modes. 6. People: proposals of the tree, from here and from another handle.
7. Abort, stop and resume.

spec: @verification @delegation @model_tiers @delegation_limits @delegation_ends @write_claims @trees
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from delegating import DONE, GO_ON, Cast, ended, gives

import engine
from engine.errors import Conflict

LOG = (
    "select action, status, body from run_log "
    "where run = ? and turn is not null and action in ('subtask', 'execute', 'set', 'get', 'sh')"
)


def drive(db: engine.Database, cast: Cast, root: Path | None = None, run: str = "demo", **options: Any) -> Any:
    return db.run("Do it", model=cast, run=run, root=root, **{"max_depth": 1, **options})


def said(db: engine.Database, run: str = "demo") -> list[tuple[str, int, str]]:
    return [tuple(row.values()) for row in db.rows(f"{LOG} order by turn, ordinal", (run,))]


def status_of(db: engine.Database) -> dict[str, int]:
    return {run.run: run.status for run in reversed(db.runs())}


def entry(db: engine.Database, path: str, run: str = "demo") -> Any:
    return db.value("select body from known_entries where run = ? and path = ?", (run, path))


# the tools


def test_without_max_depth_no_model_is_told_of_it(db: engine.Database) -> None:
    cast = Cast({"demo": [gives("a part"), DONE]})
    assert drive(db, cast, max_depth=None).status == 200
    assert "subtask" not in cast.seen("demo")
    assert said(db)[0][:2] == ("subtask", 403)
    assert status_of(db) == {"demo": 200}


def test_a_setting_opens_the_tools_and_an_option_closes_them(db: engine.Database) -> None:
    db.execute("update settings set value = '1' where name = 'max_depth'")
    cast = Cast({})
    drive(db, cast, max_depth=None)
    assert "<subtask>" in cast.seen("demo")
    assert "<execute>" in cast.seen("demo")
    drive(db, cast, run="flat", max_depth=0)
    assert "<subtask>" not in cast.seen("flat")


def test_children_work_and_their_parent_reads_their_answers(db: engine.Database) -> None:
    cast = Cast(
        {"demo": [gives("Count the rows", "Count the columns"), DONE], "demo-1": [f"7 rows{ended()}"]}, cost=0.01
    )
    result = drive(db, cast)
    assert (result.status, result.turns) == (200, 2)
    assert (result.cost, result.tree_cost) == (pytest.approx(0.02), pytest.approx(0.04))
    own = [(run.run, run.cost, run.tree_cost) for run in db.runs() if run.run in ("demo", "demo-2")]
    assert own == [("demo-2", 0.01, 0.01), ("demo", pytest.approx(0.02), pytest.approx(0.04))]
    assert db.value("select sum(cost) from cost_by_day") == pytest.approx(0.04)
    rows, columns = said(db)
    assert rows[:2] == ("subtask", 200)
    assert rows[2].startswith("demo-1 ended at 200 after 1 turn, $0.0100.")
    assert rows[2].endswith("\n7 rows")
    assert columns[2].endswith("\ndemo-2 is done.")
    assert "7 rows" in cast.seen("demo", 1)
    assert "Count the rows" in cast.seen("demo-1")
    assert "Do it" not in cast.seen("demo-1")
    assert entry(db, "subtask://turn_1/Count_the_rows") == "7 rows"
    assert "update" in entry(db, "subtask://turn_1/Count_the_rows/log")


def test_a_long_answer_is_shown_in_part_and_kept_whole(db: engine.Database) -> None:
    drive(db, Cast({"demo": [gives("List them")], "demo-1": ["x" * 7_000 + ended()]}))
    body = said(db)[0][2]
    assert len(body) < 6_500
    assert "1,000 characters left out; all of it: subtask://turn_1/List_them" in body
    assert entry(db, "subtask://turn_1/List_them") == "x" * 7_000


@pytest.mark.parametrize("tool", ["subtask", "execute"])
def test_an_empty_task_is_refused_without_asking_a_model(db: engine.Database, tool: str) -> None:
    cast = Cast({"demo": [gives(" ", tool=tool), DONE]})
    drive(db, cast)
    assert said(db)[0][:2] == (tool, 400)
    assert cast.asked == [("demo", 0), ("demo", 1)]
    assert status_of(db) == {"demo": 200}


def test_one_that_fails_spares_its_siblings_and_aborts_what_follows(db: engine.Database) -> None:
    cast = Cast(
        {
            "demo": [gives("", "fails", "works").removesuffix(GO_ON) + "<set path='known://a'>b</set>" + GO_ON, DONE],
            "demo-1": [f"cannot{ended('cannot', 422)}"],
        }
    )
    drive(db, cast)
    empty, failed, worked, follows = said(db)
    assert (empty[1], failed[1], worked[1], follows[1]) == (400, 500, 200, 499)
    assert failed[2].startswith("demo-1 ended at 422")
    assert db.value("select outcome from commands where action = 'subtask' and ordinal = 1") == "child:422"


def test_only_neighbours_are_a_group(db: engine.Database) -> None:
    between = '<set path="known://between">written in between</set>'
    first, second = gives("first").removesuffix(GO_ON), gives("second")
    cast = Cast({"demo": [first + between + second, DONE]})
    drive(db, cast)
    assert [row[1] for row in said(db)] == [200, 200, 200]
    assert "written in between" not in cast.seen("demo-1")
    assert "written in between" in cast.seen("demo-2")


def test_an_executor_has_no_such_tools(db: engine.Database) -> None:
    cast = Cast({"demo": [gives("steps", tool="execute"), DONE], "demo-1": [gives("more"), DONE]})
    drive(db, cast, max_depth=3)
    assert "<subtask>" not in cast.seen("demo-1")
    assert said(db, "demo-1")[0][:2] == ("subtask", 403)
    assert status_of(db) == {"demo": 200, "demo-1": 200}


def test_a_compact_model_has_no_such_tools(db: engine.Database) -> None:
    cast = Cast({})
    actual = db.give_model(cast)
    db.execute("insert into models (alias, actual, profile, created_at) values ('small', ?, 'compact', 0)", (actual,))
    db.run("Do it", model="small", run="demo", max_depth=1)
    assert "subtask" not in cast.seen("demo")


# tiers


@pytest.fixture
def tiered(db: engine.Database) -> engine.Database:
    """Models as aliases of one object, and tiers by its names."""
    for name, tier in (("top", 1), ("middle", 2), ("low", 3)):
        cast = Cast({})
        cast.name = name
        db.execute("insert into models (alias, actual, created_at) values (?, ?, 0)", (name, db.give_model(cast)))
        db.execute("insert into model_tiers (pattern, tier) values (?, ?)", (f"object:{name}", tier))
    return db


def play(db: engine.Database, name: str, *answers: str) -> None:
    cast = Cast({"demo": answers, name: answers})
    cast.name = name
    db.give_model(cast)


def model_of(db: engine.Database, run: str) -> Any:
    return db.value("select model from runs where alias = ?", (run,))


def test_a_subtask_goes_to_a_model_of_the_same_tier_or_below(tiered: engine.Database) -> None:
    play(tiered, "middle", gives("same") + gives("below", model="low"), gives("above", model="top"), DONE)
    tiered.run("Do it", model="middle", run="demo", max_depth=1)
    same, below, above = said(tiered)
    assert (same[1], below[1], above[1]) == (200, 200, 403)
    assert "top is of tier 1, above yours (2)" in above[2]
    assert [model_of(tiered, "demo-1"), model_of(tiered, "demo-2"), model_of(tiered, "demo-3")] == [
        "middle",
        "low",
        None,
    ]


@pytest.mark.parametrize(
    "asked",
    [
        "scripted:/etc/passwd",
        "replay:other.db#run",
        "openai/gpt-4o",
        "gguf:/tmp/m",
        "http://198.51.100.7/v1#m",
        "nobody",
    ],
)
def test_a_model_names_no_file_and_no_other_provider(tiered: engine.Database, asked: str) -> None:
    play(tiered, "middle", gives("part", model=asked), DONE)
    tiered.run("Do it", model="middle", run="demo", max_depth=1)
    assert said(tiered)[0][1] == 404
    assert "Leave model out, or name low, middle, top" in said(tiered)[0][2]


def test_an_execute_goes_to_the_executor_of_the_model_unless_that_is_dearer(tiered: engine.Database) -> None:
    tiered.execute("insert into executor_models (pattern, model) values ('Object:Mid*', 'low'), ('object:low', 'top')")
    for name in ("middle", "low"):
        play(tiered, name, gives("steps", tool="execute"), DONE)
        tiered.run("Do it", model=name, run=name, max_depth=1)
    assert [model_of(tiered, "middle-1"), model_of(tiered, "low-1")] == ["low", "low"]


@pytest.mark.parametrize(
    ("own", "asked", "allowed"),
    [
        ("anthropic/claude-opus-4", "claude-haiku-4-5", True),
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4", False),
        ("anthropic/claude-haiku-4-5", "claude-sonnet-4-5", False),
        ("openai/gpt-5-codex-low", "openai/gpt-5-codex-xhigh", False),
        ("openai/gpt-5-codex-high", "openai/gpt-5-codex-low", True),
        ("openai/gpt-4o", "openai/gpt-4.1", True),
        ("openai/gpt-4o-mini", "openai/gpt-4o", False),
        ("openai/gpt-5-mini", "openai/gpt-5-nano", True),
        # what is not known is no way upwards, and none to anything else
        ("anthropic/claude-sonnet-4-5", "claude-next", False),
        ("anthropic/claude-opus-4", "claude-next", True),
        ("ollama/qwen", "ollama/qwen", True),
        ("ollama/qwen", "ollama/sonnet", False),
        ("ollama/qwen", "ollama/other", False),
        # the name of the provider, or of who made a model, says nothing
        ("openrouter/haiku-proxy/sonnet", "openrouter/haiku-proxy/claude-opus", False),
        ("opus-proxy/claude-haiku", "opus-proxy/claude-sonnet", False),
        # of a person's own rows the case does not matter, and one with a slash is about the whole name
        ("mine/Large", "mine/small", True),
        ("mine/SMALL", "mine/large", False),
        ("cheap/any", "cheap/claude-opus", True),
    ],
)
def test_the_tiers_of_known_models(db: engine.Database, own: str, asked: str, allowed: bool) -> None:
    from driving import begin, turn

    own_rows = "('Mine/*LARGE*', '', 1), ('*Small*', '', 3), ('Cheap/claude-*', '', 4), ('cheap/*', '', 3)"
    db.execute(f"insert into model_tiers (pattern, effort, tier) values {own_rows}")
    begin(db, "demo", model=own, max_depth=1)
    db.insert("_claim_lease", run="demo", token="t", holder="{}")
    db.insert("_offer_delegation", run="demo", lease="t")
    db.execute("update leases set expires_at = 0")
    turn(db, "demo", gives("part", model=asked))
    refusal = db.value("select refusal from _delegation_refusals")
    assert (refusal is None) is allowed, refusal


# limits


def test_no_deeper_than_max_depth(db: engine.Database) -> None:
    part = [gives("deeper"), DONE]
    cast = Cast({"demo": part, "demo-1": part, "demo-1-1": part})
    drive(db, cast, max_depth=2)
    assert status_of(db) == {"demo": 200, "demo-1": 200, "demo-1-1": 200}
    assert "<subtask>" in cast.seen("demo-1")
    assert "<subtask>" not in cast.seen("demo-1-1")


def test_no_more_than_max_children_of_a_prompt(db: engine.Database) -> None:
    db.execute("update settings set value = '1' where name = 'max_children'")
    drive(db, Cast({"demo": [gives("a", "b"), DONE]}))
    assert [row[1] for row in said(db)] == [200, 403]
    assert "delegated 1 time, which is the limit (setting max_children)" in said(db)[1][2]


def test_the_turns_of_a_tree_are_limited(db: engine.Database) -> None:
    db.execute("update settings set value = '3' where name = 'max_tree_turns'")
    busy = [f'<set path="known://{n}">{n}</set>{GO_ON}' for n in range(9)]
    cast = Cast({"demo": [gives("a"), gives("b"), DONE], "demo-1": busy})
    assert drive(db, cast).status == 200
    first, second = said(db)
    assert (first[1], second[1]) == (500, 403)
    assert "stopped: the runs below demo have had 3 turns, which is the limit (setting max_tree_turns)" in first[2]
    assert "Not delegated: the runs below demo have had 3 turns" in second[2]
    assert [run for run, _ in cast.asked].count("demo-1") == 3


def test_the_seconds_of_a_tree_are_limited() -> None:
    from driving import Clock
    from fresh import fresh

    clock = Clock()

    def wait(_: Any) -> str:
        clock.now += 60_000
        return GO_ON

    with fresh(clock=clock) as db:
        db.execute("update settings set value = '100' where name = 'max_tree_seconds'")
        drive(db, Cast({"demo": [gives("a"), DONE], "demo-1": [wait] * 9}))
        assert "have had 100 seconds, which is the limit (setting max_tree_seconds)" in said(db)[0][2]


# what they know of each other


def test_a_child_knows_the_facts_of_its_parent_and_they_take_its_own(db: engine.Database) -> None:
    keep = '<set path="known://{0}">{1}</set>'.format
    cast = Cast(
        {
            "demo": [keep("plan", "tables first") + keep("old", "one") + GO_ON, gives("a", "b"), DONE],
            "demo-1": [keep("new", "found by 1") + keep("old", "two") + GO_ON],
            "demo-2": [keep("new", "found by 2") + GO_ON],
        }
    )
    db.execute("update settings set value = '1' where name = 'max_parallel_children'")
    drive(db, cast)
    assert "tables first" in cast.seen("demo-1")
    facts = db.rows("select path, body from known_entries where run = 'demo' and scheme = 'known' order by path")
    assert [tuple(row.values()) for row in facts] == [
        ("known://demo-2/new", "found by 2"),
        ("known://new", "found by 1"),
        ("known://old", "two"),
        ("known://plan", "tables first"),
    ]
    assert "found by 1" not in cast.seen("demo-2")
    assert "found by 2" in cast.seen("demo", 2)
    assert "It learned: known://demo-2/new" in said(db)[-1][2]


def test_of_many_facts_the_latest_are_in_view(db: engine.Database) -> None:
    facts = "".join(f'<set path="known://f{n:02}">fact {n:02}</set>' for n in range(20))
    cast = Cast({"demo": [facts + GO_ON, gives("a"), DONE]})
    drive(db, cast)
    seen = [n for n in range(20) if f"fact {n:02}" in cast.seen("demo-1")]
    assert seen == list(range(8, 20))
    assert entry(db, "known://f00", "demo-1") == "fact 00"


def test_what_a_child_learned_goes_up_to_the_top(db: engine.Database) -> None:
    cast = Cast(
        {
            "demo": [gives("a"), DONE],
            "demo-1": [gives("b"), DONE],
            "demo-1-1": [f'<set path="known://deep">water</set>{GO_ON}'],
        }
    )
    drive(db, cast, max_depth=2)
    assert entry(db, "known://deep") == "water"


# files


def test_accepted_changes_are_kept_as_patches_up_to_the_top(db: engine.Database, workspace_dir: Path) -> None:
    cast = Cast(
        {
            "demo": [gives("a"), DONE],
            "demo-1": [f'<set path="a.txt">one\n</set>{GO_ON}', gives("b"), DONE],
            "demo-1-1": [f'<set path="b.txt">two\n</set>{GO_ON}'],
        }
    )
    drive(db, cast, workspace_dir, max_depth=2, yolo=True)
    assert (workspace_dir / "b.txt").read_text() == "two\n"
    patch = entry(db, "patch://demo-1")
    assert patch.index("+++ b/a.txt") < patch.index("+++ b/b.txt")
    assert entry(db, "patch://demo-1-1") is None
    assert entry(db, "patch://demo-1-1", "demo-1").startswith("--- /dev/null\n+++ b/b.txt\n")


def test_the_first_of_siblings_that_writes_a_file_owns_it(db: engine.Database, workspace_dir: Path) -> None:
    db.execute("update settings set value = '1' where name = 'max_parallel_children'")
    write = '<set path="shared.txt">by {0}\n</set>'.format
    cast = Cast(
        {
            "demo": [gives("a", "b"), gives("c"), DONE],
            "demo-1": [gives("below"), DONE],
            "demo-1-1": [write("demo-1-1") + GO_ON],
            "demo-2": [write("demo-2") + GO_ON, DONE],
            "demo-3": [write("demo-3") + GO_ON],
        }
    )
    drive(db, cast, workspace_dir, max_depth=2, yolo=True, overwrite_unseen=True)
    assert said(db, "demo-2") == [
        (
            "set",
            409,
            "shared.txt: run demo-1 works at the same time and has written it; do not change this file, or end and let "
            "your caller change it later.",
        )
    ]
    # the group is over
    assert said(db, "demo-3") == [("set", 200, "")] or said(db, "demo-3")[0][1] == 200
    assert (workspace_dir / "shared.txt").read_text() == "by demo-3\n"


def test_a_patch_that_touches_the_file_of_a_sibling_changes_nothing(db: engine.Database, workspace_dir: Path) -> None:
    db.execute("update settings set value = '1' where name = 'max_parallel_children'")
    patch = "<set>*** Begin Patch\n*** Add File: mine.txt\n+new\n*** Add File: a.txt\n+new\n*** End Patch</set>"
    cast = Cast(
        {
            "demo": [gives("a", "b"), DONE],
            "demo-1": [f'<set path="a.txt">one\n</set>{GO_ON}'],
            "demo-2": [patch + GO_ON],
        }
    )
    drive(db, cast, workspace_dir, yolo=True)
    assert said(db, "demo-2")[0][1] == 409
    assert not (workspace_dir / "mine.txt").exists()


def test_ask_mode_goes_down(db: engine.Database, workspace_dir: Path) -> None:
    cast = Cast({"demo": [gives("a"), DONE], "demo-1": [f'<set path="a.txt">one</set><sh>touch b</sh>{GO_ON}', DONE]})
    drive(db, cast, workspace_dir, mode="ask", yolo=True)
    assert [row[1] for row in said(db, "demo-1")] == [403, 499]
    assert not (workspace_dir / "a.txt").exists()


# people


WRITERS = {
    "demo": [gives("a", "b"), DONE],
    "demo-1": [f'<set path="a.txt">one\n</set>{GO_ON}', DONE],
    "demo-2": [f'<set path="b.txt">two\n</set>{GO_ON}', DONE],
}


def test_proposals_of_children_reach_the_person_with_the_names_of_their_tree(
    db: engine.Database, workspace_dir: Path
) -> None:
    asked: list[tuple[str, str | None]] = []

    def decide(proposal: Any) -> bool:
        asked.append((proposal["run"], proposal["tree"]))
        return bool(proposal["run"] == "demo-1")

    assert drive(db, Cast(WRITERS), workspace_dir, on_proposal=decide).status == 200
    assert sorted(asked) == [("demo-1", "demo > demo-1"), ("demo-2", "demo > demo-2")]
    assert [path.name for path in workspace_dir.glob("*.txt")] == ["a.txt"]
    assert db.rows("select distinct decided_by from decisions") == [{"decided_by": "callback"}]


def test_a_parent_waits_while_its_children_do_and_goes_on_when_they_are_decided(
    db: engine.Database, workspace_dir: Path
) -> None:
    cast = Cast(WRITERS)
    assert drive(db, cast, workspace_dir).status == 202
    assert status_of(db) == {"demo": 202, "demo-1": 202, "demo-2": 202}
    assert sorted(proposal["run"] for proposal in db.proposals("demo")) == ["demo-1", "demo-2"]
    with db.again() as other:
        other.resolve("demo", "log://turn_1/set/a.txt", accept=True)
    assert db.resume("demo").status == 202
    assert status_of(db) == {"demo": 202, "demo-1": 200, "demo-2": 202}
    with db.again() as other:
        other.resolve("demo", accept=True)
    assert db.resume("demo").status == 200
    assert sorted(path.name for path in workspace_dir.glob("*.txt")) == ["a.txt", "b.txt"]
    assert len(cast.asked) == len(set(cast.asked)) == 6


def test_a_path_of_two_children_is_ambiguous(db: engine.Database, workspace_dir: Path) -> None:
    write = [f'<set path="a.txt">one\n</set>{GO_ON}', DONE]
    drive(db, Cast({"demo": [gives("a", "b"), DONE], "demo-1": write, "demo-2": write}), workspace_dir)
    with pytest.raises(Conflict, match="demo-1 and demo-2 have proposals at this path; name one of these runs"):
        db.resolve("demo", "log://turn_1/set/a.txt", accept=True)
    db.resolve("demo-2", "log://turn_1/set/a.txt", accept=True)
    assert [proposal["run"] for proposal in db.proposals()] == ["demo-1"]


def test_a_person_who_comes_back_is_asked_once_and_may_leave_one_open(db: engine.Database, workspace_dir: Path) -> None:
    drive(db, Cast(WRITERS), workspace_dir)
    asked: list[str] = []

    def decide(proposal: Any) -> bool | None:
        asked.append(proposal["run"])
        return None if proposal["run"] == "demo-1" else True

    assert db.resume("demo", on_proposal=decide).status == 202
    assert sorted(asked) == ["demo-1", "demo-2"]
    assert status_of(db) == {"demo": 202, "demo-1": 202, "demo-2": 202}
    assert db.resume("demo").status == 202
    assert status_of(db) == {"demo": 202, "demo-1": 202, "demo-2": 200}


def test_grants_and_policies_of_the_run_hold_below_it(db: engine.Database, workspace_dir: Path) -> None:
    from engine.effects.gate import give_grant

    cast = Cast(
        {
            "demo": [DONE, gives("a"), DONE],
            "demo-1": [f"<sh>make it</sh>{GO_ON}", f'<set path="a.txt">one\n</set>{GO_ON}', DONE],
        }
    )
    drive(db, cast, workspace_dir)
    give_grant(db, "demo", "file_write", None, whole_project=False, by="Ada")
    db.execute(
        "insert into command_policies (name, level, run_id, program, decision, message) "
        "values ('no make', 'run', 1, 'make', 'refuse', 'Refused: not here.')"
    )
    assert drive(db, cast, workspace_dir).status == 200
    assert [row[:2] for row in said(db, "demo-1")] == [("sh", 403), ("set", 200)]
    assert [row["decided_by"] for row in db.rows("select decided_by from decisions")] == ["policy no make", "grant 1"]


# abort, stop, resume


def test_an_abort_of_the_parent_ends_what_works_below_it(db: engine.Database) -> None:
    def abort(_: Any) -> str:
        with db.again() as other:
            other.abort("demo", "enough")
        return GO_ON

    cast = Cast({"demo": [gives("a", "b"), DONE], "demo-1": [gives("c")], "demo-1-1": [abort]})
    result = drive(db, cast, max_depth=2)
    assert (result.status, result.reason) == (499, "enough")
    assert status_of(db)["demo-1"] == status_of(db)["demo-1-1"] == 499
    assert db.value("select count(*) from leases") == 0


def test_an_abort_of_a_child_is_told_to_its_parent(db: engine.Database) -> None:
    def abort(_: Any) -> str:
        with db.again() as other:
            other.abort("demo-1", "not this")
        return GO_ON

    cast = Cast({"demo": [gives("a", "b"), DONE], "demo-1": [abort]})
    assert drive(db, cast).status == 200
    assert status_of(db) == {"demo": 200, "demo-1": 499, "demo-2": 200}
    assert said(db)[0][2].startswith("demo-1 ended at 499")
    assert said(db)[0][2].endswith("not this")


def test_a_stop_leaves_the_tree_where_it_stands_and_a_resume_drives_no_child_again(db: engine.Database) -> None:
    drivers: list[Any] = []

    def stop(_: Any) -> str:
        drivers[0].stop()
        return GO_ON

    db.execute("update settings set value = '1' where name = 'max_parallel_children'")
    cast = Cast({"demo": [gives("a", "b", "c"), DONE], "demo-2": [stop, DONE]})
    assert drive(db, cast, on_driver=drivers.append).status == 102
    assert status_of(db) == {"demo": 102, "demo-1": 200, "demo-2": 102, "demo-3": 100}
    assert db.resume("demo").status == 200
    assert [row[1] for row in said(db)] == [200, 200, 200]
    assert [run for run, _ in cast.asked].count("demo-1") == 1
    assert len(cast.asked) == len(set(cast.asked))


def test_a_child_that_another_process_drives_is_waited_for(db: engine.Database) -> None:
    import threading

    child_is_asked, parent_waits = threading.Event(), threading.Event()

    def slow(_: Any) -> str:
        child_is_asked.set()
        assert parent_waits.wait(300)
        return DONE

    drivers: list[Any] = []

    def stop(_: Any) -> str:
        drivers[0].stop()
        return GO_ON

    cast = Cast({"demo": [gives("a"), DONE], "demo-1": [stop, slow]})
    drive(db, cast, on_driver=drivers.append)

    def elsewhere() -> None:
        with db.again() as other:
            other.resume("demo-1")

    thread = threading.Thread(target=elsewhere)
    thread.start()
    assert child_is_asked.wait(300)
    releaser = threading.Timer(0.3, parent_waits.set)
    releaser.start()
    assert db.resume("demo").status == 200
    thread.join()
    assert len(cast.asked) == len(set(cast.asked))


# criteria


def checked(verdict: str) -> Cast:
    """A run that has a part done with criteria, and a judge that says `verdict`."""
    judge = [f"{verdict} of course{ended(f'{verdict} of course')}"] * 3
    given = {"demo": [gives("Write it", accept="it is short", accept_attempts="1"), DONE], "demo-1": [DONE]}
    return Cast({**given, "demo-1-1": judge, "demo-1-2": judge})


@pytest.mark.parametrize(
    ("verdict", "told", "kept"),
    [
        ("PASS", "demo-1 ended at 200, accepted after 1 turn", "accepted"),
        ("FAIL", "demo-1 ended at 200 (not accepted after 1 attempt: of course", "not accepted"),
    ],
)
def test_the_verdict_stands_in_the_record_of_the_parent(
    db: engine.Database, verdict: str, told: str, kept: str
) -> None:
    drive(db, checked(verdict), max_depth=2)
    assert said(db)[0][2].startswith(told)
    attributes = db.value(
        "select attributes from known_entries where run = 'demo' and path = 'subtask://turn_1/Write_it'"
    )
    assert json.loads(attributes)["verdict"] == kept


def test_a_setting_demands_criteria_of_every_delegation(db: engine.Database, tmp_path: Path) -> None:
    db.execute("update settings set value = '1' where name = 'require_acceptance'")
    cast = Cast(
        {
            "demo": [
                gives("Write it"),
                gives("Write it", tool="execute", accept="  "),
                gives("Write it", accept_command="true"),
                DONE,
            ]
        }
    )
    drive(db, cast, tmp_path, yolo=True)
    refused, blank, done = said(db)
    assert (refused[:2], blank[:2], done[1]) == (("subtask", 400), ("execute", 400), 200)
    assert refused[2].startswith("Delegate only with criteria for the result (setting require_acceptance)")
    assert '<subtask accept="what the result has to fulfil">' in refused[2]
    assert [run for run, _ in cast.asked if run != "demo"] == ["demo-1"], "no model is asked for what is refused"


@pytest.mark.parametrize(
    ("options", "is_asked"),
    [({"max_depth": 1}, True), ({"max_depth": 0, "accept": "short"}, True), ({"max_depth": 0}, False)],
)
def test_who_delegates_or_is_checked_is_asked_to_verify(
    db: engine.Database, options: dict[str, Any], is_asked: bool
) -> None:
    cast = Cast({"demo": [DONE], "demo-1": [f"PASS{ended('PASS')}"]})
    drive(db, cast, **options)
    text = cast.seen("demo")
    assert ("# Implement, then verify" in text) is is_asked
    assert ("delegate the check to a <subtask>" in text) is (options["max_depth"] == 1)
    assert ("are checked after your 200" in text) is ("accept" in options)


def test_who_is_too_deep_is_told_the_depth(db: engine.Database) -> None:
    cast = Cast({"demo": [gives("a part"), DONE], "demo-1": [gives("a part of it"), DONE]})
    drive(db, cast, max_depth=1)
    ((_, status, told),) = said(db, "demo-1")
    assert status == 403
    assert told.startswith(
        "This run is already 1 level deep, and max_depth is 1, so it cannot delegate further. Use one of: "
    )
    drive(db, Cast({"flat": [gives("a part"), DONE]}), run="flat", max_depth=0)
    assert said(db, "flat")[0][2].startswith("This run may not delegate (max_depth is 0).")
