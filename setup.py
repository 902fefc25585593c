"""Builds from what is there now: a folder build/ of an earlier build must not bring back files that were removed."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class _FreshBuild(build_py):
    """Copies the packages into a folder without what an earlier build left there."""

    def run(self) -> None:
        shutil.rmtree(Path(self.build_lib, "engine"), ignore_errors=True)
        super().run()


setup(cmdclass={"build_py": _FreshBuild})
