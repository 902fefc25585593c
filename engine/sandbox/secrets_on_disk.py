"""What a confined command must not see, and what it may see but not change: found on the disk before it starts.

spec: @sandbox_hides
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Collection, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from engine.project.membership import is_named
from engine.system.durable import real_path
from engine.system.locate import FOLDER
from engine.system.own_files import ENDINGS, identity
from engine.system.places import home_folder
from engine.trust import trusted_folders

from .git_hooks import HookFolders

_KEY_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".kube", FOLDER})
_KEY_FILES = frozenset(
    {"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", "_netrc", ".pgpass", ".git-credentials", ".pypirc"}
    | {".vault-token"}
)
# What shows how a .env is to be written holds no secret.
_EXAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")
_SYSTEM_SECRETS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers")
_GIT_GUARDED = ("config", "config.worktree", "hooks")
_NOBODY = 65534


@dataclass(slots=True)
class Findings:
    """`files` and `folders` are hidden, `kept` can be read but not changed, all by their real paths.

    `anchored` are folders that must stay where they are, the upper ones first. `placeholders` (files) and `empty` (folders)
    are not there: nothing must be put in their place. `removed` are names that are removed where a command has made them.
    `sockets` are hidden where they are still there when the command starts.
    """

    files: set[Path] = field(default_factory=set)
    folders: set[Path] = field(default_factory=set)
    kept: set[Path] = field(default_factory=set)
    anchored: set[Path] = field(default_factory=set)
    placeholders: set[Path] = field(default_factory=set)
    empty: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)
    sockets: set[Path] = field(default_factory=set)
    made: Set[Path] = frozenset()

    def has(self, path: Path) -> bool:
        """Whether there is something at a path that does not stand in for nothing."""
        if path not in self.made:
            return path.exists()
        with suppress(OSError):
            return any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0
        return False


def look(root: Path, database: Path | None, shown: Sequence[str], made: Set[Path] = frozenset()) -> Findings:
    """Look through the folder `root`, a real path. Patterns in `shown` name files that are not hidden.

    What is in `made` stands in for what is not there, because another command runs, and is not there as long as it is empty.
    """
    found = Findings(made=made)
    hooks: HookFolders | None = None
    for entry in _walk(root, found.folders):
        if entry.name == ".git":
            hooks = hooks or HookFolders()
            _guard_git(found, root, Path(entry.path), hooks)
        elif _is_hidden(entry, root, shown):
            real = Path(real_path(entry.path))
            if real.is_dir():
                found.folders.add(real)
            elif real.exists():
                found.files.add(real)
    own = [] if database is None else [Path(f"{os.path.realpath(database)}{ending}") for ending in ENDINGS]
    _hide_own(found, root, own)
    _hide_trusted(found, root)
    found.files |= _other_names(root, found.files | set(own))
    for place in found.kept | found.placeholders | found.empty:
        found.anchored |= set(place.parents)
    for name in ("kept", "anchored", "placeholders", "empty", "removed"):
        setattr(found, name, {path for path in getattr(found, name) if is_inside(root, path)})
    # nothing can be made in a folder that is kept as a whole
    found.placeholders = {path for path in found.placeholders if not found.kept.intersection(path.parents)}
    found.empty = {path for path in found.empty if not found.kept.intersection(path.parents)}
    found.sockets = set(sockets())
    found.files -= found.sockets
    return found


def homes() -> list[Path]:
    """The home folders of people and of root, as real paths."""
    given = [str(home_folder()), "/home", "/root"]
    with suppress(OSError):
        given += [user.pw_dir for user in pwd.getpwall() if user.pw_uid == 0 or 1000 <= user.pw_uid != _NOBODY]
    real = {Path(os.path.realpath(path)) for path in given if path.startswith("/")}
    # the system's own folders are nobody's home, whatever the list of users says
    return sorted(path for path in real if path.is_dir() and len(path.parts) > 1 and path.parts[1] not in _SYSTEM)


_SYSTEM = frozenset({"bin", "sbin", "usr", "lib", "lib64", "etc", "dev", "proc", "sys", "boot"})


def system_secrets() -> Iterator[Path]:
    """Files of the system that this user can read and that hold keys."""
    for path in (*map(Path, _SYSTEM_SECRETS), *Path("/etc/ssh").glob("ssh_host_*_key")):
        if path.is_file() and os.access(path, os.R_OK):
            yield Path(os.path.realpath(path))


def sockets() -> Iterator[Path]:
    """The sockets in the file system that somebody listens at."""
    with suppress(OSError), open("/proc/net/unix", "rb") as file:
        for line in file.readlines()[1:]:
            fields = line.rstrip(b"\n").split(b" ", 7)
            name = fields[-1].lstrip() if len(fields) == 8 else b""
            if name.startswith(b"/"):
                with suppress(OSError, ValueError):
                    path = Path(os.path.realpath(os.fsdecode(name)))
                    if stat.S_ISSOCK(path.stat().st_mode):
                        yield path


def _walk(root: Path, closed: set[Path]) -> Iterator[os.DirEntry[str]]:
    """The entries below `root` that may be hidden; links are not followed. Folders that cannot be read go to `closed`.

    No folder is left out: what is to be hidden could be moved into it by one command, and read by the next.
    """
    above = [str(root)]
    while above:
        folder = above.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        above.append(entry.path)
                        if entry.name[0] == ".":
                            yield entry
                    elif (
                        entry.name[0] == "."
                        or entry.name.casefold() in _KEY_FILES
                        or not entry.is_file(follow_symlinks=False)
                    ):
                        yield entry
        except OSError:
            # one that the command closed itself can be opened by the next
            if os.path.isdir(folder):
                closed.add(Path(folder))


def _other_names(root: Path, files: Collection[Path]) -> set[Path]:
    """The other names, in the project, of those files that have several."""
    linked = {identity(path) for path in files if _has_other_names(path)}
    if not linked:
        return set()
    places = (os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)
    return {Path(place) for place in places if not os.path.islink(place) and identity(Path(place)) in linked}


def _has_other_names(path: Path) -> bool:
    with suppress(OSError):
        return path.stat().st_nlink > 1
    return False


def is_inside(root: Path, path: Path) -> bool:
    """Whether a path is in the project without a link in it. A link could lead to what is hidden, and show it."""
    below = path != root and path.is_relative_to(root)
    return below and Path(real_path(path.parent)) / path.name == path and not path.is_symlink()


def _is_hidden(entry: os.DirEntry[str], root: Path, shown: Collection[str]) -> bool:
    name = entry.name.casefold()
    if entry.is_symlink():
        special = False
    elif entry.is_dir(follow_symlinks=False):
        return name in _KEY_FOLDERS or (name.startswith(".env") and not _is_tooling(entry))
    else:
        special = not entry.is_file(follow_symlinks=False)
    holds_keys = name in _KEY_FOLDERS | _KEY_FILES or (name.startswith(".env") and not name.endswith(_EXAMPLES))
    if not holds_keys:
        return special
    return not is_named(os.path.relpath(entry.path, root), list(shown))


def _is_tooling(entry: os.DirEntry[str]) -> bool:
    """Whether a folder `.env` is an environment of Python, and holds programs."""
    return os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


def _guard_git(found: Findings, root: Path, place: Path, hooks: HookFolders) -> None:
    """Keep a command from changing what git runs: configuration and hooks, also those of submodules and work trees."""
    for named in hooks.of(place):
        _guard_hooks(found, root, named)
    place = Path(real_path(place))
    if not place.is_relative_to(root):
        return  # read-only with the rest
    if place.is_file():
        found.kept.add(place)
        return
    # git makes and removes them meanwhile: os.walk passes over a folder that is gone, Path.glob raises
    modules = {Path(folder) for folder, _, names in os.walk(place / "modules") if {"HEAD", "config"} <= {*names}}
    trees = {tree for tree in _folders(place / "worktrees") if (tree / "HEAD").exists()}
    for folder in {place} | modules | trees:
        found.anchored.add(folder)
        for name in _GIT_GUARDED:
            guarded = folder / name
            if guarded.is_symlink():
                found.kept.add(folder)  # a link cannot be held where it is
            if found.has(guarded):
                found.kept.add(Path(real_path(guarded)))
            elif folder not in trees:
                (found.empty if name == "hooks" else found.placeholders).add(guarded)
        if not found.has(folder / "commondir"):
            # it would lead git to another configuration
            found.removed.add(folder / "commondir")


def _folders(place: Path) -> list[Path]:
    """What is in a folder; nothing of one that is not there."""
    with suppress(OSError):
        return [place / name for name in os.listdir(place)]
    return []


def _guard_hooks(found: Findings, root: Path, named: Path) -> None:
    """Keep a command from changing a folder of hooks in the project, or from making one that is missing."""
    if not named.is_relative_to(root) or named == root:
        return
    if found.has(named):
        found.kept.add(Path(real_path(named)))
        return
    while not named.parent.exists():
        named = named.parent
    found.empty.add(named)


def _hide_trusted(found: Findings, root: Path) -> None:
    """Hide the folders of `ENGINE_TRUST`, and let none be put where one is missing."""
    for folder in trusted_folders.inside(root):
        if found.has(folder):
            (found.folders if folder.is_dir() else found.files).add(folder)
        else:
            while not folder.parent.exists():
                folder = folder.parent
            found.empty.add(folder)
        found.anchored |= set(folder.parents)


def _hide_own(found: Findings, root: Path, own: Sequence[Path]) -> None:
    """Hide the files of the database, and let none be put where one is missing."""
    folder = root / FOLDER
    if not found.has(folder):
        found.empty.add(folder)
    if own and own[0].parent.name == FOLDER:
        found.folders.add(own[0].parent)
        return
    for place in own:
        if found.has(place):
            found.files.add(place)
            found.anchored |= set(place.parents)
        else:
            found.placeholders.add(place)
