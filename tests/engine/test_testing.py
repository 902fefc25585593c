"""What `engine.testing` brings an app's tests: models, recordings, assertions, a clock; and the plugin in pytest itself.

1. Models. 2. What an assertion says. 3. Recordings: the same passes, anything else fails and is shown. 4. Their files.
5. The plugin in a pytest of its own.

spec: @testing @testing_models @recordings @testing_assertions @testing_clock
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from campaign import examples
from fresh import fresh
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.models.protocol import Completion, ModelError, Request, Usage
from engine.testing import (
    FrozenClock,
    FunctionModel,
    Packet,
    Recording,
    ScriptedModel,
    assert_answer,
    assert_commands,
    assert_cost,
    assert_files,
    call,
)
from engine.testing.recording_files import Exchange, read, written

READS = [call("get", path="notes.md"), call("sh", body="pwd")]
ANSWER = "The port is 8080."


# models


def test_a_function_answers_by_what_it_was_sent(db: engine.Database, workspace_dir: Path) -> None:
    def answer(packet: Packet) -> Any:
        if packet.turn == 1:
            return call("get", path="notes.md")
        return re.findall(r"port is \d+", packet.section("visible"))

    model = FunctionModel(answer)
    result = db.run("Which port?", model=model, root=workspace_dir)
    assert_answer(result, "port is 8080")
    assert [packet.prompt for packet in model.packets] == ["Which port?"] * 2
    assert model.packets[0].section("nothing") == ""
    assert "notes.md" in model.packets[1].section("log")
    assert db.value("select model from runs") == "object:function"


@pytest.mark.parametrize("answer", [None, 7, [1], b"x"])
def test_what_is_no_answer_is_told(db: engine.Database, answer: Any) -> None:
    with pytest.raises(TypeError, match=r"model function answered .*; return a text"):
        db.run("Hi", model=FunctionModel(lambda _: answer))


def test_what_a_function_raises_leaves_the_run(db: engine.Database) -> None:
    def refuse(packet: Packet) -> str:
        raise AssertionError(packet.prompt)

    with pytest.raises(AssertionError, match="Hi"):
        db.run("Hi", model=FunctionModel(refuse))


def test_a_script_that_is_too_short_says_so(db: engine.Database) -> None:
    result = db.run("Hi", model=ScriptedModel(call("get", path="known://*")))
    assert result.reason is not None
    assert "model scripted has 1 response, but the run asked for number 2" in result.reason


# assertions


def test_commands_are_asserted_as_lines(db: engine.Database, workspace_dir: Path) -> None:
    answers = [
        call("get", path="notes.md"),
        call("sh", body="echo hi\nls"),
        call("cp", path="notes.md", to="b.md"),
        call("rm", path="gone.md"),
    ]
    db.run("Go", model=ScriptedModel(answers, "Done."), root=workspace_dir, yolo=True)
    lines = ["get notes.md", "sh echo hi\nls", "cp notes.md b.md", "rm gone.md (failed: not_found)"]
    assert_commands(db, lines)
    assert_commands(db, ["get notes.md", ..., re.compile("rm .*")], run="go")
    assert_commands(db, [..., "cp notes.md b.md", ..., ...])
    for wrong in ([], lines[1:], [*lines, "get a"], [..., "get a", ...], [re.compile("get"), ...]):
        with pytest.raises(AssertionError, match="the commands of run go differ"):
            assert_commands(db, wrong)
    with pytest.raises(AssertionError) as error:
        assert_commands(db, ["get notes.md", "sh make", ...])
    assert "    get notes.md\n  - sh make\n" in str(error.value)
    with pytest.raises(engine.NotFound, match="run 'no': not found; the file has go"):
        assert_commands(db, [], run="no")


def test_arguments_of_an_apps_tool_are_in_its_line() -> None:
    def refund(order: int, reason: str) -> str:
        """Refund an order."""
        return f"{order}: {reason}"

    with fresh(tools=[refund]) as db:
        db.run("Go", model=ScriptedModel(call("refund", order=7, reason="late"), "Done."))
        assert_commands(db, ["refund order=7 reason=late"])


def test_files_are_asserted(workspace_dir: Path) -> None:
    assert_files(workspace_dir, {"src/util.py": "LIMIT = 10\n", "notes.md": re.compile("8080"), "no.md": None})
    with pytest.raises(AssertionError) as error:
        assert_files(
            workspace_dir, {"src/util.py": "LIMIT = 11\n", "no.md": "x", "notes.md": re.compile("9"), "logo.bin": None}
        )
    told = str(error.value)
    assert "src/util.py: differs\n" in told
    assert "-LIMIT = 11\n+LIMIT = 10\n" in told
    assert "no.md: is not there; workspace/ has logo.bin, notes.md" in told
    assert "notes.md: has no '9'" in told
    assert "logo.bin: is there, but was not expected" in told


def test_answers_and_costs_are_asserted(db: engine.Database) -> None:
    paid = Completion("Hi\x1b[2J", usage=Usage(prompt_tokens=1, completion_tokens=1, cost=0.02))
    result = db.run("Go", model=ScriptedModel(paid))
    assert_answer(result, re.compile("^Hi"))
    assert_cost(db, at_most=0.02)
    with pytest.raises(AssertionError, match=r"cost \$0.020000 for 1 answers; at most \$0.010000"):
        assert_cost(db, at_most=0.01, run="go")
    with pytest.raises(AssertionError, match="the answer of run go differs") as error:
        assert_answer(result, "Ho")
    assert "\x1b" not in str(error.value), "an answer does not reach the terminal as it is"
    with pytest.raises(AssertionError, match=r"run again ended with status 500: .*\nexpected: 200"):
        assert_answer(db.run("Again", model=ScriptedModel()), "Ho")
    db.run("Third", model=ScriptedModel("Hi"))
    with pytest.raises(AssertionError, match="the cost of 1 of 2 answers is unknown"):
        assert_cost(db, at_most=1)


def test_a_clock_stands_still_until_it_is_moved(tmp_path: Path) -> None:
    clock = FrozenClock()
    with fresh(clock=clock) as db:
        db.run("Go", model=ScriptedModel("Hi"))
        clock.tick(3600)
        assert clock.now == datetime(2026, 1, 1, 1, tzinfo=UTC)
        db.run("Go", model=ScriptedModel("Hi"))
        assert [run.created_at for run in db.runs()] == ["2026-01-01 01:00:00", "2026-01-01 00:00:00"]
    with pytest.raises(ValueError, match="has no time zone"):
        clock.set(datetime(2026, 1, 1))


# recordings


class Real:
    """A model that counts how often it is asked."""

    name = "real"

    def __init__(self) -> None:
        self.asked = 0

    def complete(self, request: Request, on_delta: Any, cancelled: Any) -> Completion:
        self.asked += 1
        if request.position == 0:
            return Completion(
                "", reasoning="Hm.", calls=tuple(READS), native=True, usage=Usage(prompt_tokens=9, cost=0.5)
            )
        return Completion(ANSWER, finish_reason="stop")


class Unreachable(Real):
    def complete(self, request: Request, on_delta: Any, cancelled: Any) -> Completion:
        raise ModelError("invalid", "no such model")


@pytest.fixture
def asked(tmp_path: Path, workspace_dir: Path) -> Any:
    """Runs a prompt with a recording, and gives the result; the recording finishes."""

    def ask(
        prompt: str = "Which port?", *, update: bool = False, model: Any = None, **options: Any
    ) -> engine.Result[Any]:
        recording = Recording(tmp_path / "r.yaml", update=update, folders=[tmp_path])
        with fresh() as db:
            result = db.run(prompt, model=recording.model(model or Real()), root=workspace_dir, yolo=True, **options)
        recording.finish()
        return result

    return ask


def test_what_was_recorded_is_replayed_without_the_model(asked: Any, tmp_path: Path) -> None:
    real = Real()
    recorded = asked(update=True, model=real)
    text = (tmp_path / "r.yaml").read_text()
    again = asked(model=real)
    assert real.asked == 2
    assert (again.answer, again.cost, again.usage, again.turns) == (
        recorded.answer,
        recorded.cost,
        recorded.usage,
        recorded.turns,
    )
    assert str(tmp_path) not in text
    assert text.count("# Commands") == 1, "what comes again is not written again"
    asked(update=True)
    assert (tmp_path / "r.yaml").read_text() == text, "the same answers give the same bytes"


def test_what_differs_is_shown_with_its_section(asked: Any, workspace_dir: Path) -> None:
    asked(update=True)
    with pytest.raises(AssertionError) as error:
        asked("Which host?\x1b[2J")
    assert "answer 1 of run which-host-2j: the packet differs from" in str(error.value)
    assert "in user <prompt>" in str(error.value)
    assert "-Which port?\n+Which host?\\u{1b}[2J\n" in str(error.value)
    notes = workspace_dir / "notes.md"
    notes.write_text(notes.read_text().replace("8080", "9090"))
    with pytest.raises(AssertionError) as error:
        asked()
    assert "answer 2 of run which-port" in str(error.value)
    assert "user <visible>" in str(error.value)
    assert "-The port is 8080.\n+The port is 9090.\n" in str(error.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"system_prompt": "Be brief."}, "differs from .* in system"),
        ({"model": ScriptedModel(READS, "x", name="other")}, "is asked of model other, recorded: real"),
        ({"max_turns": 1}, "answer 2 of run which-port was not asked for"),
    ],
)
def test_each_difference_fails(asked: Any, options: dict[str, Any], told: str) -> None:
    asked(update=True)
    with pytest.raises(AssertionError, match=told):
        asked(**options)


def test_more_than_was_recorded_fails(asked: Any, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"is not recorded: there is no .*r.yaml"):
        asked()
    asked(update=True)
    exchanges = read(tmp_path / "r.yaml")
    (tmp_path / "r.yaml").write_text(written(exchanges[:1]))
    with pytest.raises(AssertionError, match=r"answer 2 .* is not recorded: .* has 1 answer of that run"):
        asked()


def test_an_error_of_the_model_is_recorded(asked: Any) -> None:
    first = asked(update=True, model=Unreachable())
    assert first.status == 500
    assert asked().reason == first.reason


def test_keys_do_not_get_into_a_recording(asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "b4c0ffee-not-to-be-seen")
    asked("Is it b4c0ffee-not-to-be-seen or sk-proj-abcdefghijklmnop?", update=True, run="demo")
    text = (tmp_path / "r.yaml").read_text()
    assert "b4c0ffee" not in text
    assert "abcdefghijklmnop" not in text


def test_an_app_that_names_its_models_is_recorded_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def app(db: engine.Database) -> str:
        return db.run("Hi", model="scripted:answers.jsonl").answer

    script = tmp_path / "answers.jsonl"
    script.write_text('"Hello"\n')
    monkeypatch.chdir(tmp_path)
    for update in (True, False):
        recording = Recording(tmp_path / "r.yaml", update=update)
        with fresh() as db:
            recording.use(db)
            assert app(db) == "Hello"
        recording.finish()
        script.unlink(missing_ok=True)


TEXTS = st.text(st.characters(codec=None, exclude_categories=[])) | st.text("a \n\t:#&*-'\"|>%\\\r\x85\u2028\ufeff\x07")


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=3), TEXTS)
@examples(60)
def test_any_text_survives_the_file(tmp_path_factory: Any, parts: list[tuple[str, str, str]], answer: str) -> None:
    told = {"text": answer, "calls": [{"name": "f", "arguments": {"a": answer}}]}
    exchanges = [
        Exchange(run, number, "m", {"system": {name: text}, "user": {name: text, "log": run}}, told)
        for number, (run, name, text) in enumerate(parts)
    ]
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(written(exchanges), encoding="utf-8", newline="")
    assert read(path) == exchanges


@pytest.mark.parametrize(
    "text", ["", "- x", "a: [", "engine_recording: 2\nexchanges: []", "engine_recording: 1\nexchanges: [{}]"]
)
def test_a_file_that_is_no_recording_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with pytest.raises(engine.ValidationError, match="not a recording"):
        read(path)


# the plugin

TESTS = """
from engine.testing import FunctionModel, assert_answer

