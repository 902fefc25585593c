"""Reads what a client sends as a prompt: texts, links, and files as the editor has them."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp import schema

from engine.errors import EngineError, Overflow, ValidationError
from engine.functions.media import media_facts
from engine.functions.pictures import HEAD_BYTES, picture_format
from engine.models.protocol import storable

MOST_BYTES = 1_000_000
"""Bytes of a prompt with all that is embedded in it."""
_UNSEEN = (
    "is not accepted: send a PNG, JPEG, GIF, WebP, PDF, WAV or MP3; save anything else in the folder and name the file"
)


@dataclass(frozen=True)
class Prompt:
    """What a person asks: the `text`, the texts that the client has `embedded`, '' without any, and the `files`."""

    text: str
    embedded: str
    files: tuple[bytes, ...] = ()


def read_prompt(blocks: Sequence[Any], root: Path) -> Prompt:
    """The prompt of content blocks; links to files below `root` become their paths.

    Raises `ValidationError` (400) for an empty one, `EngineError` (415) for a file of another format than models take,
    `Overflow` (413) for more than a million bytes of text.
    """
    words: list[str] = []
    embedded: list[str] = []
    files: list[bytes] = []
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                words.append(block.text)
            case schema.ResourceContentBlock():
                words.append(_named(block.uri, root))
            case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents() as resource):
                name = _named(resource.uri, root)
                words.append(name)
                embedded.append(f"{name} as the editor shows it, which may not be saved:\n{resource.text}")
            case schema.ImageContentBlock(uri=str() as uri) if _path_below(uri, root):
                words.append(_named(uri, root))
            case schema.ImageContentBlock() | schema.AudioContentBlock():
                files.append(_file(block.data))
            case schema.EmbeddedResourceContentBlock(resource=schema.BlobResourceContents() as resource):
                files.append(_file(resource.blob))
            case _:
                raise EngineError(f"a block of the type {block.type!r} {_UNSEEN}", 415)
    text, texts = storable("".join(words)), storable("\n\n".join(embedded))
    if len(text.encode()) + len(texts.encode()) > MOST_BYTES:
        raise Overflow(
            f"the prompt is longer than {MOST_BYTES:,} bytes; save it to a file, and name the file in the prompt"
        )
    if not text.strip():
        raise ValidationError("the prompt is empty; write what the run should do")
    return Prompt(text, texts, tuple(files))


def _file(data: str) -> bytes:
    """The bytes of a picture, a PDF or a sound."""
    try:
        body = b64decode(data, validate=True)
    except ValueError as error:
        raise ValidationError(f"a file of the prompt is not base64 ({error})") from None
    if picture_format(body[:HEAD_BYTES]) is None and media_facts(body) is None:
        raise EngineError(f"a file of the prompt {_UNSEEN}", 415)
    return body


def _named(uri: str, root: Path) -> str:
    """How a link is named in a prompt: by its path below the root, or as it is where it leads elsewhere."""
    return _path_below(uri, root) or uri


def _path_below(uri: str, root: Path) -> str | None:
    """The path below `root` of the file that a link names; None where it leads elsewhere. Nothing is looked at."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # brackets that hold no address
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    place = os.path.normpath(unquote(parts.path))
    for folder in (root, root.resolve()):
        if place.startswith(f"{folder}/"):
            return place[len(str(folder)) + 1 :]
    return None
