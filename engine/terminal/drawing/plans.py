"""Draws the plan that a run works on, and which of its steps have changed.

spec: @live_progress
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.terminal.printing import one_line

from .folding import cut
from .look import Line, Look, Span

_MOST = 6
"""Steps that are shown while a run works: the first that is not done, and those around it."""
_MARKS = {
    "done": ("done", "good"),
    "in_progress": ("doing", "warn"),
    "skipped": ("rule", "dim"),
    "pending": ("open", ""),
}


class Step(NamedTuple):
    """A step of a plan."""

    depth: int
    status: str
    body: str


def plan_lines(steps: Sequence[Step], look: Look) -> list[Line]:
    """The steps around the first one that is not settled; none where all are."""
    at = next((n for n, step in enumerate(steps) if step.status in ("pending", "in_progress")), None)
    if at is None:
        return []
    first = max(min(at - 1, len(steps) - _MOST), 0)
    shown = steps[first : first + _MOST]
    lines = [_line(step, look) for step in shown]
    settled = sum(step.status in ("done", "skipped") for step in steps)
    title = f"plan: {settled} of {len(steps)} done"
    return [[Span(title, "dim")], *lines]


def ticked(before: Sequence[Step], after: Sequence[Step], look: Look) -> list[Line]:
    """The steps that are in another state than before."""
    old = {step.body: step.status for step in before}
    if not before:
        return [_line(step, look) for step in after]
    return [_line(step, look) for step in after if old.get(step.body) != step.status]


def _line(step: Step, look: Look) -> Line:
    mark, style = _MARKS.get(step.status, _MARKS["pending"])
    text_style = "dim strike" if step.status == "skipped" else "dim" if step.status == "done" else ""
    indent = "  " + "  " * min(step.depth, 10)
    line = [Span(f"{indent}{look.mark(mark)} ", style), Span(one_line(step.body, 300), text_style)]
    return cut(line, look.width, look.mark("more"))


__all__ = ["Step", "plan_lines", "ticked"]
