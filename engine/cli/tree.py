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
    "rename": Place("look.names", "rename", "Give a run another name."),
    "label": Place("look.names", "label", "Give a run labels and a title, or show them."),
    "archive": Place("look.names", "archive", "Hide runs from lists."),
    "purge": Place("look.purge", "purge", "Remove a run for good, or all old runs."),
    "export": Place("look.transfer", "export", "Write a run to a text file, to keep it or send it."),
    "import": Place("look.transfer", "import_", "Import a run that was exported, into this folder's database."),
    "move": Place("look.transfer", "move", "Move a run and its child runs to another database."),
    "output": Place("look.output", "output", "Print a shell command's output, or stop it."),
}
_ENTRY = {
    "get": Place("entries.get", "get", "Print an entry or a file of a run, or list the entries that match a pattern."),
    "set": Place("entries.verbs", "set_", "Write an entry or a file of a run, or change its visibility."),
    "rm": Place("entries.verbs", "rm", "Remove entries or files of a run."),
    "cp": Place("entries.verbs", "cp", "Copy an entry or a file of a run."),
    "mv": Place("entries.verbs", "mv", "Move an entry or a file of a run."),
}
_ALLOW = {
    "policy": Place(
        "decide.policy", "app", "Choose which shell commands are refused, accepted, or always need your decision."
    ),
    "grants": Place("decide.grants", "grants", "List or revoke your grants, the permissions for later proposals."),
    "threads": Place(
        "decide.threads", "app", "Make the model keep to steps, such as reading a file before changing it."
    ),
}
_SERVE = {
    "acp": Place("automate.serve", "acp", "Let an editor use the engine by the Agent Client Protocol (ACP)."),
    "rpc": Place("automate.rpc", "rpc", "Let other programs use the engine by JSON-RPC over WebSocket."),
    "adapter": Place("automate.serve", "adapter", "Let other programs use the engine by the protocol of an adapter."),
}

