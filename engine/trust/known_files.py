"""Which files this user knows: those that his engine made, and those that he has confirmed. Another one must not act.

Each file bears a random mark. The user's own folder of state has a note for each mark together with the inode of its file,
so that a copy, a file that was unpacked, and one that came in the place of another are not known, and one that was moved is.
A file in a folder of `ENGINE_TRUST` is known, too (@trusted_folders).
A file that is not known may be opened to write where nothing in it would act by itself (`_acts`), and is known from then on.

spec: @trust
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import apsw

from engine.errors import Conflict, EngineError, PermissionDenied
from engine.schema.update import build_of
from engine.system.locate import FOLDER
from engine.system.own_files import identity
from engine.system.places import home_folder, read_own, state_folder, temporary_folder, write_own

from . import trusted_folders

Act = tuple[str, str | None, str]
"""What a file would do: its kind, the run that does it or None, and what it is, for people."""

_MARK = "select value from engine_meta where key = 'mark' and length(value) = 32 and value not glob '*[^0-9a-f]*'"
_ORPHANS = (
    "select group_concat(name, ', ') from (select distinct \"table\" as name from pragma_foreign_key_check order by 1)"
)
"""A row of a run or turn that is to come would be taken for its own, because ids are given again."""
_NAMED = 3
"""An error names at most this many acts."""
_SEEDED = frozenset(
    [
        "brackets",
        "categories",
        "command_policies",
        "loop_transitions",
        "media_models",
        "model_failures",
        "modes",
        "module_offers",
        "outcomes",
        "packet_sections",
        "personas",
        "run_options",
        "run_transitions",
        "schemes",
        "states",
        "statuses",
        "tools",
        "turn_phases",
        "turn_transitions",
        "visibilities",
        "writer_tiers",
    ]
)
"""The tables with rows that every file has, which say how runs move and what a model may."""
_EXACT = {
    "executor_models": "1",
    "hook_points": "1",
    "media_models": "1",
    "model_tiers": "1",
    "node_statuses": "1",
    "step_states": "1",
    "thread_events": "1",
    "thread_patterns": "thread_id in (select id from threads where level = 'shipped')",
    "threads": "level = 'shipped'",
}
"""The tables in which a row more, of those that a condition names, would choose a model or loosen something, too."""
_KEPT_S = 30 * 86_400
_SWEPT = 64
"""One of so many notes that are written sweeps away those of files that are gone for a month."""

_known_here: set[str] = set()
"""The notes of this process, which count where none can be written."""


class ForeignFile(PermissionDenied):
    """403: a file that this user does not know would act; `acts` says what it would do."""

    def __init__(self, path: Path, acts: Sequence[Act]) -> None:
        self.acts: tuple[Act, ...] = tuple(acts)
        more = f", and {len(acts) - _NAMED} more" if len(acts) > _NAMED else ""
        super().__init__(
            f"{path}: is not known to be yours, and {'; '.join(told(each) for each in acts[:_NAMED])}{more}; it can be "
            "looked at, and driven once it is trusted: 'engine trust' shows all of it and asks, in Python "
            f"engine.open(path, trust=True){_not_counted(path)}"
        )


def _not_counted(path: Path) -> str:
    """Why a folder that `ENGINE_TRUST` names does not count, where the file lies in it or nothing there counts."""
    folders = trusted_folders.named()
    real = os.path.realpath(path)
    here = os.path.dirname(real)
    for folder in folders:
        if os.path.realpath(folder) == here or not os.path.isabs(folder):
            reason = trusted_folders.reason_against(folder) or trusted_folders.fault_of(real)
            return f"; {trusted_folders.VARIABLE}: {folder!r} {reason}"
    return ""


def new_mark() -> str:
    """A mark for a new file."""
    return os.urandom(16).hex()


def told(act: Act) -> str:
    """An act as a part of a sentence about its file."""
    _, run, what = act
    return what if run is None else f"run {run} {what}"


def note_new(path: Path, mark: str) -> None:
    """Know the file that was just made at `path`."""
    _remember(Path(os.path.realpath(path)), mark)


def knows(path: Path, mark: str) -> bool:
    """Whether this user knows the file at `path`, which bears `mark`."""
    return _knows(Path(os.path.realpath(path)), mark)


def is_beside(database: Path, folder: str) -> bool:
    """Whether `folder`, its links followed, is the one that the file at `database` came with, or below it.

    A home and what is above it never is, nor is a folder of another user.
    """
    place = Path(os.path.realpath(database)).parent
    base, real = place.parent if place.name == FOLDER else place, Path(os.path.realpath(folder))
    home = Path(os.path.realpath(home_folder()))
    if not real.is_relative_to(base) or home.is_relative_to(real):
        return False
    try:
        return os.stat(real).st_uid == os.geteuid()
    except FileNotFoundError:
        return True
    except OSError:
        return False


def admit(connection: apsw.Connection, path: Path) -> None:
    """Let a file be written that is known, or would do nothing by itself; raises `ForeignFile` (403) for another."""
    if trusted_folders.holds(connection.filename):
        return
    mark = connection.execute(_MARK).get
    if mark is None or not _knows(path, str(mark)):
        if acts := acts_in(connection):
            raise ForeignFile(path, acts)
        _adopt(connection, path)


def admit_agreed(connection: apsw.Connection, path: Path, agreed: Sequence[Act]) -> None:
    """Know a file from now on; raises `Conflict` (409) where it would do something else than what was agreed to.

    Raises `EngineError` (500) where that cannot be kept.
    """
    if acts_in(connection) != list(agreed):
        raise Conflict(f"{path}: has changed since it was shown; check it again")
    if not _adopt(connection, path):
        raise EngineError(
            f"{_notes()}: cannot be written, so nothing is trusted; set XDG_STATE_HOME to a writable folder"
        )


def acts_of_unknown(connection: apsw.Connection, path: Path) -> list[Act]:
    """What a file would do; nothing is told of one that is known."""
    if trusted_folders.holds(connection.filename):
        return []
    mark = connection.execute(_MARK).get
    return [] if mark is not None and _knows(path, str(mark)) else acts_in(connection)


def acts_in(connection: apsw.Connection) -> list[Act]:
    """What the file would do, besides what its user asks for; read by the rules of this build only."""
    rows = connection.execute("select kind, run, what from _acts order by rank, run, what")
    acts: list[Act] = [(str(kind), None if run is None else str(run), str(what)) for kind, run, what in rows]
    if orphans := connection.execute(_ORPHANS).get:
        acts.append(("record", None, f"has rows that belong to nothing yet in {orphans}"))
    if changed := _changed_tables(connection):
        acts.append(("rules", None, f"has rules of its own in {', '.join(changed)}"))
    return acts


def forget(connection: apsw.Connection, path: Path) -> None:
    """Know a file no more."""
    note = _note(path, str(connection.execute(_MARK).get))
    if note is not None:
        _known_here.discard(note)
        for folder in _folders():
            with suppress(OSError):
                (folder / note).unlink()


def _changed_tables(connection: apsw.Connection) -> list[str]:
    """The seeded tables without some row that a fresh file has, and those of `_EXACT` with a row that it has not."""
    with closing(apsw.Connection(":memory:")) as fresh:
        build_of(connection).fresh.copy_to(fresh)
        changed = []
        for table in sorted(_SEEDED | _EXACT.keys()):
            columns = fresh.execute("select name from pragma_table_info(?)", (table,))
            names = [name for (name,) in columns if name not in ("id", "meaning")]
            if not names:  # the table of a module that the file has not taken in
                continue
            rows = f"select {', '.join(names)} from {table} where {_EXACT.get(table, '1')}"  # noqa: S608 - names of ours
            seeded, found = set(fresh.execute(rows)), set(connection.execute(rows))
            if not seeded <= found or (table in _EXACT and seeded != found):
                changed.append(table)
    return changed


def _notes() -> Path:
    return state_folder() / "files"


def _folders() -> Iterator[Path]:
    """Where notes may lie: in the user's folder of state and, where that cannot be written, among temporary files."""
    yield _notes()
    with suppress(EngineError):
        temporary = Path(temporary_folder()) / f"engine-{os.geteuid()}-files"
        if not temporary.is_symlink():  # whoever may write there may have made it
            yield temporary


