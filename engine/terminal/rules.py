"""What screens say of rules: those of a run, and what an import made of a folder of rules.

spec: @rule_explanation
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.functions.counts import counted

from .printing import say, visible

if TYPE_CHECKING:
    from engine.db.database import Store
    from engine.rules.imports import Report


def say_imported(report: Report, source: str) -> None:
    """Say what became of rules that were read."""
    say(f"from {visible(source)}")
    for what, names in (
        ("added", report.added),
        ("replaced", report.replaced),
        ("removed", report.removed),
        ("there already", report.kept),
    ):
        if names:
            say(f"{what}: {', '.join(names)}")
    for warning in report.warnings:
        say(f"warning: {visible(warning)}", "yellow")


def rules_of_run(db: Store, run: str) -> dict[str, Any] | None:
    """The row of `run_rules` of a run with its lists; None for a run without rules, and in a file of another build."""
    row = None if db.differs or not db.has("rules") else db.row("select * from run_rules where run = ?", (run,))
    if row is None:
        return None
    lists = {name: json.loads(row[name] or "[]") for name in ("domains", "star_commands")}
    return {**row, **lists, "overrides": json.loads(row["overrides"] or "{}")}


def rule_lines(db: Store, run: str) -> dict[str, str]:
    """The same for people, by what each line is about; empty for a run without rules."""
    row = rules_of_run(db, run)
    if row is None:
        return {}
    lines = {"rules": ", ".join(row["domains"]) or "none loaded"}
    if row["star_commands"]:
        lines["rules"] += "; " + " ".join(f"*{name}" for name in row["star_commands"])
    if row["bracket"]:
        left = f", {row['context_left']}% of the context left" if row["bracket_basis"] == "context" else ""
        lines["bracket"] = f"{row['bracket']}, {counted(row['prompts'], 'prompt')}{left}"
    if row["devmode"]:
        lines["devmode"] = "on"
    if row["overrides"]:
        lines["override"] = ", ".join(f"{name} {'on' if is_on else 'off'}" for name, is_on in row["overrides"].items())
    return lines
