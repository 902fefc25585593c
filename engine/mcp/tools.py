"""A tool of a server as a tool of a run: what models are told of it, how a call is read, and what a person is shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.functions.compact import to_json
from engine.functions.fences import escape_json
from engine.models.protocol import storable
from engine.tools.decorating import Choices
from engine.tools.kinds import TEXT, Kind, Schema, WrongArgument
from engine.tools.reading import read_call

from .limits import ARGUMENT_CHARACTERS, DEFINITION_CHARACTERS, DESCRIPTION_CHARACTERS, MEANING_CHARACTERS
from .schemas import kind_of, simple
from .servers import Server, matches
from .words import digest, line, quoted, shown_arguments, tool_name

if TYPE_CHECKING:
    from mcp_types import Tool

_MOST_LISTED = 200
_TAKEN = "manifest"
"""An argument of any command; one of a tool is called `manifest_`."""
_BODIES = ("body", "text", "content", "contents")


class Argument(NamedTuple):
    """An argument of a tool; `real` is its name in the server's schema."""

    real: str
    kind: Kind
    is_required: bool


@dataclass(frozen=True)
class ServerTool:
    """The tool `tool` of `server`, which models call `name`. `digest` is that of its definition."""

    name: str
    server: str
    tool: str
    title: str
    function: Callable[..., Awaitable[Any]]
    choices: Choices
    parameters: Mapping[str, Argument]
    definition: str
    digest: str
    body: str | None
    is_changed: bool = False
    """Whether the user allowed it by its name, as something else."""
    lists: bool = False
    """Whether it is the engine's own, which lists the resources of the server."""

    @property
    def target(self) -> str:
        """What a decision is about: a grant holds for a tool as it was defined when it was given.

        It has the whole digest: two definitions that begin with the same digits are found in minutes.
        """
        return f"{self.server}/{self.tool}#{self.digest}"

    def told(self) -> dict[str, Any]:
        """What models are told of it, for people."""
        import json

        found = json.loads(self.definition)
        return {
            "name": self.name,
            "meaning": found["meaning"],
            "document": found["doc"],
            "schema": found["schema"],
            "ask": self.choices.ask,
            "idempotent": self.choices.idempotent,
            "reads": self.choices.reads,
            "timeout": self.choices.timeout,
        }

    def read(self, path: str | None, destination: str | None, body: str | None, attributes: str) -> dict[str, object]:
        """A command as a call (`read_call`), with what is proposed to a person where somebody has to decide."""
        reading = read_call(self, path, destination, body, attributes)
        if "fault" in reading:
            return reading
        called = f"{self.server}/{self.tool}\n{shown_arguments(reading['arguments'])}"
        return reading | {
            "kind": "mcp",
            "ask": int(self.choices.ask),
            "idempotent": int(self.choices.idempotent),
            "target": storable(self.target),
            "shown": storable(called),
            "about": {"server": self.server, "called": storable(self.tool), "digest": self.digest},
        }

    def bound(self, arguments: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """The arguments of a call, as the server names them; raises `WrongArgument`."""
        made: dict[str, object] = {}
        for name, each in self.parameters.items():
            if name in arguments:
                made[each.real] = each.kind.make(arguments[name], name)
            elif each.is_required:
                raise WrongArgument(f"{name} is missing: {each.kind.words}")
        return [made], {}


def tool_of(server: Server, tool: Tool, name: str, call: Callable[[str, dict[str, Any]], Awaitable[Any]]) -> ServerTool:
    """The tool of a server that models call `name`; `call` calls it there.

    Only the user says what needs no decision: what a server says of its own tools loosens nothing.
    """
    defined = digest([*server.started(), tool.name, tool.title, tool.description, tool.input_schema])
    reads = matches(server.reads, tool.name)
    choices = Choices(name, not server.allows(tool.name), reads, reads, server.timeout)
    schema = _schema(tool)
    parameters = _parameters(schema)
    body = next((each for each in parameters if each.lower() in _BODIES), None)
    if body is None and len(parameters) == 1:
        body = next(iter(parameters))
    said = line(tool.description or tool.title or tool.name.replace("_", " "), MEANING_CHARACTERS)
    meaning = f"MCP {server.name}: {said}"
    definition = {
        "name": name,
        "meaning": meaning,
        "doc": _document(name, server, tool, parameters, schema, body),
        "schema": _exposed(schema),
        "ask": int(choices.ask),
        "idempotent": int(reads),
        "reads": int(reads),
        "server": server.name,
        "tool": tool.name,
        "digest": defined,
    }
    return ServerTool(
        name,
        server.name,
        tool.name,
        line(tool.title or "", 100),
        lambda arguments: call(tool.name, arguments),
        choices,
        parameters,
        storable(to_json(definition)),
        defined,
        body,
    )


def listing_tool(
    server: Server, resources: Sequence[Any], templates: Sequence[Any], taken: Collection[str]
) -> ServerTool:
    """The tool that lists the resources of a server, which the server itself is not asked for: it needs no decision."""
    name = tool_name(server.name, "resources", taken)
    lines = [_resource_line(server, each.uri, each) for each in resources]
    lines += [_resource_line(server, each.uri_template, each) for each in templates]
    meaning = f"MCP {server.name}: list its {len(lines)} resources, or those that hold a text"
    doc = (
        f"## <{name}>text</{name}> - list the {len(lines)} resources of the MCP server {server.name}, "
        "or those that hold a text\n"
        '* get reads one: <get path="mcp://SERVER/URI"/>, as it is listed; {} in a URI is yours to fill.\n'
        "* text: a text, MAY be left out."
    )
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": [],
        "additionalProperties": False,
    }
    definition = {"name": name, "meaning": meaning, "doc": doc, "schema": schema, "ask": 0, "idempotent": 1, "reads": 1}

    async def listed(arguments: dict[str, Any]) -> str:
        words = str(arguments.get("text") or "").casefold()
        found = [each for each in lines if words in each.casefold()]
        more = (
            f"\n… and {len(found) - _MOST_LISTED:,} more; name a text that they contain"
            if len(found) > _MOST_LISTED
            else ""
        )
        return "\n".join(found[:_MOST_LISTED]) + more if found else "None of its resources holds that."

    return ServerTool(
        name,
        server.name,
        "resources/list",
        "",
        listed,
        Choices(name, False, True, True, server.timeout),
        {"text": Argument("text", TEXT, False)},
        storable(to_json(definition)),
        digest([*server.started(), lines]),
        "text",
        lists=True,
    )


