"""Pictures in packets. How they go to a provider: test_native_tools.py.

1. A get brings a picture, while its entry is visible. 2. A model that does not see gets a line.
3. Limits leave pictures out, with the reason. 4. What was sent is kept: hashes in the packet, bytes once. 5. What may not be
read is not sent. 6. The budget counts pictures.

spec: @pictures
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import GO_ON, script

import engine
from engine.models.protocol import Completion, Request
from engine.packets.store import digest, messages_of, pictures_of

DONE = '<update status="200">done</update>'


def block(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, padding: int = 0) -> bytes:
    head = block(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    rest = block(b"tEXt", b"\0" * padding) if padding else b""
    return b"\x89PNG\r\n\x1a\n" + head + rest + block(b"IDAT", zlib.compress(bytes(8))) + block(b"IEND", b"")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "shot.png").write_bytes(png(640, 480))
    return root


@pytest.fixture
def db(tmp_path: Path) -> Iterator[engine.Database]:
    with engine.open(tmp_path / "t.db") as database:
        yield database


class Asked:
    """A model of an app that keeps what it is asked."""

    def __init__(self, name: str, answers: tuple[str, ...]) -> None:
        self.name = name
        self.answers = iter(answers)
        self.requests: list[Request] = []

    def complete(self, request: Request, *_: Any) -> Completion:
        self.requests.append(request)
        return Completion(next(self.answers))


def drive(db: engine.Database, folder: Path, *answers: str, name: str = "sees", **options: Any) -> list[Request]:
    """What a run with these answers sent."""
    if name == "sees":
        db.insert("models", alias="object:sees", actual="object:sees", images=1, created_at=0)
    model = Asked(name, answers)
    db.run("Look", run="demo", model=model, root=folder, yolo=True, **options)
    return model.requests


def text(request: Request) -> str:
    return request.messages[-1].content


def sent(request: Request) -> list[bytes]:
    """The pictures of a request."""
    return [picture.body for picture in request.pictures]


def section(request: Request) -> str:
    found = re.search(r"<pictures>\n(.*?)</pictures>", text(request), re.DOTALL)
    return found[1].strip() if found else ""


def test_a_picture_is_sent_while_it_is_visible(db: engine.Database, folder: Path) -> None:
    body = (folder / "shot.png").read_bytes()
    away = '<set path="shot.png" visibility="archived"/>'
    first, second, third = drive(db, folder, f'<get path="shot.png"/>{GO_ON}', away + GO_ON, DONE)
    assert sent(first) == sent(third) == []
    assert section(first) == section(third) == ""
    assert sent(second) == [body]
    assert second.pictures[0].media_type == "image/png"
    sha256 = hashlib.sha256(body).hexdigest()
    line = f"PNG picture, 640 × 480 pixels, {len(body)} bytes"
    assert section(second) == f"1. shot.png - {line}, sha256 {sha256}"
    assert f'"picture":"{line}"' in text(second)
    assert f"* shot.png - {line}" in text(first)  # the manifest


def test_what_was_sent_is_kept_once_and_can_be_sent_again(db: engine.Database, folder: Path) -> None:
    body = (folder / "shot.png").read_bytes()
    (folder / "same.png").write_bytes(body)
    packets = drive(db, folder, f'<get path="*.png"/>{GO_ON}', GO_ON, DONE)
    assert [len(sent(each)) for each in packets] == [0, 2, 2]
    assert db.rows("select format, body from pictures") == [{"format": "PNG", "body": body}]
    (folder / "shot.png").unlink()
    for turn in db.rows("select id, sequence from turns order by id"):
        (message,) = (each for each in messages_of(db, turn["id"]) if each.role == "user")
        assert message.content == text(packets[turn["sequence"] - 1])
        assert [each.body for each in pictures_of(db, turn["id"])] == sent(packets[turn["sequence"] - 1])
    for row in db.rows("select body, sha256 from packet_texts"):
        assert digest(row["body"]).hex() == row["sha256"]


def test_a_model_that_does_not_see_gets_a_line(db: engine.Database, folder: Path) -> None:
    _, packet = drive(db, folder, f'<get path="shot.png"/>{GO_ON}', DONE, name="blind")
    assert sent(packet) == []
    assert section(packet).endswith("(not sent: the model takes no pictures)")
    assert db.value("select count(*) from pictures") == 0


@pytest.mark.parametrize(
    ("name", "said", "sees"),
    [
        ("openai/gpt-5-mini", None, "yes"),
        ("openai/gpt-5-mini", 0, "no"),
        ("openai/mine", 1, "yes"),
        ("openrouter/anthropic/claude-sonnet-4-5", None, "yes"),
        ("ollama/llava:7b", None, "yes"),
        ("openai/o3-mini", None, "no"),
        ("cerebras/gpt-oss-120b", None, "no"),
        ("scripted:/tmp/gpt-4o", None, "no"),
        ("object:gpt-4o", None, "no"),
        ("local", None, "no"),
    ],
)
def test_a_person_or_a_known_name_says_whether_a_model_sees(
    db: engine.Database, name: str, said: int | None, sees: str
) -> None:
    db.insert("models", alias="it", actual=name, images=said, created_at=0)
    assert db.value("select images from model_sights where alias = 'it'") == sees


def test_limits_leave_pictures_out_and_say_why(db: engine.Database, folder: Path) -> None:
    (folder / "wide.png").write_bytes(png(30_000, 30_000))
    (folder / "b.png").write_bytes(png(10, 10, padding=2_000_000))
    (folder / "c.png").write_bytes(png(10, 11, padding=2_000_000))
    (folder / "huge.png").write_bytes(png(10, 10, padding=20_000_000))
    for name, value in (("packet_picture_bytes", 4_100_000), ("packet_max_pictures", 2)):
        db.execute("update settings set value = ? where name = ?", (value, name))
    reads = "".join(f'<get path="{name}.png"/>' for name in ("shot", "b", "c", "wide"))
    _, packet, third = drive(
        db, folder, reads + GO_ON, f'<set path="c.png" visibility="archived"/><get path="huge.png"/>{GO_ON}', DONE
    )
    assert sent(packet) == [(folder / "b.png").read_bytes(), (folder / "c.png").read_bytes()]
    listed = section(packet).splitlines()
    assert [line.split()[1] for line in listed] == ["b.png", "c.png", "shot.png", "wide.png"]
    assert listed[2].endswith("(not sent: more than 2 pictures in view)")
    assert listed[3].endswith("(not sent: a side of more than 8000 pixels)")
    assert sent(third) == [(folder / "shot.png").read_bytes(), (folder / "b.png").read_bytes()]
    assert "huge.png: 20,0" not in section(third)
    assert "bytes are too many to read whole" in text(third)


def test_the_bytes_of_all_together_have_a_limit(db: engine.Database, folder: Path) -> None:
    (folder / "b.png").write_bytes(png(10, 10, padding=3000))
    db.execute("update settings set value = 3100 where name = 'packet_picture_bytes'")
    _, packet = drive(db, folder, f'<get path="shot.png"/><get path="b.png"/>{GO_ON}', DONE)
    assert [len(each) for each in sent(packet)] == [len((folder / "b.png").read_bytes())]
    assert section(packet).endswith("(not sent: the pictures in view have more than 3100 bytes)")


def test_a_broken_picture_and_a_polyglot_are_a_failure_that_says_so(db: engine.Database, folder: Path) -> None:
    (folder / "cut.png").write_bytes(png(5, 5)[:-3])
    (folder / "zip.png").write_bytes(png(5, 5) + b"PK\x03\x04")
    (folder / "text.png").write_text("GIF89a is what this text begins with")
    answers = [f'<get path="{name}.png"/>{GO_ON}' for name in ("cut", "zip", "text")]
    packet = drive(db, folder, *answers, DONE)[-1]
    assert sent(packet) == []
    assert "cut.png: is a broken PNG picture" in text(packet)
    assert "4 bytes behind its end" in text(packet)
    assert "is what this text begins with" in text(packet)
    outcomes = db.rows("select path, outcome from commands where action = 'get' order by id")
    assert [row["outcome"] for row in outcomes] == ["unsupported", "unsupported", None]


def test_what_may_not_be_read_is_not_sent(db: engine.Database, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.png").write_bytes(png(7, 7))
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "id_rsa").write_bytes(png(8, 8))
    (folder / "hard.png").hardlink_to(folder / "id_rsa")
    paths = ("link.png", "id_rsa", "hard.png", "../outside.png", str(tmp_path / "outside.png"))
    packets = drive(db, folder, *(f'<get path="{path}"/>{GO_ON}' for path in paths), DONE)
    assert not any(map(sent, packets))
    assert db.value("select count(*) from pictures") == 0


def test_a_picture_that_changes_into_a_key_meanwhile_is_not_sent(db: engine.Database, folder: Path) -> None:
    (folder / "other.png").write_bytes(png(9, 9))
    drive(db, folder, f'<get path="*.png"/>{GO_ON}', DONE)
    sha256 = hashlib.sha256(png(9, 9)).hexdigest()
    from engine.project.workspace import Workspace

    workspace = Workspace(folder)
    assert workspace.picture("other.png", sha256, 10_000, added=()) == png(9, 9)
    assert workspace.picture("other.png", sha256, 10, added=()) is None
    (folder / "other.png").unlink()
    (folder / "other.png").symlink_to(folder / "shot.png")
    assert workspace.picture("other.png", sha256, 10_000, added=()) is None


def test_a_picture_is_never_written_over(db: engine.Database, folder: Path) -> None:
    body = (folder / "shot.png").read_bytes()
    drive(db, folder, f'<get path="shot.png"/>{GO_ON}', f'<set path="shot.png">new</set>{GO_ON}', DONE)
    assert (folder / "shot.png").read_bytes() == body


def test_the_budget_counts_a_picture(db: engine.Database, folder: Path) -> None:
    packets = drive(db, folder, f'<get path="shot.png"/>{GO_ON}', f'<rm path="known://x"/>{GO_ON}', DONE)
    for number, packet in enumerate(packets, 1):
        stated = json.loads(re.search(r'tokenUsage="(\d+)"', text(packet))[1])  # type: ignore[index]
        system = db.value("select body from packet_texts where turn = ? and role = 'system'", (number,))
        chars = len(text(packet)) + len(system) + (2 * 425 if number > 1 else 0)
        assert stated == db.value("select context_tokens from turns where sequence = ?", (number,))
        assert db.value("select context_chars from turns where sequence = ?", (number,)) == chars
        figures = re.search(r"\| file \| 1 \| (\d+) \|", text(packet))
        assert (int(figures[1]) >= 425 if figures else 0) == (number > 1)


def test_a_packet_that_is_too_long_for_a_picture_demotes_it(db: engine.Database, folder: Path) -> None:
    (folder / "large.png").write_bytes(png(2000, 2000))
    answers = ('<get path="large.png"/>' + GO_ON, GO_ON, DONE)
    packets = drive(db, folder, *answers, context_limit=5200)
    assert not any(map(sent, packets))
    assert "Context overflow" in text(packets[1])
    assert db.value("select status from loops") == 200


def test_a_fork_and_a_purge_keep_what_others_sent(db: engine.Database, folder: Path) -> None:
    drive(db, folder, f'<get path="shot.png"/>{GO_ON}', DONE)
    model = script(folder.parent, DONE)
    db.run("Again", run="other", fork="demo", model=model)
    assert db.value("select count(*) from pictures") == 1
    db.insert("verb_purge_run", run="other")
    db.insert("_sweep", due=1)
    assert db.value("select count(*) from pictures") == 1
    db.insert("verb_purge_run", run="demo")
    db.insert("_sweep", due=1)
    assert db.value("select count(*) from pictures") == 0


def test_a_run_without_pictures_asks_for_none(db: engine.Database, folder: Path) -> None:
    (folder / "a.txt").write_text("text")
    seen: list[str] = []
    db.connection.trace_v2(1, lambda event: seen.append(event["sql"]))
    drive(db, folder, f'<get path="a.txt"/>{GO_ON}', DONE)
    db.connection.trace_v2(0, None)
    assert not [sql for sql in seen if "_choose_pictures" in sql or "_unread_pictures" in sql]
