"""What models call the arguments of tools, and which of ours they mean.

`ARGUMENT_NAMES` is the one place for this: a tool's other names, in tags and in every other notation. A name counts only
where the argument that it means is not given by its own name. To add one, add a word.

spec: @unknown_attributes
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

_PATH = "file_path filepath file file_name filename target_file absolute_path relative_path pathname path_name uri"
_BODY = "content contents text"
_SOURCE = f"{_PATH} from source src old_path source_path from_path"
_DESTINATION = "destination dest dst target new_path destination_path target_path to_path new_name"
_COMMAND = "cmd command_line commandline shell_command bash script input cmdline commands"

ARGUMENT_NAMES: Mapping[str, Mapping[str, str]] = {
    "get": {
        "path": f"{_PATH} paths files",
        "body": _BODY,
        "line": "offset start_line line_start from_line",
        "limit": "num_lines max_lines",
    },
    "set": {
        "path": _PATH,
        "body": f"{_BODY} file_text file_content file_contents new_content code data patch diff edit edits",
    },
    "rm": {"path": f"{_PATH} paths files"},
    "skill": {"path": f"{_PATH} name skill skill_name url"},
    "cp": {"path": _SOURCE, "to": _DESTINATION},
    "mv": {"path": _SOURCE, "to": _DESTINATION},
    "sh": {"command": f"{_COMMAND} {_BODY} code"},
    "env": {"command": f"{_COMMAND} {_BODY} code"},
    "search": {
        "query": f"q search search_query search_term search_terms keywords term input {_BODY}",
        "results": "num_results max_results top_k count",
    },
    "ask_user": {
        "question": f"prompt message query {_BODY}",
        "options": "choices suggestions follow_up answers",
    },
    "update": {"body": f"{_BODY} message answer summary result response final_answer", "status": "status_code"},
    "think": {"body": f"{_BODY} thought thoughts thinking reasoning"},
}
"""By tool: its arguments, each with its other names."""

_ANY_TOOL = {"body": _BODY, "to": "destination"}
"""Of a tool that is not listed."""
_BESIDE = ("requires_approval", "line_count", "task_progress", "cwd", "timeout", "reason", "explanation", "description")
"""What models write beside the arguments of any tool; nothing of it is used."""
_LONG = frozenset({"body", "command", "query", "question"})


@lru_cache(maxsize=64)
def other_names(tool: str) -> Mapping[str, str]:
    """The argument that each other name means in a call of `tool`."""
    listed = ARGUMENT_NAMES.get(tool, _ANY_TOOL)
    return {name: argument for argument, names in listed.items() for name in names.split()}


@lru_cache(maxsize=64)
def known_names(tool: str) -> frozenset[str]:
    """All names of arguments of `tool`, its own and others, in lower case; empty for a tool that is not listed."""
    listed = ARGUMENT_NAMES.get(tool)
    if listed is None:
        return frozenset()
    own = {"get": ("filter", "pattern", "manifest", "map", "visibility"), "set": ("visibility", "tags")}.get(tool, ())
    return frozenset([*listed, *own, *_BESIDE, *(name for names in listed.values() for name in names.split())])


@lru_cache(maxsize=512)
def is_long_text(name: str) -> bool:
    """Is `name` a body, command, question or query of some tool, which is kept as it was written?"""
    word = name.lower()
    return word in _LONG or any(
        argument in _LONG and word in names.split()
        for listed in ARGUMENT_NAMES.values()
        for argument, names in listed.items()
    )