PROMPT = "Which port?"

def test_recorded(engine_db, engine_folder, engine_clock, engine_recording):
    model = engine_recording.model(FunctionModel(lambda packet: f"asked: {packet.prompt}"))
    result = engine_db.run(PROMPT, model=model, root=engine_folder)
    assert result.status == 200
    assert engine_db.runs()[0].created_at == "2026-01-01 00:00:00"
"""


def run_pytest(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"]
    here = {**os.environ, "PYTHONPATH": str(Path(engine.__file__).parents[1])}
    done = subprocess.run([*command, *options], cwd=folder, env=here, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_pytest_records_once_and_replays(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    test = tmp_path / "test_agent.py"
    test.write_text(TESTS)
    missing = run_pytest(tmp_path)
    assert "is not recorded: there is no" in missing
    assert "record anew: pytest --engine-update 'test_agent.py::test_recorded'" in missing
    assert "1 passed" in run_pytest(tmp_path, "--engine-update")
    assert [each.name for each in (tmp_path / "recordings").iterdir()] == ["test_agent.test_recorded.yaml"]
    test.write_text(TESTS.replace("asked:", "said:"))
    assert "1 passed" in run_pytest(tmp_path), "no model is asked"
    test.write_text(TESTS.replace("port?", "host?").replace("status == 200", "status == 0"))
    changed = run_pytest(tmp_path)
    assert "-Which port?\n+Which host?\n" in changed
    assert "AssertionError" not in changed, "what differs is the reason of what else failed"


def test_the_tests_of_the_guide_are_tests(tmp_path: Path) -> None:
    block = (Path(engine.__file__).parents[1] / "SPEC.md").read_text("utf-8").partition("# test_agent.py\n")[2]
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_agent.py").write_text(block.partition("```")[0])
    said = run_pytest(tmp_path)
    assert "1 failed, 1 passed" in said
    assert "is not recorded: there is no" in said
