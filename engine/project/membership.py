"""Lists the files of a project: those that git tracks or would take, or without git those that a walk finds.

A name is relative to the root, with `/` between its parts. Whether the file may be read is decided in
`engine.project.workspace`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePosixPath

from engine.system.key_files import KEY_FILES, any_holds_keys, holds_keys
from engine.system.own_files import Identity, identity
from engine.system.places import home_folder

_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
_PATTERN_CHARACTERS = frozenset("*?[]{}()!|^$+\\")
_HOMES = (".ssh", ".gnupg", ".aws", ".kube")
_GIT_SECONDS = 20
_MOST_REPOSITORIES = 100
"""How many repositories inside a project are listed."""
_GIT_LOOK_SECONDS = 0.2
"""How often is looked whether git waits for a pipe."""
# Where the kernel (Linux) lets a process wait that opens or reads a pipe. git has no pipe to read from.
_PIPE_WAITS = frozenset({"wait_for_partner", "fifo_open", "pipe_read", "anon_pipe_read", "pipe_wait"})
# The variables that git needs for its user's configuration. Others, such as GIT_DIR, would point it to another folder.
_GIT_VARIABLES = ("PATH", "HOME", "XDG_CONFIG_HOME", "USER", "SUDO_UID", "GIT_CEILING_DIRECTORIES")
# Nothing is fetched: where objects are missing, git would run a program that the configuration of the repository names.
_GIT_SETTINGS = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}


def candidates(root: Path, added: Sequence[str], ignored: Sequence[str], *, untracked: bool = True) -> Iterator[str]:
    """Names under `root` that may be members: git's or found ones, and `added`. Some come twice, some are no files."""
    pruned = {pattern.removesuffix("/**").rstrip("/") for pattern in ignored}
    listed = names_in_git(root, untracked=untracked)
    found = walk(root, pruned=pruned) if listed is None else iter(listed)
    names = list(chain(found, *(_added_names(root, pattern, pruned) for pattern in added)))
    if any_holds_keys(names):
        names = [name for name in names if not holds_keys(name) or is_named(name, added)]
    return (name for name in names if not any(covers(pattern, name) for pattern in ignored)) if ignored else iter(names)


def is_named(name: str, added: Sequence[str]) -> bool:
    """Whether a pattern of a person names this very file: its whole path, or a `.env*` pattern that matches it."""
    return any(
        pattern == name or (PurePosixPath(pattern).name.startswith(".env") and covers(pattern, name))
        for pattern in added
    )


def covers(pattern: str, name: str) -> bool:
    """Whether `pattern` matches the name, or is a folder above it."""
    from engine.functions.patterns.kinds import pattern_match

    return pattern_match(pattern, name) == 1 or name.startswith(pattern.rstrip("/") + "/")


def names_in_git(root: Path, *, untracked: bool = True) -> list[str] | None:
    """The names under `root`, which may be inside a work tree, that git tracks; with `untracked` also those that it would
    take, except in folders that programs make. Those of repositories inside it, such as submodules, are among them. None
    where git is missing or fails.
    """
    names, inner = _names_of(root, untracked=untracked)
    if names is None:
        return None
    for _ in range(_MOST_REPOSITORIES):
        if not inner:
            break
        folder = inner.pop(0)
        below, deeper = _names_of(root / folder, untracked=untracked) if _is_real(root / folder) else ([], [])
        names += (f"{folder}/{name}" for name in below) if below is not None else walk(root, folder)
        inner += [f"{folder}/{each}" for each in deeper]
    return names


def _names_of(root: Path, *, untracked: bool) -> tuple[list[str] | None, list[str]]:
    """The names that one repository has under `root`, and the folders in it that are repositories of their own."""
    git = shutil.which("git")
    if git is None:
        return None, []
    # A hostile repository may name a program in core.fsmonitor, or be a bare one inside the folder.
    options = ["-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"]
    others = ["--others", "--exclude-standard"] if untracked else []
    listing = output_of_git([git, *options, "ls-files", "-z", "-t", "-s", "--cached", *others], root)
    if listing is None:
        return None, []
    lines = listing.split(b"\0")
    # "H 100644 0123… 0\tname" where git tracks it, "? name" where it would take it
    tracked = [os.fsdecode(line[line.find(b"\t") + 1 :]) for line in lines if line and not line.startswith(b"? ")]
    inner = [os.fsdecode(line[line.find(b"\t") + 1 :]) for line in lines if line[2:9] == b"160000 "]
    found = [os.fsdecode(line[2:]) for line in lines if line.startswith(b"? ")]
    inner += _without_made([name[:-1] for name in found if name.endswith("/")])
    return tracked + _without_made(found), [folder for folder in inner if (root / folder / ".git").exists()]


