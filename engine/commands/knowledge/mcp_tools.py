"""`engine mcp`: what servers offer, asked for at the command line. What a person calls nobody else decides on."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.cli.options import JsonOption
from engine.terminal.exit_codes import FAILED
from engine.terminal.printing import print_json, print_text

NameArgument = Annotated[str, typer.Argument(metavar="SERVER", help="The name of a server; see 'engine mcp list'.")]
WordsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="Arguments as NAME=VALUE, or as one JSON object.")
]


def show(name: NameArgument, as_json: JsonOption = False) -> None:
    """Connect to a server, and show its tools, resources and prompts.

    \b
    Examples:
      engine mcp show files
      engine mcp show files --json | jq '.items[].name'
    """
    from .mcp_lists import print_offered
    from .mcp_sessions import connected

    with connected([name]) as registry:
        print_offered(registry.clients.servers[name], registry.clients.offered[name], as_json=as_json)


def search(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="The words to search for.")],
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1000, help="Show at most N results.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Search the tools, resources and prompts of all servers. The best hit comes first.

    \b
    Examples:
      engine mcp search "create an issue"
    """
    from .mcp_lists import print_items
    from .mcp_sessions import connected

    with connected(None) as registry:
        print_items(registry.search(words)[:limit], as_json=as_json)


def call(
    name: NameArgument,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The name of the tool.")],
    words: WordsArgument = None,
    as_json: JsonOption = False,
) -> None:
    """Call a tool and print its result. The exit code is 1 if the call fails.

    \b
    Examples:
      engine mcp call files read_file path=README.md
      engine mcp call tracker create_issue '{"title": "It rains", "labels": ["roof"]}'
    """
    from .mcp_sessions import call_tool, connected

    with connected([name]) as registry:
        said = call_tool(registry, name, tool, words or [])
    if as_json:
        print_json(said)
    else:
        print_text(said["text"])
    if said["failed"]:
        raise typer.Exit(FAILED)


def read(
    name: NameArgument,
    uri: Annotated[str, typer.Argument(metavar="URI", help="The address of a resource.")],
    as_json: JsonOption = False,
) -> None:
    """Print the text of a resource.

    \b
    Examples:
      engine mcp read files file:///srv/notes.md
    """
    from .mcp_sessions import connected

    with connected([name]) as registry:
        text, kind = registry.read(name, uri)
    if as_json:
        print_json({"uri": uri, "mime_type": kind, "text": text})
    else:
        print_text(text)


def prompt(
    name: NameArgument,
    prompt_name: Annotated[str, typer.Argument(metavar="PROMPT", help="The name of a prompt.")],
    words: WordsArgument = None,
    as_json: JsonOption = False,
) -> None:
    """Print the text of a prompt. You can pipe it to 'engine run -'.

    \b
    Examples:
      engine mcp prompt office review room=A | engine run -
    """
    from .mcp_sessions import arguments_of, connected

    with connected([name]) as registry:
        given = {key: str(value) for key, value in arguments_of(words or [], {}).items()}
        text = registry.prompt(name, prompt_name, given)
    if as_json:
        print_json({"server": name, "prompt": prompt_name, "text": text})
    else:
        print_text(text)
