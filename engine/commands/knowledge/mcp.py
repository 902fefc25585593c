"""`engine mcp`: MCP servers of this user and of the project: kept, looked at, asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.options import JsonOption, is_alone
from engine.terminal.exit_codes import FAILED
from engine.terminal.printing import say, visible

from .mcp_tools import NameArgument, call, prompt, read, search, show

if TYPE_CHECKING:
    from engine.config.configuration import Layer

app = typer.Typer(rich_markup_mode=None)

ProjectOption = Annotated[
    bool, typer.Option("--project", help="Write to the project's engine.toml instead of your config.toml.")
]


@app.callback(invoke_without_command=True)
def mcp(context: typer.Context, as_json: JsonOption = False) -> None:
    """Let models use the tools, resources and prompts of MCP servers.

    An MCP server is a program that the engine starts, or a service at a web address. 'engine run' connects to the
    servers in your config.toml. It also connects to servers in the project's engine.toml, after 'engine mcp confirm
    SERVER'. A call is a proposal, unless you allow the tool by its name.

    \b
    Examples:
      engine mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
      engine mcp add tracker --url https://mcp.example.org/mcp --header 'Authorization=Bearer ${env:TRACKER_TOKEN}'
      engine mcp show files
      engine mcp call files read_file path=README.md
    """
    if is_alone(context, as_json):
        list_(as_json=as_json)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the servers that are configured for this folder. No server is started.

    \b
    Examples:
      engine mcp list
      engine mcp list --json | jq '.[] | select(.confirmed | not)'
    """
    from engine.config.mcp_servers import counting

    from .mcp_lists import print_servers

    print_servers(counting(Path.cwd()), as_json=as_json)


@app.command("add")
def add(
    name: Annotated[
        str, typer.Argument(metavar="SERVER", help="The name of the server: lowercase letters, digits, _ and -.")
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="The program that starts the server, with its arguments."),
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="The address of a streamable HTTP server.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env", metavar="NAME=VALUE", help="An environment variable for the program. Write a key as ${env:NAME}."
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", metavar="NAME=VALUE", help="A header for each request. Write a key as ${env:NAME}."),
    ] = None,
    allow: Annotated[
        list[str] | None, typer.Option("--allow", metavar="GLOB", help="Run these tools without your decision.")
    ] = None,
    reads: Annotated[
        list[str] | None,
        typer.Option(
            "--reads", metavar="GLOB", help="Treat these tools as read-only, so that runs with --ask can use them."
        ),
    ] = None,
    hide: Annotated[
        list[str] | None, typer.Option("--hide", metavar="GLOB", help="Hide these tools from models.")
    ] = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Run the program in the sandbox for shell commands.")
    ] = False,
    network: Annotated[
        str | None,
        typer.Option(
            "--network",
            metavar="LIST",
            help="The network that the program may reach from the sandbox: all, or a list of domains.",
        ),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="N", help="Stop a call after this many seconds.")
    ] = None,
    project: ProjectOption = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing server of the same name.")] = False,
) -> None:
    """Add a server. If the server needs a key, write the source of the key, such as ${env:NAME}, not the key itself.

    \b
    Examples:
      engine mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
      engine mcp add db --env 'DATABASE_TOKEN=${env:DB_TOKEN}' --sandbox --allow 'list_*' -- ./tools/db-server
      engine mcp add tracker --url https://mcp.example.org/mcp --header 'Authorization=Bearer ${file:~/.tracker}'
    """
    from engine.config import mcp_servers

    given: dict[str, Any] = {
        "command": command or None,
        "url": url,
        "env": _pairs(env, "--env") or None,
        "headers": _pairs(header, "--header") or None,
        "timeout": timeout,
        "allow": allow or None,
        "reads": reads or None,
        "hide": hide or None,
        "sandbox": sandbox or None,
        "network": network,
    }
    data = {key: value for key, value in given.items() if value is not None}
    place = mcp_servers.add(_layer(project=project), Path.cwd(), name, data, replace=replace)
    say(f"added {name} to {visible(str(place))}; 'engine mcp show {name}' connects to it")


@app.command("rm")
def rm(name: NameArgument, project: ProjectOption = False) -> None:
    """Remove a server.

    \b
    Examples:
      engine mcp rm files
    """
    from engine.config.mcp_servers import remove

    place = remove(_layer(project=project), Path.cwd(), name)
    say(f"removed {name} from {visible(str(place))}")


@app.command("confirm")
def confirm(name: NameArgument, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> None:
    """Allow a server of the project's engine.toml, and the current definitions of its allowed tools.

    A server in the project's engine.toml needs your consent, because somebody else may have chosen its program. A
    server that you added yourself needs your consent only if the definition of an allowed tool has changed.

    \b
    Examples:
      engine mcp confirm files
    """
    from engine.config import mcp_servers
    from engine.errors import ValidationError
    from engine.terminal.questions import at_terminal, end_unless_yes

    from .mcp_lists import server_lines

    for line in server_lines(mcp_servers.to_confirm(Path.cwd(), name)):
        say(line)
    if not yes:
        if not at_terminal():
            raise ValidationError(f"cannot ask you without a terminal; to confirm: engine mcp confirm {name} --yes")
        end_unless_yes("let models use it?")
    mcp_servers.confirm(Path.cwd(), name)
    say(f"confirmed {name}; a later change needs another confirmation")


@app.command("import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A JSON file with mcpServers, such as .mcp.json, or a TOML file of Codex."),
    ],
    project: ProjectOption = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace existing servers of the same names.")] = False,
) -> None:
    """Add the MCP servers of another program: Claude, Cursor, VS Code, Zed, opencode, Codex and others.

    The command lists the parts of the file that it does not import. Rights, such as autoApprove, are never imported.
    The exit code is 1 if a server could not be added.

    \b
    Examples:
      engine mcp import .mcp.json
      engine mcp import ~/.config/Claude/claude_desktop_config.json --replace
    """
    from engine.config import mcp_servers
    from engine.config.mcp_json import read_servers
    from engine.errors import EngineError, ValidationError

    failed, count = False, 0
    for name, found in read_servers(file):
        count += 1
        try:
            if found.problem:
                raise ValidationError(f"MCP server {name}: {found.problem}; it was not added")
            place = mcp_servers.add(_layer(project=project), Path.cwd(), name, found.table, replace=replace)
            say(f"added {name} to {visible(str(place))}")
        except EngineError as error:
            failed = True
            say(visible(error.message), "yellow")
        for note in found.notes:
            say(visible(f"  {name}, {note}"), "yellow")
    if not count:
        say(visible(f"{file}: contains no server; nothing was added"), "yellow")
    if failed:
        raise typer.Exit(FAILED)


def _layer(*, project: bool) -> Layer:
    return "project" if project else "user"


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    found = {}
    for each in given or []:
        name, mark, value = each.partition("=")
        if not mark:
            raise typer.BadParameter("is NAME=VALUE", param_hint=option)
        found[name] = value
    return found


for _each in (show, search, call, read, prompt):
    app.command(_each.__name__)(_each)

__all__ = ["app"]
