"""Relations: nodes read from JSON, and their text.

JSON of nodes may come from anywhere: what is wrong with it is returned, not raised, with the place where it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from math import isinf
from typing import Any

from engine.functions.compact import from_json
from engine.functions.fences import fence_line

_MOST_NODES = 100_000
_LONGEST_NAME = 500
_LONGEST_TYPE = 100
_LONGEST_TEXT = 10_000
_OLDEST, _LATEST = 0, 253_402_300_799_000


class _FaultError(Exception):
    """What is wrong with a node; the text says which one."""


def relations_read(body: str | None) -> str | None:
    """The nodes of a JSON text as JSON: {"nodes": […]}, or {"fault": what is wrong, "status": its HTTP status}.

    `body` is an array of nodes, or an object with one under "nodes". A node has "id" and may have "type" (or "edgeType"),
    "parents", "status", "description", "context" (an object, which may hold the last two) and "created_at" (or "createdAt",
    in milliseconds). A node stands behind those that it is below, unless there is a cycle.
    """
    if body is None:
        return None
    try:
        found = json.loads(body, parse_constant=_refuse_constant, parse_float=_number)
        found = found.get("nodes") if isinstance(found, dict) else found
        if not isinstance(found, list):
            raise _FaultError('nodes: give a JSON array of nodes, or {"nodes": [...]}')
        if len(found) > _MOST_NODES:
            return json.dumps({"fault": f"nodes: {len(found)} are too many, {_MOST_NODES} is the limit", "status": 413})
        nodes = [_node(place, each) for place, each in enumerate(found)]
        return json.dumps({"nodes": list(_in_order(nodes))}, ensure_ascii=False)
    except _FaultError as fault:
        return json.dumps({"fault": str(fault), "status": 400})
    except RecursionError:
        return json.dumps({"fault": "nodes: the JSON is nested too deeply", "status": 400})
    except ValueError as error:
        return json.dumps({"fault": f"nodes: this is not JSON: {fence_line(str(error))}", "status": 400})


def relations_text(body: str | None, depth: int | None) -> str | None:
    """The text of a part of the graph, for a model and for people: a line a node, indented below the one it is under.

    `body` is a JSON array of [name, type, status or null, description, [names of the nodes that it is below]]; the first one
    is the top. Each node stands once, under the deepest one that it is below as far as that is
    shown; others are named behind it. What is more than `depth` levels below the top is counted.
    """
    if body is None or depth is None:
        return None
    rows = {row[0]: row for row in from_json(body)}
    children: dict[str, list[str]] = {}
    for name, row in rows.items():
        for parent in row[4]:
            children.setdefault(parent, []).append(name)
    top = next(iter(rows), None)
    return "" if top is None else "\n".join(_lines(rows, children, top, depth))


def _lines(rows: dict[str, Any], children: dict[str, list[str]], top: str, depth: int) -> Iterator[str]:
    under, levels = _places(children, top, depth)
    placed: dict[str, list[str]] = {}
    for name, parent in under.items():
        placed.setdefault(parent, []).append(name)
    waiting = [top]
    while waiting:
        name = waiting.pop()
        level = levels[name]
        _, kind, status, description, parents = rows[name]
        others = [parent for parent in parents if parent != under.get(name) and name != top]
        yield "  " * level + " ".join(
            filter(
                None,
                (
                    fence_line(name),
                    f"({fence_line(kind)})",
                    f"[{status}]" if status else "",
                    fence_line(description),
                    f"(also below {', '.join(str(fence_line(other)) for other in others)})" if others else "",
                ),
            )
        )
        below = placed.get(name, [])
        if level < depth:
            waiting.extend(reversed(below))
        elif below:
            yield "  " * (level + 1) + f"… {len(below)} more below"


def _places(children: dict[str, list[str]], top: str, depth: int) -> tuple[dict[str, str], dict[str, int]]:
    """For each node below `top` the one that it stands under, and the level of each: the deepest that is still shown."""
    under: dict[str, str] = {}
    levels = {top: 0}
    done: set[str] = set()
    for name in _in_layers(children, top):
        done.add(name)
        for child in children.get(name, ()):
            level = levels[name] + 1
            if child not in levels or (child not in done and levels[child] < level <= depth):
                under[child], levels[child] = name, level
    return under, levels


def _in_layers(children: dict[str, list[str]], top: str) -> Iterator[str]:
    """`top` and the nodes below it, each behind all that it is below; those of a cycle come last."""
    reached = [top]
    seen = {top}
    for name in reached:
        fresh = [child for child in children.get(name, ()) if child not in seen]
        seen.update(fresh)
        reached += dict.fromkeys(fresh)
    missing = Counter(child for name in reached for child in children.get(name, ()))
    ready = [top]
    for name in ready:
        yield name
        for child in children.get(name, ()):
            missing[child] -= 1
            if not missing[child]:
                ready.append(child)
    ended = set(ready)
    yield from (name for name in reached if name not in ended)


def _node(place: int, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not isinstance(given.get("id"), str):
        raise _FaultError(f"nodes: number {place + 1} needs an id, which must be a text")
    name = _line(given["id"], _LONGEST_NAME, f"node number {place + 1}: its id")
    where = f"node '{name}'"
    context = given.get("context")
    if context is not None and not isinstance(context, dict):
        raise _FaultError(f"{where}: its context must be a JSON object")
    context = dict(context or {})
    status = given.get("status") or context.pop("status", None)
    if status is not None and not isinstance(status, str):
        raise _FaultError(f"{where}: its status must be a text, not {_told(status)}")
    description = given.get("description")
    description = context.pop("description", None) if description is None else description
    if description is not None and (not isinstance(description, str) or len(description) > _LONGEST_TEXT):
        raise _FaultError(f"{where}: its description must be a text of at most {_LONGEST_TEXT} characters")
    kind = given.get("type") or given.get("edgeType")
    if kind is not None:
        kind = _line(kind, _LONGEST_TYPE, f"{where}: its type")
    made = {
        "id": name,
        "type": kind,
        "status": status,
        "description": description,
        "context": context,
        "parents": _parents(given.get("parents"), where),
        "created_at": _time(given.get("created_at", given.get("createdAt"))),
    }
    if _holds_half_a_character(made):
        raise _FaultError(f"{where}: it contains half of a character (a lone surrogate)")
    return made


def _parents(given: Any, where: str) -> list[str] | None:
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise _FaultError(f"{where}: its parents must be a JSON array of names")
    return list(dict.fromkeys(given))


def _line(given: Any, longest: int, what: str) -> str:
    """A text of one line without control characters."""
    if not isinstance(given, str) or not 1 <= len(given) <= longest or fence_line(given) != given:
        raise _FaultError(
            f"{what} must be one line of 1 to {longest} characters without control characters, not {_told(given)}"
        )
    return given


def _time(given: Any) -> int | None:
    """Milliseconds since 1970, null for what is no time."""
    known = isinstance(given, int | float) and not isinstance(given, bool) and _OLDEST <= given <= _LATEST
    return int(given) if known else None


def _told(value: Any) -> str:
    """A value in an error: on one line, and short."""
    return str(fence_line(repr(value)[:80].encode("utf-8", "replace").decode()))


def _holds_half_a_character(node: dict[str, Any]) -> bool:
    try:
        json.dumps(node, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _refuse_constant(name: str) -> Any:
    raise _FaultError(f"nodes: {name} is not a JSON number")


def _number(written: str) -> float:
    """A number with a fraction or an exponent; one that is too large would be infinity, which is no JSON."""
    if isinf(number := float(written)):
        raise _FaultError(f"nodes: {written[:40]} is too large a number")
    return number


def _in_order(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The nodes, each behind those of them that it is below; those on a cycle, and below one, at the end.

    Of two with one id the last counts.
    """
    named = {node["id"]: node for node in nodes}
    open_parents = {name: {p for p in node["parents"] or () if p in named} for name, node in named.items()}
    children: dict[str, list[str]] = {}
    for name, parents in open_parents.items():
        for parent in parents:
            children.setdefault(parent, []).append(name)
    ready = [name for name, parents in open_parents.items() if not parents]
    for name in ready:
        yield named[name]
        for child in children.get(name, ()):
            open_parents[child].discard(name)
            if not open_parents[child]:
                ready.append(child)
    yield from (named[name] for name, parents in open_parents.items() if parents)
