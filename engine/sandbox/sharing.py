"""What commands that run at once in one project share: the empty files and folders that stand in for what is not there.

They are made on the disk when the first command starts, and removed when the last one ends. Which there are is kept in the
user's cache, so that a command takes none of them for a file of the project. Locks of the kernel say who still runs: they
end with the process, whatever ends it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from engine.system.places import cache_folder, own_lock, read_own, write_own

from .secrets_on_disk import Findings, is_inside


@contextmanager
def stand_ins(root: Path, look: Callable[[Set[Path]], Findings]) -> Iterator[Findings]:
    """What `look` finds, given what stands in already, for as long as a command runs that may write to `root`.

    Where the cache cannot be written each command goes by itself.
    """
    place = cache_folder() / "sandbox" / hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
    with ExitStack() as stack:
        running: IO[bytes] | None = None
        found = None
        with suppress(OSError), own_lock(place):
            made = _read(place, root)
            found = look(made)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            running = stack.enter_context(open(os.open(f"{place}.running", flags, 0o600), "r+b"))
            fcntl.flock(running, fcntl.LOCK_SH)
            _write(place, made | found.placeholders | found.empty)
        found = found or look(frozenset())
        try:
            yield found
        finally:
            for path in found.removed:
                with suppress(OSError):
                    path.unlink()
            if running is None:
                _remove_empty(found.placeholders | found.empty)
            else:
                with suppress(OSError), own_lock(place):
                    # refused while another command runs, which then removes them
                    fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove_empty(_read(place, root))
                    _write(place, frozenset())


def _read(place: Path, root: Path) -> frozenset[Path]:
    """What stands in, below `root` alone: the cache may lie in the project, where a command writes what it likes."""
    try:
        made = [Path(os.fsdecode(bytes.fromhex(name))) for name in json.loads(read_own(place) or b"[]")]
        return frozenset(path for path in made if is_inside(root, path) and "\0" not in path.name)
    except (OSError, ValueError, TypeError, RecursionError):
        return frozenset()


def _write(place: Path, made: Set[Path]) -> None:
    write_own(place, json.dumps(sorted(os.fsencode(path).hex() for path in made)).encode())


def _remove_empty(paths: Iterable[Path]) -> None:
    for path in sorted(paths, reverse=True):
        with suppress(OSError):
            if path.is_dir():
                path.rmdir()
            elif path.stat().st_size == 0:
                path.unlink()
