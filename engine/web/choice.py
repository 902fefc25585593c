"""Which search engine this process asks."""

from __future__ import annotations

import os
from importlib.util import find_spec
from urllib.parse import urlsplit

_VARIABLE = "ENGINE_SEARCH"


def chosen_engine(setting: str | None) -> str | None:
    """What searches: ENGINE_SEARCH, else the setting `search_engine`, else ddgs where it is installed.

    It is the address of a SearXNG or 'ddgs'; None where nothing searches, which 'none' says too.
    """
    engine = os.environ.get(_VARIABLE, "").strip() or (setting or "").strip()
    if engine.lower() == "none":
        return None
    return engine or ("ddgs" if find_spec("ddgs") else None)


def own_host() -> str:
    """The host of a SearXNG that this user's environment names, as a word of ENGINE_WEB_ALLOW; '' for none.

    One that only the file names has to have a public address.
    """
    place = urlsplit(os.environ.get(_VARIABLE, "").strip())
    if not place.hostname:
        return ""
    host = f"[{place.hostname}]" if ":" in place.hostname else place.hostname
    return f"{host}:{place.port or (443 if place.scheme == 'https' else 80)}"
