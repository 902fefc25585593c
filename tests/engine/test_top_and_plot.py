"""`engine top` at a real terminal, and `engine plot`.

1. A run of another process is seen live, and gone when it ends. 2. Nothing is read while nothing changes. 3. Frames fit,
whatever is in them, and leave the terminal as it was. 4. Charts: joined columns, unknown values, hostile sizes.

spec: @engine_top @engine_plot
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyte
import pytest
from driving import DONE, GO_ON, script
from engine_cli import ENGINE, SECONDS, environment
from engine_cli import engine as cli
from every_run import every_run
from hypothesis import given
from hypothesis import strategies as some

import engine
from engine.commands.look_closer import top
from engine.models.protocol import Completion, Request
from engine.terminal.charts import chart, columns

WIDTH, HEIGHT = 100, 16


class Screen:
    """`engine top` on a terminal of its own, as a person sees it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            [*ENGINE, "top", *arguments],
            cwd=folder, env={**environment(folder.parent, TERM="xterm-256color"), "COLUMNS": "", "LINES": ""},
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        self.theirs = theirs
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""

    def expect(self, told: Callable[[str], bool]) -> list[str]:
        """Wait until the screen is so."""
        deadline = time.monotonic() + SECONDS
        while not told("\n".join(self.screen.display)):
            assert time.monotonic() < deadline, self.screen.display
            if select.select([self._ours], [], [], 0.1)[0]:
                read = os.read(self._ours, 65536)
                self.raw += read
                self._stream.feed(read)
        return [line.rstrip() for line in self.screen.display]

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + SECONDS
        # a terminal that nobody reads from takes no more, and the last thing that is written waits for it
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self._ours], [], [], 0.05)[0]:
                self.raw += os.read(self._ours, 65536)
        return self.process.wait(1)


@contextmanager
def watching(folder: Path, *arguments: str) -> Iterator[Screen]:
    screen = Screen(folder, *arguments)
    try:
        yield screen
    finally:
        screen.process.kill()
        screen.process.wait()
        os.close(screen.theirs)


class Held:
    """A model that answers when it is let go."""

    name = "held"

    def __init__(self) -> None:
        self.free, self.asked = threading.Event(), threading.Event()

    def complete(self, request: Request, on_delta: Callable[[str], None], cancelled: threading.Event) -> Completion:
        self.asked.set()
        assert self.free.wait(SECONDS)
        return Completion(DONE)


def test_a_run_is_seen_while_it_works_and_when_it_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with engine.open(path) as db:
        model = Held()
        work = threading.Thread(target=lambda: db.run("Look \x1b[31maround\nthe turn", run="demo", model=model))
        work.start()
        assert model.asked.wait(SECONDS)
        with watching(tmp_path, "--db", str(path), "--every", "0.1") as screen:
            lines = screen.expect(lambda told: "the model" in told)
            assert "1 running, 0 waiting, 0 stopped, 0 queued" in lines[0]
            assert lines[3].startswith("demo  running")
            assert all(len(line) < WIDTH for line in lines)
            model.free.set()
            lines = screen.expect(lambda told: "ended last" in told)
            assert "no run is working or waiting" in lines
            assert "  demo: done, 0 s ago" in lines
            assert screen.end() == 0
            assert termios.tcgetattr(screen.theirs) == screen.before
        work.join(SECONDS)
    assert b"\x1b[31m" not in screen.raw
    assert b"\x1b[?1049h" not in screen.raw


def test_a_small_screen_says_how_many_lines_it_lacks(tmp_path: Path) -> None:
    file = every_run().put(tmp_path)
    with watching(tmp_path, "--db", str(file), "--every", "0.1") as screen:
        lines = screen.expect(lambda told: "more lines" in told)
        assert lines[0].startswith("0 running, 4 waiting, 6 stopped, 3 queued; today ")
        assert lines[-2].startswith("… ")
        # 100 cells: figures make room for what each run waits for
        assert lines[2].split()[:3] == ["run", "state", "turn"]
        assert "waits for" in lines[2]
        assert " in " not in lines[2]
        assert any("a decision set data.csv" in line for line in lines)
        screen.process.kill()
        screen.process.wait()
        assert termios.tcgetattr(screen.theirs) == screen.before


