"""Files that come with a prompt.

1. Pictures, PDF and sounds reach a model that takes them, text any model; a later process sends them too.
2. A model that takes no PDF gets its text.
3. What cannot be taken is refused, and no prompt is stored.
4. Each provider gets them in its own form.
5. An export has them, and a sweep keeps those that were not sent yet.
6. `engine run --attach` and `--image` bring them.

spec: @attachments @pictures
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, script
from engine_cli import engine as cli
from test_pictures_sent import png
from test_web import PDF

import engine
from engine.functions.media import media_facts
from engine.models.chat_request import chat_request
from engine.models.messages_request import messages_request
from engine.models.protocol import Completion, Message, Picture, Request, Usage

WAV = b"RIFF\x44\x1f\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\x20\x1f\0\0" + bytes(8000)
MP3 = b"ID3\4\0\0\0\0\0\0" + (b"\xff\xfb\x90\0" + bytes(413)) * 40


class Eyes:
    """A model of the app that keeps what it is sent."""

    name = "eyes"

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: list[str] = []

    def complete(self, request: Request, *_: Any, **__: Any) -> Completion:
        self.requests.append(request)
        return Completion(self.answers.pop() if self.answers else DONE, "", Usage(), "stop")


@pytest.fixture
def eyes(db: engine.Database) -> Eyes:
    db.install("pictures")
    db.insert("models", alias="object:eyes", actual="object:eyes", images=1, created_at=0)
    for each in ("PDF", "WAV", "MP3"):
        db.insert("media_models", pattern="object:eyes", format=each)
    return Eyes()


def test_a_model_that_takes_them_gets_them(db: engine.Database, eyes: Eyes, tmp_path: Path) -> None:
    (tmp_path / "a shot\n.png").write_bytes(png(64, 48))
    files = [tmp_path / "a shot\n.png", engine.Picture(png(9, 9)), PDF, WAV, MP3, b"a,b\n1,2\n"]
    result = db.run("Look", run="demo", model=eyes, attachments=files)
    assert result.status == 200
    (request,) = eyes.requests
    assert [each.media_type for each in request.pictures] == [
        "image/png", "image/png", "application/pdf", "audio/wav", "audio/mpeg",
    ]  # fmt: skip
    assert [each.body for each in request.pictures[1:]] == [png(9, 9), PDF, WAV, MP3]
    packet = request.messages[-1].content
    assert "Attached: attachment://1/a_shot_.png (PNG picture, 64 × 48 pixels," in packet
    assert "(PDF, 1 page, 485 bytes)" in packet
    assert "(WAV sound, 2 seconds, 8,044 bytes)" in packet
    assert "\na,b\n1,2\n" in packet
    db.run("Again", run="demo", model=eyes)
    assert eyes.requests[1].pictures == request.pictures


def test_a_picture_of_a_tool_is_shown_in_a_run_without_a_folder(db: engine.Database, eyes: Eyes) -> None:
    def snap() -> engine.Picture:
        """Take a picture."""
        return engine.Picture(png(9, 9))

    eyes.answers = ["<snap/>"]
    db.run("Look", run="demo", model=eyes, tools=[snap], yolo=True)
    assert [len(request.pictures) for request in eyes.requests] == [0, 1]


def test_another_process_sends_them(tmp_path: Path) -> None:
    model = script(tmp_path, DONE)
    with closing(engine.open(tmp_path / "one.db")) as db:
        db.insert("models", alias="seer", actual=model, images=1, created_at=0)
        db.start("Look", run="demo", model="seer", attachments=[png(64, 48)])
    with closing(engine.open(tmp_path / "one.db")) as db:
        assert db.resume("demo").status == 200
        (sent,) = db.sql("select path, is_sent from packet_pictures")
        assert sent == {"path": "attachment://1/file1", "is_sent": 1}


def test_a_model_that_takes_no_pdf_gets_its_text(db: engine.Database, tmp_path: Path) -> None:
    db.run("Read", run="demo", model=script(tmp_path, DONE), attachments=[PDF])
    (packet,) = db.sql("select body from packet_texts where role = 'user'")
    assert "Port 9100 is open" in packet["body"]
    assert db.sql("select format from prompt_attachments") == [{"format": None}]


REFUSED: list[tuple[Any, str]] = [
    ([png(9, 9)], "attachment file1: the model takes no pictures; choose another model"),
    ([WAV], "attachment file1: the model takes no WAV"),
    ([b"text", MP3], "attachment file2: the model takes no MP3"),
    ([png(9, 9)[:-8]], "attachment file1: the PNG picture is broken"),
    ([b"%PDF-1.4 nothing"], "attachment file1: the model .* takes no PDF, and its text cannot be read"),
    ([b"\0\1\2"], "attachment file1: is not a picture"),
    ([b""], "attachment file1: is empty"),
    (["nowhere.png"], "attachment 'nowhere.png': there is no such file"),
    (["/dev"], "attachment '/dev': there is no such file"),
    ([b"x"] * 99, "attachments: at most"),
    ([b"x" * 40_000_000], "attachment file1: more than"),
]


@pytest.mark.parametrize(("files", "said"), REFUSED)
def test_what_cannot_be_taken_is_refused(db: engine.Database, tmp_path: Path, files: Any, said: str) -> None:
    with pytest.raises(engine.EngineError, match=said):
        db.run("Look", run="demo", model=script(tmp_path, DONE), attachments=files)
    assert db.sql("select * from runs") == []


@pytest.mark.parametrize("files", ["shot.png", b"x", [1], 7])
def test_what_is_no_list_of_files_is_a_type_error(db: engine.Database, tmp_path: Path, files: Any) -> None:
    with pytest.raises(TypeError, match="attachments"):
        db.run("Look", model=script(tmp_path, DONE), attachments=files)


def test_each_provider_gets_them_in_its_form() -> None:
    files = (Picture("image/png", b"p"), Picture("application/pdf", b"d"), Picture("audio/mpeg", b"m"))
    request = Request((Message("user", "Hi"),), None, 9, None, 9, 0, "r", pictures=files)
    at: Any = type("At", (), {"provider": type("P", (), {"name": "openai"}), "is_own": True, "key": "k"})
    thinking: Any = type("T", (), {"takes_temperature": lambda *_: True, "nearest": lambda *_: None})()
    parts = chat_request(request, at, "gpt-5", thinking)["messages"][0]["content"]
    assert [part["type"] for part in parts if part["type"] != "text"] == ["image_url", "file", "input_audio"]
    assert parts[4]["file"] == {"filename": "2.pdf", "file_data": "data:application/pdf;base64,ZA=="}
    assert parts[6]["input_audio"] == {"data": "bQ==", "format": "mp3"}
    request = Request((Message("user", "Hi"),), None, 9, None, 9, 0, "r", pictures=files[:2])
    (message,) = messages_request(request, "claude-x", thinking)["messages"]
    assert [block["type"] for block in message["content"]] == ["text", "text", "image", "text", "document"]


def test_an_export_and_a_sweep_keep_what_was_not_sent_yet(db: engine.Database, eyes: Eyes, tmp_path: Path) -> None:
    db.start("Look", run="demo", model=eyes, attachments=[PDF])
    db.run("Hi", run="other", model=script(tmp_path, DONE))
    db.purge("other")
    db.export_run("demo", tmp_path / "demo.jsonl")
    with closing(engine.open(tmp_path / "there.db")) as there:
        there.import_run(tmp_path / "demo.jsonl", trust=True)
        assert there.sql("select body from pictures") == [{"body": PDF}]
    assert db.resume("demo").status == 200
    assert eyes.requests[0].pictures == (Picture("application/pdf", PDF),)
    db.purge("demo")
    assert db.sql("select * from pictures") == []


def test_the_terminal_brings_them(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(png(64, 48))
    (tmp_path / "notes.txt").write_text("The port is 8080.")
    model = script(tmp_path, DONE)
    refused = cli(tmp_path, "run", "--model", model, "--image", "shot.png", "Look")
    assert (refused.returncode, "attachment shot.png: the model takes no pictures" in refused.stderr) == (2, True)
    assert cli(tmp_path, "run", "--run", "demo", "--model", model, "--attach", "notes.txt", "Read").returncode == 0
    assert "The port is 8080." in cli(tmp_path, "packet", "demo", "1").stdout


@pytest.mark.parametrize("size", range(0, 60, 7))
def test_a_cut_file_never_raises(size: int) -> None:
    for data in (PDF, WAV, MP3):
        facts = media_facts(data[:size])
        assert facts is None or json.dumps(facts)
