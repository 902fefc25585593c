"""Says what went wrong with a call as a `ModelError`: a connection that failed, a refusal, an error stated in an answer."""

from __future__ import annotations

import json
import re
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from html import unescape
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.models.protocol import ModelError, category_of_status
from engine.models.providers import shown_url
from engine.system.secrets import masked

if TYPE_CHECKING:
    import httpx2

    from engine.models.providers import Endpoint

_SHOWN = 300
_TITLE = re.compile(r"<(title|h1)\b[^>]{0,200}>([^<]{1,300})</\1>", re.IGNORECASE)
_PAGE = re.compile(r"\s*(<!doctype html|<html\b)", re.IGNORECASE)
_OVERFLOW = re.compile(r"context.{0,60}(size|length|limit|window)", re.IGNORECASE | re.DOTALL)
_OVERFLOW_OF_A_REJECTION = re.compile(
    r"context.{0,60}(size|length|limit|window)|token.{0,60}(limit|exceed)|too.{0,20}(long|large)"
    r"|too.many.{0,20}token|(prompt|input).{0,20}length",
    re.IGNORECASE | re.DOTALL,
)
# These are about the length of the answer, where a shorter packet does not help.
_ABOUT_THE_ANSWER = re.compile(
    r"(max_(completion_|output_|new_)?tokens\W.{0,20}(too large|must be)|completion tokens, whereas)", re.I
)

