"""What is measured of one tree, in a process of its own: `python -m tests.bench.compared TREE MEASURE` prints JSON.

Everything here goes through names that a person or an app uses (engine.open, Database.run and fork, verb_set, packet_texts,
the scripted model), so that trees whose inner doors have other names can be measured alike; only the shares of a turn need
more, see `SPENT_IN`. All times are processor time.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from .tree import use

Figures = Iterator[tuple[str, str, float]]
"""What was measured, its unit, the figure."""

_ROUNDS = 3
SPENT_IN = {
    "dispatch": [
        ("engine.driving.dispatching", "Dispatcher", "dispatch"),
        ("engine.dispatching", "Dispatcher", "dispatch"),
        ("engine.loop", "Driver", "_dispatch"),
    ],
    "packet": [("engine.packets.rendering", "Renderer", "offer"), ("engine.packet", "Renderer", "offer")],
    "render": [("engine.packets.rendering", "Renderer", "render"), ("engine.packet", "Renderer", "render")],
    "store": [
        ("engine.packets.store", "PacketStore", "store"),
        ("engine.packet_store", "PacketStore", "store"),
        ("engine.kept", "Keeper", "store"),
    ],
    "commit": [("engine", "Database", "execute")],
}
"""Where the shares of a turn are spent; a tree in which a name has changed has another one in the list."""


class Meter:
    """Processor seconds inside of chosen methods, by the name that they are booked under, and of each call."""

    def __init__(self) -> None:
        self.calls: dict[str, list[float]] = {}

    def watch(self, name: str, owner: Any, method: str, only: str | None = None) -> None:
        """Book calls of `owner.method` under `name`; `only` those whose first argument is this one."""
        inner = getattr(owner, method)
        calls = self.calls.setdefault(name, [])

        def timed(this: Any, *arguments: Any, **options: Any) -> Any:
            if only is not None and arguments[:1] != (only,):
                return inner(this, *arguments, **options)
            began = time.process_time()
            try:
                return inner(this, *arguments, **options)
            finally:
                calls.append(time.process_time() - began)

        setattr(owner, method, timed)

    def watch_shares(self) -> None:
        """Book the shares of a turn, those that this tree has."""
        for name, places in SPENT_IN.items():
            for module, owner, method in places:
                with suppress(ModuleNotFoundError, AttributeError):
                    found = getattr(importlib.import_module(module), owner)
                    self.watch(name, found, method, "commit" if name == "commit" else None)

    def reset(self) -> None:
        """Forget what was booked."""
        for calls in self.calls.values():
            calls.clear()

    def ms(self, name: str) -> float:
        """All that was booked under a name, in milliseconds."""
        return 1000 * sum(self.calls.get(name, ()))


@contextmanager
def opened(**options: Any) -> Iterator[tuple[Any, Path]]:
    """A new file and the folder that it lies in."""
    import engine

    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        closing(engine.open(Path(folder) / "bench.db", **options)) as db,
    ):
        yield db, Path(folder)


def turns(count: int, meter: Meter) -> tuple[float, dict[str, float]]:
    """Milliseconds a turn of the three-command scenario, the model's left out; and figures of its file."""
    from .scenario import raw_bytes, write_script

    with opened() as (db, folder):
        model = write_script(folder / "script.jsonl", count)
        if count < 100:
            db.execute("pragma wal_autocheckpoint = 0")
        empty, log = pages(db), wal_pages(db)
        began, said = time.process_time(), meter.ms("model")
        result = db.run("Keep the readings.", run="bench", model=model, max_turns=count + 1)
        spent = 1000 * (time.process_time() - began) - (meter.ms("model") - said)
        assert (result.status, result.turns) == (200, count), result
        size = (pages(db) - empty) * 4096 / raw_bytes(count)
        return spent / count, {"size": size, "wal": (wal_pages(db) - log) / count}


def pages(db: Any) -> int:
    """The pages of the database, those in its log included."""
    return int(db.value("select page_count * page_size / 4096 from pragma_page_count, pragma_page_size"))


