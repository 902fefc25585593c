"""Runs one shell command and holds all that it starts. A program of its own:
`python -I -S guard.py STATUS LOCALE LIMITS SHELL [PREFIX...]`.

It stands between the engine and the command, so that whatever the command starts, also in sessions of its own, ends with
the engine (Linux; elsewhere the command's process group). The command can read neither the environment nor the memory of
processes that it did not start: these may hold keys. A sandbox, which PREFIX starts, sees to that itself.

STATUS is a descriptor that it writes lines to: `pid N` when the command waits to be released, `exit CODE` when it ended
(-N for signal N); behind it may stand, after a colon, the descriptor that is the command's input: `5:7`. LOCALE is 1 where
LC_CTYPE was given. LIMITS are bytes of memory and of a file, and the number of processes, which holds for root only; 0 for
none: `0,0,0`. In PREFIX, N words behind `IF_THERE N` are left out where the
last of them is a path that is gone by then. The command line is in the variable ENGINE_GUARDED. Each byte on standard
input is an order: `g` releases the command, `t` asks all to end, `k` kills all, `d` is the last: what is left may stay.
Where standard input ends without it, the engine is gone, and all is killed. It imports nothing of the engine.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from types import FrameType

COMMAND = "ENGINE_GUARDED"
UNCONFINED = "ENGINE_UNCONFINED"
IF_THERE = "--engine-if-there"

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91, "riscv64": 91}
_CAPABILITY_VERSION = 0x20080522
# Rights by which root reads other processes or the kernel: sys_module, sys_rawio, sys_ptrace, perfmon, bpf. The last,
# audit_write, is one that root has in containers too: without it a command has fewer rights than what it may not read.
_READING = (16, 17, 19, 38, 39, 29)
# sys_admin: from Linux 6.14 on it may read any environment
_ADMINISTERING = (21,)
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_LANDLOCK_MAKE_BLOCK, _LANDLOCK_REFER = 1 << 11, 1 << 13
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
_COUNTING_GROUPS = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")
_KILL_SECONDS = 2.0
_TICK_SECONDS = 0.003


def main(descriptors: str, locale: str, limits: str, shell: str, *prefix: str) -> None:
    """Start the command, obey the orders on standard input, and leave nothing behind unless the last order is `d`."""
    command = os.environ.pop(COMMAND)
    status, fed = _descriptors(descriptors)
    if locale == "0":
        os.environ.pop("LC_CTYPE", None)  # Python itself sets it in the C locale
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _IGNORED}
    system = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    if system:
        system.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if not prefix and not os.environ.get(UNCONFINED):
            _confine(system)
    gate, release = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(release)
        try:
            _become(system, (status, gate), fed, [*prefix, shell, "-c", command], limits, before)
        finally:
            os._exit(126)
    os.close(gate)
    if fed is not None:
        os.close(fed)
    with open(os.devnull, "r+b", buffering=0) as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    group = _count(child, limits.rpartition(",")[2]) if os.geteuid() == 0 else None
    _say(status, f"pid {child}\n")
    _obey(child, status, release, sandboxed=bool(prefix))
    if group:
        _remove(group, status)


def _descriptors(words: str) -> tuple[int, int | None]:
    """Those of the status and of the input."""
    status, _, fed = words.partition(":")
    return int(status), int(fed) if fed else None


def _become(
    system: ctypes.CDLL | None,
    own: tuple[int, int],
    fed: int | None,
    words: list[str],
    limits: str,
    signals: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None],
) -> None:
    """Wait for the release, then become the command: in a session of its own, killed with the guard. Without an input that
    was given it has none. `own` are the descriptors of the status and of the gate, which the command does not get.
    """
    os.setsid()
    guard = os.getppid()
    if system:
        system.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for number, handler in signals.items():
        signal.signal(number, signal.SIG_DFL if number == signal.SIGPIPE else handler)
    if os.getppid() != guard or os.read(own[1], 1) != b"g":
        os._exit(125)
    os.dup2(os.open(os.devnull, os.O_RDONLY) if fed is None else fed, 0)
    # an engine with many open files gives high numbers
    os.closerange(3, max(63, *own, fed or 0) + 1)
    for limit, given in zip((resource.RLIMIT_DATA, resource.RLIMIT_FSIZE), limits.split(","), strict=False):
        if int(given):
            with suppress(OSError, ValueError):  # a lower one is in force
                resource.setrlimit(limit, (int(given), int(given)))
    words = _present(words)
    os.execv(words[0], words)  # noqa: S606 - the shell itself


def _present(words: list[str]) -> list[str]:
    """The words of the command, without those that are about names that are gone by now."""
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        if word != IF_THERE:
            found.append(word)
            continue
        about = [next(rest) for _ in range(int(next(rest)))]
        found += about if os.path.lexists(about[-1]) else []
    return found


def _count(child: int, most: str) -> str | None:
    """Limit the processes of root, for whom nothing else counts, by a cgroup; its folder, or None where none can be made."""
    for base in _COUNTING_GROUPS if most != "0" else ():
        group = f"{base}/engine-{os.getpid()}"
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            for name, value in (("pids.max", most), ("cgroup.procs", str(child))):
                with open(f"{group}/{name}", "w", encoding="ascii") as file:
                    file.write(value)
        except OSError:
            with suppress(OSError):  # what cleans up elsewhere may have taken it for a leftover
                os.rmdir(group)
            continue
        return group
    return None


def _remove(group: str, status: int) -> None:
    """Remove the cgroup once it is empty, and those that killed guards have left."""
    deadline = time.monotonic() + _KILL_SECONDS
    while os.path.isdir(group) and time.monotonic() < deadline:
        _reap(None, status)
        with suppress(OSError):
            os.rmdir(group)
            break
        time.sleep(_TICK_SECONDS)
    base = os.path.dirname(group)
    for name in os.listdir(base):
        pid = name.removeprefix("engine-")
        if pid != name and pid.isdecimal() and not os.path.exists(f"/proc/{pid}"):
            with suppress(OSError):
                os.rmdir(f"{base}/{name}")


def _obey(child: int, status: int, release: int, *, sandboxed: bool) -> None:
    wake, woken = os.pipe()
    for descriptor in (wake, woken):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    events = select.poll()
    events.register(0, select.POLLIN)
    events.register(wake, select.POLLIN)
    while True:
        _reap(child, status, sandboxed=sandboxed)
        for descriptor, _ in events.poll():
            if descriptor == wake:
                os.read(wake, 4096)
                continue
            match os.read(0, 1):
                case b"g":
                    _say(release, "g")
                case b"t":
                    # the program that holds a sandbox would end at once, and all in it without a last word
                    _signal(None if sandboxed else child, set(_descendants()) - {child}, signal.SIGTERM)
                case b"k":
                    _kill_all(child, status)
                case b"d":
                    return
                case b"":
                    _kill_all(child, status)
                    return


def _say(descriptor: int, text: str) -> None:
    with suppress(OSError):
        os.write(descriptor, text.encode())


def _reap(child: int | None, status: int, *, sandboxed: bool = False) -> None:
    """Take the ends of all that ended, and tell that of the command; nothing of a sandbox outlives it."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                if sandboxed:
                    _kill_all(None, status)
                _say(status, f"exit {os.waitstatus_to_exitcode(ended[1])}\n")


