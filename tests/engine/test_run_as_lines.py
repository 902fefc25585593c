"""`engine run` for programs: its events as lines of JSON, and prompts and decisions as lines on stdin.

1. The lines are the events of a stream; exit codes are those of any run. 2. Prompts are answered one after the other, a
decision lets a run go on that waits, an abort ends the prompt that is driven. 3. A line that cannot be carried out is
refused and changes nothing, whatever stands in it.

spec: @run_output @run_input
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script
from engine_cli import ENGINE, SECONDS, engine, engine_process, environment

import engine as api
from engine.errors import ValidationError
from engine.terminal.input_lines import checked

ECHO = f"<sh>echo hello</sh>{GO_ON}"
STREAM = ("--output", "stream-json")
BOTH = ("--input", "stream-json", *STREAM)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that runs work in."""
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def events(stdout: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stdout.splitlines()]


def types(told: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in told]


class Talk:
    """A process of `engine run --input stream-json` that is spoken with line by line."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.told: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [*ENGINE, "run", *BOTH, *arguments],
            cwd=folder,
            env=environment(folder.parent),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def say(self, **line: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def until(self, kind: str) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.told.append(json.loads(line))
            if self.told[-1]["type"] == kind:
                return self.told[-1]
        raise AssertionError(f"it ended without {kind}: {types(self.told)}")

    def close(self) -> int:
        rest, _ = self._process.communicate(timeout=SECONDS)
        self.told += events(rest)
        return self._process.returncode


# 1. output


def test_the_lines_are_the_events_of_a_stream(folder: Path) -> None:
    model = script(folder, {"text": ECHO, "reasoning": "I echo."}, DONE)
    done = engine(folder, "run", *STREAM, "--model", model, "--run", "demo", "--yolo", "Echo")
    told = events(done.stdout)
    assert done.returncode == 0
    assert types(told)[0] == "start"
    assert types(told)[-1] == "end"
    assert {"thought", "delta", "begin", "output", "command", "loop"} <= set(types(told))
    assert all(event["run"] == "demo" and isinstance(event["id"], int) for event in told)
    assert told[0]["version"] == 1
    assert told[-1]["result"]["answer"] == "Done."
    assert "turn" not in done.stderr.splitlines()[0]


def test_a_run_that_waits_ends_its_lines_with_202(folder: Path) -> None:
    done = engine(folder, "run", *STREAM, "--model", script(folder, ECHO), "--run", "demo", "Echo")
    told = events(done.stdout)
    assert (done.returncode, told[-1]["result"]["status"]) == (6, 202)
    assert told[-2]["type"] == "proposal"


def test_json_is_the_result_and_text_the_answer(folder: Path) -> None:
    model = script(folder, DONE)
    told = engine(folder, "run", "--output", "json", "--model", model, "Do").stdout
    assert json.loads(told)["answer"] == "Done."
    assert engine(folder, "run", "--output", "text", "--model", script(folder, DONE), "Do").stdout == "Done.\n"


@pytest.mark.parametrize(
    "words",
    [
        ("--output", "xml", "Do"),
        ("--input", "stream-json", "Do"),
        ("--output", "json", "--json", "Do"),
        (*STREAM,),
        ("--input", "xml", *STREAM, "Do"),
        (*BOTH, "-"),
    ],
)
def test_wrong_forms_are_wrong_usage(folder: Path, words: tuple[str, ...]) -> None:
    done = engine(folder, "run", *words)
    assert (done.returncode, done.stdout) == (2, "")


def test_an_error_before_the_start_leaves_stdout_empty(folder: Path) -> None:
    done = engine(folder, "run", *STREAM, "--model", "nobody/x", "Do")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nobody" in done.stderr


def test_a_run_that_waited_is_resumed_line_by_line(folder: Path) -> None:
    model = script(folder, ECHO, DONE)
    asked = engine(folder, "run", *STREAM, "--model", model, "--run", "demo", "Echo")
    assert (asked.returncode, events(asked.stdout)[-1]["result"]["status"]) == (6, 202)
    engine(folder, "accept", "demo")
    done = engine(folder, "resume", *STREAM)
    told = events(done.stdout)
    assert (done.returncode, types(told)[0], types(told)[-1]) == (0, "start", "end")
    assert told[-1]["result"]["status"] == 200
    assert "output" in types(told)
    again = engine(folder, "resume", *STREAM, "demo")
    assert (again.returncode, again.stdout) == (7, "")
    refused = engine(folder, "resume", "--output", "xml", "demo")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "text, json or stream-json" in refused.stderr


# 2. input


def test_prompts_are_answered_one_after_the_other(folder: Path) -> None:
    model = script(folder, "First.", "Second.")
    lines = "".join(json.dumps({"type": "prompt", "text": text}) + "\n" for text in ("One", "Two"))
    done = engine_process(folder, "run", *BOTH, "--model", model, "--run", "demo", stdin=lines)
    told = events(done.stdout)
    assert [event["loop"] for event in told if event["type"] == "start"] == [1, 2]
    assert [event["result"]["answer"] for event in told if event["type"] == "end"] == ["First.", "Second."]
    assert done.returncode == 0


def test_a_decision_lets_a_waiting_run_go_on(folder: Path) -> None:
    talk = Talk(folder, "--model", script(folder, ECHO, DONE), "--run", "demo", "Echo")
    proposal = talk.until("proposal")
    talk.say(type="resolve", path=proposal["path"], accept=True)
    assert talk.until("end")["result"]["answer"] == "Done."
    assert talk.close() == 0
    with api.open(folder / ".engine" / "engine.db") as db:
        assert db.rows("select decided_by from resolutions") == [{"decided_by": "stdin"}]


def test_an_abort_ends_the_prompt_and_the_next_one_follows(folder: Path) -> None:
    model = script(folder, {"text": "late", "delay_s": 600}, {"text": "late", "delay_s": 600})
    talk = Talk(folder, "--model", model, "--run", "demo", "Wait")
    talk.until("turn")
    talk.say(type="abort", reason="changed my mind")
    ended = talk.until("end")["result"]
    assert (ended["status"], ended["reason"]) == (499, "changed my mind")
    talk.say(type="prompt", text="Again")
    talk.until("turn")
    talk.say(type="abort")
    assert talk.until("end")["result"]["status"] == 499
    assert talk.close() == 4


def test_the_end_of_the_input_leaves_what_waits(folder: Path) -> None:
    done = engine_process(folder, "run", *BOTH, "--model", script(folder, ECHO), "--run", "demo", "Echo")
    assert done.returncode == 6
    assert events(done.stdout)[-1]["result"]["status"] == 202


# 3. hostile lines

HOSTILE = [
    b"{",
    b"[]",
    b"null",
    b'"prompt"',
    b"{}",
    b'{"type": 1}',
    b'{"type": ["prompt"]}',
    b'{"type": "drop"}',
    b'{"type": "prompt"}',
    b'{"type": "prompt", "text": ""}',
    b'{"type": "prompt", "text": 5}',
    b'{"type": "prompt", "text": "x", "model": "y"}',
    b'{"type": "resolve"}',
    b'{"type": "resolve", "accept": 1}',
    b'{"type": "resolve", "accept": "yes"}',
    b'{"type": "abort", "loop": 1}',
    b"\xff\xfe",
    b"[" * 100_000,
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_a_line_that_fits_no_type_is_a_400(line: bytes) -> None:
    with pytest.raises(ValidationError):
        checked(line)


def test_lone_halves_and_nul_are_made_storable() -> None:
    assert checked(b'{"type": "prompt", "text": "a\\u0000b\\ud800"}')["text"] == "a\ufffdb\ufffd"


def test_refused_lines_are_told_and_change_nothing(folder: Path) -> None:
    lines = b"\n".join([*HOSTILE[:-1], b'{"type": "resolve", "accept": true, "path": "known://x"}', b""])
    done = subprocess.run(
        [*ENGINE, "run", *BOTH, "--model", script(folder, DONE), "--run", "demo", "Do"],
        cwd=folder,
        env=environment(folder.parent),
        input=lines,
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    told = events(done.stdout.decode())
    refused = [event for event in told if event["type"] == "refused"]
    assert [event["line"] for event in refused] == list(range(1, len(HOSTILE) + 1))
    assert {event["status"] for event in refused[:-1]} == {400}
    assert [event["result"]["status"] for event in told if event["type"] == "end"] == [200]
    with api.open(folder / ".engine" / "engine.db") as db:
        assert db.value("select count(*) from loops") == 1
