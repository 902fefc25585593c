"""Where workers run: processes of this machine, or Ray.

spec: @fleet_workers
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Protocol

from engine.errors import EngineError
from engine.system.descriptors import MAKING


class Hand(Protocol):
    """One worker, as its driver sees it."""

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        ...

    def stop(self) -> None:
        """Tell it to let its runs stand, and to end."""
        ...

    def end(self, seconds: float) -> None:
        """Wait so long for its end, then end it."""
        ...


class Executor(Protocol):
    """Starts workers."""

    def start(self, manifest: Path, slots: int) -> Hand:
        """Start a worker that carries out `slots` tasks at once."""
        ...

    def close(self) -> None:
        """Give back what the workers needed."""
        ...


class LocalProcess:
    """A worker that is a process of this machine; its standard input says that its driver is there."""

    def __init__(self, manifest: Path, slots: int) -> None:
        words = [sys.executable, "-m", "engine.fleet.worker", str(manifest), str(slots)]
        with MAKING:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self.process.poll() is None

    def stop(self) -> None:
        """Close its standard input."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            return

    def end(self, seconds: float) -> None:
        """Wait for its end, then kill it."""
        self.stop()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class LocalProcesses:
    """Workers that are processes of this machine."""

    def start(self, manifest: Path, slots: int) -> LocalProcess:
        """Start one."""
        return LocalProcess(manifest, slots)

    def close(self) -> None:
        """Nothing is kept."""


def executor(ray: str | None) -> Executor:
    """The executor that is asked for; raises `EngineError` (500) if Ray is not installed."""
    if ray is None:
        return LocalProcesses()
    try:
        from .on_ray import RayWorkers
    except ModuleNotFoundError:
        raise EngineError("Ray is not installed; pip install 'engine[ray]' brings it") from None
    return RayWorkers(ray)
