"""Makes GBNF grammars that limit the answers of a small model.

Without a grammar a small model invents what a file says, and changes figures when it repeats them in its own words. So its
answer is limited to lines that its packet shows, or to saying that there are none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

# A file or a record as templates/sections/compact.j2 renders it; what looks like one inside of it is its text.
_SHOWN = re.compile(
    r'^<((?:file|log)(?:-[0-9a-f]{8})?)(?: path="([^"\n]*)")?>\n(.*?)\n</\1>$', re.DOTALL | re.MULTILINE
)
NOTHING = "I found nothing about that in these files."
"""The answer where no passage of the files that were searched matches the question."""
_MOST_LINES = 200
_LONG_LINE = 160
# Words of a question that do not help to find its answer.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "the and for are was were how what when who whose which where why does did has have had can may must "
        "many much long into from with this that these those there",
    )
)
_HEADING = ("#", "[", ";", "//")
# A sentence without tags. A full stop is allowed only inside a figure, because the model would write on after it.
_SENTENCE = r'sentence ::= [^<\n. ] [^<\n.]* ("." [0-9] [^<\n.]*)* "."?'


def packet_grammar(packet: str, quotes: str = "[]", searched: bool = False) -> str:
    """The grammar of the answers to `packet`, a user message as sections/compact.j2 renders it.

    The answer is one of `quotes` (a JSON array) that stand in `packet`, word for word. Without one it is a line of the
    files that the packet shows; where it shows none, `NOTHING` if files were searched, else a sentence. The last paragraph
    of `packet` is the question.
    """
    lines = [quote for quote in json.loads(quotes) if quote in packet]
    if not lines:
        shown = "\n".join(match[3] for match in _SHOWN.finditer(packet) if match[2])
        lines = quotable_lines(shown, packet.rpartition("\n\n")[2]) if shown else [NOTHING] * searched
    return answer_grammar(lines)


def answer_grammar(lines: Sequence[str] = ()) -> str:
    """A grammar of an answer with status 200: one of `lines` (see `quotable_lines`), word for word; without, a sentence."""
    rules = ["root ::= " + f'"<update status=\\"200\\">" {"line" if lines else "sentence"} "</update>"']
    return "\n".join([*rules, f"line ::= {_alternatives(lines)}" if lines else _SENTENCE])


def quotable_lines(text: str, question: str = "") -> list[str]:
    """The lines of `text` that an answer to `question` may quote: at most 200, none of them twice.

    Headings, comments and lines with tags are left out, list marks are cut off, and long lines are split into sentences.
    Of the lines only those with the highest score remain: the words they share with the question, where a word that fewer
    lines have counts more. Among them, lines with a figure are preferred. Where no line shares a word, all remain.
    """
    lines = _lines(text)
    asked = _words(question) - _FUNCTION_WORDS
    shared = {line: {word for word in asked if _mentions(line, word)} for line in lines}
    weights = {word: 1 / sum(word in words for words in shared.values()) for word in set().union(*shared.values())}
    scores = {line: sum(weights[word] for word in words) for line, words in shared.items()}
    best = max(scores.values(), default=0.0)
    closest = [line for line in lines if scores[line] >= best - 1e-9]
    if not best:
        return lines
    return [line for line in closest if re.search(r"\d", line)] or closest


def _lines(text: str) -> list[str]:
    found: dict[str, None] = {}
    for line in map(str.strip, text.splitlines()):
        if line.startswith(_HEADING) or "<" in line:
            continue
        line = line.lstrip("-*").strip()
        pieces = re.split(r"(?<=[.!?])\s+", line) if len(line) > _LONG_LINE else [line]
        found.update(dict.fromkeys(piece for piece in pieces if piece))
    return list(found)[:_MOST_LINES]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{3,}", text.casefold()))


def _mentions(line: str, word: str) -> bool:
    """Whether `line` has `word`, or a word with the same first four letters, such as an inflected form."""
    return any(other == word or other[:4] == word[:4] for other in _words(line))


def _alternatives(texts: Sequence[str]) -> str:
    return " | ".join(_literal(text) for text in texts)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