def left_out(root: Path, ignored: Sequence[str]) -> list[str]:
    """Names of files that are no members because git ignores them or one of the patterns `ignored` covers them; none where
    git is missing or fails. What programs make in folders of their own, such as `node_modules`, is left out.
    """
    git = shutil.which("git")
    options = ["-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"]
    command = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]
    listing = output_of_git([git, *options, *command], root) if git else None
    found = [os.fsdecode(name) for name in (listing or b"").split(b"\0") if name]
    covered = [name for name in names_in_git(root) or [] if any(covers(pattern, name) for pattern in ignored)]
    return _without_made([*found, *covered])


def output_of_git(command: Sequence[str], root: Path) -> bytes | None:
    """What git prints; None where it fails, takes too long, or waits for a pipe that the repository has put in its way."""
    try:
        git = subprocess.Popen(
            command,
            cwd=root,
            env={name: os.environ[name] for name in _GIT_VARIABLES if name in os.environ} | _GIT_SETTINGS,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # there is no terminal that it could read
        )
    except OSError:
        return None
    until = time.monotonic() + _GIT_SECONDS
    with git:
        try:
            while time.monotonic() < until and not _waits_for_a_pipe(git.pid):
                with suppress(subprocess.TimeoutExpired):
                    printed, _ = git.communicate(timeout=_GIT_LOOK_SECONDS)
                    return printed if git.returncode == 0 else None
        finally:
            git.kill()
    return None


def _waits_for_a_pipe(process: int) -> bool:
    """Whether a process waits for somebody to open a pipe, or to write into it; False where the kernel does not tell."""
    try:
        return Path(f"/proc/{process}/wchan").read_text("ascii") in _PIPE_WAITS
    except OSError:
        return False


def _without_made(names: list[str]) -> list[str]:
    """`names` without those in `node_modules`, `__pycache__` and virtual environments."""
    environments = {name.removesuffix("pyvenv.cfg") for name in names if name.endswith("/pyvenv.cfg")}
    return [
        name
        for name in names
        if _SKIPPED_FOLDERS.isdisjoint(name.split("/")[:-1])
        and not any(name.startswith(folder) for folder in environments)
    ]


def walk(root: Path, start: str = "", *, pruned: Collection[str] = (), dotfiles: bool = False) -> Iterator[str]:
    """Names of what is no folder beneath `root`/`start`, itself any folder; symlinks are not followed.

    Skipped are hidden folders, `node_modules`, `__pycache__`, virtual environments and those in `pruned`,
    files that start with a dot unless `dotfiles`, and what cannot be listed.
    """
    top, folders = str(root), [start]
    while folders:
        folder = folders.pop()
        entries = _entries(f"{top}/{folder}")
        if folder != start and any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            hidden = entry.name.startswith(".")
            if entry.is_dir(follow_symlinks=False):
                if not hidden and entry.name not in _SKIPPED_FOLDERS and name not in pruned:
                    folders.append(name)
            elif dotfiles or not hidden:
                yield name


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


class KeyFiles:
    """The files under `root` that hold keys, by their names or as hard links to such files; those that a pattern of `added`
    names are none. It looks through the folders once, when the first hard link is asked about.
    """

    def __init__(self, root: Path, added: Sequence[str]) -> None:
        self._root = root
        self._added = added

    def has_name(self, name: str) -> bool:
        """Whether the name says that the file is one."""
        return holds_keys(name) and not is_named(name, self._added)

    def has_link(self, status: os.stat_result) -> bool:
        """Whether the file is a hard link to one."""
        return status.st_nlink > 1 and (status.st_dev, status.st_ino) in self._identities

    @cached_property
    def _identities(self) -> frozenset[Identity]:
        """The files under the root, and of the user's home, whose names say that they hold keys."""
        home = home_folder()
        places = [home / name for name in KEY_FILES]
        places += [home / each / name for each in _HOMES for name in _names(home / each)]
        folders = [""]
        while folders:
            folder = folders.pop()
            for entry in _entries(f"{self._root}/{folder}"):
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED_FOLDERS and entry.name != ".git":
                        folders.append(name)
                elif self.has_name(name):
                    places.append(self._root / name)
        return frozenset(found for place in places if (found := identity(place)))


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in _entries(str(folder))]


def _is_real(folder: Path) -> bool:
    """Whether no link is in the path; False for a text that cannot be a path."""
    try:
        return os.path.realpath(folder) == str(folder)
    except (OSError, ValueError):
        return False


def _added_names(root: Path, pattern: str, pruned: Collection[str]) -> Iterator[str]:
    """The names that a person's pattern adds. The walk begins at the part of the pattern before its first wildcard.

    So `.github/**` and `node_modules/ours/*.js` find files that a walk from the root skips, and `**` does not.
    """
    parts = PurePosixPath(pattern).parts
    literal = next((i for i, part in enumerate(parts) if _PATTERN_CHARACTERS & set(part)), len(parts))
    start = "/".join(parts[: literal if literal < len(parts) else None])
    if pattern.startswith("/"):
        start = ""
    elif literal == len(parts):
        yield start
    if ".." not in parts and _is_real(root / start):
        dotfiles = bool(parts) and parts[-1].startswith(".")
        yield from (name for name in walk(root, start, pruned=pruned, dotfiles=dotfiles) if covers(pattern, name))
