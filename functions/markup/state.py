"""What the reading of one answer has found so far: commands, prose, reasoning, warnings."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from engine.functions.counts import counted
from engine.functions.notations import answer_of, notation_of

from .bodies import Bodies
from .calls import Command, spelled_out
from .grammar import Grammar
from .prose import Prose, Quotations, said_in
from .recovery import Recoveries
from .strangers import Stranger, stranger_calls
from .tags import TagReader

# Further warnings are only counted.
_MAX_WARNINGS = 40


class State:
    """One reading of one answer; its helpers are made when they are first needed: ordinary tags need none of them."""

    def __init__(self, text: str, grammar: Grammar, cap: int, cut: bool, outer: re.Pattern[str]) -> None:
        self.text = text
        self.answer = answer_of(text, grammar)
        self.grammar = grammar
        self.cap = cap
        self.cut = cut
        self.outer = outer
        self.commands: list[Command] = []
        self.closed: dict[str, tuple[Command, int]] = {}
        """The last command of each name that a closing tag has ended, and where that is."""
        self.dropped: list[str] = []
        self.warnings: list[str] = []
        self.prose = Prose(text)
        self.reasoning: list[str] = []
        self.quoted = self.stripped = self.unread = 0
        self.unread_from = -1
        # fences that announced calls, by their lengths
        self.fences: list[int] = []
        # thoughts that nothing opened: what ended them, the calls in them, and where the text begins that is not in them
        self.unopened = ""
        self.midline = False
        self.drafts: list[str] = []
        self.seen = self.kept_reasoning = 0

    @cached_property
    def reader(self) -> TagReader:
        """Reads open tags."""
        return TagReader(self.text, self.grammar)

    @cached_property
    def bodies(self) -> Bodies:
        """Finds the ends of bodies."""
        return Bodies(self.reader)

    @cached_property
    def recoveries(self) -> Recoveries:
        """Decides about tags that are not closed."""
        return Recoveries(self.bodies, self.outer)

    @cached_property
    def quotations(self) -> Quotations:
        """Finds code spans and fences."""
        return Quotations(self.answer)

    def has_room(self, action: str) -> bool:
        """May one more command be taken? If not, `action` is counted as dropped."""
        if len(self.commands) < self.cap:
            return True
        self.dropped.append(action)
        return False

    def add(self, command: Command) -> None:
        """Take `command`, for which there is room."""
        if command.action in self.grammar.spellings:
            spelled_out(command, self.grammar.spellings[command.action])
        self.warnings += command.notes
        self.commands.append(command)

    def is_whole(self, end: int) -> None:
        """Note that a call or thoughts were read with their own end."""
        self.answer.whole = self.answer.edge = end

    def acts(self) -> bool:
        """Is there a command that is more than a thought?"""
        return any(command.action != "think" for command in self.commands)

    def tell_unclosed_thoughts(self, position: int) -> None:
        """Warn if the thoughts that begin at `position` and have no end hold what looks like a call."""
        heads = self.outer.finditer(self.text, position)
        if any(head.lastgroup == "tag" or notation_of(head.lastgroup) for head in heads):
            told = "Unclosed thoughts: the calls in them were not run; close the thoughts before you act"
            self.warnings.append(told)

    def give_up(self, what: str, end: int) -> None:
        """Warn of a call that could not be read and whose text ends at `end`."""
        reach = ", which goes to the end of the answer," if end == len(self.text) else ""
        self.refuse(f"{what}; it was kept as text{reach} and nothing of it was done")

    def refuse(self, warning: str) -> None:
        """Warn of a call that is not run."""
        self.unread += 1
        self.warnings.append(warning)

    def stop(self, position: int) -> None:
        """Read nothing behind `position`."""
        if self.text[position:].strip():
            self.prose.cut(position, len(self.text))
            self.unread_from = position

    def cut_off(self, name: str, attributes: dict[str, str], start: int, end: int) -> int:
        """Take everything from `start` on as one truncated command; its head ends at `end`."""
        self.prose.cut(start, len(self.text))
        action = "think" if name in self.grammar.thoughts else name
        if action == "think" and (thought := self.text[end:].strip()):
            self.reasoning.append(thought)
        if action in self.grammar.names and self.has_room(action):
            given = dict(attributes)
            path, destination = given.pop("path", None), given.pop("to", None)
            source = self.text[start:]
            self.add(Command(action, path, destination, None, given, source, truncated=True))
        return len(self.text)

    def result(self) -> dict[str, Any]:
        """All of it as one JSON object."""
        self.prose.cut(len(self.text), len(self.text))
        said = said_in(self.prose.take())
        if self.drafts and said and self.midline and not self.commands:
            self.unread += len(self.drafts)  # is it an answer, or a sentence that speaks of the end of thoughts?
        if not self.unread:
            self._tell_strangers(stranger_calls(said, self.grammar.names))
        return {
            "commands": [command.as_row() for command in self.commands],
            "warnings": self._all_warnings(),
            "unread": self.unread + len(self.dropped),
            "rare": any(command.is_rare() for command in self.commands),
            "text": said,
            "reasoning": "\n".join(self.reasoning),
        }

    def _tell_strangers(self, calls: list[Stranger]) -> None:
        """Warn of tools that there are not. Who says that all is done may have meant their calls as the answer."""
        is_done = any(each.action == "update" and each.attributes.get("status") == "200" for each in self.commands)
        tell = self.warnings.append if is_done else self.refuse
        for call in calls:
            tell(f"Unknown tool {call.name!r} called by {call.excerpt!r}: it was kept as text")

    def _told_of_thoughts(self) -> list[str]:
        if not self.unopened:
            return []
        warning = f"Unopened {self.unopened}: the text before it was taken as reasoning"
        if self.drafts:
            names = ", ".join(f"<{name}>" for name in dict.fromkeys(self.drafts))
            were = "was" if len(self.drafts) == 1 else "were"
            warning += f"; {counted(len(self.drafts), 'call')} in it ({names}) {were} not run"
        return [warning]

    def _all_warnings(self) -> list[str]:
        warnings = [*self._told_of_thoughts(), *self.warnings[:_MAX_WARNINGS]]
        if len(self.warnings) > _MAX_WARNINGS:
            warnings.append(f"{counted(len(self.warnings) - _MAX_WARNINGS, 'more warning')} left out")
        if self.quoted:
            warnings.append(
                f"Quoted in back-ticks or data: {self.quoted} passage(s) with tool tags were kept as text, not run"
            )
        if self.stripped:
            warnings.append(f"Stripped {self.stripped} stray control token(s) such as <|x|>")
        if self.dropped:
            warnings.append(
                f"Tool call limit ({self.cap}) reached: {len(self.dropped)} further call(s) were dropped,"
                f" the first of them <{self.dropped[0]}>"
            )
        if self.unread_from >= 0:
            rest = len(self.text) - self.unread_from
            warnings.append(f"Too many calls that were not run: the last {rest} characters of the answer were not read")
        return warnings
