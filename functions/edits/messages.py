"""What the model reads when a block has several places or none: the lines, and the form that works."""

from __future__ import annotations

from engine.functions.lazy import lazy_regex

_WORD = lazy_regex(r"\w+")
_SHOWN = 5
"""Most places or similar lines that a message shows."""
_WIDTH = 200
"""Characters of a line that a message shows."""
_LONGEST = 1_000
"""Characters of a search that a message repeats."""
_COUNTED = 50
"""Most places that are counted: a text may hold a letter a million times."""
_BLANK = " \t\r\n\f\v\xa0\ufeff"


def ambiguous_lines(rows: list[str], numbers: list[int], name: str) -> str:
    """The message about several places: their line numbers, and the first few with the lines around them."""
    places = f"{len(numbers)} places" if len(numbers) <= _COUNTED else f"more than {_COUNTED} places"
    numbers = list(dict.fromkeys(numbers[: _COUNTED + 1]))
    told = ", ".join(str(number + 1) for number in numbers)
    shown = [
        "\n".join(numbered(rows, near) for near in range(max(0, number - 1), min(len(rows), number + 2)))
        for number in numbers[:_SHOWN]
    ]
    return (
        f"{name} matches {places}, in line {told}. Nothing was changed. "
        "Repeat it with neighbouring lines that only the place you mean has:\n" + "\n…\n".join(shown)
    )


def missing_lines(rows: list[str], wanted: list[str], name: str) -> str:
    """The message when nothing was found: the search, its first missing line, and the lines most like that."""
    bare = [row.strip(_BLANK) for row in rows]
    lines = [line.strip(_BLANK) for line in wanted]
    filled = [line for line in lines if line]
    head = f"{name} was not found. Nothing was changed.\nIt searched for:\n{_clip(chr(10).join(wanted), _LONGEST)}\n"
    advice = "Copy the lines from the entry as it is now, or replace it whole with <<NEW."
    present = set(bare)
    absent = next((line for line in filled if line not in present), None)
    if absent is None:
        return f"{head}{_apart(bare, filled)} {advice}"
    near = _nearest(absent, bare)
    if not near:
        return f"{head}No line resembles {_clip(absent, _WIDTH)!r}. {advice}"
    shown = "\n".join(numbered(rows, number) for number in near)
    return f"{head}The lines nearest to {_clip(absent, _WIDTH)!r} are:\n{shown}\n{advice}"


def numbered(rows: list[str], number: int) -> str:
    """A line behind its number, as messages show it."""
    return f"{number + 1}: {_clip(rows[number].rstrip(), _WIDTH)}"


def _apart(bare: list[str], filled: list[str]) -> str:
    """What keeps lines from being found all of which are there."""
    if not filled:
        return "The text has no such blank lines."
    places = [number for number, line in enumerate(bare) if line]
    whole = "\n".join(["", *(bare[number] for number in places), ""])
    start = whole.find("\n".join(["", *filled, ""]))
    if start >= 0:
        line = places[whole.count("\n", 0, start)] + 1
        return f"Its lines begin at line {line}, but the blank lines between them are not the same."
    told = ", ".join(str(bare.index(line) + 1) for line in filled[:_SHOWN])
    return f"Its lines exist (lines {told}), but not one directly after another."


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


def _clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + "…"
