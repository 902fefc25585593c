"""Reads the files that come with a prompt: what each is, and whether the model takes it as it is or as text.

spec: @attachments
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import NotFound, Overflow, ValidationError
from engine.functions.counts import counted
from engine.functions.media import media_facts
from engine.functions.pictures import picture_facts, picture_line

if TYPE_CHECKING:
    from engine.handle import Handle

_UNNAMED = re.compile(r"[^\w.-]+")
_PDF_SECONDS = 60.0
_PDF_TEXT_BYTES = 4_000_000
_MOST_TEXT = 1_000_000
_TAKES = """
    select 1
    from media_models
    where format = 'PDF' and lower(coalesce((select actual from models where alias = :model), :model)) glob pattern
"""


@dataclass(frozen=True)
class Attachment:
    """A file as it is kept: its `name`, a line about it, and its text, or the bytes and facts of one without."""

    name: str
    told: str
    text: str | None = None
    body: bytes = b""
    facts: str | None = None

    def keep(self, db: Handle, run: str, path: str) -> None:
        """Store it under `path`, for the prompt that was given to the run just now."""
        body = self.body if self.text is None else None
        db.insert("_attach", run=run, path=path, text=self.text, facts=self.facts, body=body)


def read_attachments(db: Handle, given: Iterable[Any] | None, model: str) -> list[Attachment]:
    """What a prompt brings, read and looked at, for a model by its alias or name.

    Each is a path, bytes or an object with `data`, such as `engine.Picture`. Raises `NotFound` (404) for a file that cannot
    be read, `Overflow` (413) for one that is too large, and `ValidationError` (400) for one that nobody can read.
    """
    if given is None:
        return []
    if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable):
        raise TypeError(f"attachments must be a list of paths, bytes and pictures, not {given!r:.60}")
    listed = list(given)
    most = int(db.value("select value from settings where name = 'packet_max_pictures'"))
    if len(listed) > most:
        raise ValidationError(f"attachments: at most {counted(most, 'file')} (setting packet_max_pictures)")
    if listed and not db.has("pictures"):
        db.install("pictures")
    return [_read(db, each, place, model) for place, each in enumerate(listed)]


def _read(db: Handle, given: Any, place: int, model: str) -> Attachment:
    name, data = _bytes_of(db, given, place)
    picture = json.loads(picture_facts(data) or "null")
    if picture is not None:
        if "fault" in picture:
            raise ValidationError(f"attachment {name}: the {picture['format']} picture is broken: {picture['fault']}")
        return _as_it_is(name, data, {**picture, "picture": picture_line(json.dumps(picture), len(data))})
    media = media_facts(data)
    if media is None:
        return _as_text(name, data)
    if media["format"] == "PDF" and not db.value(_TAKES, {"model": model}):
        return Attachment(name, str(media["picture"]), text=_text_of_pdf(name, data, model))
    return _as_it_is(name, data, media)


def _bytes_of(db: Handle, given: Any, place: int) -> tuple[str, bytes]:
    """The name and the bytes of a file; no more is read than may be sent."""
    most = int(db.value("select value from settings where name = 'packet_picture_bytes'"))
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        name = _UNNAMED.sub("_", path.name)[:80] or "file"
        try:
            if not path.is_file():
                raise NotFound(f"attachment {str(path)!r}: there is no such file")
            with path.open("rb") as opened:
                data = opened.read(most + 1)
        except OSError as error:
            raise NotFound(f"attachment {str(path)!r}: cannot be read ({error.strerror})") from error
    else:
        data = getattr(given, "data", given)
        name = f"file{place + 1}"
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"attachments[{place}] must be a path, bytes or a picture, not {given!r:.60}")
        data = bytes(data)
    if len(data) > most:
        raise Overflow(f"attachment {name}: more than {counted(most, 'byte')} (setting packet_picture_bytes)")
    if not data:
        raise ValidationError(f"attachment {name}: is empty")
    return name, data


def _as_it_is(name: str, data: bytes, facts: dict[str, Any]) -> Attachment:
    facts = {**facts, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return Attachment(name, str(facts["picture"]), body=data, facts=json.dumps(facts))


def _as_text(name: str, data: bytes) -> Attachment:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ValidationError(
            f"attachment {name}: is not a picture (PNG, JPEG, GIF, WebP), a PDF, a sound (WAV, MP3) or UTF-8 text"
        )
    if len(text) > _MOST_TEXT:
        raise Overflow(f"attachment {name}: a text has at most {_MOST_TEXT:,} characters")
    lines = text.count("\n") + (not text.endswith("\n"))
    return Attachment(name, f"text, {counted(lines, 'line')}", text=text)


def _text_of_pdf(name: str, data: bytes, model: str) -> str:
    """The text of a PDF, read in a process of its own that has limits."""
    from engine.web.failures import WebFailure
    from engine.web.fetching import Answer
    from engine.web.network import Deadline
    from engine.web.reading import read

    answer = Answer(name, "application/pdf", None, None, None, data)
    try:
        return read(answer, Deadline(_PDF_SECONDS, threading.Event()), _PDF_TEXT_BYTES).text[:_MOST_TEXT]
    except WebFailure as error:
        what = f"the model {model} takes no PDF, and its text cannot be read"
        raise ValidationError(f"attachment {name}: {what}: {error.message}") from None
