"""The line at the bottom of a chat: model, mode, folder and branch, how full the context is, cost, and what waits.

spec: @chat_status
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engine.terminal.drawing.folding import cut
from engine.terminal.drawing.look import Line, Look, Span, width_of
from engine.terminal.printing import one_line

if TYPE_CHECKING:
    from engine.db.database import Store

_BAR = 8
_MODES = {"ask": "info", "act": "good", "accept-edits": "warn", "yolo": "bad"}
_STANDS = """
    select
        (select t.context_tokens from turn_timeline as t where t.run = r.alias order by t.turn desc limit 1) as used,
        (
            select c.ceiling
            from loops as l
            join _loop_ceilings as c on c.loop_id = l.id
            where l.run_id = r.id
            order by l.sequence desc
            limit 1
        ) as ceiling,
        (select o.tree_cost from run_overview as o where o.run = r.alias) as cost,
        (
            select count(*)
            from open_proposals as p
            where p.run = r.alias or p.run in (select k.run from tree_runs as k where k.top = r.alias)
        ) as waiting
    from runs as r
    where r.alias = ?
"""


class Stands(NamedTuple):
    """Where a run stands."""

    used: int = 0
    ceiling: int = 0
    cost: float | None = 0.0
    waiting: int = 0


def stands(db: Store, run: str | None) -> Stands:
    """Where `run` stands; nothing of one that has not begun."""
    row = db.row(_STANDS, (run,)) if run else None
    if row is None:
        return Stands()
    return Stands(row["used"] or 0, row["ceiling"] or 0, row["cost"], row["waiting"])


def branch_of(folder: Path) -> str:
    """The branch that is checked out in a folder or above it; empty for none. No program is started for it."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        try:
            if git.is_file():
                git = Path(place, git.read_text(encoding="utf-8").partition("gitdir:")[2].strip())
            head = (git / "HEAD").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError, ValueError):
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]
    return ""


def status_line(
    look: Look, *, model: str, mode: str, folder: str, branch: str, stood: Stands, queued: int, hint: str
) -> Line:
    """The line, with less in it on a narrow terminal: first the folder goes, then the bar, then the model is cut."""
    used = min(round(100 * stood.used / stood.ceiling), 100) if stood.ceiling else 0
    full = min(round(_BAR * used / 100), _BAR)
    style = "bad" if used >= 90 else "warn" if used >= 70 else "good"
    between = Span(look.mark("between"), "dim")
    bar = [Span(look.mark("full") * full, style), Span(look.mark("empty") * (_BAR - full), "dim"), Span(" ")]
    cost = "price unknown" if stood.cost is None else f"${stood.cost:.4f}" if stood.cost < 1 else f"${stood.cost:.2f}"
    place = one_line(folder, 60) + (f" ({one_line(branch, 40)})" if branch else "")
    waits = [
        *([Span(f"{stood.waiting} to decide", "warn")] if stood.waiting else []),
        *([Span(f"{queued} queued", "info")] if queued else []),
    ]
    wanted: list[tuple[int, Line]] = [
        (0, [Span(one_line(mode, 20), _MODES.get(mode, ""))]),
        (2, [Span(one_line(model, 60), "dim")]),
        (4, [Span(place, "dim")]),
        (1, [*bar, Span(f"{used}%", style)]),
        (3, [Span(cost, "dim")]),
        *((0, [each]) for each in waits),
        *([(5, [Span(hint, "dim")])] if hint else []),
    ]
    for spared in range(6, -1, -1):
        line: Line = []
        for rank, part in wanted:
            if rank < spared:
                line += [*([between] if line else []), *part]
        if width_of(line) < look.width:
            return line
    return cut(line, look.width - 1, look.mark("more"))


__all__ = ["Stands", "branch_of", "stands", "status_line"]
