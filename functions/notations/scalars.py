"""Values that stand between tags: texts, of which the notation does not say whether they are numbers, lists or nothing."""

from __future__ import annotations

import json
import re

from engine.functions.lazy import lazy_regex
from engine.functions.markup.argument_names import is_long_text
from engine.functions.notations.tokens import MARK

_ITEMS = lazy_regex(r"\s*(?:<(\w{1,40})>([^<]*)</\1>\s*)+")
_CDATA = lazy_regex(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_ITEM = lazy_regex(r"<(\w{1,40})>([^<]*)</\1>")


def argument(name: str, raw: str, *, layout: bool = False, is_json: bool = False) -> object:
    """The argument `name` between its tags.

    A long text is kept. If a line feed at its beginning is `layout`, it is removed, and with it one at the end.
    Anything else loses the space around it; of that, `null` is None, and a JSON list, or elements of one name, are a list.
    A CDATA section that is all of the value is removed. With `is_json` the value is JSON if it can be read as such.
    """
    section = _CDATA.fullmatch(raw) if "<![CDATA[" in raw else None
    if section and "]]>" not in section[1]:
        return section[1]
    if is_json:
        try:
            return json.loads(raw, strict=False)
        except (ValueError, RecursionError):
            return raw
    if is_long_text(name):
        return raw[1:].removesuffix("\n") if layout and raw.startswith("\n") else raw
    value = raw.replace(MARK, "").strip()
    if value in ("null", "None"):
        return None
    if value.startswith("["):
        try:
            decoded = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return value
        return decoded if isinstance(decoded, list) else value
    if value.startswith("<") and _ITEMS.fullmatch(value):
        found = _ITEM.findall(value)
        if len({tag for tag, _ in found}) == 1:
            return [item.strip() for _, item in found]
    return value
