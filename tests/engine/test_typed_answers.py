"""Answers as objects of the app: from Python, asyncio, the terminal, after a kill of the process, and for type checkers.

1. Each kind of type gives its object; what its class checks beyond the schema goes back to the model.
2. A prompt without an object says why, as an error of its own.
3. Any other handle, and any later one, reads the value; the type is given again.
4. `engine run --schema FILE` prints the answer as JSON; one that never fits exits with 8.
5. mypy knows the type of `Result.output`.
6. A run without `output` is told of nothing, and its file takes nothing in.

spec: @answer_types @typed_answers @answer_attempts @partial_answers @on_event
"""

from __future__ import annotations

import asyncio
import enum
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest
from driving import DONE, opened, script
from engine_cli import engine as cli
from pydantic import BaseModel, field_validator

import engine
from engine.models.protocol import Completion, Request
from engine.stream_events import EndEvent, PartialEvent


class Line(BaseModel):
    name: str
    price: float

    @field_validator("name")
    @classmethod
    def is_known(cls, name: str) -> str:
        if name == "unknown":
            raise ValueError("name what was ordered")
        return name


class Order(BaseModel):
    lines: list[Line]
    replaces: Order | None = None


@dataclass
class Point:
    x: int
    y: int = 0

    def __post_init__(self) -> None:
        if self.x < self.y:
            raise ValueError("x is at least y")


class Place(TypedDict):
    name: str


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


def said(value: Any, status: int = 200) -> str:
    return f'<update status="{status}">{value if isinstance(value, str) else json.dumps(value)}</update>'


def events_of(db: engine.Database) -> list[tuple[Any, ...]]:
    return db.tuples("select place, fault from refused_answers order by loop, turn")


# 1. each kind of type


@pytest.mark.parametrize(
    ("output", "answer", "meant"),
    [
        (Order, {"lines": [{"name": "ink", "price": 2}]}, Order(lines=[Line(name="ink", price=2)])),
        (list[Line], [{"name": "ink", "price": 2}], [Line(name="ink", price=2)]),
        (Point, {"x": 3}, Point(3)),
        (Place, {"name": "Bonn"}, {"name": "Bonn"}),
        (list[str], ["a", "b"], ["a", "b"]),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Literal["yes", "no"], "yes", "yes"),
        (int | None, None, None),
        (Point | Place, {"name": "Bonn"}, {"name": "Bonn"}),
        (Size, "large", Size.LARGE),
        (str, "as it is", "as it is"),
        (bool, "true", True),
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], [1, 2]),
        ('{"type": "integer"}', 3, 3),
    ],
)
def test_a_type_gives_its_object(db: engine.Database, tmp_path: Path, output: Any, answer: Any, meant: Any) -> None:
    result = db.run("Read it", model=script(tmp_path, said(answer)), output=output)
    assert (result.status, result.output) == (200, meant)
    assert type(result.output) is type(meant)
    assert json.loads(db.value("select output from loops")) == json.loads(result.output_json or "")


def test_what_a_class_checks_goes_back_to_the_model(db: engine.Database, tmp_path: Path) -> None:
    wrong = {"lines": [{"name": "unknown", "price": 2}]}
    result = db.run("Read it", model=script(tmp_path, said(wrong), said({"lines": []})), output=Order)
    assert result.output == Order(lines=[])
    assert events_of(db) == [("$.lines[0].name", "name what was ordered")]
    again = db.run("Read it", model=script(tmp_path, said({"x": 1, "y": 2}), said({"x": 2})), output=Point)
    assert again.output == Point(2)
    assert events_of(db)[1:] == [("$", "x is at least y")]


def test_a_type_that_json_cannot_be_read_into_is_refused(db: engine.Database, tmp_path: Path) -> None:
    for output in (complex, Path, {"type": object}, {"$ref": "other.json"}):
        with pytest.raises(engine.ValidationError, match=r"400 .*output"):
            db.run("Read it", model=script(tmp_path, DONE), output=output)
    assert not db.runs()


# 2. without an object


def test_a_prompt_without_an_object_says_why(db: engine.Database, tmp_path: Path) -> None:
    never = db.run("Read it", model=script(tmp_path, *[said("many")] * 5), output=int, output_attempts=2)
    assert (never.status, never.turns, never.answer) == (406, 2, "many")
    with pytest.raises(engine.NoOutput, match=r"406 run .* ended at 406: the answer did not fit after 2 attempts: "):
        _ = never.output
    cannot = db.run("Read it", model=script(tmp_path, said("there is none", 422)), output=int)
    with pytest.raises(engine.NoOutput, match="its prompt ended at 422"):
        _ = cannot.output
    plain = db.run("Read it", model=script(tmp_path, DONE))
    with pytest.raises(engine.NoOutput, match="did not ask for one"):
        _ = plain.output
    assert json.loads(plain.to_json())["output"] is None


def test_the_same_answer_over_and_over_ends_at_406_as_well(db: engine.Database, tmp_path: Path) -> None:
    result = db.run("Read it", model=script(tmp_path, *[said("many")] * 5), output=int)
    assert (result.status, result.turns) == (406, 3)


# 3. elsewhere and later


