"""What the bytes of a file are as a picture.

1. Format and size are told by content. 2. What is cut off, forged or has something behind its end is broken, and says so.
3. No bytes raise, and none take long. 4. What a picture takes in tokens.

spec: @pictures
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.pictures import picture_facts, picture_line, picture_tokens


def block(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int) -> bytes:
    head = block(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + block(b"IDAT", zlib.compress(bytes(8))) + block(b"IEND", b"")


def gif(width: int, height: int) -> bytes:
    comment = b"\x21\xfe\x05hello\x00"
    image = b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x4c\x01\x00"
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6) + comment + image + b"\x3b"


def jpeg(width: int, height: int) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 2 + 9) + b"\xff\xc0thumb\xff\xd9"[:9]
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + exif + b"\xff" + frame + b"\xff\xda\x00\x02\x12\x34\xff\xd9"


def webp(width: int, height: int, kind: bytes = b"VP8 ") -> bytes:
    data = {
        b"VP8 ": b"\x10\x02\x00\x9d\x01\x2a" + struct.pack("<HH", width, height),
        b"VP8L": b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little"),
        b"VP8X": bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
    }[kind]
    inner = b"WEBP" + kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(inner)) + inner


def facts(data: bytes) -> Any:
    return json.loads(picture_facts(data) or "null")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("PNG", png(640, 480)),
        ("GIF", gif(640, 480)),
        ("JPEG", jpeg(640, 480)),
        ("WebP", webp(640, 480)),
        ("WebP", webp(640, 480, b"VP8L")),
        ("WebP", webp(640, 480, b"VP8X")),
    ],
)
def test_a_picture_is_known_by_its_content(name: str, data: bytes) -> None:
    assert facts(data) == {"format": name, "width": 640, "height": 480}
    # cut off anywhere it is a broken one, and too short to be one it is none
    for end in range(len(data)):
        assert facts(data[:end]) is None or "fault" in facts(data[:end]), end
    if name != "JPEG":
        assert facts(data + b"PK\x03\x04")["fault"] == "4 bytes behind its end"


@pytest.mark.parametrize("data", [b"", b"BM" + bytes(100), b"<svg/>", b"PK\x03\x04" + png(1, 1), b"RIFF\x04\0\0\0WAVE"])
def test_anything_else_is_none(data: bytes) -> None:
    assert picture_facts(data) is None


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (png(0, 10), "it says that it has 0 × 10 pixels"),
        (b"\x89PNG\r\n\x1a\n" + block(b"IDAT", b"") + block(b"IHDR", bytes(13)), "it does not begin with its header"),
        (b"\x89PNG\r\n\x1a\n" + block(b"IHDR", bytes(13)) + b"\xff" * 12, "it ends in the middle of a block"),
        (b"GIF89a/*" + b"\x0f" * 40, "it has a block of no known kind"),
        (b"\xff\xd8\xff\xda" + bytes(40), "it has no header"),
        (b"\xff\xd8" + b"\xff" * 300_000, "it has too many blocks"),
        (b"\x89PNG\r\n\x1a\n" + block(b"IHDR", bytes(13)) + block(b"tEXt", b"") * 110_000, "it has too many blocks"),
        (b"RIFF" + struct.pack("<I", 40) + b"WEBPVP8Q" + bytes(32), "it does not begin with its header"),
    ],
)
def test_a_forged_picture_is_broken(data: bytes, fault: str) -> None:
    assert facts(data)["fault"] == fault


@given(st.sampled_from([png(9, 9), gif(9, 9), jpeg(9, 9), webp(9, 9)]), st.binary(max_size=60), st.integers(0, 80))
def test_no_bytes_raise(data: bytes, noise: bytes, place: int) -> None:
    found = facts(data[:place] + noise + data[place + len(noise) // 2 :])
    assert found is None or found["format"]


def test_a_line_tells_format_pixels_and_bytes() -> None:
    assert picture_line(picture_facts(png(30_000, 2)), 84_213) == "PNG picture, 30,000 × 2 pixels, 84,213 bytes"
    assert picture_line(picture_facts(png(3, 2)[:-1]), 70) == (
        "broken PNG picture, 70 bytes: it ends in the middle of a block"
    )
    assert picture_line(None, 1000) == "binary file, 1,000 bytes"


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("openai/gpt-4o", (1024, 1024), 765),  # the example of OpenAI's guide
        ("openai/gpt-4o", (2048, 4096), 1105),  # and its second one
        ("anthropic/claude-sonnet-4-5", (1000, 1000), 1334),  # the example of Anthropic's guide
        ("anthropic/claude-sonnet-4-5", (8000, 8000), 1568),
        ("google/gemini-2.5-flash", (384, 384), 258),
        ("google/gemini-2.5-flash", (960, 540), 516),
        ("ollama/llava:7b", (1, 1), 255),
    ],
)
def test_a_picture_takes_tokens_by_its_makers_formula(model: str, size: tuple[int, int], tokens: int) -> None:
    assert picture_tokens(model, *size) == tokens
