"""What the bytes of a PDF or a sound say of it: its format, its length, and what it takes of a model's window.

Only the first bytes and marks are read; nothing is unpacked or decoded.
"""

from __future__ import annotations

import math

from engine.functions.counts import counted
from engine.functions.lazy import lazy_regex

MEDIA_TYPES = {"PDF": "application/pdf", "WAV": "audio/wav", "MP3": "audio/mpeg"}
_PAGE = lazy_regex(rb"/Type\s*/Page(?![A-Za-z])")
_COUNT = lazy_regex(rb"/Count\s+(\d{1,5})")
_PAGE_TOKENS = 2_000
"""Of a page, text and picture; Anthropic says 1,500 to 3,000."""
_PAGE_BYTES = 50_000
_SECOND_TOKENS = 32
"""Of a second of sound; Google says 32, OpenAI 10."""
_KBITS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0)
_LEAST_RATE = 4_000


def media_facts(data: bytes) -> dict[str, str | int] | None:
    """`format`, `tokens` and `picture` (a line for people) of a PDF, a WAV or an MP3; None for any other bytes."""
    if data[:1024].lstrip().startswith(b"%PDF-"):
        pages = _pages(data)
        return _facts("PDF", pages * _PAGE_TOKENS, f"PDF, {counted(pages, 'page')}", data)
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        rate = int.from_bytes(data[28:32], "little")
        return _sound("WAV", max(rate, _LEAST_RATE), data)
    if data[:3] == b"ID3" or (data[:1] == b"\xff" and len(data) > 3 and data[1] & 0xE6 == 0xE2):
        at = data.find(b"\xff", 10) if data[:3] == b"ID3" else 0
        index = data[at + 2] >> 4 if 0 <= at < len(data) - 2 else 0
        return _sound("MP3", max(_KBITS[index] * 125, _LEAST_RATE), data)
    return None


def _sound(name: str, bytes_a_second: int, data: bytes) -> dict[str, str | int]:
    seconds = math.ceil(len(data) / bytes_a_second)
    return _facts(name, seconds * _SECOND_TOKENS, f"{name} sound, {counted(seconds, 'second')}", data)


def _facts(name: str, tokens: int, told: str, data: bytes) -> dict[str, str | int]:
    return {"format": name, "tokens": max(tokens, 1), "picture": f"{told}, {counted(len(data), 'byte')}"}


def _pages(data: bytes) -> int:
    """The pages of a PDF, as its own marks say; where these are packed, as its size suggests."""
    marked = len(_PAGE.findall(data))
    told = max((int(each) for each in _COUNT.findall(data)), default=0)
    return max(marked, min(told, 10_000)) or math.ceil(len(data) / _PAGE_BYTES)