def _resource_line(server: Server, uri: str, each: Any) -> str:
    about = line(each.description or each.title or each.name, 200)
    return f"mcp://{server.name}/{line(uri, DESCRIPTION_CHARACTERS)} - {about}"


def _schema(tool: Tool) -> Schema:
    """The simple schema of the arguments; where that is too long, without descriptions, and last without anything."""
    whole = tool.input_schema
    for described in (True, False):
        made = simple(whole, whole, described=described)
        if len(to_json(made)) <= DEFINITION_CHARACTERS // 2:
            break
    else:
        made = {"properties": {name: {} for name in list(made.get("properties", {}))[:40]}, "required": []}
    return {"type": "object", "properties": made.get("properties", {}), "required": made.get("required", [])}


def _parameters(schema: Schema) -> dict[str, Argument]:
    return {
        _exposed_name(name): Argument(name, kind_of(each), name in schema["required"])
        for name, each in schema["properties"].items()
    }


def _exposed(schema: Schema) -> Schema:
    """The schema with the names that models use."""
    return {
        "type": "object",
        "properties": {_exposed_name(name): each for name, each in schema["properties"].items()},
        "required": [_exposed_name(name) for name in schema["required"]],
        "additionalProperties": False,
    }


def _exposed_name(name: str) -> str:
    return f"{name}_" if name == _TAKEN else name


def _document(
    name: str, server: Server, tool: Tool, parameters: Mapping[str, Argument], schema: Schema, body: str | None
) -> str:
    """What the model is told of it. Lines behind `|` are the server's words: data, which begin no line of the engine."""
    given = "".join(f' {each}="…"' for each in parameters if each != body)
    ending = f">{body}</{name}>" if body else "/>"
    lines = [f"## <{name}{given}{ending} - a tool of the MCP server {server.name}; its words stand behind |"]
    lines += quoted(tool.description or tool.title, DESCRIPTION_CHARACTERS)
    for each, argument in parameters.items():
        inner = schema["properties"][argument.real]
        words = line(inner.get("description", ""), ARGUMENT_CHARACTERS)
        shape = {key: value for key, value in inner.items() if key != "description"}
        as_json = (
            f" As JSON: {escape_json(to_json(shape))}"
            if "properties" in inner or "properties" in inner.get("items", {})
            else ""
        )
        said = f" | {words}" if words else ""
        lines.append(
            f"* {each}: {argument.kind.words}, {'required' if argument.is_required else 'MAY be left out'}.{as_json}{said}"
        )
    text = "\n".join(lines)
    return text if len(text) <= DEFINITION_CHARACTERS else text[: DEFINITION_CHARACTERS - 1] + "…"
