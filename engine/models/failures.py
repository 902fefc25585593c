"""Translates the exceptions of the provider library into `ModelError`."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

from engine.config.secrets import masked
from engine.errors import EngineError
from engine.models.protocol import ModelError, category_of_status
from engine.models.providers import shown_url

if TYPE_CHECKING:
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
_SHORTEST_KEY = 8
"""A value in the query of an address that is shorter is no key: `api-version=1`."""


def translated(error: Exception, who: str, at: Endpoint) -> EngineError:
    """The `ModelError` for an exception. One that the library does not know comes of an answer that is none of its API.

    Its message never holds the key. A refused key is reported in our own words, because providers quote parts of it.
    """
    from pydantic_ai import exceptions as library

    if ours := _ours(error):
        return ours
    detail = _detail(error, at)
    if isinstance(error, library.ModelAPIError):
        category = _category(error, detail)
    elif isinstance(error, library.UnexpectedModelBehavior):
        category = "server"
    elif isinstance(error, library.UserError):
        category = "invalid"
    elif isinstance(error, OSError) or type(error).__module__.partition(".")[0] in ("httpx2", "httpcore2"):
        category = "gateway"
    else:
        said = f"model {who!r} sent an answer that cannot be read ({type(error).__name__}); check the address"
        return ModelError("server", said, final=True)
    return _told(category, detail, who, at, getattr(error, "retry_after", None))


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


def _ours(error: BaseException | None) -> EngineError | None:
    """The engine's own error that this one was raised for: libraries wrap what is raised in their calls."""
    while error is not None and not isinstance(error, EngineError):
        error = error.__cause__ or error.__context__
    return error


_OTHER = "model {who!r} failed: {detail}"
_MESSAGES = {
    "auth": "{provider} refused the key or the account for model {who!r}; check {keys} and the credit left",
    "not_found": "{provider} knows no model {who!r} at {url}: {detail}; check the name",
    "gateway": "model {who!r} cannot be reached at {url}: {detail}; check the server and {url_variable}",
    "context_exceeded": "the packet is too long for model {who!r}: {detail}",
}


def _places(at: Endpoint) -> dict[str, str]:
    provider = at.provider
    return {
        "provider": provider.name,
        "keys": " or ".join(provider.keys),
        "url": shown_url(at),
        "url_variable": provider.url_variable,
    }


def _category(error: Exception, detail: str) -> str:
    from pydantic_ai import exceptions as library

    status = getattr(error, "status_code", None)
    is_known = isinstance(error, library.ModelContextWindowExceededError)
    if status != 429 and (is_known or (isinstance(status, int) and _is_overflow(status, detail))):
        return "context_exceeded"
    typed: tuple[tuple[type[Exception], str], ...] = (
        (library.ModelQuotaExceededError, "auth"),
        (library.ModelAuthenticationError, "auth"),
        (library.ModelNotFoundError, "not_found"),
        (library.ModelRateLimitError, "rate_limit"),
        (library.ModelRequestTimeout, "timeout"),
    )
    for kind, category in typed:
        if isinstance(error, kind):
            return category
    if isinstance(error, library.ModelTimeoutError):
        return "gateway" if error.phase in ("connect", "pool") else "timeout"
    if isinstance(error, library.ModelConnectionError):
        return "gateway"
    if isinstance(status, int):
        return category_of_status(status, detail)
    return "invalid" if isinstance(error, library.ModelRequestRejectedError) else "server"


def _detail(error: Exception, at: Endpoint) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, list) and len(body) == 1:  # as Google wraps an error
        body = body[0]
    if isinstance(body, dict):
        inner = body.get("error", body)
        body = inner.get("message") if isinstance(inner, dict) else inner
    return _shown_text(str(body or getattr(error, "message", "") or error or type(error).__name__), at)


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
