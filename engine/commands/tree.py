"""The tree of commands: what each is called, where it is and what help says of it, without importing any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Place(NamedTuple):
    """A command: its module in `engine.commands`, its function or Typer group there, and its line in lists."""

    module: str
    name: str
    line: str
    below: Mapping[str, Place] = {}
    """The commands below it, for a function that is called where none of them is."""


_RUNS = {
    "rename": Place("naming", "rename", "Give a run another name."),
    "label": Place("naming", "label", "Give a run labels and a title, or show them."),
    "archive": Place("naming", "archive", "Hide runs from lists."),
    "purge": Place("purging", "purge", "Remove a run for good, or all old runs."),
    "export": Place("carrying", "export", "Write a run to a text file, to keep it or send it."),
    "import": Place("carrying", "import_", "Import a run that was exported, into this folder's database."),
    "move": Place("carrying", "move", "Move a run and its child runs to another database."),
    "output": Place("stream", "output", "Print a shell command's output, or stop it."),
}
_ENTRY = {
    "get": Place("get", "get", "Print an entry or a file of a run; list what a glob finds."),
    "set": Place("verbs", "set_", "Write an entry or a file of a run, or change its visibility."),
    "rm": Place("verbs", "rm", "Remove entries or files of a run."),
    "cp": Place("verbs", "cp", "Copy an entry or a file of a run."),
    "mv": Place("verbs", "mv", "Move an entry or a file of a run."),
}
_ALLOW = {
    "policy": Place("policy", "app", "Refuse, accept or always ask about command lines."),
    "grants": Place("grants", "grants", "List what you have allowed for later proposals, or revoke it."),
    "threads": Place("threads", "app", "Rules that block or request steps, such as reading before changing."),
}
_SERVE = {
    "acp": Place("serve", "acp", "Serve an editor by the Agent Client Protocol (ACP)."),
    "rpc": Place("rpc", "rpc", "Serve runs to other programs by JSON-RPC over WebSocket."),
    "adapter": Place("serve", "adapter", "Serve runs by the protocol of an adapter."),
}

DAILY: Mapping[str, Mapping[str, Place]] = {
    "Work": {
        "run": Place("run", "run", "Run an agent on PROMPT and print its answer."),
        "chat": Place("chat", "chat", "Talk with an agent at the terminal, prompt by prompt."),
        "resume": Place("lifecycle", "resume", "Continue a run that stopped before its end."),
        "abort": Place("lifecycle", "abort", "Abort the active prompt of a run, also in another process."),
    },
    "Look": {
        "runs": Place("look", "runs", "List, name, archive and remove runs.", _RUNS),
        "show": Place("look", "show", "Show a run: its prompts, answers, rules, turns and decisions."),
        "log": Place("look", "log", "Print a run as a story: the prompt, what was done, the answer."),
        "diff": Place("changed", "diff", "Show what a run changed in the files."),
        "find": Place("find", "find", "Search prompts, answers, results, files and entries."),
        "costs": Place("costs", "costs", "Show what models cost in US dollars, each paid answer once."),
    },
    "Decide": {
        "proposals": Place("proposals", "proposals", "List the open proposals, which wait for a decision."),
        "accept": Place("proposals", "accept", "Accept proposals of a run, or answer its question."),
        "reject": Place("proposals", "reject", "Reject proposals of a run."),
        "allow": Place("allow", "allow", "Say what runs may do without asking, and what never.", _ALLOW),
    },
    "Go back": {
        "undo": Place("undo", "undo", "Take back the newest edit of a run. Repeat it for earlier ones."),
        "rewind": Place("undo", "rewind", "Return a run to the point before turn N."),
        "fork": Place("lifecycle", "fork", "Copy a run to a new one, and print its name."),
    },
    "Set up": {
        "init": Place("init", "init", "Create or import this folder's rules."),
        "config": Place("config", "config", "List or change settings of the database, yours or the project's."),
        "models": Place("models", "app", "List the models, and whether each can be used here."),
        "keys": Place("keys", "app", "Store keys of providers, and show where keys come from."),
        "doctor": Place("doctor", "doctor", "Check the installation and say what is missing."),
    },
}
"""What `engine --help` lists."""

REST: Mapping[str, Mapping[str, Place]] = {
    "Look closer": {
        "status": Place("status", "status", "Show what runs now, and what waits for whom."),
        "plan": Place("plan", "plan", "Show the plan of a run as a tree of its steps."),
        "context": Place("past", "context", "List the entries in a run's context, now or at a turn."),
        "packet": Place("packets", "packet", "Print exactly what the model was sent in a turn."),
        "events": Place("events", "events", "List the events of the database, oldest first."),
        "sql": Place("sql", "sql", "Run one read-only SQL statement."),
        "shell": Place("shell", "shell", "Type SQL statements and see their rows."),
    },
    "Entries and files": {
        "entry": Place("entry", "entry", "Read and correct what a run knows.", _ENTRY),
        "files": Place("files", "app", "List or choose the files that a run can see."),
        "relations": Place("relations", "app", "Keep a graph of related plans, steps, files and runs."),
    },
    "Knowledge and tools": {
        "rules": Place("rules", "app", "Give the model rules that fit its prompt."),
        "skills": Place("skills", "app", "List, add, remove, show and search skills."),
        "personas": Place("personas", "app", "List, add, show and remove personas."),
        "tools": Place("tools", "app", "List, count, show and remove the tools that models can call."),
        "mcp": Place("mcp", "app", "Let models use the tools, resources and prompts of MCP servers."),
        "cache": Place("answers", "app", "List and clear the cached answers."),
    },
    "Automate and serve": {
        "workflow": Place("workflow", "app", "Check, run, show, draw and list workflows."),
        "serve": Place("serving", "serve", "Serve runs to editors and other programs.", _SERVE),
        "migrate": Place("several", "migrate", "Bring databases up to date with this engine."),
        "trust": Place("trust", "trust", "Show what would act in a file from elsewhere, and trust it."),
        "help": Place("help", "help_", "Show the help of a command; with --all list every command."),
    },
}
"""What `engine help --all` lists besides."""

COMMANDS: Mapping[str, Place] = {
    name: place for group in (DAILY, REST) for part in group.values() for name, place in part.items()
}

ELSEWHERE: Mapping[str, str] = {
    **{word: f"{name} {word}" for name, place in COMMANDS.items() for word in place.below if word not in COMMANDS},
    "ask": "run",
    "delete": "runs purge",
    "exec": "run",
    "history": "log",
    "install": "models install",
    "list": "runs",
    "ls": "runs",
    "ps": "status",
    "remove": "runs purge",
    "resolve": "accept",
    "sessions": "runs",
    "session": "runs",
    "settings": "config",
    "stop": "abort",
    "stream": "runs output",
}
"""What a command may be called that is elsewhere in the tree, or that other programs have."""

OPTIONS: Mapping[str, frozenset[str]] = {
    title: frozenset(f"--{name}" for name in names.split())
    for title, names in {
        "Model": "effort temperature persona system-prompt cache key-from",
        "Limits": "max-seconds context-limit condense-ratio narrow-tools",
        "Safety": "sandbox network domains no-web no-repo no-interaction no-proposals overwrite-unseen",
        "Output": "keep-output stdin wait demo",
        "Delegation": "max-depth",
        "Checks": "accept-command accept-attempts accept-model accept",
    }.items()
}
"""The options that a command with many lists in groups behind those of every day."""

__all__ = ["COMMANDS", "DAILY", "ELSEWHERE", "OPTIONS", "REST", "Place"]
