"""Lists the files of a project: those that git tracks, or without git those that a walk finds.

A name is relative to the root, with `/` between its parts. Whether the file may be read is decided in `engine.workspace`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath

_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
_PATTERN_CHARACTERS = frozenset("*?[]{}()!|^$+\\")
# Folders, files and endings whose names say that they hold keys; so do names that begin with .env.
_KEY_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".kube"})
_KEY_FILES = frozenset(
    {"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", "_netrc", ".pgpass", ".git-credentials", ".pypirc"}
    | {".npmrc", ".htpasswd", ".my.cnf", ".vault-token", ".dockercfg"}
)
_KEY_ENDINGS = frozenset({".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"})
_GIT_SECONDS = 20
# The variables that git needs for its user's configuration. Others, such as GIT_DIR, would point it to another folder.
_GIT_VARIABLES = ("PATH", "HOME", "XDG_CONFIG_HOME", "USER", "SUDO_UID", "GIT_CEILING_DIRECTORIES")
_GIT_SETTINGS = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def candidates(root: Path, added: Sequence[str], ignored: Sequence[str]) -> Iterator[str]:
    """Names under `root` that may be members: tracked or found ones, and `added`. Some come twice, some are no files."""
    pruned = {pattern.removesuffix("/**").rstrip("/") for pattern in ignored}
    tracked = tracked_names(root)
    found = walk(root, pruned=pruned) if tracked is None else iter(tracked)
    named = chain(found, *(_added_names(root, pattern, pruned) for pattern in added))
    names = (name for name in named if not holds_keys(name) or is_named(name, added))
    return (name for name in names if not any(covers(pattern, name) for pattern in ignored))


def holds_keys(name: str) -> bool:
    """Whether the name of a file says that it holds keys: `.env*`, key stores, private files of ssh and the like."""
    path = PurePosixPath(name.casefold())
    return (
        path.name.startswith(".env")
        or path.name in _KEY_FILES
        or path.suffix in _KEY_ENDINGS
        or not _KEY_FOLDERS.isdisjoint(path.parts[:-1])
    )


def is_named(name: str, added: Sequence[str]) -> bool:
    """Whether a pattern of a person names this very file: its whole path, or a `.env*` pattern that matches it."""
    return any(
        pattern == name or (PurePosixPath(pattern).name.startswith(".env") and covers(pattern, name))
        for pattern in added
    )


def covers(pattern: str, name: str) -> bool:
    """Whether `pattern` matches the name, or is a folder above it."""
    from engine.functions.patterns import pattern_match

    return pattern_match(pattern, name) == 1 or name.startswith(pattern.rstrip("/") + "/")


def tracked_names(root: Path) -> list[str] | None:
    """The names that git tracks under `root`, which may be inside a work tree; None where git is missing or fails."""
    git = shutil.which("git")
    if git is None:
        return None
    # A hostile repository may name a program in core.fsmonitor, or be a bare one inside the folder.
    options = ["-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"]
    try:
        listing = subprocess.run(
            [git, *options, "ls-files", "-z"],
            cwd=root,
            env={name: os.environ[name] for name in _GIT_VARIABLES if name in os.environ} | _GIT_SETTINGS,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return [os.fsdecode(name) for name in listing.stdout.split(b"\0") if name]


def walk(root: Path, start: str = "", *, pruned: Collection[str] = (), dotfiles: bool = False) -> Iterator[str]:
    """Names of what is no folder beneath `root`/`start`, itself any folder; symlinks are not followed.

    Skipped are hidden folders, `node_modules`, `__pycache__`, virtual environments and those in `pruned`,
    files that start with a dot unless `dotfiles`, and what cannot be listed.
    """
    folders = [start]
    while folders:
        folder = folders.pop()
        entries = _entries(root / folder)
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


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_real(folder: Path) -> bool:
    """Whether no link is in the path; False for a text that cannot be a path."""
    try:
        return os.path.realpath(folder) == str(folder)
    except ValueError:
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