def _kill_all(child: int | None, status: int) -> None:
    """Kill until nothing is left; what was started between two looks is found by the next."""
    deadline = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < deadline:
        found = _descendants()
        if not found:
            break
        _signal(child, found, signal.SIGKILL)
        _reap(child, status)
        time.sleep(_TICK_SECONDS)


def _signal(group: int | None, found: Iterable[int], number: signal.Signals) -> None:
    if group is not None:
        with suppress(OSError):
            os.killpg(group, number)
    for pid in found:
        with suppress(OSError):
            os.kill(pid, number)


def _descendants() -> list[int]:
    """The processes under this one that still run; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                    if state not in (b"Z", b"X"):
                        children.setdefault(int(parent), []).append(int(name))
    found, above = [], [os.getpid()]
    while above:
        below = children.pop(above.pop(), [])
        found += below
        above += below
    return found


def _confine(system: ctypes.CDLL) -> None:
    """Give up what it takes to read other processes: rights, as root; otherwise, or where that does not do, by Landlock."""
    if os.geteuid() == 0:
        for rights in (_READING, _ADMINISTERING):
            _give_up(system, rights)
            if not _reads_above():
                return
    _restrict(system)


def _reads_above() -> bool:
    """Whether the environment of a process above this one can be read."""
    pid = os.getppid()
    while pid:
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if file.read(1):
                return True
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            return False
    return False


def _give_up(system: ctypes.CDLL, rights: Collection[int]) -> None:
    number = _SYS_CAPSET.get(os.uname().machine)
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        sets = {line[:6]: int(line[7:], 16) for line in file if line[:7] in ("CapEff:", "CapPrm:", "CapInh:")}
    if not sets.get("CapPrm") or number is None:
        return
    for right in rights:
        system.prctl(_PR_CAPBSET_DROP, right, 0, 0, 0)
    rest = [sets[name] & ~sum(1 << right for right in rights) for name in ("CapEff", "CapPrm", "CapInh")]
    head = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    data = (ctypes.c_uint32 * 6)(*(each & 0xFFFFFFFF for each in rest), *(each >> 32 for each in rest))
    system.syscall(number, head, data)


def _restrict(system: ctypes.CDLL) -> None:
    """Enter a Landlock domain: what is in one cannot look into processes outside of it. It forbids nothing else.

    Without the right to administer the system that takes away setuid programs such as sudo.
    """
    version = system.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if version < 2:
        return
    # from version 6 on a domain can be one of abstract sockets only; before, one of block devices, which are all allowed
    fields = (0, 0, 1) if version >= 6 else (_LANDLOCK_MAKE_BLOCK | _LANDLOCK_REFER,)
    attributes = (ctypes.c_uint64 * len(fields))(*fields)
    ruleset = system.syscall(_LANDLOCK_CREATE, attributes, ctypes.sizeof(attributes), 0)
    if ruleset < 0:
        return
    if fields[0]:
        everything = os.open("/", os.O_PATH | os.O_CLOEXEC)
        rule = ctypes.create_string_buffer(fields[0].to_bytes(8, sys.byteorder) + everything.to_bytes(4, sys.byteorder))
        system.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0)
        os.close(everything)
    if system.syscall(_LANDLOCK_RESTRICT, ruleset, 0) != 0:
        system.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        system.syscall(_LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


if __name__ == "__main__":
    main(*sys.argv[1:])