_WORDS = (
    (r"context_length|context_window|prompt_too_long", "context_exceeded"),
    (r"quota|billing|payment|credit|balance|auth|api_?key|permission|forbidden", "auth"),
    (r"rate_?limit|too_?many|throttl", "rate_limit"),
    (r"not_?found|no_such_model", "not_found"),
    (r"invalid|bad_?request|validation|unsupported", "invalid"),
)
"""What the words of a stated error mean, the first that fits; all others are the provider's fault."""
_NO_CREDIT = re.compile(r"quota|billing|credit|spend_limit|usage_limit|balance", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_SHORTEST_KEY = 8
"""A value in the query of an address that is shorter is no key: `api-version=1`."""


def translated(error: Exception, who: str, at: Endpoint) -> EngineError:
    """The `ModelError` for an exception while a request was sent or its answer read; its message never holds the key."""
    if isinstance(error, EngineError):
        return error
    nothing_was_sent = type(error).__name__ == "ConnectError"
    if nothing_was_sent and (fault := _tls_fault(error)) is not None:
        return _told("certificate", _shown_text(fault, at), who, at)
    why = _why_unreachable(error) if nothing_was_sent else None
    detail = _shown_text(why or str(error) or type(error).__name__, at)
    if isinstance(error, OSError) or type(error).__module__.partition(".")[0] in ("httpx2", "httpcore2"):
        # unreachable: the name is not known, or nobody listens there
        return _told("unreachable" if nothing_was_sent else "gateway", detail, who, at)
    said = f"model {who!r} sent an answer that cannot be read ({type(error).__name__}); check the address"
    return ModelError("server", said, final=True)


def _tls_fault(error: Exception) -> str | None:
    """What was wrong with the TLS of a connection; None where something else was."""
    tls = sys.modules.get("ssl")  # who has met such an error has it
    found = tls and next((each for each in _causes(error) if isinstance(each, tls.SSLError)), None)
    if tls is None or found is None or isinstance(found, tls.SSLEOFError):
        return None
    reason = getattr(found, "verify_message", None) or (found.reason or "").replace("_", " ").lower() or str(found)
    return _PLAIN if "wrong version number" in reason or "record layer" in reason else str(reason)


def _why_unreachable(error: Exception) -> str | None:
    """Why nothing was sent, in plain words; None where the library's own have to do."""
    for each in _causes(error):
        if isinstance(each, socket.gaierror):
            return "its name is not known"
        if isinstance(each, ConnectionRefusedError):
            return "nobody listens there"
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it came of."""
    for _ in range(_DEEPEST):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def refused(body: bytes, response: httpx2.Response, who: str, at: Endpoint) -> ModelError:
    """The `ModelError` for a response with a status of an error, and this body.

    A refused key is reported in our own words, because providers quote parts of it.
    """
    status, said = response.status_code, _read(body)
    text = body.decode(errors="replace") if said is None else _message(said)
    detail = _shown_text(text.strip() or f"HTTP {status} {response.reason_phrase}".strip(), at)
    category = _category(status, said, detail)
    return _told(category, detail, who, at, _retry_after(response.headers))


def stated(error: Any, who: str, at: Endpoint) -> ModelError:
    """The `ModelError` for an error that a provider states inside of an answer: an object, or a text."""
    place = error if isinstance(error, dict) else {"message": error}
    text = next((each for key in ("message", "detail", "msg") if (each := place.get(key))), place)
    detail = _shown_text(str(text), at)
    return _told(_category_of_words(place, detail), detail, who, at)


def _category_of_words(error: dict[str, Any], detail: str) -> str:
    """By the status that an error names, else by the words of its type and code."""
    named = [error.get(key) for key in ("code", "status", "status_code", "http_code", "type")]
    words = " ".join(str(each) for each in named if isinstance(each, str | int))
    status = next((int(each) for each in words.split() if re.fullmatch(r"[45]\d\d", each)), None)
    if _is_overflow(status or 400, detail) and status != 429:
        return "context_exceeded"
    if status is not None:
        return category_of_status(status, detail)
    return next((category for pattern, category in _WORDS if re.search(pattern, words, re.IGNORECASE)), "server")


def _is_overflow(status: int, detail: str) -> bool:
    """Whether a refusal says that the packet is too long."""
    if status in (400, 422):
        return bool(_OVERFLOW_OF_A_REJECTION.search(detail) and not _ABOUT_THE_ANSWER.search(detail))
    return status == 413 or bool(status == 500 and _OVERFLOW.search(detail))


def _told(category: str, detail: str, who: str, at: Endpoint, retry_after_s: float | None = None) -> ModelError:
    message = _MESSAGES.get(category, _OTHER)
    said = detail if message.endswith("{detail}") else detail.removesuffix(".")
    return ModelError(
        category,
        message.format(who=who, **_places(at), detail=said),
        retry_after_s=retry_after_s if category in ("rate_limit", "server", "warmup") else None,
    )


_DEEPEST = 10
_PLAIN = "the server there speaks no TLS, so its address begins with http://"
_NO_KEY = (
    "a model named by its address gets no key; set OPENAI_BASE_URL and OPENAI_API_KEY, and name the model openai/NAME"
)
_OTHER = "model {who!r} failed: {detail}"
_MESSAGES = {
    "auth": "{provider} refused the key or the account for model {who!r}; {key_advice}",
    "not_found": "{provider} knows no model {who!r} at {url}: {detail}; check the name",
    "gateway": "model {who!r} cannot be reached at {url}: {detail}; check the server and {place}",
    "unreachable": "model {who!r} cannot be reached at {url}: {detail}; check the address, the network and {place}",
    "certificate": "model {who!r}: no secure connection (TLS) to {url}: {detail}; check the address and the clock of this "
    "machine, and name the authority of a certificate of your own in SSL_CERT_FILE",
    "context_exceeded": "the packet is too long for model {who!r}: {detail}",
}


def _places(at: Endpoint) -> dict[str, str]:
    provider = at.provider
    return {
        "provider": provider.name,
        "key_advice": f"check {' or '.join(provider.keys)} and the credit left" if provider.keys else _NO_KEY,
        "url": shown_url(at),
        "place": provider.url_variable or "its port",
    }


def _category(status: int, said: Any, detail: str) -> str:
    """By the status, but that an account without credit is refused with the status of a limit that passes."""
    if status != 429 and _is_overflow(status, detail):
        return "context_exceeded"
    if status == 429 and isinstance(said, dict):
        words = " ".join(str(said.get(key, "")) for key in ("code", "type"))
        if _NO_CREDIT.search(words):
            return "auth"
    if status == 408:
        return "timeout"
    return category_of_status(status, detail)


def _read(body: bytes) -> Any:
    """The error in a body: an object, or a text; None for a body that is no JSON."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(said, list) and len(said) == 1:  # as Google wraps an error
        said = said[0]
    return said.get("error") or said if isinstance(said, dict) else said


def _message(said: Any) -> str:
    if isinstance(said, dict):
        said = said.get("message") or said.get("detail") or said.get("msg") or said
    return str(said) if said else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait in seconds that a provider asks for; it may say the time at which to come again."""
    if _SECONDS.fullmatch(milliseconds := headers.get("retry-after-ms", "")):
        return float(milliseconds) / 1000
    asked = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(asked):
        return float(asked)
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _shown_text(text: str, at: Endpoint) -> str:
    """What a provider said, on one line, without the key, and not too long."""
    text = " ".join((_title(text) or text).split())
    user = at.url.rpartition("//")[2].rpartition("@")[0]
    query = at.url.partition("?")[2]
    values = [word.partition("=")[2] for word in query.split("&")]
    secrets = [user, user.partition(":")[2], query, *(value for value in values if len(value) >= _SHORTEST_KEY)]
    text = masked(text.replace(at.url, shown_url(at)), at.key, *secrets)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _title(text: str) -> str | None:
    """What a page of HTML, which a gateway answers with, says that it is; None for any other text."""
    found = _PAGE.match(text) and _TITLE.search(text, 0, 10_000)
    return f"a page titled {unescape(found[2]).strip()!r}" if found else None
