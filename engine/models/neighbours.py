"""Finds servers of models on this machine, at the ports that they usually have.

spec: @model_servers
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .addresses import at, joined
from .served import served_models

PORTS: Mapping[int, str] = {11434: "Ollama", 1234: "LM Studio", 8000: "vLLM", 8080: "llama.cpp"}
"""The usual ports on the loopback address, and who usually has them."""
_PATIENCE = 0.2
"""How long a server is waited for, as a part of the 5 s that a hint waits."""
_OFFERED = re.compile(r"[^\W_][\w./:@+-]*")
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Neighbour:
    """A server that answers: its address, who usually has its port, and what it calls its models."""

    url: str
    usual: str
    models: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command that names its first model, or one with MODEL where it says none."""
        model = self.models[0] if self.models else "MODEL"
        return f"engine models add {_name(model)} {model} --base-url {self.url} --user"

    def names(self) -> set[str]:
        """The names under which its models are known."""
        return {joined(self.url, model) for model in self.models} | {f"ollama/{model}" for model in self.models}


def neighbours(ports: Mapping[int, str] | None = None) -> Iterator[Neighbour]:
    """The servers that answer on the loopback address. All are asked at once; one that is silent is given up after 1 s."""
    asked = PORTS if ports is None else ports
    with ThreadPoolExecutor(max(1, len(asked))) as pool:
        yield from (each for each in pool.map(_look, asked, asked.values()) if each is not None)


def _look(port: int, usual: str) -> Neighbour | None:
    url = f"http://127.0.0.1:{port}/v1"
    found = served_models(at(url), _PATIENCE)
    if found is None:
        return None
    names = (name.partition("/")[2] for name in found)
    return Neighbour(url, usual, tuple(name for name in names if _OFFERED.fullmatch(name)))


def _name(model: str) -> str:
    """A short name for a model: what stands behind the last slash, without its tag."""
    return _PLAIN.sub("-", model.rpartition("/")[2].partition(":")[0]).strip("-.") or "mine"
