"""The plugin of pytest: fixtures, and the option `--engine-update`.

| fixture | |
|---|---|
| `engine_db` | a fresh database, `tmp_path / "engine.db"`, whose clock is `engine_clock` where a test uses that too |
| `engine_folder` | an empty folder for a run's files, `tmp_path / "folder"` |
| `engine_clock` | a clock that stands still, a `FrozenClock` |
| `engine_recording` | the `Recording` of the test, `recordings/FILE.TEST.yaml` beside its file |

spec: @testing
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from engine.api.database import Database

    from .clocks import FrozenClock
    from .recordings import Recording

_RECORDING: pytest.StashKey[Recording] = pytest.StashKey()
_UNSAFE = re.compile(r"[^\w.-]+")
_LONGEST = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("engine").addoption(
        "--engine-update", action="store_true", help="Ask the models of recordings, and write the recordings anew."
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Let a test fail with what differs from its recording, which is the reason of what else failed in it."""
    failure: BaseException | None = None
    try:
        yield
    except (Exception, pytest.fail.Exception) as error:
        failure = error
    recording = item.stash.get(_RECORDING, None)
    told = None
    if recording is not None and (failure is None or recording.update or recording.difference):
        try:
            recording.finish()
        except AssertionError as error:
            told = str(error)
    if told is not None:
        pytest.fail(told, pytrace=False)
    if failure is not None:
        raise failure


@pytest.fixture
def engine_folder(tmp_path: Path) -> Path:
    """An empty folder for the files of runs."""
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@pytest.fixture
def engine_clock() -> FrozenClock:
    """A clock that stands still at 2026-01-01 00:00 UTC; `engine_db` goes by it."""
    from .clocks import FrozenClock

    return FrozenClock()


@pytest.fixture
def engine_db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A fresh database in `tmp_path`, closed at the end."""
    import engine

    clock = {"clock": request.getfixturevalue("engine_clock")} if "engine_clock" in request.fixturenames else {}
    with engine.open(tmp_path / "engine.db", **clock) as db:
        yield db


@pytest.fixture
def engine_recording(request: pytest.FixtureRequest, tmp_path: Path) -> Recording:
    """The recording of this test. Models are asked with `--engine-update` only."""
    from .recordings import Recording

    item = request.node
    recording = item.stash[_RECORDING] = Recording(
        place_of(item),
        update=item.config.getoption("--engine-update"),
        folders=(tmp_path,),
        how_to_update=f"record anew: pytest --engine-update '{item.nodeid}'",
    )
    return recording


def place_of(item: pytest.Item) -> Path:
    """Where the recording of a test lies: beside its file, `recordings/FILE.TEST.yaml`."""
    _, _, test = item.nodeid.partition("::")
    name = _UNSAFE.sub("-", test.replace("::", ".")).strip("-.")
    if len(name) > _LONGEST:
        from hashlib import sha256

        name = f"{name[:_LONGEST]}-{sha256(name.encode()).hexdigest()[:8]}"
    return item.path.parent / "recordings" / f"{item.path.stem}.{name}.yaml"
