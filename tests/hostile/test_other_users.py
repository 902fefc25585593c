"""Other users of the machine: what they could write into, where a person's umask says nothing.

spec: @configuration
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.system.places import own_lock, write_own


@pytest.fixture
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_open_umask")
def test_no_folder_above_a_users_own_file_is_made_for_others_to_write(tmp_path: Path) -> None:
    """Who may write a folder can put another in the place of those below it."""
    for name, make in (("written", lambda place: write_own(place, b"x")), ("locked", _locked)):
        make(tmp_path / name / "config" / "engine" / "file")
        made = [tmp_path / name, *(tmp_path / name).rglob("*")]
        assert {each.stat().st_mode & 0o077 for each in made} == {0}
        assert len(made) > 3


def _locked(place: Path) -> None:
    with own_lock(place):
        pass
