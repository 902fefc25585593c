"""Settings of the model: top_p, stop, seed and the like, of a prompt, an alias and the file.

1. Which one counts, and what a call records of it. 2. What each provider is sent. 3. What it refuses. 4. Values that are
none. 5. The terminal, children and handoffs.

spec: @model_options @model_calls
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from delegating import Cast, gives
from driving import DONE
from engine_cli import engine as command
from engine_cli import script as command_script
from loopback import serving
from servers import chat_quirks

import engine
from engine.errors import EngineError, ValidationError
from engine.functions.values import value_error
from engine.keys.providers import PROVIDERS
from engine.models.chat_request import chat_request
from engine.models.messages_request import messages_request
from engine.models.model_options import taken_by
from engine.models.protocol import Message, ModelError, Request
from engine.models.providers import Endpoint
from engine.models.thinking import Thinking, thinking_of
from engine.testing import FunctionModel


class Watched(FunctionModel):
    """A model that is done at once and keeps what it was asked."""

    def __init__(self, name: str = "watched") -> None:
        super().__init__(lambda _: DONE, name=name)

    @property
    def said(self) -> tuple[float | None, int | None, dict[str, Any]]:
        """The temperature, the longest answer and the other settings of its last request."""
        request = self.packets[-1].request
        return request.temperature, request.max_tokens, dict(request.options)


def recorded(db: engine.Database) -> Any:
    """What the last call says that it sent."""
    return json.loads(db.value("select options from model_calls order by id desc limit 1") or "null")


# 1. which counts


def test_the_prompt_goes_before_the_alias_and_the_file(db: engine.Database) -> None:
    model = Watched()
    db.give_model(model)
    db.execute("update settings set value = ? where name = 'model_options'", ('{"seed": 1, "top_p": 0.1}',))
    alias = '{"seed": 2, "max_output": 900, "temperature": 1.5}'
    db.execute("insert into models (alias, actual, options, created_at) values ('a', 'object:watched', ?, 0)", (alias,))
    db.run("Go", model="a", model_options={"seed": 3, "stop": ["END"]})
    assert model.said == (1.5, 900, {"seed": 3, "top_p": 0.1, "stop": ["END"]})
    assert recorded(db) == {"seed": 3, "top_p": 0.1, "stop": ["END"], "max_output": 900, "temperature": 1.5}
    db.run("Go", model="a", model_options={"seed": None, "temperature": None, "max_output": None})
    assert model.said == (None, None, {"top_p": 0.1})
    db.run("Go", model="a", temperature=0.7)
    assert model.said[0] == 0.7
    assert db.value("select value from run_settings where name = 'model_options' and origin = 'prompt'") is not None


def test_no_temperature_is_sent_where_none_is_wanted(db: engine.Database) -> None:
    model = Watched()
    db.run("Go", run="a", model=model)
    assert (model.said, recorded(db)) == ((0.1, None, {}), {"temperature": 0.1})
    db.run("Go", run="a", model=model, temperature=None)
    assert (model.said, recorded(db)) == ((None, None, {}), None)
    db.run("Go", run="a", model=model, temperature=0)
    assert model.said[0] == 0
    db.run("Go", run="a", model=model, temperature=None, model_options={"temperature": 0.3})
    assert model.said[0] == 0.3
    db.execute("update settings set value = null where name = 'temperature'")
    db.run("Go", run="b", model=model)
    assert model.said[0] is None


# 2. what is sent

ASKED = {"top_p": 0.5, "stop": "END", "service_tier": "auto", "extra_body": {"user": "ada"}}


def request(options: dict[str, Any], temperature: float | None = 0.1) -> Request:
    return Request((Message("user", "Hello"),), temperature, None, None, 9, 0, "a", options=options)


def at(provider: str, is_own: bool = True) -> Endpoint:
    return Endpoint(PROVIDERS[provider], "https://example.org", is_own, "key")


def test_openai_and_its_like_get_them_by_their_names() -> None:
    options = {**ASKED, "seed": 7}
    body = chat_request(request(options), at("openai"), "gpt-4.1", Thinking())
    assert {key: body[key] for key in ("top_p", "stop", "service_tier", "seed", "user", "temperature")} == {
        "top_p": 0.5, "stop": "END", "service_tier": "auto", "seed": 7, "user": "ada", "temperature": 0.1,
    }  # fmt: skip
    assert "extra_body" not in body


def test_anthropic_gets_them_in_its_form() -> None:
    body = messages_request(request({**ASKED, "top_k": 40}), "claude-sonnet-4", Thinking())
    assert (body["stop_sequences"], body["top_k"], body["user"]) == (["END"], 40, "ada")
    assert "stop" not in body
    assert "temperature" not in body


def test_a_server_gets_them_over_the_wire(db: engine.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx2")
    frames = (chat_quirks.text("Fine.", finish="stop"), chat_quirks.DONE)

    def answer(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        for frame in frames:
            handler.wfile.write(frame.encode())

    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        options = {"top_k": 5, "seed": 7, "max_output": 50, "extra_body": {"mirostat": 2}}
        result = db.run("Hello", model="openai/tiny", model_options=options, temperature=None)
    assert result.status == 200
    asked = server.asked[0]
    assert (asked["top_k"], asked["seed"], asked["mirostat"], asked["max_completion_tokens"]) == (5, 7, 2, 50)
    assert "temperature" not in asked
    assert recorded(db) == options


# 3. what is refused


@pytest.mark.parametrize(
    ("model", "options", "told"),
    [
        (
            "openai/gpt-4.1",
            {"top_k": 3},
            "openai/gpt-4.1: takes no top_k; leave it out. It takes temperature, max_output,",
        ),
        ("openai/gpt-5", {"top_p": 0.5}, "takes no top_p, because it always thinks"),
        ("anthropic/claude-sonnet-4-5", {"seed": 3}, "takes no seed"),
        ("google/gemini-2.5-flash", {"service_tier": "flex"}, "takes no service_tier"),
        ("local", {"extra_body": {"a": 1}}, "takes no extra_body"),
    ],
)
def test_what_a_model_does_not_take_is_refused_before_the_prompt(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch, model: str, options: dict[str, Any], told: str
) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-none")
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    with pytest.raises(ValidationError, match=told):
        db.run("Hello", model=model, model_options=options)
    assert db.value("select count(*) from loops") == 0


def test_a_call_with_one_that_is_not_taken_fails_in_words() -> None:
    for provider, options in (("xai", {"top_k": 1}), ("ollama", {"service_tier": "x"})):
        with pytest.raises(ModelError, match="leave it out") as caught:
            chat_request(request(options), at(provider), "m", thinking_of(at(provider), "m"))
        assert caught.value.category == "invalid"
    with pytest.raises(ModelError, match="takes no seed"):
        messages_request(request({"seed": 1}), "claude-x", Thinking())
    assert all(taken_by(name, is_own=False) == taken_by("server", is_own=True) for name in PROVIDERS)


def test_a_model_object_may_refuse_some(db: engine.Database) -> None:
    class Strict(Watched):
        def options_error(self, options: dict[str, Any]) -> str | None:
            return "I take no seed" if "seed" in options else None

    with pytest.raises(ValidationError, match="I take no seed"):
        db.run("Go", model=Strict(), model_options={"seed": 1})


# 4. values

WRONG: list[Any] = [
    {"topp": 1}, {"top_p": 2}, {"top_p": -0.1}, {"top_p": True}, {"top_p": "1"}, {"top_p": [1]}, {"temperature": 2.1},
    {"stop": []}, {"stop": ""}, {"stop": [1]}, {"stop": ["x"] * 17}, {"stop": "x" * 201}, {"seed": 1.5}, {"seed": 2**60},
    {"max_output": 0}, {"top_k": 0}, {"service_tier": ""}, {"service_tier": "a\nb"}, {"extra_body": [1]},
    {"extra_body": {"messages": []}}, {"extra_body": {"max_tokens": 9}}, {"extra_body": {"a": "x" * 20_000}}, {"\0": 1},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: json.dumps(each)[:30])
def test_what_is_no_setting_is_refused(db: engine.Database, wrong: dict[str, Any]) -> None:
    text = json.dumps(wrong)
    with pytest.raises(ValidationError, match="model_options"):
        db.run("Go", model=Watched(), model_options=wrong)
    with pytest.raises(ValidationError):
        db.insert("verb_set", run="a", path="run://a", body="x", attributes=json.dumps({"model_options": wrong}))
    with pytest.raises(ValidationError):
        db.insert("verb_set", run="a", path="run://a", body="x", attributes=json.dumps({"model_options": text}))
    with pytest.raises(ValidationError, match="setting model_options"):
        db.execute("update settings set value = ? where name = 'model_options'", (text,))
    with pytest.raises(ValidationError, match="model 'a': options"):
        db.execute("insert into models (alias, actual, options, created_at) values ('a', 'local', ?, 0)", (text,))
    assert db.value("select count(*) from loops") == 0


@pytest.mark.parametrize("wrong", [[1], 7, "x", "[]", "{", "null", {"seed": math.nan}, {"seed": object()}, {1: 2}])
def test_what_is_no_object_is_refused(db: engine.Database, wrong: Any) -> None:
    with pytest.raises((EngineError, TypeError)):
        db.run("Go", model=Watched(), model_options=wrong)
    assert value_error("[" * 9000, "options", None, None) is not None
    assert value_error('{"top_p": NaN}', "options", None, None) is not None


def test_a_config_that_was_written_by_hand_breaks_no_run(db: engine.Database) -> None:
    model = Watched()
    db.run("Go", run="a", model=model)
    for number, value in enumerate(("7", "[]", '"{"', '{"temperature": "x"}', "null", '"\\u0000"'), 50):
        db.execute(
            "insert into loops (run_id, sequence, mode, prompt, config, created_at) "
            "select id, ?, 'act', 'Go', json_object('model_options', json(?)), 0 from runs",
            (number, value),
        )
        assert db.resume("a").status == 200


# 5. elsewhere


def test_the_terminal_takes_them(folder: Path, tmp_path: Path) -> None:
    model = command_script(tmp_path / "s.jsonl", [DONE, DONE])
    given = ["run", "--no-repo", "--run", "demo", "--model", model]
    done = command(
        folder, *given, "--option", "top_p=0.5", "--option", "stop=END", "--option", "temperature=none", "Go"
    )
    assert done.returncode == 0, done.stderr
    told = command(folder, "sql", "select options from model_calls", "--json").stdout
    assert json.loads(json.loads(told)[0]["options"]) == {"top_p": 0.5, "stop": "END"}
    wrong = command(folder, *given, "--option", "topp=1", "Go")
    assert (wrong.returncode, "did you mean top_p?" in wrong.stderr) == (2, True)
    assert command(folder, *given, "--option", "top_p", "Go").returncode == 2
    added = command(folder, "models", "add", "exact", model, "--option", "seed=7")
    assert added.returncode == 0, added.stderr
    listed = json.loads(command(folder, "models", "--json").stdout)
    assert [row["options"] for row in listed if row["alias"] == "exact"] == ['{"seed": 7}']


def test_a_child_of_the_same_model_has_them(db: engine.Database) -> None:
    model = Cast({"top": [gives("one")]})
    db.run("Go", run="top", model=model, max_depth=1, model_options={"seed": 7})
    assert model.requests["top-1", 0].options == {"seed": 7}
    other = Watched("other")
    desk = Watched("desk")
    desk.function = lambda _: '<handoff persona="billing">x</handoff>'
    db.run("Go", model=desk, handoffs=[engine.Handoff("billing", "x", model=other)], model_options={"seed": 7})
    assert (desk.said[2], other.said[2]) == ({"seed": 7}, {})