GROUPS: Mapping[str, Mapping[str, Place]] = {
    "Work": {
        "run": Place("work.run", "run", "Run an agent on PROMPT and print its answer."),
        "chat": Place("work.chat", "chat", "Talk with an agent at the terminal, prompt by prompt."),
        "resume": Place("work.resume", "resume", "Continue a run that stopped before its end."),
        "abort": Place("work.abort", "abort", "Abort the active prompt of a run, even if another process runs it."),
    },
    "Look": {
        "runs": Place("look.runs", "runs", "List, name, archive and remove runs.", _RUNS),
        "show": Place("look.show", "show", "Show a run: its prompts, answers, rules, turns and decisions."),
        "log": Place("look.log", "log", "Print a run as a story: the prompt, what was done, the answer."),
        "why": Place("look.why", "why", "Say why something in a run happened, and which rows prove it."),
        "diff": Place("look.diff", "diff", "Show what a run changed in the files."),
        "find": Place("look.find", "find", "Search prompts, answers, results, files and entries."),
        "costs": Place("look.costs", "costs", "Show what models cost in US dollars."),
        "web": Place("look.web", "web", "Look at runs in the browser, and decide on proposals there."),
    },
    "Decide": {
        "proposals": Place("decide.proposals", "proposals", "List the proposals that wait for your decision."),
        "accept": Place("decide.proposals", "accept", "Accept proposals of a run, or answer its question."),
        "reject": Place("decide.proposals", "reject", "Reject proposals of a run."),
        "allow": Place(
            "decide.allow", "allow", "Decide what runs may do without asking, and what they may never do.", _ALLOW
        ),
    },
    "Go back": {
        "undo": Place("go_back.undo", "undo", "Take back the newest edit of a run. Repeat it for earlier edits."),
        "rewind": Place("go_back.undo", "rewind", "Return a run to the point before turn N."),
        "fork": Place("go_back.fork", "fork", "Copy a run to a new run, and print the name of the copy."),
    },
    "Set up": {
        "init": Place("set_up.init", "init", "Create or import this folder's rules."),
        "config": Place("set_up.config", "config", "List or change settings."),
        "models": Place("set_up.models", "app", "List the models, and whether each can be used here."),
        "keys": Place("set_up.keys", "app", "Store keys of providers, and show where keys come from."),
        "doctor": Place("set_up.doctor", "doctor", "Check the installation and say what is missing."),
    },
    "Look closer": {
        "status": Place("look_closer.status", "status", "Show which runs work now, and which wait for a decision."),
        "top": Place("look_closer.top", "top", "Watch the runs that work or wait, live."),
        "plot": Place("look_closer.plot", "plot", "Draw the context, cost and time of a run over its turns."),
        "plan": Place("look_closer.plan", "plan", "Show the plan of a run as a tree of its steps."),
        "context": Place(
            "look_closer.context", "context", "List the entries in a run's context, now or (--at N) at a turn."
        ),
        "packet": Place("look_closer.packet", "packet", "Print exactly what the model was sent in a turn."),
        "verify": Place("look_closer.verify", "verify", "Check that nobody changed the record of runs afterwards."),
        "report": Place("look_closer.report", "report", "Write a report on a run as Markdown, HTML or PDF."),
        "replay": Place(
            "look_closer.replay", "replay", "Run a run again from its record, and show the first difference."
        ),
        "events": Place("look_closer.events", "events", "List the events of the database, oldest first."),
        "trace": Place(
            "look_closer.trace",
            "app",
            "Show how long each step of a run took, and send it to an OpenTelemetry collector.",
        ),
        "export": Place(
            "look_closer.export", "export", "Write the views of the database as Parquet, CSV or a DuckDB file."
        ),
        "sql": Place("look_closer.sql", "sql", "Run one read-only SQL statement."),
        "shell": Place("look_closer.shell", "shell", "Type SQL statements and see their rows."),
    },
    "Entries and files": {
        "entry": Place(
            "entries.entry", "entry", "Read and change the entries of a run: its notes, files and results.", _ENTRY
        ),
        "files": Place("entries.files", "app", "List or choose the files that a run can see."),
        "relations": Place("entries.relations", "app", "Keep a graph of related plans, steps, files and runs."),
    },
    "Knowledge and tools": {
        "rules": Place(
            "knowledge.rules", "app", "Manage rules: instructions that the model gets with prompts that match them."
        ),
        "skills": Place(
            "knowledge.skills", "app", "List, add, remove, show and search skills, the instructions for special tasks."
        ),
        "personas": Place(
            "knowledge.personas", "app", "List, add, show and remove personas, the roles that a model can have."
        ),
        "tools": Place("knowledge.tools", "app", "List, count, show and remove the tools that models can call."),
        "mcp": Place("knowledge.mcp", "app", "Let models use the tools, resources and prompts of MCP servers."),
        "cache": Place("knowledge.cache", "app", "List and clear the cached answers."),
    },
    "Automate and serve": {
        "workflow": Place("automate.workflow", "app", "Validate, run, show, graph and list workflows."),
        "serve": Place("automate.serve", "serve", "Let editors and other programs use the engine.", _SERVE),
        "eval": Place(
            "automate.evals",
            "evaluate",
            "Try cases with models, check the answers, and compare them with earlier results.",
        ),
        "fleet": Place(
            "automate.fleet", "app", "Carry out many tasks, each in its own database, and query many databases at once."
        ),
        "backup": Place("automate.backup", "backup", "Copy a database while runs work, and check the copy."),
        "migrate": Place("automate.migrate", "migrate", "Bring databases up to date with this engine."),
        "trust": Place("automate.trust", "trust", "Show what a database from somebody else would do, and trust it."),
        "help": Place("automate.help", "help_", "Show the help of a command, or list all commands."),
    },
}
"""What `engine help --all` lists."""

COMMANDS: Mapping[str, Place] = {name: place for part in GROUPS.values() for name, place in part.items()}

FIRST: Mapping[str, tuple[str, ...]] = {
    "Work": ("run", "chat", "resume"),
    "Look": ("runs", "show", "log", "diff", "find", "costs"),
    "Decide": ("proposals", "accept", "reject"),
    "Go back": ("undo", "rewind", "fork"),
    "Set up": ("init", "config", "models", "doctor"),
}
"""What `engine --help` lists: the commands of every day."""

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
        "Model": "fallback effort temperature option persona system-prompt cache key-from",
        "Limits": "max-turns max-seconds max-cost max-tokens max-calls context-limit condense-ratio narrow-tools",
        "Safety": "sandbox network domains no-web no-repo no-interaction no-proposals overwrite-unseen",
        "Output": "schema output-attempts output input keep-output stdin wait demo",
        "Delegation": "max-depth handoff",
        "Checks": "accept-command accept-attempts accept-model accept",
    }.items()
}
"""The options that a command with many lists in groups behind those of every day."""

__all__ = ["COMMANDS", "ELSEWHERE", "FIRST", "GROUPS", "OPTIONS", "Place"]
