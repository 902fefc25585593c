"""GBNF for small models: what they may answer, so that they cannot answer it in a wrong form.

A small model that may do two things does both: it asks for a file and invents, beside the request, what the
file says. The grammar leaves it one of the two. It also garbles figures that it repeats in words of its own;
so an answer can be held to lines of the file that it was shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# The form that templates/sections/compact.j2 gives to a file.
_SHOWN = re.compile(r'^<file path="([^"\n]*)">\n(.*?)\n</file>$', re.DOTALL | re.MULTILINE)
_MOST_LINES = 200
_LONG_LINE = 160
# Words of a question that say nothing of where its answer stands.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "the and for are was were how what when who whose which where why does did has have had can may must "
        "many much long into from with this that these those there",
    )
)
_HEADING = ("#", "[", ";", "//")
# A sentence without tags; a full stop may only stand inside a figure, or the model goes on and on.
_SENTENCE = r'sentence ::= [^<\n. ] [^<\n.]* ("." [0-9] [^<\n.]*)* "."?'


def packet_grammar(packet: str, paths: Sequence[str] = ()) -> str:
    """The grammar of the answers to `packet`, a user message as sections/compact.j2 renders it.

    The last paragraph of `packet` is the question. An answer quotes a line of the files shown, a read asks
    for one of `paths` that is not shown. Without a file shown an answer is a sentence.
    """
    shown = {match[1]: match[2] for match in _SHOWN.finditer(packet)}
    question = packet.rpartition("\n\n")[2]
    lines = quotable_lines("\n".join(shown.values()), question)
    return compact_grammar([path for path in paths if path not in shown], lines)


def compact_grammar(paths: Sequence[str], lines: Sequence[str] = ()) -> str:
    """A grammar of *either* a read of one of `paths` with status 102 *or* an answer with status 200.

    Without `paths` only an answer is possible. With `lines` (see `quotable_lines`) an answer is one of them,
    word for word; without, it is a sentence. Paths that an attribute cannot hold are left out.
    """
    choices = [path for path in paths if path and not set('"<&\n\r') & set(path)]
    rules = [
        "root ::= read | answer" if choices else "root ::= answer",
        f'answer ::= "<update status=\\"200\\">" {"line" if lines else "sentence"} "</update>"',
        _SENTENCE,
    ]
    if lines:
        rules.append(f"line ::= {_alternatives(lines)}")
    if choices:
        rules.append('read ::= "<get path=\\"" path "\\"/>\\n<update status=\\"102\\">" sentence "</update>"')
        rules.append(f"path ::= {_alternatives(choices)}")
    return "\n".join(rules)


def quotable_lines(text: str, question: str = "") -> list[str]:
    """The lines of `text` that an answer to `question` may quote: at most 200, none of them twice.

    Headings, comments and lines with tags are left out, list marks are cut off, and long lines are taken
    sentence by sentence. Of these only the lines remain that share most with the question, a shared word
    weighing the more the fewer lines have it; of equals those with a figure. All remain when nothing
    is shared.
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
    """Whether `line` has `word` or one that begins alike: four letters in common stand for inflection."""
    return any(other == word or other[:4] == word[:4] for other in _words(line))


def _alternatives(texts: Sequence[str]) -> str:
    return " | ".join(_literal(text) for text in texts)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
