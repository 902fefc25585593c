"""What serves runs by a protocol: the engine's own, those of plugins, and files of a person's own.

spec: @adapters
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_cli import database, engine, script

from engine import adapters, plugins

MINE = """
import sys

def serve(serving):
    with serving.open() as db:
        for prompt in sys.stdin.read().splitlines():
            print(db.run(prompt, root=".", **serving.options).answer)
        print(serving.yolo)
"""


def test_a_file_is_an_adapter(folder: Path, tmp_path: Path) -> None:
    (folder / "mine.py").write_text(MINE)
    model = script(tmp_path / "s.jsonl", ["Good day.", "Good day."])
    said = engine(
        folder, "serve", "adapter", "./mine.py", "--model", model, "--ask", "--yolo", stdin="Hello\nHello again\n"
    )
    assert (said.returncode, said.stdout) == (0, "Good day.\nGood day.\nTrue\n"), said.stderr
    assert database(folder).exists()


class Shouting:
    @plugins.hookimpl
    def engine_adapters(self) -> dict[str, adapters.Adapter]:
        return {"shout": lambda serving: print(str(serving.db).upper())}


@pytest.fixture
def shouting() -> Iterator[None]:
    plugin = Shouting()
    plugins.manager().register(plugin)
    yield
    plugins.manager().unregister(plugin)


@pytest.mark.usefixtures("shouting")
def test_a_plugin_brings_adapters_by_name(folder: Path) -> None:
    said = engine(folder, "serve", "adapter", "shout", "--db", "mine.db")
    assert (said.returncode, said.stdout) == (0, "MINE.DB\n")
    assert list(adapters.adapters()) == ["acp", "shout"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("http", "adapter 'http': not found; use acp, or a file such as ./adapter.py"),
        ("gone.py", "adapter 'gone.py': there is no such file"),
        ("empty.py", "adapter 'empty.py': has no function serve(serving)"),
    ],
)
def test_an_adapter_that_is_none_is_told_in_a_line(folder: Path, name: str, told: str) -> None:
    (folder / "empty.py").write_text("x = 1\n")
    said = engine(folder, "serve", "adapter", name)
    assert said.returncode == 2
    assert told in said.stderr
    assert not database(folder).exists()


def test_without_the_library_the_command_says_what_to_install(folder: Path) -> None:
    code = "import sys; sys.modules['acp'] = None; from engine.cli.main import main; sys.exit(main(['serve', 'acp']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("engine: the library of the protocol is missing; pip install ")
    assert done.stderr.count("\n") == 1


def test_help_imports_neither_the_library_nor_what_it_brings() -> None:
    code = (
        "import sys; from engine.cli.main import main; main(['serve', 'acp', '--help']); "
        "print([name for name in ('acp', 'pydantic', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
