"""Wrong values for everything in the public API: an error of the engine's own, never one of another library.

1. Every argument of every function and method, with values of every kind: an `EngineError`, or a `TypeError` or
   `ValueError` that the engine words.
2. A handle that is closed, or closed while another thread works with it, is a clear error.
3. The command line prints one line for any error; --debug shows where it arose.

spec: @wrong_arguments @python_contract
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from driving import DONE, script
from engine_cli import engine as command_line

import engine
from engine import EngineError

VALUES: list[Any] = [
    7, 1.5, float("nan"), None, b"x", [], {}, object(), "\ud800", "a\0b", "", True, 10**30, Path("/nonexistent/x"),
    "x" * 5000,
]  # fmt: skip
OURS = (
    "arguments.py",
    "attachments.py",
    "api.py",
    "opening.py",
    "registration.py",
    "toolsets.py",
    "handoffs.py",
    "functions.py",
)


def complaint(call: Callable[[], object]) -> str | None:
    """What is wrong with how `call` fails; None where it succeeds, or fails as it should."""
    try:
        call()
    except EngineError as error:
        return None if "\n" not in error.message else f"several lines: {error}"
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = "" if trace is None else trace.tb_frame.f_code.co_filename
        if isinstance(error, TypeError | ValueError) and place.endswith(OURS) and "engine" in place:
            return None
        return f"{type(error).__name__} in {place}: {error}"
    return None


def check(calls: dict[str, Callable[[Any], object]]) -> None:
    found = {
        f"{name}({value!r:.40})": said
        for name, call in calls.items()
        for value in VALUES
        if (said := complaint(lambda call=call, value=value: call(value)))  # type: ignore[misc]
    }
    assert not found


def test_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def opening(name: str) -> Callable[[Any], object]:
        return lambda value: engine.open("a.db", **{name: value}).close()

    memory = apsw.Connection(":memory:")
    check(
        {
            "open": lambda value: engine.open(value).close(),
            **{name: opening(name) for name in ("synchronous", "read_only", "trust", "clock")},
            "attach": lambda value: engine.attach(value, "a.db"),
            "attach path": lambda value: engine.attach(memory, value),
            "attach schema": lambda value: engine.attach(memory, "a.db", value),
            "register": lambda value: engine.register(value),
        }
    )


def test_driving(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, *[DONE] * 200)
    db.run("Hi", run="demo", model=model)
    names = [*engine.Options.__annotations__, "run", "on_event", "on_proposal", "on_driver", "unknown"]

    def running(name: str) -> Callable[[Any], object]:
        return lambda value: db.run("Hi", **{"model": model, name: value})

    check(
        {
            "prompt": lambda value: db.run(value, model=model),
            **{name: running(name) for name in names if name != "unknown"},
            "resume": db.resume,
            "on_event": lambda value: db.resume("demo", on_event=value),
            "on_driver": lambda value: db.resume("demo", on_driver=value),
            "abort": db.abort,
            "reason": lambda value: db.abort("demo", value),
            "resolve": lambda value: db.resolve(value, accept=True),
            "path": lambda value: db.resolve("demo", value, accept=True),
            "accept": lambda value: db.resolve("demo", accept=value),
            "body": lambda value: db.resolve("demo", accept=True, body=value),
            "fork": db.fork,
            "alias": lambda value: db.fork("demo", value),
            "at": lambda value: db.fork("demo", at=value),
            "purge": db.purge,
        }
    )


def test_querying(db: engine.Database) -> None:
    readers = (db.sql, db.rows, db.row, db.value, db.execute)

    def reading(read: Any) -> dict[str, Callable[[Any], object]]:
        return {
            f"{read.__name__}": read,
            f"{read.__name__} bindings": lambda value: read("select ?", value),
            f"{read.__name__} binding": lambda value: read("select ?", (value,)),
        }

    check({name: call for read in readers for name, call in reading(read).items()})
    check(
        {
            "insert": lambda value: db.insert(value, path="known://x"),
            "insert a value": lambda value: db.insert("verb_set", run="demo", path="known://x", body=value),
        }
    )
    assert complaint(lambda: db.insert("verb_set")) is None


USES: dict[str, Callable[[engine.Database], object]] = {
    "run": lambda db: db.run("Hi", model="local"),
    "resume": lambda db: db.resume("demo"),
    "abort": lambda db: db.abort("demo"),
    "resolve": lambda db: db.resolve("demo", accept=True),
    "fork": lambda db: db.fork("demo"),
    "purge": lambda db: db.purge("demo"),
    "sql": lambda db: db.sql("select 1"),
    "rows": lambda db: db.rows("select 1"),
    "row": lambda db: db.row("select 1"),
    "value": lambda db: db.value("select 1"),
    "execute": lambda db: db.execute("select 1"),
    "insert": lambda db: db.insert("verb_set", run="demo"),
    "transaction": lambda db: db.transaction().__enter__(),
}


@pytest.mark.parametrize("name", USES)
def test_a_closed_handle_is_a_conflict(tmp_path: Path, name: str) -> None:
    db = engine.open(tmp_path / "a.db")
    db.close()
    with pytest.raises(EngineError, match=r"409 .*a\.db: is closed; open it again"):
        USES[name](db)


def test_a_handle_in_the_middle_of_a_statement_of_another_thread_is_a_clear_error(db: engine.Database) -> None:
    found: list[str | None] = []

    def use() -> None:
        found.extend(complaint(lambda use=use: use(db)) for use in USES.values())  # type: ignore[misc]

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert set(found) == {None}


def test_the_command_line_prints_one_line_for_any_error(workspace_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.system import locate

    def broken(*_: object) -> Path:
        raise LookupError("a rule that nobody thought of\nwith two lines")

    monkeypatch.setattr(locate, "find_database", broken)
    done = command_line(workspace_dir, "runs")
    assert done.returncode == 1
    said = "engine: LookupError: a rule that nobody thought of; 'engine --debug …' shows where\n"
    assert (done.stdout, done.stderr) == ("", said)
    with pytest.raises(LookupError):
        command_line(workspace_dir, "--debug", "runs")


@pytest.mark.parametrize(
    "arguments",
    [
        ["files", "add", "x" * 300],
        ["files", "add", "d/" * 3000],
        ["files", "add", "a\nb"],
        ["files", "--root", "x" * 300],
        ["run", "--root", "x" * 5000, "--model", "local", "Hi"],
        ["run", "--model", "scripted:" + "x" * 5000, "Hi"],
        ["run", "--model", "replay:" + "x" * 5000 + "#a", "Hi"],
        ["run", "--run", "x" * 5000, "--model", "none/such", "Hi"],
        ["runs", "--db", "x" * 5000],
        ["runs", "--db", "/dev/null"],
        ["runs", "--db", "/dev/zero"],
        ["models", "add", "x", "scripted:" + "x" * 300],
        ["sql", "\ud800"],
        ["show", "\ud800"],
    ],
    ids=range(14),
)
def test_strange_arguments_of_commands_are_one_line(workspace_dir: Path, arguments: list[str]) -> None:
    done = command_line(workspace_dir, *arguments)
    assert len(done.stderr.splitlines()) <= 2
    assert "shows where" not in done.stderr


def test_closing_a_handle_that_another_thread_uses_is_a_conflict(tmp_path: Path) -> None:
    """A function of an app that was given up after its time may still be at work with the handle."""
    db = engine.open(tmp_path / "t.db")
    inside, done = threading.Event(), threading.Event()

    def wait() -> int:
        inside.set()
        done.wait()
        return 1

    db.connection.create_scalar_function("wait_here", wait, 0)
    thread = threading.Thread(target=lambda: db.value("select wait_here()"))
    thread.start()
    try:
        inside.wait()
        with pytest.raises(engine.Conflict, match="is in use by another thread"):
            db.close()
    finally:
        done.set()
        thread.join()
    db.close()
