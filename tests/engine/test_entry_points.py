"""The quick look for entry points misses no package that Python's own search finds.

spec: @plugins
"""

from __future__ import annotations

import importlib.metadata
import sys
import zipfile
from pathlib import Path

import pytest

from engine.entry_points import has_entry_point

GROUP = "engine.tests.group"


def test_every_group_of_this_environment_is_found_and_no_other() -> None:
    groups = {point.group for package in importlib.metadata.distributions() for point in package.entry_points}
    assert groups
    assert {group for group in groups if has_entry_point(group)} == groups
    assert not has_entry_point(GROUP)


@pytest.mark.parametrize("folder", ["p-1.dist-info", "P-1.DIST-INFO", "p.egg-info", "p.egg/EGG-INFO", "p.zip"])
def test_a_package_is_found_however_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    text = f"[console_scripts]\np = p:main\n\n[{GROUP}]\np = p\n"
    place = tmp_path
    if folder.endswith(".zip"):
        place = tmp_path / folder
        with zipfile.ZipFile(place, "w") as archive:
            archive.writestr("p-1.dist-info/entry_points.txt", text)
            archive.writestr("p-1.dist-info/METADATA", "Name: p\n")
    else:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "entry_points.txt").write_text(text)
        (tmp_path / folder / "METADATA").write_text("Name: p\n")
        place = (tmp_path / folder).parent
    monkeypatch.syspath_prepend(place)
    assert list(importlib.metadata.entry_points(group=GROUP))
    assert has_entry_point(GROUP)


def test_where_another_finder_knows_packages_python_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder(importlib.metadata.MetadataPathFinder):
        pass

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert has_entry_point(GROUP)


def test_places_without_packages_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p-1.dist-info").touch()
    (tmp_path / "q-1.dist-info").mkdir()
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "entry_points.txt").write_text(f"[{GROUP}]\n")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "missing")])
    assert not has_entry_point(GROUP)
