"""The proposals of a run as a list, each of which one key answers.

spec: @chat_decisions
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.display.proposals import always_target, options_of, proposal_notes
from engine.functions.counts import counted
from engine.system.user import user_name
from engine.terminal.drawing.changes import changes
from engine.terminal.drawing.code import shown
from engine.terminal.drawing.folding import cut, folded
from engine.terminal.drawing.look import Line, Look, Span
from engine.terminal.printing import one_line, visible
from engine.terminal.proposals import instruction_lines

if TYPE_CHECKING:
    from engine.api.database import Database

_OPEN = """
    select *
    from open_proposals as p
    where p.run = :run or p.run in (select t.run from tree_runs as t where t.top = :run)
    order by p.proposal_id
"""
_COVERED = "select decided_by from _immediate_decisions where proposal_id = ? and decided_by glob 'grant *'"
_LISTED = 6
_EDITS = ("file_write", "file_delete")
_GRANTED = (*_EDITS, "process", "mcp")


class Decisions:
    """The open proposals of a run. `decided` is called after each decision; `act` runs what needs the whole terminal."""

    searches = False

    def __init__(self, db: Database, run: str, decided: Callable[[], None], fill: Callable[[str], None]) -> None:
        self.is_over = False
        self.wanted = ""
        """What needs the whole terminal: edit or view; empty for nothing."""
        self._db = db
        self._run = run
        self._decided = decided
        self._fill = fill
        self._at = 0
        self._asks = ""
        """What the line that is typed is: a reason, or a pattern; empty for neither."""
        self.refresh()

    def refresh(self) -> None:
        """Read what is open."""
        self.rows: list[Mapping[str, Any]] = list(self._db.rows(_OPEN, {"run": self._run}))
        self._at = min(self._at, max(len(self.rows) - 1, 0))
        self.is_over = not self.rows

    @property
    def proposal(self) -> Mapping[str, Any]:
        """The proposal that is marked."""
        return self.rows[self._at]

    def label(self) -> str:
        """What stands before the line: what is typed there is a reason, a pattern or an answer."""
        if self._asks:
            return {"reason": "no, because: ", "pattern": "always: "}[self._asks]
        return "answer: " if self.rows and self.proposal["kind"] == "question" else ""

    def key(self, name: str, text: str) -> bool:
        """Decide, move in the list, or ask for the rest of the line."""
        if self._asks:
            return self._typed(name, text)
        if name in ("up", "down") and not text and len(self.rows) > 1:
            self._at = (self._at + (1 if name == "down" else -1)) % len(self.rows)
            return True
        if self.proposal["kind"] == "question":
            return self._answered(name, text)
        if text or name not in self._keys():
            return False
        match name:
            case "y":
                self._decide(True)
            case "Y":
                for row in list(self.rows):
                    if row["kind"] != "question":
                        self._resolve(row, True)
                self._after()
            case "n":
                self._asks = "reason"
            case "a":
                self._accept_edits()
            case "p":
                self._asks = "pattern"
                self._fill(always_target(self.proposal))
            case "e":
                self.wanted = "edit"
            case "v":
                self.wanted = "view"
            case _:
                self.is_over = True
        return True

    def replace(self, text: str) -> None:
        """Accept the proposal that is marked with another text."""
        self._decide(True, body=text)

    def lines(self, look: Look, rows: int) -> list[Line]:
        """The list if there are several, what the marked one would do, and the keys."""
        proposal = self.proposal
        wide = look.wide(look.width - 1)
        head = self._head(wide)
        keys = folded(self._names(look), wide.width)
        notes = [
            *(folded([Span(line, "dim")], wide.width, [Span("  ")]) for line in instruction_lines([proposal])),
            *(folded([Span(note, "warn")], wide.width, [Span("  ")]) for note in proposal_notes(proposal)),
        ]
        below = [line for note in notes for line in note]
        room = max(rows - len(head) - len(keys) - len(below), 3)
        body = self._body(proposal, wide.wide(wide.width - 2))
        more = len(body) - room
        if more > 0:
            body = [*body[: room - 1], [Span(f"{look.mark('more')} {counted(more + 1, 'line')} more: v", "dim")]]
        return [*head, *([Span("  "), *line] for line in body), *below, *keys]

    def _head(self, look: Look) -> list[Line]:
        lines: list[Line] = []
        if len(self.rows) > 1:
            lines.append([Span(f"{len(self.rows)} wait for your decision", "strong")])
            first = max(min(self._at - 2, len(self.rows) - _LISTED), 0)
            for number, row in enumerate(self.rows[first : first + _LISTED], first):
                here = number == self._at
                mark = Span(f"{look.mark('prompt')} " if here else "  ", "info")
                style = "strong" if here else "dim"
                lines.append(cut([mark, Span(self._title(row), style)], look.width, look.mark("more")))
        else:
            title = self._title(self.proposal, whole=False)
            lines.append(cut([Span(title, "strong")], look.width, look.mark("more")))
        return lines

    def _title(self, row: Mapping[str, Any], *, whole: bool = True) -> str:
        """What a proposal is, in a line; unless `whole` without the command line, which stands below it."""
        who = f"{row['tree']}: " if row["tree"] else ""
        if row["kind"] == "question":
            return f"{visible(who)}question"
        how = ", in the background" if row["background"] else ""
        lines = ""
        if row["kind"] == "file_write":
            change = changes(row["detail"] or "", Look(200))
            lines = f"  +{change.added} -{change.removed}"
        target = f" {one_line(row['target'], 300)}" if whole or row["kind"] != "process" else ""
        return f"{visible(who)}{row['action']}{target}{how}{lines}"

    def _body(self, row: Mapping[str, Any], look: Look) -> list[Line]:
        if row["kind"] == "file_write":
            return changes(row["detail"] or "", look).lines
        sign = [Span("$ ", "dim")] if row["kind"] == "process" else []
        blank = [Span("  ")] if sign else []
        lines = [
            line
            for number, text in enumerate((row["detail"] or "").split("\n"))
            for line in folded([Span(shown(text), "info")], look.width, blank if number else sign, blank)
        ]
        options = [
            [Span(f"{number}. ", "mark"), Span(visible(option))] for number, option in enumerate(options_of(row), 1)
        ]
        return [*lines, *options]

    def _keys(self) -> str:
        kind = self.proposal["kind"]
        edits = any(row["kind"] in _EDITS for row in self.rows)
        return (
            "yn"
            + ("e" if kind == "file_write" else "")
            + ("a" if edits else "")
            + ("p" if kind in _GRANTED else "")
            + "v"
            + ("Y" if len(self.rows) > 1 else "")
            + "q"
        )

    def _names(self, look: Look) -> Line:
        """What each key does, in a line."""
        if self._asks == "reason":
            return [Span("Enter rejects; the model reads the reason. Esc goes back", "dim")]
        if self._asks == "pattern":
            what = "command line" if self.proposal["kind"] == "process" else "pattern"
            return [Span(f"Enter always accepts this {what} in this project. Esc goes back", "dim")]
        if self.proposal["kind"] == "question":
            many = "a number or your own words, then Enter" if options_of(self.proposal) else "your answer, then Enter"
            return [Span(f"{many}; Esc decides later", "dim")]
        names = {
            "y": "yes",
            "n": "no, and why",
            "e": "edit",
            "a": "all edits of this prompt",
            "p": "always in this project",
            "v": "view",
            "Y": "yes to all",
            "q": "later",
        }
        line: Line = []
        for key in self._keys():
            line += [Span(look.mark("between"), "dim")] if line else []
            line += [Span(key, "strong mark"), Span(f" {names[key]}", "dim")]
        return line

    def _typed(self, name: str, text: str) -> bool:
        """The rest of a line: why not, or the pattern that is always accepted."""
        if name in ("escape", "c-c"):
            self._asks = ""
            self._fill("")
            return True
        if name != "enter":
            return False
        asks, self._asks = self._asks, ""
        self._fill("")
        if asks == "reason":
            self._decide(False, reason=text.strip() or None)
        elif text.strip():
            self._always(text.strip())
        return True

    def _answered(self, name: str, text: str) -> bool:
        options = options_of(self.proposal)
        if not text and name.isdecimal() and 1 <= int(name) <= len(options):
            self._decide(True, body=options[int(name) - 1])
        elif name == "enter" and text.strip():
            self._fill("")
            self._decide(True, body=text.strip())
        elif name == "escape":
            self.is_over = True
        else:
            return False
        return True

    def _decide(self, accept: bool, **given: str | None) -> None:
        self._resolve(self.proposal, accept, **given)
        self._after()

    def _resolve(self, row: Mapping[str, Any], accept: bool, **given: str | None) -> None:
        decision = "accept" if accept else "reject"
        values = {"proposal_id": row["proposal_id"], "decision": decision, "decided_by": user_name(), **given}
        self._db.insert("verb_answer_proposal", **values)

    def _accept_edits(self) -> None:
        """Accept the changes of files that are open, and those of the rest of this prompt."""
        from engine.effects.gate import give_grant

        for kind in _EDITS:
            give_grant(self._db, self._run, kind, None, whole_prompt=True, by=user_name())
        for row in list(self.rows):
            if row["kind"] in _EDITS:
                self._resolve(row, True)
        self._after()

    def _always(self, target: str) -> None:
        """Accept this proposal, and what fits `target` in this project from now on."""
        from engine.effects.gate import give_grant

        proposal = self.proposal
        if proposal["kind"] == "mcp":
            target = always_target(proposal)  # a tool is granted as it is defined, and its digest is no pattern
        give_grant(self._db, proposal["run"], proposal["kind"], target, whole_project=True, by=user_name())
        self._resolve(proposal, True)
        for row in self._db.rows(_OPEN, {"run": self._run}):  # those that it covers too
            if found := self._db.value(_COVERED, (row["proposal_id"],)):
                self._resolve(row, True, decided_by=found)
        self._after()

    def _after(self) -> None:
        self.refresh()
        self._decided()


def whole_lines(proposal: Mapping[str, Any], look: Look) -> list[Line]:
    """All lines of a proposal, for a pager."""
    detail = proposal["detail"] or ""
    head: list[Line] = [[Span(visible(proposal["target"] or ""), "strong")], []]
    if proposal["kind"] == "file_write":
        return [*head, *changes(detail, look).lines]
    return [*head, *([Span(shown(line))] for line in detail.split("\n"))]


__all__ = ["Decisions", "whole_lines"]
