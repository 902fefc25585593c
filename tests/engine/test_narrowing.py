"""Narrowing: a loop is told of few tools, where somebody asks for that.

1. Without being asked nothing is left out. 2. The core and what the prompt needs are told, the others by name. 3. What is
not told may be called, and is told from then on; nothing else changes the system message. 4. All are told where nothing
is found. 5. What a run used it is told again. 6. An option wins over the setting. 7. Tools of an app are found, by the
names of their arguments too.

spec: @narrowed_tools
"""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import DONE, GO_ON, script

import engine
from engine.errors import ValidationError

DELETE = "Delete the old drafts"


def told(db: engine.Database, turn: int, run: str = "demo") -> list[str]:
    """The tools whose documents a packet has."""
    query = "select source from prompt_layers where run = ? and turn = ? and layer = 'tools' order by ordinal"
    return [row["source"] for row in db.rows(query, (run, turn))]


def choices(db: engine.Database, loop: int = 1) -> dict[str, str | None]:
    return {row["tool"]: row["reason"] for row in db.rows("select * from tool_choices where loop = ?", (loop,))}


def root(tmp_path: Path) -> Path:
    """The folder of a run: one without is told of few tools anyway."""
    (found := tmp_path / "root").mkdir(exist_ok=True)
    return found


def test_nothing_is_left_out_unasked(db: engine.Database, tmp_path: Path) -> None:
    db.run(DELETE, run="demo", model=script(tmp_path, DONE), root=root(tmp_path))
    assert {"rm", "cp", "mv"} <= set(told(db, 1))
    assert not db.rows("select * from tool_choices")
    assert not db.rows("select 1 from search_texts"), "nothing was searched"


def test_the_prompt_and_the_core_say_what_is_told(db: engine.Database, tmp_path: Path) -> None:
    db.run(DELETE, run="demo", model=script(tmp_path, GO_ON, DONE), root=root(tmp_path), narrow_tools=1, no_web=True)
    assert told(db, 1) == told(db, 2) == ["get", "set", "think", "env", "sh", "rm", "update"]
    assert choices(db) == {
        **dict.fromkeys(("get", "set", "think", "env", "sh", "update"), "core"),
        "rm": "found",
        **dict.fromkeys(("cp", "mv", "ask_user"), None),
    }
    text = db.value("select body from packet_texts where run = 'demo' and turn = 1 and role = 'system'")
    assert "You MAY also call cp, mv, ask_user: " in text


def test_a_tool_that_is_called_is_performed_and_told_of(db: engine.Database, tmp_path: Path) -> None:
    known = '<set path="known://a">x</set>' + GO_ON
    moved = '<mv path="known://a" to="known://b"/>' + GO_ON
    model = script(tmp_path, known, moved, GO_ON, DONE)
    assert db.run(DELETE, run="demo", model=model, root=root(tmp_path), narrow_tools=1).status == 200
    assert db.value("select state from commands where action = 'mv'") == "resolved"
    assert "mv" not in told(db, 2)
    assert told(db, 3) == told(db, 4) == [*told(db, 2)[:-1], "mv", "update"]
    assert choices(db)["mv"] == "called"
    changes = db.value("select count(distinct sha256) from packet_texts where run = 'demo' and role = 'system'")
    assert changes == 2, "the prefix changes once"


def test_all_are_told_where_nothing_is_found(db: engine.Database, tmp_path: Path) -> None:
    db.run("Hmm?", run="demo", model=script(tmp_path, DONE), root=root(tmp_path), narrow_tools=1)
    assert {"rm", "cp", "mv", "ask_user"} <= set(told(db, 1))
    assert choices(db) == {None: "all"}


def test_what_a_run_used_is_told_in_its_next_loop(db: engine.Database, tmp_path: Path) -> None:
    db.execute("update settings set value = '1' where name = 'narrow_tools'")
    model = script(tmp_path, '<rm path="known://none*" manifest/>' + GO_ON, DONE, DONE, DONE)
    db.run(DELETE, run="demo", model=model, root=root(tmp_path))
    db.run("Copy the template", run="demo", model=model, root=root(tmp_path))
    assert {tool: why for tool, why in choices(db, 2).items() if why not in ("core", None)} == {
        "rm": "used",
        "cp": "found",
    }
    db.run("Copy the template", run="demo", model=model, root=root(tmp_path), narrow_tools=0)
    assert "mv" in told(db, 4), "the option wins over the setting"


def test_a_tool_of_an_app_is_found_among_many(tmp_path: Path) -> None:
    def tool(name: str, meaning: str) -> object:
        def call(place: str) -> str:
            return place

        call.__name__, call.__doc__ = name, meaning
        return engine.tool(call)

    tools = [tool(f"gauge_{number}", "Read the pressure of a boiler.") for number in range(30)]
    tools.append(tool("forecast", "Tell the weather of a city, tomorrow or today."))
    with engine.open(tmp_path / "t.db", tools=tools) as db:
        db.run("What weather will Zurich have?", run="demo", model=script(tmp_path, DONE), narrow_tools=3)
        assert "forecast" in told(db, 1)
        assert len([name for name in told(db, 1) if name.startswith("gauge")]) < 3
        assert len(choices(db)) > 30


@pytest.mark.parametrize("prompt", ["Which warehouse is full?", "What does the recipient owe?", "Is it in the city?"])
def test_a_tool_is_found_by_the_names_of_its_arguments(tmp_path: Path, prompt: str) -> None:
    @engine.tool
    def zork(warehouse: str, recipientAddress: str, in_city: str = "") -> str:
        """Do it.

        Args:
            recipientAddress: where to
        """
        return warehouse + recipientAddress + in_city

    @engine.tool
    def other(place: str) -> str:
        """Do something else."""
        return place

    with engine.open(tmp_path / "t.db", tools=[zork, other]) as db:
        db.execute("update search_rankers set weight = 0 where name = 'meaning'")
        db.run(prompt, run="demo", model=script(tmp_path, DONE), narrow_tools=3)
        assert (choices(db)["zork"], choices(db)["other"]) == ("found", None)


def test_a_native_model_is_given_what_it_is_told_of(db: engine.Database, tmp_path: Path) -> None:
    db.execute(
        "insert into models (alias, actual, tool_calling, created_at) values ('native', ?, 'native', 0)",
        (script(tmp_path, DONE),),
    )
    db.run(DELETE, run="demo", model="native", root=root(tmp_path), narrow_tools=1)
    assert [row["name"] for row in db.rows("select name from _turn_tools order by ordinal")] == told(db, 1)


@pytest.mark.parametrize("most", [-1, 101])
def test_a_number_out_of_bounds_is_refused(db: engine.Database, tmp_path: Path, most: int) -> None:
    with pytest.raises(ValidationError, match="narrow_tools"):
        db.run(DELETE, model=script(tmp_path, DONE), narrow_tools=most)
    with pytest.raises(ValidationError, match="core_tools"):
        db.execute("update settings set value = 'get\"' where name = 'core_tools'")
