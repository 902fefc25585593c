"""Workers on Ray: tasks of Ray that reach the manifest through an actor beside the driver.

spec: @fleet_workers
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray

from .worker import Worker

_METHODS = ("rows", "value", "call", "execute", "begin_worker", "end_worker", "claim", "open_call")


class _Keeper:
    """Holds the manifest, whose file no other machine opens; an actor of Ray."""

    def __init__(self, path: str) -> None:
        from .manifest import Manifest

        self._manifest = Manifest(Path(path), trust=True)
        self._stopping = False

    def ask(self, method: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What a method of the manifest gives, or the error that it raises."""
        from engine.errors import EngineError

        if method not in _METHODS:
            raise ValueError(method)
        try:
            return getattr(self._manifest, method)(*arguments, **named)
        except EngineError as error:
            return error

    def stop(self) -> None:
        self._stopping = True

    def is_stopping(self) -> bool:
        return self._stopping


class _Remote:
    """The manifest for a worker elsewhere."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)

        def ask(*arguments: Any, **named: Any) -> Any:
            found = ray.get(self._keeper.ask.remote(name, arguments, named))
            if isinstance(found, Exception):
                raise found
            return found

        return ask


def _work(keeper: Any, slots: int, place: str) -> None:
    remote: Any = _Remote(keeper)
    worker = Worker(remote, slots, place)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            try:
                if ray.get(keeper.is_stopping.remote()):
                    worker.stop()
            except ray.exceptions.RayError:  # the driver is gone
                worker.stop()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        worker.work()
    finally:
        ended.set()


class _OnRay:
    """One worker, as its driver sees it."""

    def __init__(self, keeper: Any, slots: int) -> None:
        self._keeper = keeper
        task = ray.remote(num_cpus=0, max_retries=0)(_work)
        self._reference = task.remote(keeper, slots, "ray")

    @property
    def is_alive(self) -> bool:
        """Whether the task of Ray has not ended."""
        ready, _ = ray.wait([self._reference], timeout=0)
        return not ready

    def stop(self) -> None:
        """Tell the actor, which all workers ask."""
        with suppress(ray.exceptions.RayError):
            ray.get(self._keeper.stop.remote())

    def end(self, seconds: float) -> None:
        """Wait for its end, then have Ray end it."""
        until = time.monotonic() + seconds
        while self.is_alive and time.monotonic() < until:
            time.sleep(0.1)
        if self.is_alive:
            with suppress(ray.exceptions.RayError, ValueError):
                ray.cancel(self._reference, force=True)


class RayWorkers:
    """Workers that are tasks of Ray, at an address, or of a Ray of this machine alone (`local`)."""

    def __init__(self, address: str) -> None:
        self._keeper: Any = None
        where = {} if address == "local" else {"address": address}
        ray.init(**where, include_dashboard=False, log_to_driver=False, logging_level="ERROR", configure_logging=False)

    def start(self, manifest: Path, slots: int) -> _OnRay:
        """Start one."""
        if self._keeper is None:
            node = ray.get_runtime_context().get_node_id()
            beside = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
            actor = ray.remote(num_cpus=0, scheduling_strategy=beside, max_concurrency=1)(_Keeper)
            self._keeper = actor.remote(str(manifest.resolve()))
        return _OnRay(self._keeper, slots)

    def close(self) -> None:
        """Leave Ray."""
        ray.shutdown()
