"""Models of GGUF files: what `engine models add` says of a file, and how its model runs.

1. Headers, written here: the window, the special tokens, and what is wrong with a file. 2. Aliases: window and profile.
3. With real weights (marked `local_model`): the file of the local model under another name.

spec: @local_model @models_table
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from engine_cli import engine

import engine as package
from engine.errors import EngineError, NotFound, ValidationError
from engine.models import resolve_model
from engine.models.gguf import FULL_FROM, MOST_TOKENS, read_gguf, window_of
from engine.models.local import SPECIAL_TOKENS, plain_text
from engine.models.weights import install_weights

TOKENS = ["<s>", "</s>", "hello", "[INST]", " "]
TYPES = [3, 3, 1, 4, 1]


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def pair(name: str, value: object) -> bytes:
    if isinstance(value, str):
        return text(name) + struct.pack("<I", 8) + text(value)
    if isinstance(value, int):
        return text(name) + struct.pack("<II", 4, value)
    assert isinstance(value, list)
    kind = 8 if isinstance(value[0], str) else 5
    items = b"".join(text(each) if kind == 8 else struct.pack("<i", each) for each in value)
    return text(name) + struct.pack("<IIQ", 9, kind, len(value)) + items


def written(path: Path, window: int = 65_536, template: str = "{{ messages }}", version: int = 3) -> Path:
    """A file with a header and one tensor of 32 bytes, which no runtime could load."""
    pairs = [
        pair("general.architecture", "demo"),
        pair("demo.context_length", window),
        pair("tokenizer.ggml.tokens", TOKENS),
        pair("tokenizer.ggml.token_type", TYPES),
        pair("tokenizer.chat_template", template),
    ]
    head = b"GGUF" + struct.pack("<IQQ", version, 1, len(pairs)) + b"".join(pairs)
    head += text("weights") + struct.pack("<IQIQ", 1, 8, 0, 0)
    path.write_bytes(head + bytes(-len(head) % 32) + bytes(32))
    return path


def test_a_header_tells_the_window_and_the_special_tokens(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gguf")
    found = read_gguf(path)
    assert (found.trained, found.specials) == (65_536, ("<s>", "</s>", "[INST]"))
    assert window_of(f"gguf:{path}") == MOST_TOKENS
    assert window_of(f"gguf:{path}#50000") == 50_000
    assert plain_text("a [INST] b <s> c < s", found.specials) == "a [ INST] b < s> c < s"


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: b"", "is not a GGUF file"),
        (lambda data: b"PK" + data[2:], "is not a GGUF file"),
        (lambda data: data[:5], "ends early"),
        (lambda data: data[:40], "ends early"),
        (lambda data: data[:-64], "ends early"),
        (lambda data: data[:4] + b"\x09" + data[5:], "version"),
        (lambda data: data[:8] + b"\xff" * 16 + data[24:], "it states"),
        (lambda data: data.replace(b"demo.context_length", b"demo.contents_size!"), "no language model"),
        (lambda data: data.replace(b"chat_template", b"that_template"), "no chat template"),
    ],
)
def test_a_file_that_is_no_chat_model_says_why(tmp_path: Path, damage: object, says: str) -> None:
    path = written(tmp_path / "a.gguf")
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(ValidationError, match=says) as caught:
        resolve_model(f"gguf:{path}")
    assert str(path) in str(caught.value)


def test_a_file_that_is_missing_or_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        resolve_model(f"gguf:{tmp_path / 'a.gguf'}")
    with pytest.raises(ValidationError, match="cannot be read"):
        resolve_model(f"gguf:{tmp_path}")


@pytest.mark.parametrize(
    ("window", "options", "stored"),
    [
        (65_536, [], (MOST_TOKENS, "full")),
        (FULL_FROM, [], (FULL_FROM, "full")),
        (FULL_FROM - 1, [], (FULL_FROM - 1, "compact")),
        (65_536, ["--context", "4096"], (4096, "compact")),
    ],
)
def test_an_alias_gets_the_window_and_its_profile(
    tmp_path: Path, window: int, options: list[str], stored: tuple[int, str]
) -> None:
    written(tmp_path / "a#1.gguf", window)
    done = engine(tmp_path, "models", "add", "mine", "gguf:a#1.gguf", *options)
    assert done.returncode == 0, done.stderr
    with package.open(tmp_path / ".engine" / "engine.db") as db:
        row = db.row("select actual, context_length, profile from models where alias = 'mine'")
    assert row == {"actual": f"gguf:{tmp_path}/a#1.gguf#{stored[0]}", "context_length": stored[0], "profile": stored[1]}


def test_a_window_beyond_that_of_the_training_adds_nothing(tmp_path: Path) -> None:
    written(tmp_path / "a.gguf", 2048)
    done = engine(tmp_path, "models", "add", "mine", "gguf:a.gguf", "--context", "4096")
    assert done.returncode == 2
    assert "its context window has 2048 tokens, which is less than 4096" in done.stderr


@pytest.fixture(scope="module")
def weights() -> Path:
    pytest.importorskip("xllamacpp")
    return install_weights()


@pytest.mark.local_model
def test_the_special_tokens_of_the_local_model_stand_in_its_file(weights: Path) -> None:
    assert set(read_gguf(weights).specials) == set(SPECIAL_TOKENS)


@pytest.mark.local_model
@pytest.mark.slow
def test_a_file_under_another_name_answers(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "own.gguf").symlink_to(weights)
    root = tmp_path / "root"
    root.mkdir()
    (root / "server.ini").write_text("[server]\nport = 7241\n")
    done = engine(tmp_path, "models", "add", "mine", "gguf:own.gguf", "--context", "2048")
    assert done.returncode == 0, done.stderr
    done = engine(tmp_path, "run", "--model", "mine", "--root", str(root), "Which port does the server use?")
    assert (done.returncode, done.stdout.strip()) == (0, "port = 7241"), done.stderr


@pytest.mark.local_model
def test_what_only_the_runtime_can_find_is_told_in_a_line(weights: Path, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    from engine.models.protocol import Message, Request

    model = resolve_model(f"gguf:{written(tmp_path / 'a.gguf')}")
    with pytest.raises(EngineError, match="cannot be loaded") as caught:
        model.complete(Request((Message("user", "x"),), None, None, None, 60, 0, "x"))
    assert caught.value.status == 400
