"""Fetches under small limits, by the real client."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from engine.web.addresses import Policy
from engine.web.failures import WebFailure
from engine.web.fetching import Answer, Limits, fetch
from engine.web.network import Deadline, Resolve, resolve

SIZE = 100_000


def got(
    url: str,
    *,
    resolving: Resolve = resolve,
    seconds: float = 60,
    hosts: str | None = None,
    redirects: int = 3,
    **more: Any,
) -> Answer:
    """What is fetched under the limits of these tests."""
    return fetch(
        url,
        limits=Limits(SIZE, redirects),
        policy=Policy.of_user(hosts),
        deadline=Deadline(seconds, threading.Event()),
        resolving=resolving,
        **more,
    )


def refused(url: str, **more: Any) -> tuple[str, str]:
    """The outcome and the message of a fetch that fails."""
    with pytest.raises(WebFailure) as caught:
        got(url, **more)
    return caught.value.outcome, caught.value.message
