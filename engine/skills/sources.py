"""Reads skills from where a person says: a folder, a file, a zip, or an address. Nothing of them is run or written to disk.

A folder or a zip may hold one skill or many. Links are not followed, no file outside of the folder is read, a zip is never
unpacked to disk, and all of it has limits. What is no text is left out, and counted.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from engine.errors import NotFound, Overflow, PermissionDenied, ValidationError
from engine.functions.skills import skill_head
from engine.skills.objects import SYNTAXES, object_head
from engine.system.durable import held_folder, open_regular, text_of
from engine.system.key_files import holds_keys

Kind = Literal["folder", "file", "zip", "url"]

MOST_FILES = 5_000
"""Files of a source; more are refused."""
MOST_BYTES = 20_000_000
"""Bytes of a source, packed and unpacked; more are refused."""
FILES_OF_SKILL = 200
FILE_BYTES = 200_000
SKILL_BYTES = 2_000_000
"""What a skill keeps: files, bytes of one, bytes of all. The rest is left out."""
_MAIN = ("SKILL.md", "index.md")
_SKIPPED = frozenset({"node_modules", "__pycache__", "__MACOSX"})
_PACKED = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


@dataclass(frozen=True)
class SkillText:
    """A skill as it was read: `files` are its other texts by their paths in it, `problem` says why it cannot be offered."""

    name: str
    description: str
    kind: Kind
    source: str
    body: str
    made_of: str
    problem: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0
    others: tuple[str, ...] = ()
    """What it says of itself that binds nothing here, such as `allowed-tools`."""


def of_path(place: Path) -> list[SkillText]:
    """The skills in a folder, a zip or a Markdown file.

    Raises `NotFound` (404) where there is none, `ValidationError` (400) for a zip that is broken or leads out of itself,
    `Overflow` (413) for one that is too large, and `PermissionDenied` (403) for what cannot be read.
    """
    try:
        real = Path(os.path.realpath(place, strict=True))
        if real.is_dir():
            return _found(_files_of_folder(real), "folder", str(real), real.name)
        with held_folder(real.parent) as folder, open_regular(real.name, folder) as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise NotFound(f"{str(place)!r}: there is no such file or folder") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise PermissionDenied(f"{str(place)!r}: cannot be read, {why}") from error
    return of_bytes(data, "zip" if zipfile.is_zipfile(io.BytesIO(data)) else "file", str(real), real.name)


def of_bytes(data: bytes, kind: Kind, source: str, name: str) -> list[SkillText]:
    """The skills in the bytes of a zip or of a Markdown file called `name`; raises like `of_path`."""
    if len(data) > MOST_BYTES:
        raise Overflow(f"{source!r}: has more than {MOST_BYTES:,} bytes")
    stem = PurePosixPath(name).stem
    if data.startswith(b"PK"):
        return _found(_files_of_zip(data, source), kind, source, stem)
    if len(data) > FILE_BYTES:
        raise Overflow(f"{source!r}: the text of a skill may have at most {FILE_BYTES:,} bytes")
    text, syntax = text_of(data), SYNTAXES.get(PurePosixPath(name).suffix.lower())
    is_markdown = name.lower().endswith((".md", ".markdown")) or data.startswith(b"---")
    if text is None or not (is_markdown or syntax) or holds_keys(name):
        raise ValidationError(
            f"{source!r}: is not a skill; give a SKILL.md, a folder with a SKILL.md, a zip, or a JSON or YAML file"
        )
    return [
        _of_object(data, text, syntax, kind, source, stem) if syntax else _skill({"SKILL.md": data}, kind, source, stem)
    ]


def _found(files: Mapping[str, bytes], kind: Kind, source: str, name: str) -> list[SkillText]:
    """The skills in a tree of files: each folder with a SKILL.md, else those with an index.md, else its objects.

    An index.md counts in the root, else in the folders of the root; a zip may hold all of it in one folder.
    """
    folders = {path.rpartition("/")[0] for path in files if path.rpartition("/")[2] == "SKILL.md"}
    outer = sorted(each for each in folders if not any(each != other and _is_in(each, other) for other in folders))
    outer = outer or _indexed(files)
    objects = [path for path in sorted(files) if path.endswith(".jsonc") and "/" not in path and not outer]
    if objects:
        # what is no text, a zip in a zip too, is a broken object
        return [
            _of_object(files[path], text_of(files[path]) or "", "jsonc", kind, f"{source}/{path}", path[:-6])
            for path in objects
        ]
    if not outer:
        raise NotFound(f"{source!r}: contains no SKILL.md")
    return [
        _skill(
            {path[len(folder) + bool(folder) :]: data for path, data in files.items() if _is_in(path, folder)},
            kind,
            f"{source}/{folder}" if folder else source,
            folder.rpartition("/")[2] or name,
        )
        for folder in outer
    ]


def _indexed(files: Mapping[str, bytes]) -> list[str]:
    """The folders that an index.md makes a skill."""
    tops = {path.partition("/")[0] for path in files}
    within = f"{tops.pop()}/" if len(tops) == 1 and "index.md" not in files else ""
    if f"{within}index.md" in files:
        return [within.rstrip("/")]
    return sorted(
        path.removesuffix("/index.md")
        for path in files
        if path.startswith(within) and path.endswith("/index.md") and path[len(within) :].count("/") == 1
    )


def _of_object(data: bytes, text: str, syntax: str, kind: Kind, source: str, name: str) -> SkillText:
    head = object_head(text, syntax, name.lower())
    return SkillText(
        name=str(head["name"])[:200] or "-",
        description=str(head["description"]),
        kind=kind,
        source=source,
        body=str(head["body"]),
        made_of=hashlib.sha256(data).hexdigest(),
        problem=head["problem"],
        others=tuple(head["others"]),
    )


def _is_in(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _skill(files: Mapping[str, bytes], kind: Kind, source: str, name: str) -> SkillText:
    main = next(each for each in _MAIN if each in files)
    text = (text_of(files[main]) or "") if len(files[main]) <= FILE_BYTES else ""
    head = _head(text, "")
    if head["problem"] and not _head(text, name.lower())["problem"]:
        head = _head(text, name.lower())
    kept: dict[str, str] = {}
    room = SKILL_BYTES
    for path in sorted(files):
        body = text_of(files[path]) if len(files[path]) <= min(FILE_BYTES, room) else None
        if path != main and body is not None and len(kept) < FILES_OF_SKILL:
            kept[path] = body
            room -= len(files[path])
    digest = hashlib.sha256()
    for path, data in sorted(files.items()):
        digest.update(f"{path}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    return SkillText(
        name=str(head["name"] or name)[:200] or "-",
        description=str(head["description"]),
        kind=kind,
        source=source,
        body=str(head["body"]),
        made_of=digest.hexdigest(),
        problem=head["problem"],
        files=kept,
        left_out=len(files) - 1 - len(kept),
        others=tuple(head["others"]),
    )


def _head(text: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(skill_head(text, name) or "{}")
    return found


def _files_of_folder(root: Path) -> dict[str, bytes]:
    """The regular files below a folder that are not hidden, and hold no keys. Of what is too large its beginning."""
    files: dict[str, bytes] = {}
    size = 0
    for name in _names(root):
        *parts, last = name.split("/")
        try:
            with held_folder(root, parts) as folder, open_regular(last, folder) as file:
                files[name] = file.read(FILE_BYTES + 1)
        except OSError:
            continue
        size += len(files[name])
        if size > MOST_BYTES or len(files) > MOST_FILES:
            raise Overflow(
                f"{str(root)!r}: has more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes; name the folder of a skill"
            )
    return files


def _names(root: Path) -> Iterator[str]:
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name.startswith(".") or entry.name in _SKIPPED or not _is_plain(name) or holds_keys(name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif entry.is_file(follow_symlinks=False):
                    yield name


def _files_of_zip(data: bytes, source: str) -> dict[str, bytes]:
    """The files of a zip. Nothing of it is written, and no more is unpacked than the limits allow, whatever it says."""
    files: dict[str, bytes] = {}
    room = MOST_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            if len(packed.infolist()) > MOST_FILES:
                raise Overflow(f"{source!r}: has more than {MOST_FILES:,} files")
            for info in packed.infolist():
                parts = info.filename.replace("\\", "/").split("/")
                if info.filename.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
                    raise ValidationError(
                        f"{source!r}: {info.filename!r} in it would be unpacked outside the zip; nothing was added"
                    )
                if info.is_dir() or _is_link(info) or not _is_plain("/".join(parts)) or holds_keys("/".join(parts)):
                    continue
                if any(part.startswith(".") or part in _SKIPPED for part in parts):
                    continue
                if info.flag_bits & 1 or info.compress_type not in _PACKED:
                    raise ValidationError(
                        f"{source!r}: {info.filename!r} in it is encrypted, or uses an unknown compression"
                    )
                with packed.open(info) as file:
                    found = file.read(min(FILE_BYTES, room) + 1)
                room -= len(found)
                if room < 0:
                    raise Overflow(f"{source!r}: unpacks to more than {MOST_BYTES:,} bytes")
                files["/".join(parts)] = found
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, OSError) as error:
        raise ValidationError(f"{source!r}: is a broken zip ({str(error)[:200]})") from error
    return files


def _is_link(info: zipfile.ZipInfo) -> bool:
    mode = info.external_attr >> 16
    return bool(mode) and stat.S_IFMT(mode) not in (0, stat.S_IFREG)


def _is_plain(name: str) -> bool:
    """Whether the path of a file may be that of an entry."""
    return len(name) <= 500 and name.isprintable() and all(part not in ("", ".", "..") for part in name.split("/"))