def test_the_runs_are_read_only_when_the_file_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine.open(tmp_path / "t.db") as writer:
        writer.run("one", run="demo", model=script(tmp_path, DONE, DONE))
        reads, looks = [], 0
        read = top._read

        def counted(db: engine.Database) -> dict[str, Any]:
            reads.append(looks)
            return read(db)

        def waited(_: float) -> None:
            nonlocal looks
            looks += 1
            if looks == 20:
                writer.run("two", run="demo")
            if looks == 40:
                raise KeyboardInterrupt

        monkeypatch.setattr(top, "_read", counted)
        monkeypatch.setattr(top, "_SHARE", 0)
        monkeypatch.setattr(top.time, "sleep", waited)
        with engine.open(tmp_path / "t.db", read_only=True) as db, pytest.raises(KeyboardInterrupt):
            top._watch(db, 1.0)
    assert reads == [0, 20]


def test_without_a_terminal_the_table_is_printed_once(tmp_path: Path) -> None:
    file = every_run().put(tmp_path)
    lines = cli(tmp_path, "top", "--db", str(file)).stdout.splitlines()
    heads = "run state turn context of in out cost for waits for prompt"
    assert lines[2].split() == heads.split(" ")
    states = [line.split()[1] for line in lines[3 : lines.index("ended last") - 1]]
    assert states == sorted(states, key=("running", "waiting", "stopped", "queued").index)
    assert len(states) == 13


def test_a_plot_has_the_figures_of_the_views(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db") as db:
        model = script(
            tmp_path,
            *({"text": GO_ON, "usage": {"prompt_tokens": 10, "cost": cost}} for cost in (0.1, 0.2)),
            {"text": GO_ON},
            DONE,
        )
        db.run("go", run="demo", model=model)
        db.fork("demo", "child", at=3)
        context = [row["context_tokens"] for row in db.rows("select * from turn_timeline where run = 'demo'")]
    option = ["--db", str(tmp_path / "t.db")]
    told = json.loads(cli(tmp_path, "plot", "demo", "--json", *option).stdout)
    assert [(row["turn"], row["context_tokens"], row["cost"]) for row in told] == [
        (1, context[0], 0.1), (2, context[1], 0.2), (3, context[2], None), (4, context[3], None)
    ]  # fmt: skip
    lines = cli(tmp_path, "plot", "demo", *option).stdout.splitlines()
    assert lines[0] == f"context, in tokens, of {told[0]['ceiling']:,} at most"
    cost = lines.index("cost, in US dollars, 0.3000 in all, and 2 of unknown price")
    assert [line.partition("│")[2] for line in lines[cost + 1 : cost + 7]] == [" █", " █", " █", "██", "██", "██"]
    assert lines[cost + 7] == "      turn  1  4"
    assert [row["turn"] for row in json.loads(cli(tmp_path, "plot", "child", "--json", *option).stdout)] == [1, 2]
    with engine.open(tmp_path / "t.db") as db:
        db.start("later", run="new", model=model)
    assert "new: no turn has begun yet" in cli(tmp_path, "plot", "new", *option).stderr


NUMBERS = some.none() | some.floats(min_value=0, max_value=1e300, allow_nan=False)


@given(values=some.lists(NUMBERS, max_size=400), width=some.integers(1, 120), height=some.integers(1, 8))
def test_a_chart_is_as_wide_and_high_as_it_should_be(values: list[float | None], width: int, height: int) -> None:
    joined = columns(values, width, adds=False)
    assert len(joined) == min(len(values), width)
    assert max((v for v in joined if v is not None), default=None) == max(
        (v for v in values if v is not None), default=None
    )
    most = max((each for each in joined if each is not None), default=0)
    rows = chart(joined, height, most)
    assert [len(row) for row in rows] == [len(joined)] * height
    for column, value in zip(zip(*rows, strict=True), joined, strict=True):
        assert ("".join(column).strip() != "") is bool(value and most)
