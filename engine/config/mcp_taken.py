"""What is taken over of a server that another program keeps: each key becomes one of a table `[mcp.NAME]`, or is named.

Rights are never taken over: that another program asked nobody says nothing of this one.

spec: @mcp_import
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_NAMES = {
    "args": "command",
    "serverUrl": "url",
    "httpUrl": "url",
    "environment": "env",
    "http_headers": "headers",
    "requestInit": "headers",
    "enabled_tools": "tools",
    "includeTools": "tools",
    "disabled_tools": "hide",
    "excludeTools": "hide",
    "tool_timeout_sec": "timeout",
    "startup_timeout_sec": "connect_timeout",
    "startup_timeout_ms": "connect_timeout",
    "disabled": "enabled",
}
"""How other programs call what the engine has."""
_SAME = ("command", "url", "env", "headers", "cwd", "timeout", "tools", "enabled")
_TRANSPORTS = ("type", "transport", "transportType")
_PROGRAM = ("stdio", "local", "custom")
_ADDRESS = ("http", "remote", "streamable-http", "streamablehttp", "streamable_http", "url")
_RIGHTS = ("autoApprove", "alwaysAllow", "trust", "autoApproved", "approval_mode", "default_tools_approval_mode")
_ADVICE = {
    **dict.fromkeys(_RIGHTS, "is not imported: name the tools that need no decision yourself, with allow"),
    "envFile": 'is not read: list each variable in env, as NAME = "${.env:NAME}"',
    "bearer_token_env_var": "",
    "env_http_headers": "",
    "env_vars": "",
}
_REFERENCE = re.compile(r"\$\{(?P<shell>[^{}]*)\}|\{(?P<bare>(?:env|file):[^{}]*)\}")
_VARIABLE = re.compile(r"(?:env:)?(?P<name>[A-Za-z_]\w*)(?P<default>:-[^}]*)?")
_OWN = re.compile(r"(?:env|file|\.env):.+", re.DOTALL)
_FOLDERS = ("workspaceFolder", "workspaceRoot", "cwd", "CLAUDE_PROJECT_DIR")


@dataclass
class Taken:
    """A server as the engine keeps it: `notes` say what of it was left out or changed, `problem` why it cannot be taken."""

    table: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problem: str = ""


def taken(data: Any) -> Taken:
    """What is taken over of a server."""
    if not isinstance(data, dict):
        return Taken(problem="is not an object with a command or a url")
    return _Taking(data).all()


class _Taking:
    def __init__(self, data: dict[str, Any]) -> None:
        self._data = dict(data)
        self._made = Taken()

    def all(self) -> Taken:
        self._unfold()
        self._check_transport()
        self._command()
        for key in [each for each in self._data if each in _SAME or each in _NAMES]:
            self._key(_NAMES.get(key, key), key, self._data.pop(key))
        self._tokens()
        self._name_the_rest()
        if not (self._made.problem or "command" in self._made.table or "url" in self._made.table):
            self._made.problem = "has neither a command nor a url"
        return self._made

    def _note(self, key: str, words: str) -> None:
        self._made.notes.append(f"{key}: {words}")

    def _unfold(self) -> None:
        """Zed's older form keeps a program in `command`, as an object."""
        if isinstance(inner := self._data.get("command"), dict):
            del self._data["command"]
            self._data |= {("command" if key == "path" else key): value for key, value in inner.items()}

    def _check_transport(self) -> None:
        for key in _TRANSPORTS:
            said = self._data.pop(key, None)
            if isinstance(said, dict):
                said = said.get("type")
            if said is None or str(said).lower() in (*_PROGRAM, *_ADDRESS):
                continue
            told = f"{key} {str(said)[:40]!r} is not supported"
            self._made.problem = told + (
                "; if the server speaks streamable HTTP too, write type http and its address" if said == "sse" else ""
            )
        if self._data.get("source") == "custom":
            del self._data["source"]

    def _command(self) -> None:
        command, arguments = self._data.pop("command", None), self._data.pop("args", None)
        words = [
            word
            for said in ([command] if isinstance(command, str) else command, arguments)
            for word in (said if isinstance(said, list) else [] if said is None else [said])
        ]
        if words and all(isinstance(each, str) for each in words):
            self._made.table["command"] = [self._text("command", each) for each in words]
        elif words:
            self._made.problem = "command and args are texts"

    def _key(self, ours: str, theirs: str, value: Any) -> None:
        """Take one key over; a value of another type is named."""
        taking: dict[str, Callable[[str, Any], Any]] = {
            "url": self._as_text,
            "cwd": self._as_text,
            "env": self._as_table,
            "headers": self._as_table,
            "tools": self._as_list,
            "hide": self._as_list,
            "timeout": self._as_seconds,
            "connect_timeout": self._as_seconds,
            "enabled": self._as_switch,
        }
        made = taking[ours](theirs, value)
        if made is None:
            self._note(theirs, f"is not imported, because it is {_seen(value)}")
        elif made != {} and made != []:
            self._made.table[ours] = made

    def _as_text(self, key: str, value: Any) -> str | None:
        return self._text(key, value) if isinstance(value, str) else None

    def _as_table(self, key: str, value: Any) -> dict[str, str] | None:
        if key == "requestInit":
            value = value.get("headers") if isinstance(value, dict) and set(value) == {"headers"} else None
        if not isinstance(value, dict) or any(isinstance(each, dict | list) for each in value.values()):
            return None
        for name in [name for name, each in value.items() if each is None]:
            self._note(f"{key}.{name}", "is not imported, because it is null")
        plain = {str(name): _plain(each) for name, each in value.items() if each is not None}
        return {name: self._text(f"{key}.{name}", each) for name, each in plain.items()}

    def _as_list(self, _: str, value: Any) -> list[str] | None:
        return value if isinstance(value, list) and all(isinstance(each, str) for each in value) else None

    def _as_seconds(self, key: str, value: Any) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            return None
        if not (key.endswith("_ms") or (value >= 1_000 and not key.endswith("_sec"))):
            return value
        self._note(key, f"{value} is read as milliseconds: {value / 1_000:g} s")
        return value / 1_000

    def _as_switch(self, key: str, value: Any) -> bool | None:
        return None if not isinstance(value, bool) else value != (key == "disabled")

    def _tokens(self) -> None:
        """Keys that name variables, as Codex has them."""
        headers, env = {}, {}
        if isinstance(name := self._data.get("bearer_token_env_var"), str):
            headers["Authorization"] = f"Bearer ${{env:{name}}}"
            del self._data["bearer_token_env_var"]
        if isinstance(more := self._data.get("env_http_headers"), dict):
            headers |= {str(key): f"${{env:{name}}}" for key, name in more.items()}
            del self._data["env_http_headers"]
        if isinstance(names := self._data.get("env_vars"), list) and all(isinstance(each, str) for each in names):
            env = {name: f"${{env:{name}}}" for name in names}
            del self._data["env_vars"]
        for key, found in (("headers", headers), ("env", env)):
            if found:
                self._made.table[key] = {**self._made.table.get(key, {}), **found}

    def _name_the_rest(self) -> None:
        rest = {
            key: value
            for key, value in self._data.items()
            if value not in (None, "", [], {}) and not (value is False and key in _RIGHTS)
        }
        for key in [each for each in rest if each in _ADVICE]:
            self._note(key, _ADVICE[key] or f"is not imported, because it is {_seen(rest[key])}")
            del rest[key]
        if rest:
            self._note(", ".join(sorted(str(key)[:40] for key in rest)), "not taken over")

    def _text(self, key: str, text: str) -> str:
        """A text in the engine's way to name variables and files; what cannot be said in it is a problem."""
        return _REFERENCE.sub(lambda found: self._reference(key, found), text)

    def _reference(self, key: str, found: re.Match[str]) -> str:
        inner = found["shell"] if found["shell"] is not None else found["bare"]
        if (variable := _VARIABLE.fullmatch(inner)) and variable["name"] not in _FOLDERS:
            return f"${{env:{variable['name']}{variable['default'] or ''}}}"
        if inner in _FOLDERS:
            return "."
        if inner == "userHome":
            return "${env:HOME}"
        if inner in ("/", "pathSeparator"):
            return "/"
        if inner.startswith("input:"):
            name = re.sub(r"\W", "_", inner.removeprefix("input:")).upper()
            self._note(key, f"{found[0]} would be asked for by the other program; set the variable {name}")
            return f"${{env:{name}}}"
        if _OWN.fullmatch(inner):
            return f"${{{inner}}}"
        self._made.problem = (
            f"{key} has {found[0][:60]!r}, which is not ${{env:NAME}}, ${{file:PATH}} or ${{.env:NAME}}"
        )
        return found[0]


def _seen(value: Any) -> str:
    """What a value is; not the value itself, which may be a key."""
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return next((words for kind, words in kinds.items() if isinstance(value, kind)), "a number")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
