"""`local` and `gguf:FILE`: models in this process, without a key and without a network.

`local` is SmolLM2-135M-Instruct. It answers short questions by quoting a line and is no coding agent. The runtime is
xllamacpp; a process loads a model once, at the first call. Measured with the wheel's portable code: an idle core reads 140
tokens of a prompt of `local` a second, and an answer is written at 40 to 60 tokens a second.

spec: @local_model
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.models.model_options import LOCAL, refused, written
from engine.models.protocol import FREE, Completion, ModelError, Price, Request, Usage, category_of_status
from engine.models.thinking import Thinking
from engine.models.timeouts import Emit, watched
from engine.models.weights import install_weights, weights_path
from engine.system.places import socket_folder

__all__ = ["LocalModel", "install_weights", "is_installed", "weights_path"]

_CONTEXT = 4096
_MAX_TOKENS = 256
# A prompt is read in pieces of this many tokens; a call can be stopped between two pieces.
_BATCH = 128
_MOST_THREADS = 8
_EXIT_S = 20.0

SPECIAL_TOKENS: tuple[str, ...] = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<reponame>", "<file_sep>", "<filename>", "<gh_stars>",
    "<issue_start>", "<issue_comment>", "<issue_closed>", "<jupyter_start>", "<jupyter_text>", "<jupyter_code>",
    "<jupyter_output>", "<jupyter_script>", "<empty_output>",
)  # fmt: skip
"""What the tokenizer of these weights takes for marks of the chat template, wherever it stands."""

_one_call = threading.Lock()
_closing = threading.Event()


def is_installed() -> bool:
    """Whether the local model can answer: its runtime can be imported and its weights are in the cache."""
    return importlib.util.find_spec("xllamacpp") is not None and weights_path().is_file()


class LocalModel:
    """A model in this process, `local` unless another is named; temperature 0 and 256 tokens unless the request says
    otherwise.
    """

    takes_effort = False
    """It cannot be told how hard to think."""

    def __init__(self, name: str = "local") -> None:
        self._name = name

    def options_error(self, options: Mapping[str, Any]) -> str | None:
        """Why it does not take these settings; None where it does."""
        return refused("local", options, LOCAL)

    def price_at(self, prompt_tokens: int) -> Price:  # noqa: ARG002 - the same for any
        """Nothing is charged for it."""
        return FREE

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        """Answer in this process.

        Raises `ModelError`, with (not_found, 404) where there are no weights, and `EngineError`: 500 without the runtime,
        400 for a file that holds no chat model.
        """
        from engine.models.gguf import read_gguf, split_name, window_of

        weights, window, specials = weights_path(), _CONTEXT, SPECIAL_TOKENS
        if self._name.startswith("gguf:"):
            weights, window = split_name(self._name)[0], window_of(self._name)
            specials = read_gguf(weights).specials

        def work(emit: Emit, stop: threading.Event) -> Completion:
            with _one_call:
                return _answered(_server(weights, window), _body(request, specials), emit, stop)

        return watched(work, who="local", timeout_s=request.timeout_s, on_delta=on_delta, cancelled=cancelled)


def plain_text(text: str, specials: tuple[str, ...] = SPECIAL_TOKENS) -> str:
    """`text` as the runtime is given it: a space stands behind the first character of what its tokenizer would take for one
    of `specials`, its special tokens.

    A file that holds `<|im_end|>` would otherwise end its message and begin one of its own.
    """
    return _special(specials).sub(r"\g<0> ", text) if specials else text


@cache
def _special(specials: tuple[str, ...]) -> re.Pattern[str]:
    """Finds the first character of each special token."""
    by_first: dict[str, list[str]] = {}
    for token in specials:
        by_first.setdefault(token[0], []).append(re.escape(token[1:]))
    return re.compile("|".join(f"{re.escape(first)}(?={'|'.join(rests)})" for first, rests in by_first.items()))


def _answered(server: Any, body: dict[str, Any], emit: Emit, stop: threading.Event) -> Completion:
    if stop.is_set():
        raise ModelError("aborted", "the call of the local model was cancelled")
    answer = _Answer(emit, stop)
    server.handle_chat_completions(body, answer.take)
    return answer.completion()


def _body(request: Request, specials: tuple[str, ...]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": [{"role": each.role, "content": plain_text(each.content, specials)} for each in request.messages],
        "temperature": 0.0 if request.temperature is None else request.temperature,
        "max_tokens": _MAX_TOKENS if request.max_tokens is None else request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
        "cache_prompt": True,
    }
    options = written("local", request.options, LOCAL, "stop", Thinking()) if request.options else {}
    return body | options | ({"grammar": request.grammar} if request.grammar else {})


class _Answer:
    """Gathers what the runtime streams. `take` is called from C++, so it must not raise."""

    def __init__(self, emit: Emit, stop: threading.Event) -> None:
        self._emit = emit
        self._stop = stop
        self._texts: list[str] = []
        self._usage = Usage()
        self._finish_reason: str | None = None
        self._error: Mapping[str, Any] | None = None

    def take(self, chunk: Mapping[str, Any]) -> bool:
        """Take one chunk; True stops the runtime."""
        self._error = chunk.get("error", self._error)
        for choice in chunk.get("choices", ()):
            self._finish_reason = choice.get("finish_reason") or self._finish_reason
            if text := choice.get("delta", {}).get("content"):
                self._texts.append(text)
                self._emit(text)
        if used := chunk.get("usage"):
            self._usage = Usage(
                prompt_tokens=used["prompt_tokens"],
                cached_tokens=used.get("prompt_tokens_details", {}).get("cached_tokens", 0),
                completion_tokens=used["completion_tokens"],
                reasoning_tokens=0,
                cost=0.0,
                cost_from="local",
            )
        return self._stop.is_set() or _closing.is_set()

    def completion(self) -> Completion:
        """The whole answer; raises `ModelError` for an error among the chunks."""
        if self._error is not None:
            raise _refused(self._error)
        return Completion("".join(self._texts), "", self._usage, self._finish_reason)


def _refused(error: Mapping[str, Any]) -> ModelError:
    message = str(error.get("message", "no reason given"))
    if error.get("type") == "exceed_context_size_error":
        return ModelError("context_exceeded", f"the packet is too long for the local model: {message}")
    return ModelError(category_of_status(int(error.get("code", 500)), message), f"the local model failed: {message}")


def socket_path() -> str:
    """The path of the socket on which the runtime answers HTTP; loads the model at first. Raises like a call."""
    weights = weights_path()
    if (weights, _CONTEXT) in _loaded:
        return str(_loaded[weights, _CONTEXT].listening_address).removeprefix("unix://")
    with _one_call:
        return str(_server(weights, _CONTEXT).listening_address).removeprefix("unix://")


_loaded: dict[tuple[Path, int], Any] = {}


def _server(weights: Path, window: int) -> Any:
    """The loaded model. The caller holds the lock, so that it is loaded once for each window."""
    if (weights, window) not in _loaded:
        _loaded[weights, window] = _load(weights, window)
    return _loaded[weights, window]


def _load(weights: Path, window: int) -> Any:
    try:
        import xllamacpp  # type: ignore[import-untyped]
    except ImportError as error:
        from engine.system.installing import how_to_install

        raise EngineError(f"the local runtime is not installed; run: {how_to_install('local')}") from error
    if not weights.is_file():
        raise ModelError(
            "not_found", f"the local model is not installed at {weights}; run: engine models install local"
        )
    folder = tempfile.mkdtemp(prefix="engine-local-", dir=socket_folder())
    atexit.register(_close, folder)
    try:
        return xllamacpp.Server(_parameters(xllamacpp, weights, window, folder))
    except RuntimeError as error:
        raise ModelError("invalid", f"the local model cannot be loaded from {weights}: {error}") from error


def _parameters(xllamacpp: Any, weights: Path, window: int, folder: str) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx = window
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = _threads()
    parameters.warmup = False
    parameters.verbosity = 3 if os.environ.get("ENGINE_DEBUG") else -1
    # The runtime always serves HTTP too; with a socket in a private folder it opens no port.
    parameters.hostnames = [f"{folder}/socket.sock"]
    parameters.n_threads_http = 1
    parameters.ui = False
    return parameters


def _threads() -> int:
    """The number of idle cores, from 1 to 8.

    Measured on two cores: two threads are twice as fast as one on an idle machine, and half as fast on a busy one, where
    they wait for each other in a loop.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    busy = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, min(cores - busy, _MOST_THREADS))


def _close(folder: str) -> None:
    """Wait up to 20 s for a running call: after the interpreter has ended, the runtime must not call back into it."""
    _closing.set()
    if _one_call.acquire(timeout=_EXIT_S):
        _one_call.release()
    shutil.rmtree(folder, ignore_errors=True)
