"""What a person should know of a proposal, at a terminal or in an editor."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from .escapes import scripts_mixed


def proposal_notes(proposal: Mapping[str, Any]) -> list[str]:
    """What a person should know of a command line or a path before deciding."""
    text = proposal["detail"] if proposal["kind"] == "process" else proposal["target"]
    note = None if proposal["kind"] == "question" else scripts_mixed(text or "")
    return [] if note is None else [f"note: {note}"]


def options_of(proposal: Mapping[str, Any]) -> list[str]:
    """The answers that a question suggests; none for another proposal."""
    return [str(option) for option in json.loads(proposal["options"] or "[]")]


def always_target(proposal: Mapping[str, Any]) -> str:
    """What 'always in this project' means for a proposal: this command line, this tool, or the files in this folder."""
    if proposal["kind"] in ("process", "mcp"):
        return str(proposal["target"])
    folder = PurePosixPath(proposal["target"]).parent.as_posix()
    # the path is the model's: what stands in it is no pattern
    literal = re.sub(r"(\\)|[*?()\[\]]", lambda found: r"\\" if found[1] else f"[{found[0]}]", folder)
    return "*" if folder == "." else f"{literal}/**"
