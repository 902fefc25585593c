"""Identifies a process, so that another process can tell later whether it is still alive.

A process id alone is used again. Together with the boot id, the PID namespace and the start time in clock ticks it names one
process only. Where these do not prove that a process is alive or dead, its state is `unknown`, and its lease has to expire.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from engine.errors import NotFound, ValidationError

State = Literal["alive", "dead", "unknown"]

_PROC = Path("/proc")
_GONE = frozenset("ZX")
_MOST_PID = (1 << 31) - 1


class ProcessIdentity(NamedTuple):
    """One process on one machine: `pid` is its number, `started` its start in clock ticks since boot.

    `boot_id`, `machine` and `namespace` say where that number is valid; a field is empty where the system does not tell.
    """

    boot_id: str
    pid: int
    started: str
    machine: str = ""
    namespace: str = ""

    def to_json(self) -> str:
        """The identity as one compact JSON object."""
        return json.dumps(self._asdict(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> ProcessIdentity:
        """The identity that `to_json` wrote; `ValidationError` (400) for anything else."""
        try:
            identity = cls(**json.loads(text))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValidationError(f"not the identity of a process: {text!r}; expected what to_json wrote") from error
        if type(identity.pid) is not int or not 1 <= identity.pid <= _MOST_PID:
            raise ValidationError(f"not the identity of a process: pid {identity.pid!r} is not a process id")
        return identity


def read_identity(text: str | None) -> ProcessIdentity | None:
    """The identity in a column of a file; None for what is none, which a file from elsewhere may hold."""
    with suppress(ValidationError):
        return ProcessIdentity.from_json(text or "")
    return None


class ProcessStat(NamedTuple):
    """A process in /proc: the `letter` of its state, its process `group`, its start in clock ticks."""

    letter: str
    group: int
    started: str


@lru_cache(maxsize=1)
def _place() -> tuple[str, str, str]:
    """Boot id, machine and PID namespace of this process; empty strings where /proc is missing."""
    try:
        boot_id = (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        namespace = os.readlink(_PROC / "self/ns/pid")
    except OSError:
        return "", "", ""
    return boot_id, _machine(), namespace


def _machine() -> str:
    """A digest of machine id and host name. Clones of a machine have the same id, and the id itself is confidential."""
    try:
        machine_id = Path("/etc/machine-id").read_text("ascii").strip()
    except OSError:
        return ""
    return sha256(f"engine:{machine_id}:{os.uname().nodename}".encode()).hexdigest()[:16] if machine_id else ""


def process_stat(pid: int) -> ProcessStat | None:
    """The process `pid` as /proc shows it; None where it shows no such process, or there is no /proc."""
    try:
        raw = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The command name stands in brackets and may itself hold spaces and brackets: count from the last one.
    letter, _parent, group, *rest = raw[raw.rindex(b")") + 2 :].split()
    return ProcessStat(letter.decode("ascii"), int(group), rest[16].decode("ascii"))


def of(pid: int) -> ProcessIdentity:
    """The identity of process `pid`, without /proc only its number; raises `NotFound` (404) where there is none."""
    boot_id, machine, namespace = _place()
    stat = process_stat(pid)
    if stat is None and boot_id:
        raise NotFound(f"no process has the id {pid}")
    return ProcessIdentity(boot_id, pid, stat.started if stat else "", machine, namespace)


def this_process() -> ProcessIdentity:
    """The identity of the calling process."""
    return of(os.getpid())


def is_same_process(identity: ProcessIdentity) -> bool:
    """Whether /proc proves that the process of `identity` still exists; a zombie counts."""
    boot_id, _, namespace = _place()
    if not boot_id or (identity.boot_id, identity.namespace) != (boot_id, namespace):
        return False
    stat = process_stat(identity.pid)
    return stat is not None and stat.started == identity.started


def state(identity: ProcessIdentity) -> State:
    """Whether the process is alive: `dead` only where that is proved, `unknown` on another machine or without /proc."""
    boot_id, machine, namespace = _place()
    if not (boot_id and identity.boot_id and identity.started):
        return "unknown"
    if identity.boot_id != boot_id:
        return "dead" if machine and identity.machine == machine else "unknown"
    if identity.namespace != namespace:
        return "unknown"
    stat = process_stat(identity.pid)
    if stat is None:
        return "dead" if _is_free(identity.pid) else "unknown"
    return "dead" if stat.started != identity.started or stat.letter in _GONE else "alive"


def _is_free(pid: int) -> bool:
    """Whether the kernel knows no process `pid`: /proc may hide the processes of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
