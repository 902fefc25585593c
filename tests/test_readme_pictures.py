"""The pictures of the README show what the commands print; `python -m tests.pictures` draws them anew."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.pictures import drawing
from tests.pictures.session import COMMANDS, session

HERE = Path(__file__).parent / "pictures"
README = Path(__file__).parent.parent / "README.md"
MOST_BYTES = 12_000


def without_figures(svg: str) -> list[str]:
    """The texts of a picture; tokens, costs and times are left out."""
    texts = [
        "".join(each.itertext()).replace("\xa0", " ")
        for each in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]
    return [re.sub(r"[0-9][0-9.,]*", "#", text) for text in texts]


def test_the_session_of_the_picture_is_what_the_commands_print(tmp_path: Path) -> None:
    stored = (HERE / "session.svg").read_text(encoding="utf-8")
    drawn = drawing.terminal(session(tmp_path))
    assert without_figures(drawn) == without_figures(stored), "run: python -m tests.pictures"
    assert sum(text.startswith("$ engine ") for text in without_figures(stored)) == len(COMMANDS)


def test_the_way_of_a_turn_is_drawn_as_it_is_told() -> None:
    assert (HERE / "turn.svg").read_text(encoding="utf-8") == drawing.way(), "run: python -m tests.pictures"


@pytest.mark.parametrize("name", ["session.svg", "turn.svg"])
def test_a_picture_is_small_is_shown_and_brings_nothing_along(name: str) -> None:
    text = (HERE / name).read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    assert f"tests/pictures/{name}" in README.read_text(encoding="utf-8")
    assert not re.search(r"<script|<image|@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)


@pytest.mark.parametrize("name", ["inspector-run.webp", "inspector-turn.webp"])
def test_a_screenshot_is_small_and_is_shown(name: str) -> None:
    picture = (HERE / name).read_bytes()
    assert (picture[:4], picture[8:12]) == (b"RIFF", b"WEBP")
    assert len(picture) < 60_000
    assert f"tests/pictures/{name}" in README.read_text(encoding="utf-8")


def test_the_pictures_can_be_drawn_without_pytest() -> None:
    program = [sys.executable, "-c", "import tests.pictures.__main__, tests.pictures.gallery"]
    subprocess.run(program, cwd=HERE.parent.parent, check=True, timeout=300)
