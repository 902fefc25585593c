"""Scripted and replayed models.

1. A script answers by position, with reasoning, usage and delay.
2. Its errors are final and keep their status.
3. Broken scripts say what is wrong and where.
4. A replay gives what another engine file recorded, and leaves that file alone.
5. Names resolve to adapters, or say what names there are.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from timing import check_delay, delay_of_cancelling, slow_signal

from engine.errors import NotFound
from engine.models import resolve_model
from engine.models.protocol import Message, ModelError, Request, Thought, Usage


def request(position: int = 0, timeout_s: float = 300.0) -> Request:
    return Request((Message("user", "hello"),), None, None, None, timeout_s, position, "demo")


def script(folder: Path, *lines: Any) -> str:
    path = folder / "script.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return f"scripted:{path}"


def test_position_picks_the_line(tmp_path: Path) -> None:
    model = resolve_model(script(tmp_path, "first", {"text": "second"}))
    assert [model.complete(request(at)).text for at in (1, 0)] == ["second", "first"]


def test_an_answer_carries_reasoning_and_figures(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 2, "cost": 0.5}
    heard: list[str] = []
    model = resolve_model(script(tmp_path, {"text": "yes", "reasoning": "because", "usage": usage}))
    answer = model.complete(request(), heard.append)
    assert (answer.text, answer.reasoning, heard) == ("yes", "because", ["because", "yes"])
    assert [type(piece) for piece in heard] == [Thought, str]
    assert answer.usage == Usage(10, 4, 2, None, 0.5)


def test_a_line_may_hold_any_character_of_unicode(tmp_path: Path) -> None:
    text = "a\u2028b\u0085c\x0bd"
    assert resolve_model(script(tmp_path, text, "next")).complete(request()).text == text


def test_past_the_end_says_how_many_there_are(tmp_path: Path) -> None:
    model = resolve_model(script(tmp_path, "only"))
    with pytest.raises(ModelError, match="has 1 response, but the run asked for number 2") as caught:
        model.complete(request(1))
    assert (caught.value.status, caught.value.category) == (400, "script")


@pytest.mark.parametrize(
    ("status", "category"),
    [
        (429, "rate_limit"),
        (401, "auth"),
        (404, "not_found"),
        (413, "context_exceeded"),
        (500, "server"),
        (502, "gateway"),
        (503, "server"),
        (504, "timeout"),
        (499, "aborted"),
        (400, "invalid"),
    ],
)
def test_an_error_line_keeps_its_status_and_is_final(tmp_path: Path, status: int, category: str) -> None:
    model = resolve_model(script(tmp_path, {"error": {"status": status, "message": "no"}}, "after"))
    with pytest.raises(ModelError) as caught:
        model.complete(request())
    error = caught.value
    assert (error.status, error.category, error.message, error.final) == (status, category, "no", True)
    assert model.complete(request(1)).text == "after"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{not json", "line 2: "),
        ("17", "a JSON string or an object"),
        ('{"txt": "x"}', "unknown key 'txt'"),
        ('{"text": 5}', "'text' must be a string"),
        ('{"usage": {"tokens": 5}}', "'usage' must be an object"),
        ('{"error": {"message": "x"}}', "'error' must be an object"),
        ('{"delay_s": "long"}', "'delay_s' must be a number"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(f'"fine"\n{line}\n', encoding="utf-8")
    with pytest.raises(ModelError, match=r"broken\.jsonl, line 2") as caught:
        resolve_model(f"scripted:{path}").complete(request(1))
    assert says in str(caught.value)
    assert (caught.value.status, caught.value.category) == (400, "script")


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.jsonl"):
        resolve_model(f"scripted:{tmp_path / 'absent.jsonl'}").complete(request())


def test_cancelling_ends_a_delay_at_once(tmp_path: Path) -> None:
    model = resolve_model(script(tmp_path, {"text": "late", "delay_s": 300}))

    def complete(cancelled: threading.Event) -> None:
        with pytest.raises(ModelError) as caught:
            model.complete(request(), cancelled=cancelled)
        assert (caught.value.category, caught.value.status) == ("aborted", 499)

    check_delay(2, lambda: delay_of_cancelling(complete, 0.1))


def test_a_signal_that_outlasts_a_poll_cancels(tmp_path: Path) -> None:
    model, cancelled = resolve_model(script(tmp_path, {"text": "late", "delay_s": 600})), threading.Event()
    heard: list[str] = []
    with slow_signal(cancelled.set), pytest.raises(ModelError, match="was cancelled"):
        model.complete(request(timeout_s=600), heard.append, cancelled)
    assert heard == []


def test_a_delay_beyond_the_time_limit_is_a_timeout(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"within 0\.1 s") as caught:
        resolve_model(script(tmp_path, {"text": "late", "delay_s": 300})).complete(request(timeout_s=0.1))
    assert (caught.value.category, caught.value.status) == ("timeout", 504)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "recorded #1.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript("""
            create table runs (id integer primary key, alias text);
            create table turns (
                id integer primary key, run_id integer, sequence integer, response text, reasoning text,
                prompt_tokens integer, cached_tokens integer, completion_tokens integer,
                reasoning_tokens integer, cost real, native integer, finish_reason text
            );
            insert into runs values (1, 'demo'), (2, 'other');
            insert into turns values
                (1, 2, 1, 'of the other run', null, null, null, null, null, null, 0, null),
                (2, 1, 3, 'second', null, null, null, null, null, null, 1, 'length'),
                (3, 1, 2, null, null, null, null, null, null, null, 0, null),
                (4, 1, 1, 'first', 'thought', 10, 5, 3, 1, 0.25, 0, 'stop');
        """)
    return path


def test_a_replay_gives_the_stored_responses_in_their_order(recorded: Path) -> None:
    before = recorded.read_bytes()
    model = resolve_model(f"replay:{recorded}#demo,any")
    heard: list[str] = []
    first = model.complete(request(), heard.append)
    assert (first.text, first.reasoning, first.usage) == ("first", "thought", Usage(10, 5, 3, 1, 0.25))
    assert heard == ["first"]
    second = model.complete(request(1))
    assert (first.native, second.text, second.native) == (False, "second", True)
    assert (first.finish_reason, second.finish_reason) == ("stop", "length")
    assert recorded.read_bytes() == before


@pytest.mark.parametrize(("run", "count"), [("demo", 2), ("absent", 0)])
def test_a_replay_past_the_end_says_how_many_there_are(recorded: Path, run: str, count: int) -> None:
    with pytest.raises(ModelError, match=f"has {count} responses, but the run asked for number 3"):
        resolve_model(f"replay:{recorded}#{run}").complete(request(2))


def test_a_replay_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, however long it goes on", encoding="utf-8")
    for name in ("absent.db", "text.db"):
        with pytest.raises(ModelError, match=name) as caught:
            resolve_model(f"replay:{tmp_path / name}#demo").complete(request())
        assert caught.value.category == "script"
    assert not (tmp_path / "absent.db").exists()


@pytest.mark.parametrize("name", ["", "gpt", "scripted:", "replay:x.db", "replay:#run", "openai/", "nobody/x"])
def test_an_unknown_name_says_what_forms_there_are(name: str) -> None:
    with pytest.raises(NotFound, match=r"scripted:FILE, replay:DB#RUN, http://HOST:PORT/v1#NAME, openai"):
        resolve_model(name)


@pytest.mark.parametrize("name", ["openai/gpt-4o", "anthropic/claude-sonnet-4", "google/gemini-2.5-pro"])
def test_a_name_without_its_provider_is_told_with_it(name: str) -> None:
    with pytest.raises(NotFound, match=f"404 .*its provider is missing; write {name}$"):
        resolve_model(name.partition("/")[2])


def test_importing_models_imports_no_adapter() -> None:
    heavy = "sqlite3 asyncio httpx2 xllamacpp genai_prices"
    code = f"import sys, engine.models; print([m for m in '{heavy}'.split() if m in sys.modules])"
    bare = f"import sys, engine; engine.open; print([m for m in '{heavy}'.split() if m in sys.modules])"
    outputs = [
        subprocess.run([sys.executable, "-c", each], capture_output=True, text=True, check=True, env=os.environ).stdout
        for each in (code, bare)
    ]
    assert outputs[0] == outputs[1]