def wal_pages(db: Any) -> float:
    """The pages in the log of a database that was never checkpointed."""
    size = os.path.getsize(f"{db.path}-wal") - 32
    return max(size, 0) / (24 + int(db.value("select page_size from pragma_page_size")))


def model_meter() -> Meter:
    """A meter of the scripted model, which reads its script at each call."""
    from engine.models.scripted import ScriptedModel

    meter = Meter()
    meter.watch("model", ScriptedModel, "complete")
    return meter


def measure_turns() -> Figures:
    meter = model_meter()
    turns(12, meter)
    for _ in range(_ROUNDS):
        whole, figures = turns(50, meter)
        yield "turn, T = 50", "ms", whole
        yield "dirty WAL pages a turn, T = 50", "pages", figures["wal"]
    meter.watch_shares()
    for _ in range(_ROUNDS):
        meter.reset()
        turns(50, meter)
        for name in SPENT_IN:
            if meter.calls.get(name):
                yield f"turn, T = 50: {name}", "ms", meter.ms(name) / 50


def measure_long() -> Figures:
    meter = model_meter()
    turns(12, meter)
    whole, figures = turns(1000, meter)
    yield "turn, T = 1000", "ms", whole
    yield "file after 1000 turns : its text", "×", figures["size"]


def measure_start() -> Figures:
    """A process from its start: imports, a new file, two turns."""
    with opened() as (db, folder):
        two_turns(db, folder)
        yield "process: imports, new file, two turns", "ms", 1000 * time.process_time()


def measure_cold() -> Figures:
    """A process that has only imported what it needs opens a file that another has made, and takes two turns."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        making = [sys.executable, "-m", "tests.bench.compared", sys.argv[1], "make", folder]
        done = subprocess.run(making, check=True, stdout=subprocess.PIPE, text=True)
        for module in json.loads(done.stdout):
            with suppress(ImportError):
                importlib.import_module(module)
        import engine

        began = time.process_time()
        with closing(engine.open(Path(folder) / "bench.db")) as db:
            opened_at = time.process_time()
            two_turns(db, Path(folder))
            ended = time.process_time()
        yield "cold: open an existing file", "ms", 1000 * (opened_at - began)
        yield "cold: two turns after that", "ms", 1000 * (ended - opened_at)
        yield "cold: open and two turns", "ms", 1000 * (ended - began)


def two_turns(db: Any, folder: Path, run: str = "bench") -> None:
    """A prompt to a new run that is done after two turns."""
    script = folder / "script.jsonl"
    go_on, done = '<update status="102">on</update>', '<update status="200">done</update>'
    script.write_text(f"{json.dumps(go_on)}\n{json.dumps(done)}\n", encoding="utf-8")
    assert db.run("Go", run=run, model=f"scripted:{script}").turns == 2


def measure_new() -> Figures:
    import engine

    opened = engine.open  # imports what it needs
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for name in ("cold", *["warm"] * 5):
            path = Path(folder) / f"{time.monotonic_ns()}.db"
            began = time.process_time()
            opened(path).close()
            yield f"new file, {name}", "ms", 1000 * (time.process_time() - began)


def make(folder: str) -> None:
    """Make a file in which a run has answered, for another process to open; print the modules that this has loaded."""
    import engine

    with closing(engine.open(Path(folder) / "bench.db")) as db:
        two_turns(db, Path(folder), "earlier")
    json.dump(sorted(set(sys.modules) - {"__main__"}), sys.stdout)


def main() -> None:
    """Measure what the command line names in the tree that it names."""
    tree, name, *rest = sys.argv[1:]
    use(Path(tree))
    if name == "make":
        make(*rest)
        return
    functions = dict(globals())
    if f"measure_{name}" not in functions:
        from . import compared_context

        functions = vars(compared_context)
    least: dict[str, tuple[str, float]] = {}
    for what, unit, figure in functions[f"measure_{name}"]():
        least[what] = (unit, min(figure, least[what][1] if what in least else figure))
    json.dump([[what, *found] for what, found in least.items()], sys.stdout)


if __name__ == "__main__":
    main()
