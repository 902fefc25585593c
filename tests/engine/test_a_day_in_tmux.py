"""A working day in a chat, through tmux at three sizes: keys as a person types them, and what stands on the screen then.

The model is a server on loopback that streams. What is compared is what a person reads, whatever the width folds it to.

spec: @chat_screen @chat_keys @chat_decisions @chat_status @chat_together
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engine_cli import ENGINE, environment
from loopback import Answer, Server, serving, writing
from timing import wait_until

SIZES = [(120, 40), (80, 24), (40, 20)]
TABLE = (
    "## Ports\n\nThe port is **8080**.\n\n| what | port |\n|---|---|\n| web | 8080 |\n| admin | 9090 |\n\n"
    "```python\nport = 8080\n```"
)
LONG = " ".join(f"word{number}" for number in range(60))
CHANGE = '<set path="notes.md"><<SEARCH\nThe port is {}.\nSEARCH\n<<REPLACE\nThe port is {}.\nREPLACE</set>'


def done(text: str) -> str:
    return f'<update status="200">{text}</update>'


DAY = [
    '<get path="notes.md"/>',
    done(TABLE),
    done(LONG),
    done("Second answer."),
    CHANGE.format(8080, 9090) + '<update status="102">Changed.</update>',
    CHANGE.format(8080, 7070) + '<update status="102">Changed.</update>',
    done("It is 7070 now."),
    "<sh>printf 'one\\ntwo\\n'</sh>",
    done("It printed two lines."),
]


class Tmux:
    """A chat in a window of tmux, of a size."""

    def __init__(self, folder: Path, columns: int, rows: int, server: Server) -> None:
        self.columns = columns
        self._socket = str(folder.parent / "tmux")
        kept = environment(
            folder.parent, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="k", TERM="screen-256color", COLUMNS=""
        )
        self._env = {name: value for name, value in kept.items() if name not in ("TMUX", "COLUMNS", "LINES")}
        words = [*ENGINE, "chat", "--run", "day", "--model", "openai/tiny"]
        command = f"cd {shlex.quote(str(folder))} && {shlex.join(words)}; echo ended with $?; sleep 600"
        size = ["-x", str(columns), "-y", str(rows)]
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "bash", "-c", command)
        self._tmux("set-option", "-g", "history-limit", "5000")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", self._socket, *words], env=self._env, capture_output=True, text=True, check=True
        )
        return done.stdout

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        self.columns = columns
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self) -> list[str]:
        """The lines that stand on the screen now."""
        return [line.rstrip() for line in self._tmux("capture-pane", "-p").splitlines()]

    def all(self) -> str:
        """All that has been said, with the lines that have scrolled past, as one line: what is folded is one again."""
        return " ".join(self._tmux("capture-pane", "-p", "-J", "-S", "-").split())

    def until(self, holds: Callable[[str], object]) -> None:
        try:
            wait_until(lambda: holds(self.all()), 90)
        except AssertionError:
            raise AssertionError("\n".join(self.screen())) from None

    def expect(self, text: str) -> None:
        self.until(lambda said: text in said)

    def ask(self, text: str, told: str) -> None:
        """Type a prompt as a person does, and wait for what is told."""
        self.type(text)
        self.press("Enter")
        self.expect(told)

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], env=self._env, capture_output=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if shutil.which("tmux") is None:
        if os.environ.get("CI"):
            pytest.fail("tmux is missing; .ci/run installs it")
        pytest.skip("tmux is missing")
    root = tmp_path / "project"
    root.mkdir()
    (root / "notes.md").write_text("# Notes\n\nThe port is 8080.\n", encoding="utf-8")
    return root


def slowly() -> Iterator[Answer]:
    """The answers of the day; the third is written while the person goes on typing."""
    for number, text in enumerate(DAY):
        yield writing(text, 0.06 if number == 2 else 0.002, 24)


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_day(folder: Path, columns: int, rows: int) -> None:
    with serving(*slowly()) as server:
        at = Tmux(folder, columns, rows, server)
        try:
            spend_the_day(at, folder, server)
        finally:
            at.close()


def spend_the_day(at: Tmux, folder: Path, server: Server) -> None:
    # what is typed before the screen is there is not lost, and its Enter is one
    at.expect("leaves")
    at.ask("Which port?", "day: done")
    said = at.all()
    for piece in ("› Which port?", "get notes.md", "Ports", "The port is 8080.", "admin", "9090", "port = 8080"):
        assert piece in said, (piece, said)
    assert "**8080**" not in said
    assert "```" not in said

    # what is typed while the model works stays, and waits in a queue that is shown
    at.ask("Write a lot", "word3")
    at.type("And then?")
    at.expect("› And then?")
    at.press("Enter")
    at.expect("queued And then?")
    at.press("Up")
    at.until(lambda _: "› And then?" in " ".join(at.screen()) and "queued" not in " ".join(at.screen()))
    at.press("Enter")
    at.until(lambda said: said.count("day: done") == 3 and said.count("Second answer.") == 1)
    said = at.all()
    assert said.index("› Write a lot") < said.index("word59") < said.index("Second answer.")
    assert said.count("word59") == 1

    # one key decides, with the reason in the same line; the model reads it
    at.ask("Move it", "no, and why")
    at.type("nuse 7070")
    at.press("Enter")
    at.until(lambda _: len(server.asked) >= 6)
    assert "use 7070" in str(server.asked[5]["messages"])
    at.until(lambda _: sum("no, and why" in line or "yes" in line for line in at.screen()) >= 1)
    at.type("y")
    at.expect("It is 7070 now.")
    wait_until(lambda: "7070" in (folder / "notes.md").read_text())

    # a window of another size, while nothing moves
    wide = at.columns
    at.resize(60, 18)
    at.until(lambda _: any("act" in line and "%" in line for line in at.screen()))
    assert sum("%" in line and "$" in line for line in at.screen()) == 1, at.screen()
    at.resize(wide, 24)

    # the modes, a command of the person's own, a note, and a command of the model that is asked about
    at.press("BTab")
    at.until(lambda _: any("accept-edits" in line for line in at.screen()))
    at.press("BTab", "BTab")
    at.ask("!echo own words", "own words")
    at.ask("#the port is public", "known://")
    at.until(lambda _: any(re.search(r"\bact\b", line) and "%" in line for line in at.screen()))
    at.ask("Print two lines", "always in this project")
    at.type("y")
    at.expect("It printed two lines.")
    assert "one" in at.all()

    # a picker that is searched, and the end
    at.ask("/help", "Esc")
    at.press("Escape")
    at.type("/quit")
    at.press("Enter")
    at.expect("ended with 0")
    for line in at.screen():
        assert "\x1b" not in line
        assert len(line) <= at.columns


def test_the_same_stands_on_screens_of_all_sizes(folder: Path) -> None:
    """What a prompt is answered with reads the same at each width."""
    read: list[str] = []
    for number, (columns, rows) in enumerate(SIZES):
        with serving(*(writing(text, 0.001, 40) for text in DAY[:2])) as server:
            root = folder.parent / f"{number}" / "project"
            root.mkdir(parents=True)
            (root / "notes.md").write_text("The port is 8080.\n", encoding="utf-8")
            at = Tmux(root, columns, rows, server)
            try:
                at.expect("leaves")
                at.ask("Which port?", "day: done")
                said = at.all()
                read.append(said[said.index("Which port?") : said.index("day: done")])
            finally:
                at.close()
    plain = [re.sub(r"[^\w.?]+", " ", text) for text in read]
    assert plain[0] == plain[1] == plain[2]