def test_another_handle_reads_the_value(tmp_path: Path) -> None:
    model = script(tmp_path, said({"lines": [{"name": "ink", "price": 2}]}))
    with opened(tmp_path) as db:
        run = db.start("Read it", run="later", model=model, output=Order)
        with pytest.raises(engine.NoOutput, match="has not ended"):
            _ = db.result("later", output=Order).output
        path = db.path
    with engine.open(path) as db:
        assert db.resume("later").output == {"lines": [{"name": "ink", "price": 2}]}
        assert db.result("later", run.loops, output=Order).output.lines[0].price == 2
        with pytest.raises(engine.NoOutput, match="the output is no Point"):
            _ = db.result("later", output=Point).output


def test_asyncio_gives_the_object_too(tmp_path: Path) -> None:
    async def ask() -> Order:
        async with await engine.open_async(tmp_path / "async.db") as db:
            wrong = {"lines": [{"name": "unknown", "price": 2}]}
            model = script(tmp_path, said(wrong), said({"lines": []}))
            return (await db.run_async("Read it", model=model, output=Order)).output

    assert asyncio.run(ask()) == Order(lines=[])


class Slow:
    """Writes its answers in pieces of 3 characters."""

    name = "slow"

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)

    def complete(self, request: Request, on_delta: Callable[[str], None], _: threading.Event, /) -> Completion:
        answer = self._answers[request.position]
        for start in range(0, len(answer), 3):
            on_delta(answer[start : start + 3])
        return Completion(answer)


def test_a_partial_object_is_told_while_the_model_writes(db: engine.Database) -> None:
    events: list[Any] = []
    model = Slow(said({"name": "Bonn"}))
    db.run("Read it", model=model, output=Place, on_event=events.append)
    told = [event["output"] for event in events if event["type"] == "partial"]
    assert told[0] in ({}, {"name": ""})
    assert {"name": "Bon"} in told or {"name": "Bo"} in told
    assert told[-1] == {"name": "Bonn"}
    events.clear()
    db.run("Say it", model=Slow(said({"name": "Bonn"})), on_event=events.append)
    assert "delta" in {event["type"] for event in events}
    assert "partial" not in {event["type"] for event in events}


def test_a_stream_ends_with_the_object(db: engine.Database) -> None:
    *events, end = db.stream("Read it", model=Slow(said({"name": "Bonn"})), output=Place)
    assert isinstance(end, EndEvent)
    assert end.result.output == {"name": "Bonn"}
    assert [event.output for event in events if isinstance(event, PartialEvent)][-1] == {"name": "Bonn"}


# 4. at the terminal


def test_the_terminal_takes_a_schema(tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text('{"type": "object", "required": ["port"]}', encoding="utf-8")
    model = script(tmp_path, said("nine"), said({"port": 9}), *[said("nine")] * 3)
    common = ("run", "--model", model, "--schema", str(tmp_path / "order.json"))
    good = cli(tmp_path, *common, "--run", "a", "--json", "Read it")
    assert (good.returncode, json.loads(good.stdout.splitlines()[-1])["output"]) == (0, {"port": 9})
    bad = cli(tmp_path, *common, "--run", "a", "Read it")
    assert bad.returncode == 8
    assert bad.stdout == ""
    assert "did not fit after 3 attempts" in bad.stderr
    missing = cli(tmp_path, *common[:-1], str(tmp_path / "none.json"), "Read it")
    assert missing.returncode == 2
    assert "none.json" in missing.stderr


# 5. for type checkers

_TYPED = """
import engine
from typing import Literal
from dataclasses import asdict, dataclass

@dataclass
class Point:
    x: int

async def typed(db: engine.Database) -> None:
    reveal_type(db.run("x", output=Point).output)
    reveal_type(db.run("x", output=list[str], model="m").output)
    reveal_type(db.run("x", output=Literal["a", "b"]).output)
    reveal_type(db.run("x", output=int | Point).output)
    reveal_type(db.run("x", output=engine.json_schema({"type": "string"})).output)
    reveal_type((await db.run_async("x", output=Point)).output)
    reveal_type(db.resume("x", output=Point).output)
    reveal_type(db.result("x", output=Point).output)

def plain(db: engine.Database) -> engine.Result:
    return db.run("x")
"""


@pytest.mark.slow
def test_mypy_knows_the_type_of_an_output(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(_TYPED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports", "app.py"],
        cwd=tmp_path, env={**os.environ, "MYPYPATH": str(Path(engine.__file__).parents[1])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert told == [
        "app.Point", "list[str]", "Literal['a'] | Literal['b']", "int | app.Point", "Any", "app.Point", "app.Point",
        "app.Point",
    ], done.stdout  # fmt: skip
    assert "error" not in done.stdout, done.stdout


# 6. what others pay


def test_a_run_without_a_form_is_told_of_none(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        db.run("Read it", model=script(tmp_path, DONE))
        assert not db.has("typed_answers")
        assert db.value("select count(*) from packet_texts where body like '%JSON that fits%'") == 0
        db.run("Read it", model=script(tmp_path, said(3)), output=int)
        assert db.has("typed_answers")


def test_a_result_is_json_ready() -> None:
    """What an app makes of a result by `dataclasses.asdict` holds values only."""
    result = engine.Result("demo", 200, "1", 1, output_json="1")
    assert json.loads(json.dumps(asdict(result)))["output_json"] == "1"
    assert result.output == 1
