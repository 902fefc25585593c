"""The person's own editor and pager: what they do to the file, to the terminal and to the engine.

spec: @proposals
"""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.terminal.editor_and_pager import edited, paged


def program(folder: Path, text: str) -> str:
    path = folder / "a program.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"'{path}'"


def test_an_interruption_in_the_editor_is_the_editors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", program(tmp_path, 'kill -INT $PPID; echo new > "$2"') + " -w")
    assert edited("old\n", "a.py") == "new\n"


def test_an_interruption_in_the_pager_is_the_pagers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", program(tmp_path, f"cat > '{tmp_path}/shown'; kill -INT $PPID"))
    paged(["one", "two"])
    assert (tmp_path / "shown").read_text() == "one\ntwo"


@pytest.mark.parametrize("script", ["kill -9 $$", "exit 1", "printf '\\377' > \"$1\"", 'rm "$1"'])
def test_an_editor_that_fails_gives_no_text(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VISUAL", program(tmp_path, script))
    assert edited("old\r\n", "a.py") is None
    assert "nothing was changed" in capsys.readouterr().err


@pytest.mark.parametrize("pager", ["  ", "'", "/nowhere/pager"])
def test_without_a_pager_the_text_is_printed(
    pager: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAGER", pager)
    monkeypatch.setenv("PATH", "/nowhere")
    paged(["one"])
    assert capsys.readouterr().err == "one\n"
