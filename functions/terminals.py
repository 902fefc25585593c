"""What a terminal shows of the text that a program prints: lines as they were redrawn last, without control sequences.

The text may come in pieces that end anywhere. Time is linear in its length, and memory is bounded.
spec: @shown_output
"""

from __future__ import annotations

from collections.abc import Callable

from engine.functions.terminal_codes import CONTROL, Code, Codes
from engine.functions.terminal_lines import FARTHEST, Line

_LONGEST_LINE = 65_536
"""The characters of a line that can still be redrawn."""
_HELD = 64
"""The lines that can still be redrawn once a program has moved up to an earlier one."""
_REMEMBERED = 8_192
"""The characters passed on last, among which are the lines that a program moves up to for the first time."""


def terminal_text(text: str) -> str:
    """A whole text as a terminal shows it."""
    if not CONTROL.search(text):
        return text
    terminal = Terminal()
    return terminal.feed(text) + terminal.finish()


_CELLS = tuple("X@Pb")
"""Sequences that erase, insert, delete and repeat characters."""


class Terminal:
    """Takes the text that a program prints, in pieces, and gives what is settled of what a terminal shows.

    What may still be redrawn is held until `partial`, `snapshot` or `finish` asks for it: a line without its end and, once
    the program has moved up, the last 64 lines.
    """

    def __init__(self) -> None:
        self._codes = Codes()
        self._out: list[str] = []
        self._tail = ""
        self._lines = [Line()]
        self._row = self._column = self._back = 0
        self._feeds_since_up = _HELD
        self._saved: tuple[Line, int] | None = None
        self._moves: dict[str, Callable[[int], None]] = {
            **dict.fromkeys("AF", self._up),
            **dict.fromkeys("BE", self._down),
            **dict.fromkeys("Ca", self._right),
            "D": self._left,
            "s": lambda _: self._save(),
            "u": lambda _: self._restore(),
            **dict.fromkeys("G`", self._to_column),
            **dict.fromkeys("Hf", self._to_fresh_line),
        }

    @property
    def is_holding(self) -> bool:
        """Whether something may be held."""
        return len(self._lines) > 1 or bool(self._lines[0].cells)

    def feed(self, piece: str) -> str:
        """Take a piece; what is settled by now."""
        text, place = self._codes.join(piece), 0
        while place < len(text):
            plain = self._plain_end(text, place)
            if plain > place:
                self._take_plain(text[place:plain])
                place = plain
                continue
            end = text.find("\n", place) + 1 or len(text)
            for code in self._codes.read(text[place:end]):
                self._take(code)
            place = end
        return self._taken()

    def partial(self) -> str:
        """What there is of a line that has no end yet; nothing while lines are redrawn."""
        if len(self._lines) == 1 and not self._lines[0].is_redrawn:
            self._send()
        return self._taken()

    def snapshot(self) -> str:
        """All that is held, as it is now; what is redrawn later comes again."""
        self._release(0)
        self._send()
        return self._taken()

    def finish(self) -> str:
        """The rest."""
        self._release(0)
        self._out.append(self._lines[0].news())
        self._lines, self._row, self._column = [Line()], 0, 0
        return self._taken()

    def _taken(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        self._tail = (self._tail + text[-_REMEMBERED:])[-_REMEMBERED:]
        return text

    def _plain_end(self, text: str, place: int) -> int:
        """Where the whole lines end that begin at `place`, and change nothing that was printed before."""
        line = self._lines[-1]
        if len(self._lines) > 1 or self._column < line.gone + len(line.cells) or not self._codes.is_between:
            return place
        control = CONTROL.search(text, place)
        return max(place, text.rfind("\n", place, control.start()) + 1) if control else len(text)

    def _take_plain(self, text: str) -> None:
        """Take a text without control characters, behind all that was printed."""
        first, feed, rest = text.partition("\n")
        self._write(first)
        if feed:
            self._line_feed()
            whole, feed, last = rest.rpartition("\n")
            self._out += [whole, feed]
            self._write(last)

    def _take(self, code: Code) -> None:
        if code.kind == "text":
            self._write(code.value)
        elif code.kind == "control":
            self._control(code.value)
        elif code.kind == "escape":
            self._escape(code.value)
        elif move := self._moves.get(code.value):
            move(min(max(code.number, 1), FARTHEST))
            if code.value in "EF":
                self._column = 0
        elif code.value == "K":
            self._erase_line(code.number)
        elif code.value in _CELLS:
            self._change_cells(code.value, min(max(code.number, 1), FARTHEST))
        elif code.value == "J":
            self._erase_below() if code.number == 0 else self._to_fresh_line(1)

    def _control(self, control: str) -> None:
        if control in ("\n", "\v", "\f", "\x85"):
            self._line_feed()
        elif control[0] == "\r":
            self._column = 0
        elif control == "\b":
            self._left(1)
        elif control == "\0":
            self._write("\ufffd")

    def _escape(self, final: str) -> None:
        if final == "M":
            self._up(1)
        elif final in "DE":
            self._line_feed()
        elif final == "c":
            self._to_fresh_line(1)
        elif final == "7":
            self._save()
        elif final == "8":
            self._restore()

    def _write(self, text: str) -> None:
        """Put a text without control characters at the cursor."""
        if not text:
            return
        if self._column < self._lines[self._row].gone:  # its beginning was passed on long ago
            self._out.append("\n")
            self._lines[self._row] = Line()
            self._column = min(self._column, FARTHEST)
        line = self._lines[self._row]
        start = min(self._column - line.gone, len(line.cells) + FARTHEST)
        self._column = line.gone + start
        line.is_redrawn = line.is_redrawn or start < len(line.cells)
        line.cells += " " * (start - len(line.cells))
        line.cells[start : start + len(text)] = text
        self._column += len(text)
        if len(line.cells) > _LONGEST_LINE:
            self._release(len(self._lines) - 1 - self._row)
            self._out.append(line.news())
            line.forget()
            self._column = line.gone

    def _line_feed(self) -> None:
        self._column = 0
        self._row += 1
        if self._row < len(self._lines):
            return
        self._lines.append(Line())
        self._feeds_since_up += 1
        self._release(_HELD if self._feeds_since_up < _HELD else 0)

    def _release(self, most: int) -> None:
        """Pass on lines until `most` are held above the last one."""
        count = max(0, len(self._lines) - 1 - most)
        for line in self._lines[:count]:
            self._out += [line.news(), "\n"]
        del self._lines[:count]
        self._back = max(0, self._back - count)
        self._row = max(0, self._row - count)

    def _send(self) -> None:
        """Pass on the only line as it is, and keep it as one that may go on."""
        line = self._lines[0]
        self._out.append(line.news())
        line.sent = line.shown()
        if len(line.cells) > FARTHEST:
            line.forget()

    def _up(self, count: int) -> None:
        self._feeds_since_up = 0
        self._bring_back(min(count - self._row, _HELD + 1 - len(self._lines)))
        self._row = max(0, self._row - count)

    def _bring_back(self, count: int) -> None:
        """Hold lines again: those that are settled and not passed on yet and, for others, a copy."""
        if count <= 0:
            return
        back = self._unsettled(count)
        copies = self._passed(count - len(back))
        self._back += len(copies)
        if copies and (self._lines[0].sent or self._lines[0].gone):
            # it was passed on in part, and comes again behind these
            self._out.append("\n")
            self._lines[0].sent, self._lines[0].gone = "", 0
        self._lines[:0] = map(Line, [*copies, *back])
        self._row += len(copies) + len(back)

    def _unsettled(self, count: int) -> list[str]:
        """The last lines of what is not passed on yet, which is without them then."""
        text = "".join(self._out)
        if not text.endswith("\n"):
            return []
        start = len(text)
        first = 0 if not self._tail or self._tail.endswith("\n") else text.find("\n") + 1
        while count and start > first:
            start = max(first, text.rfind("\n", 0, start - 1) + 1)
            count -= 1
        self._out = [text[:start]]
        return text[start:].split("\n")[:-1]

    def _passed(self, count: int) -> list[str]:
        """The last lines that were passed on, before those of which there are copies."""
        *passed, _ = self._tail.split("\n")
        return passed[: len(passed) - self._back][-count:] if count > 0 else []

    def _down(self, count: int) -> None:
        self._row = min(self._row + count, len(self._lines) - 1)

    def _right(self, count: int) -> None:
        line = self._lines[self._row]
        self._column = max(self._column, min(self._column + count, max(FARTHEST, line.gone + len(line.cells))))

    def _left(self, count: int) -> None:
        self._column = max(0, self._column - count)

    def _to_column(self, number: int) -> None:
        self._column = number - 1

    def _to_fresh_line(self, _: int) -> None:
        """Begin a line of its own: the screen was cleared, or the cursor moved to a place that only a screen has."""
        self._row = len(self._lines) - 1
        if self._lines[self._row].cells or self._lines[self._row].gone:
            self._line_feed()
        self._column = 0

    def _save(self) -> None:
        self._saved = self._lines[self._row], self._column

    def _restore(self) -> None:
        """Go back to the saved place, if its line can still be redrawn."""
        rows = [row for row, line in enumerate(self._lines) if self._saved and line is self._saved[0]]
        if self._saved and rows:
            self._row, self._column = rows[0], self._saved[1]

    def _change_cells(self, how: str, count: int) -> None:
        """Erase, insert, delete or repeat characters at the cursor."""
        line = self._lines[self._row]
        place = self._column - line.gone
        if how == "b" and 0 < place <= len(line.cells):
            self._write(line.cells[place - 1] * count)
        else:
            line.change(how, place, count)

    def _erase_line(self, how: int) -> None:
        line = self._lines[self._row]
        place = max(0, self._column - line.gone)
        if (how == 0 and place < len(line.cells)) or how == 2:
            del line.cells[place if how == 0 else 0 :]
            line.is_redrawn = True
        elif how == 1 and place <= FARTHEST:
            line.cells[:place] = " " * min(place, len(line.cells))
            line.is_redrawn = True

    def _erase_below(self) -> None:
        self._erase_line(0)
        del self._lines[self._row + 1 :]
