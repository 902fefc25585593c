"""Finds the one place in a text that a model means, even if its white space differs.

Exact text comes first. If it is not there, lines are compared without indentation and without blank lines, and the
replacement gets the indentation of the text.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.functions.lazy import lazy_regex

_WORD = lazy_regex(r"\w+")
_LINE_REST = lazy_regex(r"[ \t]*\r?\n")
_SHOWN = 5
"""Most places or similar lines that a message shows."""
_WIDTH = 200
"""Characters of a line that a message shows."""
_COUNTED = 50
"""Most places that are counted: a text may hold a letter a million times."""
ADJUSTED = "indentation of the replacement was adjusted to the text"
_BLANK = " \t\r\n\f\v\xa0\ufeff"


class Place(NamedTuple):
    """The place of the searched text, `text[start:end]`, and its replacement."""

    start: int
    end: int
    replacement: str
    warning: str | None = None


class Mismatch(Exception):  # noqa: N818 - an outcome, not a defect
    """The searched text is in no place, or in several; the message is for the model."""


def locate(text: str, search: str, replacement: str, name: str) -> Place:
    """The one place of `search` in `text`; `replacement` gets the line endings and indentation of that place.

    `name` is what messages call the search. Raises `Mismatch` if there is no such place, or more than one.
    """
    ending = "\r\n" if "\r\n" in text else "\n"
    wanted, starts = search, _occurrences(text, search)
    if not starts and (wanted := with_ending(search, ending)) != search:
        starts = _occurrences(text, wanted)
    if "\n" in wanted and "\r\n" not in wanted:
        ending = "\n"  # of a text with both endings the place says which
    new = with_ending(replacement, ending)
    if len(starts) == 1:
        place = _continue_indent(text, Place(starts[0], starts[0] + len(wanted), new), ending)
        return _whole_lines(text, place)
    if len(starts) > 1:
        raise Mismatch(ambiguous_lines(text, [_line_of(text, start) for start in starts], name))
    return _locate_lines(text, search, replacement, name)


def with_ending(text: str, ending: str) -> str:
    """`text` with `ending` as its line endings."""
    plain = text.replace("\r\n", "\n")
    return plain if ending == "\n" else plain.replace("\n", ending)


def ambiguity(text: str, starts: list[int], name: str) -> str:
    """The message for a text that was found at several places, given as offsets."""
    return ambiguous_lines(text, [_line_of(text, start) for start in starts[: _COUNTED + 1]], name)


def _occurrences(text: str, wanted: str) -> list[int]:
    """The first offsets at which `wanted` begins, overlapping ones included."""
    starts: list[int] = []
    start = text.find(wanted)
    while start >= 0 and len(starts) <= _COUNTED:
        starts.append(start)
        start = text.find(wanted, start + 1)
    return starts


def _continue_indent(text: str, place: Place, ending: str) -> Place:
    """One line written without its indentation: the lines after the first of its replacement get it too.

    Not if they have it already, nor if the place is only a part of what stands in the line.
    """
    before = text[text.rfind("\n", 0, place.start) + 1 : place.start]
    first, *rest = place.replacement.split(ending)
    part = before.strip(" \t") or "\n" in text[place.start : place.end]
    whole = place.end == len(text) or text.startswith(ending, place.end)
    if not before or part or not whole:
        return place
    if not rest or _has_indent(first, rest, before):
        return place
    indented = [before + line if line.strip() else line for line in rest]
    return Place(place.start, place.end, ending.join([first, *indented]), ADJUSTED)


def _has_indent(first: str, rest: list[str], indent: str) -> bool:
    """Whether `rest` is indented like lines after `first` at `indent`: deeper if `first` opens a block."""
    written = [line for line in rest if line.strip()]
    deeper = first.rstrip().endswith((":", "{", "(", "[")) and written
    return all(line.startswith(indent) for line in written) and not (deeper and indent_of(written[0]) == indent)


def _whole_lines(text: str, place: Place, blank: int = 0) -> Place:
    """Lines that are replaced by nothing go with their indentation and line ending, or an empty line would stay.

    With them go as many of the blank lines behind them as `blank` says.
    """
    if place.replacement:
        return place
    line = text.rfind("\n", 0, place.start) + 1
    line += text.startswith("\ufeff", line)
    rest = _LINE_REST.match(text, place.end)
    ended = text.endswith("\n", place.start, place.end)
    if text[line : place.start].strip(" \t") or not (rest or ended):
        return place
    end = place.end
    while rest and blank >= 0:
        end, blank = rest.end(), blank - 1
        rest = _LINE_REST.match(text, end)
    return Place(min(line, place.start), end, "", place.warning)


def _line_of(text: str, offset: int) -> int:
    """The 0-based line of an offset."""
    return text.count("\n", 0, offset)


def _locate_lines(text: str, search: str, replacement: str, name: str) -> Place:
    """The one run of lines that equals `search` except for indentation, trailing blanks and blank lines."""
    ending = "\r\n" if "\r\n" in text else "\n"
    new = with_ending(replacement, ending)
    lines = text.split("\n")
    bare = bare_lines(text)
    numbers = [number for number, line in enumerate(bare) if line]
    wanted = [line for line in bare_lines(search) if line]
    runs = _runs([bare[number] for number in numbers], wanted) if wanted else []
    if len(runs) > 1:
        raise Mismatch(ambiguous_lines(text, [numbers[run] for run in runs], name))
    if not runs:
        return _locate_words(text, search, new, name, bare)
    first, last = numbers[runs[0]], numbers[runs[0] + len(wanted) - 1]
    start = sum(len(line) + 1 for line in lines[:first])
    start += lines[first].startswith("\ufeff")
    end = sum(len(line) + 1 for line in lines[:last]) + len(lines[last].removesuffix("\r"))
    written = next(line for line in search.split("\n") if line.strip(_BLANK))
    healed, warning = _heal(new, indent_of(written), indent_of(lines[first].removeprefix("\ufeff")), ending)
    blank = search.count("\n", len(search.rstrip(_BLANK)))
    return _whole_lines(text, Place(start, end, healed, warning), blank)


def _runs(lines: list[str], wanted: list[str]) -> list[int]:
    """Where in `lines` the lines `wanted` follow one another."""
    whole, part = "\n".join(["", *lines, ""]), "\n".join(["", *wanted, ""])
    return [whole.count("\n", 0, start) for start in _occurrences(whole, part)]


def _locate_words(text: str, search: str, new: str, name: str, bare: list[str]) -> Place:
    """The place of a search of one line without the blanks around it: `<<SEARCH old SEARCH` may mean a part of a line."""
    word = search.strip()
    starts = _occurrences(text, word) if "\n" not in search and word != search else []
    if len(starts) > 1:
        raise Mismatch(ambiguity(text, starts, name))
    if not starts:
        raise Mismatch(missing_lines(text, search, name, bare))
    return Place(starts[0], starts[0] + len(word), new.strip(" \t"), f"{name}: blanks around the text were ignored")


def bare_lines(text: str) -> list[str]:
    """Lines without white space and byte order mark around them."""
    return [line.strip(_BLANK) for line in text.split("\n")]


def indent_of(line: str) -> str:
    """The spaces and tabs at the beginning of `line`."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def _heal(new: str, written: str, real: str, ending: str) -> tuple[str, str | None]:
    """`new` with the indentation `real` in place of `written`, and a warning about it."""
    if written == real or not new:
        return new, None
    healed = [exchange_indent(line, written, real) if line.strip() else line for line in new.split(ending)]
    return ending.join(healed), ADJUSTED