def _note(path: Path, mark: str) -> str | None:
    """The name of the note about a file with this mark; None where there is no file."""
    found = identity(Path(os.path.realpath(path)))
    return found and hashlib.sha256(f"{mark} {found[1]}".encode()).hexdigest()[:32]


def _knows(path: Path, mark: str) -> bool:
    note = _note(path, mark)
    if note is None:
        return False
    return note in _known_here or any(read_own(folder / note) is not None for folder in _folders())


def _adopt(connection: apsw.Connection, path: Path) -> bool:
    """Mark the file where it bears no mark, and know it from now on; False where that cannot be written."""
    with suppress(apsw.ReadOnlyError, apsw.FullError, apsw.IOError):
        if connection.execute(_MARK).get is None:
            connection.execute(
                "insert into engine_meta (key, value) values ('mark', ?) on conflict (key) do update set "
                "value = excluded.value where length(value) <> 32 or value glob '*[^0-9a-f]*'",
                (new_mark(),),
            ).fetchall()
        return _remember(Path(os.path.realpath(path)), str(connection.execute(_MARK).get))
    return False


def _remember(place: Path, mark: str) -> bool:
    note = _note(place, mark)
    if note is None:
        return False
    _known_here.add(note)
    for folder in _folders():
        with suppress(OSError):
            write_own(folder / note, os.fsencode(place) + b"\n")
            if int(note[:8], 16) % _SWEPT == 0:
                _sweep(folder)
            return True
    return False


def _sweep(folder: Path) -> None:
    """Forget files that are gone, a month after they were noted: one on a disk that is not mounted today is kept."""
    before = time.time() - _KEPT_S
    for note in folder.iterdir():
        with suppress(OSError):
            if note.lstat().st_mtime < before and not os.path.lexists(note.read_bytes().removesuffix(b"\n")):
                note.unlink()
