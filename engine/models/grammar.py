"""GBNF for small models: what they may answer, so that they cannot answer it wrongly formed.

A small model that may do two things does both: it asks for a file and invents, beside the request, what the
file says. The grammar leaves it one of the two.
"""

from __future__ import annotations

from collections.abc import Sequence

# A sentence without tags; a full stop may only stand inside a figure, or the model goes on and on.
_SENTENCE = r'sentence ::= [^<\n. ] [^<\n.]* ("." [0-9] [^<\n.]*)* "."?'


def compact_grammar(paths: Sequence[str], lines: Sequence[str] = ()) -> str:
    """A grammar of *either* a read of one of `paths` with status 102 *or* an answer with status 200.

    Without paths only an answer is possible. With `lines` (`quotable_lines` of the file shown) an answer is
    one of these lines, word for word, then `` | `` and a sentence: a small model then cannot garble a
    figure that it quotes. Paths that an attribute cannot hold are left out.
    """
    choices = [path for path in paths if path and not set('"<&\n\r') & set(path)]
    quote = 'line " | " ' if lines else ""
    rules = [
        "root ::= read | answer" if choices else "root ::= answer",
        f'answer ::= "<update status=\\"200\\">" {quote}sentence "</update>"',
        _SENTENCE,
    ]
    if lines:
        rules.append(f"line ::= {_alternatives(lines)}")
    if choices:
        rules.append('read ::= "<get path=\\"" path "\\"/>\\n<update status=\\"102\\">" sentence "</update>"')
        rules.append(f"path ::= {_alternatives(choices)}")
    return "\n".join(rules)


def quotable_lines(text: str, limit: int = 200) -> list[str]:
    """The first `limit` distinct lines of `text` that an answer may quote: no tags, no list or heading
    marks.
    """
    stripped = (line.strip().lstrip("#-*").strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in stripped if line and "<" not in line))[:limit]


def _alternatives(texts: Sequence[str]) -> str:
    return " | ".join(_literal(text) for text in texts)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
