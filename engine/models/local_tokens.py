"""Counts tokens with the local model's own tokenizer, over the socket of its runtime."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Sequence
from typing import Any

from engine.errors import EngineError
from engine.models import local
from engine.models.protocol import Message


def count_local(text: str) -> int:
    """The number of tokens of `text`; raises `EngineError` (500) where the runtime does not answer."""
    return len(_ask_local("/tokenize", {"content": local.plain_text(text)})["tokens"])


def count_local_prompt(messages: Sequence[Message]) -> int:
    """The number of tokens of `messages` in the model's chat template; raises like `count_local`."""
    given = [{"role": message.role, "content": local.plain_text(message.content)} for message in messages]
    prompt = _ask_local("/apply-template", {"messages": given})["prompt"]
    return len(_ask_local("/tokenize", {"content": prompt, "add_special": True})["tokens"])


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over the runtime's own socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


def _ask_local(path: str, body: dict[str, Any]) -> Any:
    connection = _SocketConnection("localhost")
    connection.host = local.socket_path()
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", "Host": "localhost"})
        response = connection.getresponse()
        answer = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise EngineError(f"the local model could not count tokens: {error}") from error
    finally:
        connection.close()
    if response.status != 200:
        raise EngineError(f"the local model could not count tokens: status {response.status}")
    return answer