def exchange_indent(line: str, written: str, real: str) -> str:
    """`line` with the indentation `real` in place of `written`; further indentation stays."""
    return real + (line.removeprefix(written) if line.startswith(written) else line.lstrip())


def ambiguous_lines(text: str, numbers: list[int], name: str) -> str:
    """The message about several places: their line numbers, and the first few with the lines around them."""
    lines = text.removesuffix("\n").split("\n")
    places = f"{len(numbers)} places" if len(numbers) <= _COUNTED else f"more than {_COUNTED} places"
    numbers = list(dict.fromkeys(numbers))
    told = ", ".join(str(number + 1) for number in numbers)
    shown = [
        "\n".join(_numbered(lines, near) for near in range(max(0, number - 1), min(len(lines), number + 2)))
        for number in numbers[:_SHOWN]
    ]
    return (
        f"{name} matches {places}, in line {told}. Nothing was changed. "
        "Repeat it with neighbouring lines that only the place you mean has:\n" + "\n…\n".join(shown)
    )


def missing_lines(text: str, search: str, name: str, bare: list[str]) -> str:
    """The message when nothing was found: the search, its first missing line, and the lines most like that."""
    present = set(bare)
    wanted = [line for line in bare_lines(search) if line]
    absent = next((line for line in wanted if line not in present), None)
    head = f"{name} was not found. Nothing was changed.\nIt searched for:\n{_clip(search, 1000)}\n"
    advice = "Copy the lines from the entry as it is now, or replace it whole with <<REPLACE."
    if absent is None:
        places = ", ".join(str(bare.index(line) + 1) for line in wanted[:_SHOWN])
        return f"{head}Its lines exist (lines {places}), but not one directly after another. {advice}"
    lines = text.split("\n")
    near = _nearest(absent, bare)
    if not near:
        return f"{head}No line resembles {_clip(absent, _WIDTH)!r}. {advice}"
    shown = "\n".join(_numbered(lines, number) for number in near)
    return f"{head}The lines nearest to {_clip(absent, _WIDTH)!r} are:\n{shown}\n{advice}"


def _nearest(line: str, bare: list[str]) -> list[int]:
    """The 0-based numbers of the up to three lines most like `line`, chosen among those that share most words with it."""
    import difflib  # only a search that fails needs it

    words = set(_WORD.findall(line[:_WIDTH].lower()))
    shared = [len(words.intersection(_WORD.findall(each[:_WIDTH].lower()))) for each in bare]
    numbers = [number for number, each in enumerate(bare) if each]
    likely = sorted(numbers, key=lambda number: -shared[number])[:30]
    matcher = difflib.SequenceMatcher(None, "", line[:_WIDTH])
    ratios = []
    for number in likely:
        matcher.set_seq1(bare[number][:_WIDTH])
        ratios.append((matcher.ratio(), number))
    return sorted(number for ratio, number in sorted(ratios, reverse=True)[:3] if ratio > 0.4)


def _numbered(lines: list[str], number: int) -> str:
    return f"{number + 1}: {_clip(lines[number].rstrip(), _WIDTH)}"


def _clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + "…"
