"""What a sandbox is asked for, what it gives, and where a process runs by that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from engine.errors import EngineError

ALL_NETWORK = "all"


class SandboxMissing(EngineError):  # noqa: N818 - a field term
    """403: a command that has to run in a sandbox is not run, because there is none."""

    status = 403


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a command; 0 is none. `memory` (of a process) and `file_size` are bytes, `processes` a number."""

    memory: int = 0
    file_size: int = 0
    processes: int = 0


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a command may do.

    `root` is the folder of the project, which it may change if `writable`. `network` is empty (none), `all`, or domains
    separated by commas. `database` is the engine's file, which it must not reach. `home` are the names in the home folder
    that it may read, `shown` patterns of files that a person lets it see though their names say that they hold keys.
    """

    root: Path
    writable: bool
    network: str = ""
    database: Path | None = None
    home: Sequence[str] = ()
    shown: Sequence[str] = ()
    limits: Limits = Limits()


@dataclass(slots=True)
class Confined:
    """How to start a command confined: `prefix` stands in front of its words, `environment` is added to its own.

    A variable that is None is taken out. `limits` are set before the prefix is started. `refused` are the domains that
    were asked for and not reached, known at the end. `shell` is the one that is there inside; None: the user's.
    """

    prefix: Sequence[str]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    limits: Limits = Limits()
    refused: list[str] = field(default_factory=list)
    shell: str | None = None


class Sandbox(Protocol):
    """A way to confine commands."""

    name: str

    def missing(self) -> str | None:
        """Why it cannot be used here, as the end of a sentence; None where it can. It is tried, not guessed."""

    def confine(self, asked: Confinement) -> AbstractContextManager[Confined]:
        """What a command has to be started with; inside the context it runs. Raises `EngineError` where it cannot be."""


@dataclass(frozen=True)
class Place:
    """Where a process runs: in `sandbox` as `asked`, or in none."""

    sandbox: Sandbox | None
    asked: Confinement

    def confine(self) -> AbstractContextManager[Confined | None]:
        """What to start the process with, inside the context."""
        return self.sandbox.confine(self.asked) if self.sandbox else nullcontext()

    @property
    def told(self) -> dict[str, str | None]:
        """What is kept with the result of the process."""
        if self.sandbox is None:
            return {"sandbox": None, "project": "writable", "network": "all"}
        project = "writable" if self.asked.writable else "read-only"
        return {"sandbox": self.sandbox.name, "project": project, "network": self.asked.network or "none"}
