"""Reads an answer as the value that a JSON Schema asks for.

spec: @typed_answers
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from engine.functions.compact import to_json
from engine.functions.lazy import lazy_regex

from .checker import Fault, Schema, faults_of, target_of
from .values import NoValue, value_of

_FENCED = lazy_regex(r"\s*```[a-zA-Z]*[ \t]*\n(.*?)\n?[ \t]*```\s*", 16)
AppCheck = Callable[[Any], list[Fault]]
_app_checks: dict[str, AppCheck] = {}
"""What an app checks besides a schema, by the schema that names it: the validators of its classes, in this process."""


def check_also(schema: str, check: AppCheck) -> None:
    """Have `check` look at each value that fits `schema`, which names the class that it belongs to."""
    _app_checks[schema] = check


def answer_read(schema: str | None, answer: str | None, prose: str | None) -> str | None:
    """An answer as the value of a schema, JSON ``{"output"}`` with the JSON text of the value, or ``{"faults"}`` with
    ``{"place", "said"}`` each.

    `prose` is what the response said outside of its update; it counts where the answer itself is none. A text that is no
    JSON, but fits the schema, is that text. NULL for a NULL schema.
    """
    if schema is None:
        return None
    first: list[Fault] = []
    for text in (answer, prose):
        if text is None or not text.strip():
            continue
        output, faults = _read(schema, text)
        if output is not None:
            return to_json({"output": output})
        first = first or faults
    told = first or [Fault("$", "is missing: the answer is empty")]
    return to_json({"faults": [{"place": fault.place, "said": fault.said} for fault in told]})


def answer_told(config: str | None) -> str | None:
    """What stands behind the prompt of a loop with the options `config` (JSON) about the form of its answer, else ''."""
    if config is None:
        return None
    if '"output":' not in config:
        return ""
    schema = json.loads(config).get("output")
    if schema is None:
        return ""
    schema = json.loads(schema) if isinstance(schema, str) else schema
    told = {key: value for key, value in schema.items() if key not in ("$comment", "$schema")}
    return (
        f'\n\nAnswer in <update status="200"> with JSON that fits this schema, and with nothing else:\n{to_json(told)}'
    )


def _read(schema: str, text: str) -> tuple[str | None, list[Fault]]:
    """The JSON text of the value that a text holds, or what is wrong with it."""
    parsed = _parsed(schema)
    fenced = _FENCED.fullmatch(text)
    bare = (fenced[1] if fenced else text).strip()
    try:
        value = value_of(bare)
    except NoValue as error:
        faults = [Fault("$", str(error))]
    else:
        if not (faults := _faults(schema, parsed, value)):
            return to_json(value), []
    if _may_be_text(parsed, bare) and not _faults(schema, parsed, text.strip()):
        return to_json(text.strip()), []
    return None, faults


def _may_be_text(schema: Schema, text: str) -> bool:
    """Whether a text that is no JSON of the schema may be meant as a text: the schema speaks of texts, and it does not look
    like JSON of another kind that the schema takes too.
    """
    if text.startswith('"'):
        return False
    if text.startswith(("{", "[")):
        return bool(schema.get("type") == "string")
    return _speaks_of_texts(schema)


def _speaks_of_texts(root: Schema) -> bool:
    seen: set[int] = set()
    left = [root]
    while left:
        schema = left.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        if "type" in schema and "string" in ([schema["type"]] if isinstance(schema["type"], str) else schema["type"]):
            return True
        if any(isinstance(each, str) for each in (*schema.get("enum", ()), schema.get("const"))):
            return True
        left += [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
        left += [target_of(root, schema["$ref"])] if "$ref" in schema else []
    return False


def _faults(schema: str, parsed: Schema, value: Any) -> list[Fault]:
    faults = faults_of(parsed, value)
    check = _app_checks.get(schema)
    return check(value) if check and not faults else faults


@lru_cache(maxsize=64)
def _parsed(schema: str) -> Schema:
    return json.loads(schema)
