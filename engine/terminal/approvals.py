"""Asks the person at the terminal about each proposal of a run, and takes the answer back to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TextIO

from engine.display.proposals import always_target, options_of
from engine.system.user import user_name

from .colours import coloured
from .editor_and_pager import edited, paged
from .notifying import notify
from .printing import one_line, say, visible
from .proposals import changed_lines, proposal_lines, show_instructions, show_proposal
from .questions import asked
from .screen import fits, lines_that_fit, show_lines

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

    from .interrupt import Interrupt

_END = "\x04"
_KINDS = {"file_write": "every change of a file", "file_delete": "every removal", "process": "every shell command"}
_TOOL = "every call of this tool, as it is defined now,"
_MEANINGS = {
    "y": ("[y]es", "yes, this time"),
    "n": ("[n]o", "no; you may say why (n use ValueError), and the model is told"),
    "e": ("[e]dit", "edit the text first: what you save is written, and the model is told"),
    "o": ("[o]ne by one", "decide on each file; all of them are changed, or none"),
    "a": ("[a]ll", "yes, and to {kinds} in the rest of this run"),
    "p": ("[p]roject", "yes, and always in this project: {always}"),
    "v": ("[v]iew", "view all of it"),
    "q": ("[q] later", "decide later; it stays open"),
}
"""What each key is called in the question, and what it does."""
_WORDS = {
    "yes": "y",
    "no": "n",
    "edit": "e",
    "always": "p",
    "all": "a",
    "view": "v",
    "quit": "q",
    "one": "o",
    _END: "q",
}


class Asker:
    """Decides by asking: True accepts, False rejects, a text answers a question, None leaves the proposal open.

    The changes of one patch, and the removals of one command, are one decision unless the person takes them one by one.
    """

    def __init__(
        self, db: Database, interrupt: Interrupt, source: TextIO, hide: Callable[[], None] | None = None
    ) -> None:
        """`hide` takes off the screen what would move where it is asked."""
        self._db = db
        self._hide = hide
        self._source = source
        self._interrupt = interrupt
        self._accepted: set[tuple[str, str]] = set()
        self._one_by_one: set[tuple[str, str]] = set()
        self._reason = ""
        """What was said behind a no, in the same line."""
        self.decided_by = user_name()

    def __call__(self, proposal: Mapping[str, Any]) -> bool | str | None:
        """Ask about one proposal."""
        if _command(proposal) in self._accepted or self._is_granted(proposal):
            return True
        if self._hide is not None:
            self._hide()
        say()
        notify(self._db, f"{proposal['run']}: waits for your decision")
        try:
            with self._interrupt.asking():
                if proposal["kind"] == "question":
                    show_proposal(proposal)
                    return self._answer(proposal)
                siblings = self._siblings(proposal)
                if len(siblings) > 1:
                    return self._decide_together(siblings)
                show_proposal(proposal, lines_that_fit())
                return self._decide(proposal)
        except KeyboardInterrupt:
            return None

    def _siblings(self, proposal: Mapping[str, Any]) -> list[Row]:
        """The open proposals of the same command, unless these are decided one by one."""
        if _command(proposal) in self._one_by_one:
            return []
        return self._db.rows(
            "select * from open_proposals where run = ? and path = ? order by proposal_id",
            (proposal["run"], proposal["path"]),
        )

    def _is_granted(self, proposal: Mapping[str, Any]) -> bool:
        """Accept what a grant covers by now, such as one that was given at another file of the same patch."""
        found = self._db.row(
            "select decided_by from _immediate_decisions where proposal_id = ? and decided_by glob 'grant *'",
            (proposal["proposal_id"],),
        )
        if found:
            self._answered(proposal, "accept", decided_by=found["decided_by"])
        return found is not None

    def _decide_together(self, proposals: Sequence[Row]) -> bool | str | None:
        """Ask about the proposals of one command, or, where the person wants that, about the first of them alone."""
        say(f"{proposals[0]['action']} changes {len(proposals)} files:", "cyan")
        files = [f"{changed_lines(each) or each['action']:>7}  {visible(each['target'] or '')}" for each in proposals]
        show_lines(files, iter, lambda rest, _: rest, most=lines_that_fit(), more="file")
        show_instructions(proposals)
        keys = "ynoavq" if all(each["kind"] in _KINDS for each in proposals) else "ynovq"
        while True:
            match self._key("accept all?", keys, proposals):
                case "y":
                    self._accepted.add(_command(proposals[0]))
                    return True
                case "n":
                    return self._rejected(proposals[0])
                case "o":
                    self._one_by_one.add(_command(proposals[0]))
                    say("if you reject one file, all are rejected", dim=True)
                    show_proposal(proposals[0], lines_that_fit())
                    return self._decide(proposals[0])
                case "a":
                    for kind in dict.fromkeys(each["kind"] for each in proposals):
                        self._grant(proposals[0]["run"], kind, None, whole_project=False)
                    self._accepted.add(_command(proposals[0]))
                    return True
                case "v":
                    paged([line for each in proposals for line in _whole(each)])
                case _:
                    return None

    def _decide(self, proposal: Mapping[str, Any]) -> bool | str | None:
        # a plugin's kinds are not granted beforehand
        known = proposal["kind"] == "mcp" or proposal["kind"] in _KINDS
        keys = {"file_write": "yneapvq"}.get(proposal["kind"], "ynapvq" if known else "ynvq")
        while True:
            match self._key("accept?", keys, [proposal]):
                case "y":
                    return True
                case "n":
                    return self._rejected(proposal)
                case "e":
                    if (text := self._edited(proposal)) is not None:
                        self._answered(proposal, "accept", body=text)
                        return True
                case "a":
                    one = proposal["target"] if proposal["kind"] == "mcp" else None
                    self._grant(proposal["run"], proposal["kind"], one, whole_project=False)
                    return True
                case "p":
                    self._grant(proposal["run"], proposal["kind"], always_target(proposal), whole_project=True)
                    return True
                case "v":
                    paged(_whole(proposal))
                case _:
                    return None

    def _rejected(self, proposal: Mapping[str, Any]) -> bool:
        reason = self._reason or self._line("why not? (for the model; Enter: no reason) ").strip()
        self._answered(proposal, "reject", reason=None if reason in {"", _END} else reason)
        return False

    def _answered(self, proposal: Mapping[str, Any], decision: str, **given: str | None) -> None:
        """Decide with what the answer to the driver cannot say: a reason, or a text that may be empty."""
        self._db.insert(
            "verb_answer_proposal",
            proposal_id=proposal["proposal_id"],
            decision=decision,
            **{"decided_by": self.decided_by, **given},
        )

    def _edited(self, proposal: Mapping[str, Any]) -> str | None:
        """The text of a file as the person changed it; None where it is as it was, or there is no editor."""
        text = self._db.value(
            "select c.body from proposals as p join contents as c on c.id = p.content_id where p.id = ?",
            (proposal["proposal_id"],),
        )
        changed = edited(str(text), PurePosixPath(proposal["target"] or "").name)
        if changed is None or changed == text:
            say("nothing was changed", dim=True)
            return None
        return changed

    def _grant(self, run: str, kind: str, target: str | None, *, whole_project: bool) -> None:
        from engine.effects.gate import give_grant

        number = give_grant(self._db, run, kind, target, whole_project=whole_project, by=self.decided_by)
        meant = one_line(target, 60) if target is not None else f"{_KINDS[kind]} of this run"
        say(f"grant {number}: {meant}; 'engine allow grants --revoke {number}' revokes the grant", dim=True)

    def _answer(self, proposal: Mapping[str, Any]) -> str | None:
        options = options_of(proposal)
        for number, option in enumerate(options, 1):
            say(f"  {number}. {visible(option)}")
        while True:
            given = self._line(
                "a number or your own words ([q] later): " if options else "your answer ([q] later): "
            ).strip()
            if given.lower() in {"q", "quit", _END}:
                return None
            if given.isdecimal() and 1 <= int(given) <= len(options):
                say(f"→ {visible(options[int(given) - 1])}", dim=True)
                return options[int(given) - 1]
            if given:
                return given

    def _key(self, question: str, keys: str, proposals: Sequence[Mapping[str, Any]]) -> str:
        """One of `keys`, given as such or as its word; asked again, with what they do, until it is one."""
        names = " ".join(_MEANINGS[key][0] for key in keys)
        asked = f"{question} {names} [?]: "
        while True:
            given = self._line(asked if fits(asked) else f"{question} [{'/'.join(keys)}/?]: ").strip()
            word, _, rest = given.partition(" ")
            key = _WORDS.get(word.lower(), word.lower())
            self._reason = rest.strip() if key == "n" else ""
            if rest and key != "n":
                key = ""
            if len(key) == 1 and key in keys:
                return key
            if given:
                _explain(keys, proposals)

    def _line(self, question: str) -> str:
        """A line from the terminal, '\\x04' at its end."""
        return asked(self._source, question) or _END


def _explain(keys: str, proposals: Sequence[Mapping[str, Any]]) -> None:
    """Say what each key does."""
    kinds = " and ".join(dict.fromkeys(_KINDS.get(each["kind"], _TOOL) for each in proposals))
    for key in keys:
        always = one_line(always_target(proposals[0]), 60) if key == "p" else ""
        say(f"  {key}  {_MEANINGS[key][1].format(kinds=kinds, always=always)}")


def _command(proposal: Mapping[str, Any]) -> tuple[str, str]:
    """What a proposal is of: in two runs the same path names two commands."""
    return proposal["run"], proposal["path"]


def _whole(proposal: Mapping[str, Any]) -> list[str]:
    """A proposal as a pager shows it: where it goes, then all of its lines."""
    return [visible(proposal["target"] or ""), *coloured(proposal_lines(proposal), proposal["target"]), ""]
