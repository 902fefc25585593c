"""Pictures: what a file's own bytes say of its format and size, and what a picture costs.

PNG, JPEG, GIF and WebP are told by content, never by name. Only headers and the lengths of blocks are read; nothing is
unpacked or decoded, so a picture of any size costs as much as its number of blocks.
"""

from __future__ import annotations

import json
import math
from typing import NamedTuple

from engine.functions.compact import to_json
from engine.functions.counts import counted

HEAD_BYTES = 16
"""How many bytes at the beginning of a file say whether it is a picture."""
MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WebP": "image/webp"}
_MAX_BLOCKS = 100_000
_PNG = b"\x89PNG\r\n\x1a\n"
# the frames of JPEG that hold its size: baseline, extended, progressive, lossless and so on; not the tables among them
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD9)})


class _Broken(Exception):  # noqa: N818 - it never leaves this module
    """The bytes are not those of a whole picture; the message says what is wrong."""


class _Size(NamedTuple):
    width: int
    height: int


def picture_format(head: bytes) -> str | None:
    """The format that the first `HEAD_BYTES` of a file tell: a key of `MEDIA_TYPES`; None for no picture."""
    if head.startswith(_PNG):
        return "PNG"
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP"
    return None


def picture_facts(data: bytes) -> str | None:
    """What the bytes of a file are as a picture: JSON ``{"format", "width", "height"}``, pixels; None for no picture.

    ``fault`` stands in place of the size where it cannot be shown: it is cut off, or bytes stand behind its end.
    """
    name = picture_format(data[:HEAD_BYTES])
    if name is None:
        return None
    try:
        size = _READERS[name](data)
        if not size.width or not size.height:
            raise _Broken(f"it says that it has {size.width} × {size.height} pixels")
    except (IndexError, _Broken) as error:
        fault = str(error) if isinstance(error, _Broken) else "it ends too early"
        return to_json({"format": name, "fault": fault})
    return to_json({"format": name, "width": size.width, "height": size.height})


def picture_line(facts: str | None, size: int | None) -> str:
    """A file without text as a line says it: a picture, by `picture_facts`, or any other (NULL); with its size in bytes."""
    try:
        found = json.loads(facts or "null")
    except (ValueError, RecursionError):
        found = None
    if (
        not isinstance(found, dict)
        or "format" not in found
        or not ("fault" in found or found.keys() >= {"width", "height"})
    ):
        return f"binary file, {counted(size or 0, 'byte')}"
    if "fault" in found:
        return f"broken {found['format']} picture, {counted(size or 0, 'byte')}: {found['fault']}"
    return f"{found['format']} picture, {found['width']:,} × {found['height']:,} pixels, {counted(size or 0, 'byte')}"


def picture_tokens(model: str | None, width: int | None, height: int | None) -> int | None:
    """The tokens that a picture of this size in pixels takes of a model, by the formula that its maker publishes.

    Claude: a token for 750 pixels, after scaling to sides of 1,568. Gemini: 258 for each tile of 768 pixels. Any other model
    as OpenAI's: 85, and 170 for each tile of 512 pixels, after scaling to sides of 2,048 and 768.
    """
    if model is None or width is None or height is None:
        return None
    long, short = max(width, height, 1), max(min(width, height), 1)
    name = model.lower()
    if "claude" in name:
        scale = min(1, 1568 / long, math.sqrt(1_176_000 / (long * short)))
        return math.ceil(long * scale * short * scale / 750)
    if "gemini" in name or "gemma" in name:
        return 258 if long <= 384 else 258 * math.ceil(long / 768) * math.ceil(short / 768)
    scale = min(1, 2048 / long)
    scale *= min(1, 768 / (short * scale))
    return 85 + 170 * math.ceil(long * scale / 512) * math.ceil(short * scale / 512)


def _png(data: bytes) -> _Size:
    if data[12:16] != b"IHDR":
        raise _Broken("it does not begin with its header")
    size = _Size(_big(data, 16, 4), _big(data, 20, 4))
    place = len(_PNG)
    for _ in range(_MAX_BLOCKS):
        length, kind = _big(data, place, 4), data[place + 4 : place + 8]
        place += 12 + length
        if place > len(data):
            raise _Broken("it ends in the middle of a block")
        if kind == b"IEND":
            return _ended(data, place, size)
    raise _Broken("it has too many blocks")


def _gif(data: bytes) -> _Size:
    size = _Size(_little(data, 6, 2), _little(data, 8, 2))
    place = 13 + _gif_colours(data[10])
    for _ in range(_MAX_BLOCKS):
        match data[place]:
            case 0x3B:
                return _ended(data, place + 1, size)
            case 0x21:
                place += 2
            case 0x2C:
                place += 11 + _gif_colours(data[place + 9])
            case _:
                raise _Broken("it has a block of no known kind")
        while length := data[place]:
            place += length + 1
        place += 1
    raise _Broken("it has too many blocks")


def _gif_colours(flags: int) -> int:
    """The bytes of a table of colours."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _webp(data: bytes) -> _Size:
    end = 8 + _little(data, 4, 4)
    if end > len(data):
        raise _Broken("it ends in the middle of a block")
    kind = data[12:16]
    if kind == b"VP8X":
        size = _Size(_little(data, 24, 3) + 1, _little(data, 27, 3) + 1)
    elif kind == b"VP8L" and data[20] == 0x2F:
        bits = _little(data, 21, 4)
        size = _Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    elif kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        size = _Size(_little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF)
    else:
        raise _Broken("it does not begin with its header")
    return _ended(data, end + end % 2 if end < len(data) else end, size)


def _jpeg(data: bytes) -> _Size:
    """Its size stands in the first frame, its end anywhere behind: cameras append a second, smaller picture."""
    place = 2
    for _ in range(_MAX_BLOCKS):
        if data[place] != 0xFF:
            raise _Broken("it has a block of no known kind")
        kind = data[place + 1]
        if kind in _JPEG_FRAMES:
            size = _Size(_big(data, place + 7, 2), _big(data, place + 5, 2))
            if data.find(b"\xff\xd9", place) < 0:
                raise _Broken("it ends too early")
            return size
        if kind in (0xD9, 0xDA):
            raise _Broken("it has no header")
        # 0xFF: a filling before the kind
        place += 1 if kind == 0xFF else 2 if kind in _JPEG_BARE else 2 + max(_big(data, place + 2, 2), 2)
    raise _Broken("it has too many blocks")


_READERS = {"PNG": _png, "JPEG": _jpeg, "GIF": _gif, "WebP": _webp}


def _ended(data: bytes, end: int, size: _Size) -> _Size:
    """`size`, where the picture ends with its file: what follows is no part of it, and nobody would see it."""
    if end != len(data):
        raise _Broken(f"{counted(len(data) - end, 'byte')} behind its end" if end < len(data) else "it ends too early")
    return size


def _big(data: bytes, place: int, width: int) -> int:
    return int.from_bytes(_part(data, place, width), "big")


def _little(data: bytes, place: int, width: int) -> int:
    return int.from_bytes(_part(data, place, width), "little")


def _part(data: bytes, place: int, width: int) -> bytes:
    if place + width > len(data):
        raise IndexError
    return data[place : place + width]
