"""How long it takes until something happens: imports, commands, and the first request to a model, over a bare Python."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import engine

from .table import Line
from .tree import compiled_once

_ROUNDS = 10
_WIRE_TARGET_MS = 500.0
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_COMMANDS = (
    ("import engine", 40.0, [sys.executable, "-c", "import engine; engine.open"]),
    ("engine --version", 60.0, ["engine", "--version"]),
    ("engine --help", 250.0, ["engine", "--help"]),
    ("engine runs", 150.0, ["engine", "runs", "--db", "t.db"]),
    ("engine show", 160.0, ["engine", "show", "--db", "t.db", "demo"]),
    ("engine log", 180.0, ["engine", "log", "--db", "t.db", "demo"]),
    ("import engine, and open a file", 70.0, [sys.executable, "-c", "import engine; engine.open('t.db')"]),
)


def bench_start(rounds: int = _ROUNDS) -> list[Line]:
    """Milliseconds of each, less those of a Python that does nothing.

    They are processor time: none of them waits for anything, and a busy machine does not count.
    """
    command = str(Path(sys.executable).with_name("engine"))
    with tempfile.TemporaryDirectory() as folder:
        _one_run(Path(folder))
        given = [[command if word == "engine" else word for word in words] for _, _, words in _COMMANDS]
        bare, *spent = _fastest(rounds, folder, [sys.executable, "-c", "pass"], *given)
        wire = min(_until_asked(command, Path(folder), number) for number in range(max(2, rounds // 2)))
    note = f"CPU; bare Python: {bare:.0f} ms"
    lines = [
        Line(f"{name}, over bare Python", each - bare, "ms", target, note)
        for (name, target, _), each in zip(_COMMANDS, spent, strict=True)
    ]
    return [*lines, Line("engine run until its request is sent", wire - bare, "ms", _WIRE_TARGET_MS, note)]


def _one_run(folder: Path) -> None:
    (folder / "answers.jsonl").write_text('"<update status=\\"200\\">Done.</update>"\n', encoding="utf-8")
    with engine.open(folder / "t.db") as db:
        db.run("Go", run="demo", model=f"scripted:{folder / 'answers.jsonl'}")


def _fastest(rounds: int, folder: str, *commands: list[str]) -> list[float]:
    """The least processor milliseconds of each command, the rounds of all interleaved."""
    spent: list[list[float]] = [[] for _ in commands]
    for _ in range(rounds):
        for times, command in zip(spent, commands, strict=True):
            before = _children_ms()
            subprocess.run(command, env=compiled_once(), cwd=folder, check=True, stdout=subprocess.DEVNULL)
            times.append(_children_ms() - before)
    return [min(times) for times in spent]


def _children_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


def _until_asked(command: str, folder: Path, number: int) -> float:
    """The processor milliseconds that `engine run` has used when its request comes in."""
    used: list[float] = []
    started: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            used.append(_used_ms(started[0]))
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            said = '<update status=\\"200\\">Done.</update>'
            self.wfile.write(f'data: {{"choices":[{{"delta":{{"content":"{said}"}}}}]}}\n\ndata: [DONE]\n\n'.encode())

        def log_message(self, *args: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        words = [command, "run", "--db", "t.db", "--run", f"wire{number}", "--model", "openai/tiny", "Go"]
        environment = compiled_once() | {"OPENAI_BASE_URL": url}
        process = subprocess.Popen(
            words, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        started.append(process.pid)
        _, said = process.communicate(timeout=60)
        if process.returncode or not used:
            raise RuntimeError(said.decode())
    return used[0]


def _used_ms(process: int) -> float:
    times = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return 1000 * (int(times[11]) + int(times[12])) / _TICKS
