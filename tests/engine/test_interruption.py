"""An interruption at any moment loses nothing: the run goes on and ends as one that nobody interrupted.

A run with edits, reads, a question, a decision, a demotion and an empty answer is interrupted at its n-th statement on the
database, at each event, and while the model answers, then resumed, and compared with the run that nobody interrupted.

spec: @interruption @crash_safety
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import pytest
from driving import DONE, GO_ON, opened, script
from timing import interrupted, wait_until

import engine
from engine.driving.loop import Driver

How = Literal["stop", "raise"]
POINTS = int(os.environ.get("ENGINE_CAMPAIGN", "4"))
"""How many points of a run each test interrupts; `ENGINE_CAMPAIGN=100000` takes all."""
ANSWERS: tuple[str | dict[str, Any], ...] = (
    '<get path="notes.md"/><set path="known://a">one</set>' + GO_ON,
    '<set path="notes.md"><<SEARCH\n8080\nSEARCH\n<<REPLACE\n9090\nREPLACE</set>' + GO_ON,
    '<ask_user question="Which?"/><rm path="known://none"/><set path="known://b">two</set>' + GO_ON,
    {"text": '<set path="src/new.py">x = 1\n</set>' + GO_ON, "usage": {"prompt_tokens": 900, "cost": 0.25}},
    '<rm path="settings.ini"/>' + DONE,
)


class Interruption:
    """Interrupts at the n-th chance: by the driver's `stop`, or by a `KeyboardInterrupt`."""

    def __init__(self, at: int, how: How) -> None:
        self.seen, self.at, self.how = 0, at, how
        self.driver: Driver | None = None

    def chance(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            if self.how == "raise":
                raise KeyboardInterrupt
            assert self.driver is not None
            self.driver.stop()

    def hear(self, _: dict[str, Any]) -> None:
        self.chance()

    def trace(self, *_: object) -> bool:
        if self.driver is not None:
            self.chance()
        return True

    def take(self, driver: Driver) -> None:
        self.driver = driver


def decide(proposal: dict[str, Any]) -> bool | str:
    return "the second" if proposal["kind"] == "question" else proposal["action"] != "rm"


def lay_out(folder: Path) -> Path:
    root = folder / "root"
    (root / "src").mkdir(parents=True)
    (root / "notes.md").write_text("The port is 8080.\n")
    (root / "settings.ini").write_text("port = 8080\n")
    return root


def told(db: engine.Database, root: Path) -> dict[str, Any]:
    """How a run ended: its loops, turns, packets, commands, entries and files."""
    return {
        "loops": db.rows("select status, reason, answer, streak from loops"),
        "turns": db.rows("select sequence, status, response, cost, fingerprint, streak from turns order by id"),
        "packets": db.rows("select turn, role, body from packet_texts order by turn, role"),
        "commands": db.rows("select turn_id, ordinal, action, path, state, outcome, message from commands order by id"),
        "entries": db.rows("select path, visibility, state, outcome, body from known_entries order by path"),
        "decisions": db.rows("select path, decision, body from resolutions order by id"),
        "files": {str(path): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()},
        "leases": db.value("select count(*) from leases"),
    }


def drive(folder: Path, interruption: Interruption | None, where: str) -> tuple[dict[str, Any], int]:
    """Drive the run in `folder`, interrupted at most once; returns what it told at its end, and the chances there were."""
    root = lay_out(folder)
    model = script(folder, *ANSWERS)
    options: dict[str, Any] = {"on_proposal": decide}
    asked: dict[str, Any] = {"overwrite_unseen": True}
    with opened(folder) as db:
        if interruption is not None:
            watched = dict(options, on_driver=interruption.take)
            if where == "event":
                watched["on_event"] = interruption.hear
            else:
                db.connection.exec_trace = interruption.trace
            with contextlib.suppress(KeyboardInterrupt):
                db.run("Go", model=model, run="demo", root=root, **asked, **watched)
            db.connection.exec_trace = None
        else:
            db.run("Go", model=model, run="demo", root=root, **asked, **options)
        if db.value("select step <> 'end' from _next_steps where run = 'demo'"):
            assert db.value("select status in (102, 202) or status = 100 from runs")
            db.resume("demo", **options)
        found = told(db, root)
    found["files"] = {name.removeprefix(str(root)): text for name, text in found["files"].items()}
    return found, interruption.seen if interruption else 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found, _ = drive(tmp_path_factory.mktemp("undisturbed"), None, "event")
    assert found["loops"][0]["status"] == 403
    outcomes = [row["outcome"] for row in found["commands"] if row["outcome"]]
    assert outcomes == ["not_found", "aborted", "rejected", "conflict"]
    return found


@pytest.mark.parametrize("where", ["event", "statement"])
@pytest.mark.parametrize("how", ["stop", "raise"])
def test_a_run_that_is_interrupted_anywhere_ends_as_one_that_is_not(
    tmp_path: Path, undisturbed: dict[str, Any], where: str, how: How
) -> None:
    (tmp_path / "count").mkdir()
    _, chances = drive(tmp_path / "count", Interruption(10**9, how), where)
    assert chances > (10 if where == "event" else 200)
    step = max(chances // POINTS, 1)
    offset = random.Random(how).randrange(step)
    for at in range(1 + offset, chances + 1, step):
        (tmp_path / str(at)).mkdir()
        found, _ = drive(tmp_path / str(at), Interruption(at, how), where)
        for name, value in undisturbed.items():
            assert found[name] == value, f"{how} at {where} {at}: {name}"


def test_an_interruption_that_comes_with_the_turn_to_write_gives_it_back(db: engine.Database) -> None:
    """Other threads waited for a minute and were refused, as long as the process lived."""

    def here(frame: FrameType, event: str) -> bool:
        return event == "c_return" and frame.f_code.co_filename.endswith("lines.py")

    with interrupted(here), pytest.raises(KeyboardInterrupt):
        db.start("Go", model="scripted:none")
    free: list[bool] = []

    def look() -> None:
        with db.line.turn_within(0) as mine:
            free.append(mine)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert free == [True]


def test_an_answer_that_came_whole_is_kept_and_one_that_did_not_is_asked_again(tmp_path: Path) -> None:
    """A stop in the middle of a delta leaves the call open; the next driver marks it interrupted."""
    drivers: list[Driver] = []

    def stop(event: dict[str, Any]) -> None:
        if event["type"] == "delta":
            drivers[0].stop()

    with opened(tmp_path) as db:
        model = script(tmp_path, {"text": "It is 9090.", "delay_s": 0.5})
        result = db.run("Which?", model=model, run="demo", on_event=stop, on_driver=drivers.append)
        kept = db.value("select response from turns")
        calls = db.rows("select state from model_calls")
        assert result.status == 102
        assert kept is not None or calls == [{"state": "open"}]
        assert db.resume("demo").answer == "It is 9090."
        states = [row["state"] for row in db.rows("select state from model_calls order by id")]
        assert states == (["answered"] if kept else ["interrupted", "answered"])


def test_a_process_that_is_interrupted_is_told_and_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    drivers: list[Driver] = []
    with opened(tmp_path) as db:
        model = script(tmp_path, "<sh>echo x >> ran; sleep 600</sh><set path='known://a'>x</set>" + GO_ON, DONE)

        ran = tmp_path / "root" / "ran"

        def stop_when_it_runs() -> None:
            wait_until(lambda: ran.exists() and ran.read_text())
            drivers[0].stop()

        def stop_soon(event: dict[str, Any]) -> None:
            if event["type"] == "proposal":
                threading.Thread(target=stop_when_it_runs, daemon=True).start()

        options = {"model": model, "root": tmp_path / "root", "yolo": True}
        result = db.run("Go", run="demo", on_event=stop_soon, on_driver=drivers.append, **options)
        assert result.status == 102
        assert db.resume("demo").status == 200
        rows = db.rows("select action, state, outcome from commands where turn_id = 1 order by ordinal")
        assert [tuple(row.values()) for row in rows] == [
            ("sh", "failed", "interrupted"),
            ("set", "failed", "aborted"),
            ("update", "resolved", None),
        ]
        assert "interrupted" in db.value("select body from packet_texts where turn = 2 and role = 'user'")
        assert ran.read_text() == "x\n"
