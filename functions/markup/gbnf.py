"""GBNF rules for texts inside markup: any text but what would end it or be read as markup."""

from __future__ import annotations

from collections.abc import Iterator

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_WORD = f"{_LETTERS}0123456789_-"
_FIRST = f"{_LETTERS}_"
# White space as the parser knows it, which follows Unicode.
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

CHARACTERS = (
    r'value ::= [^"<>&\x00-\x1f\x7f]+',
    r"words ::= [^<\x00]+",
    'integer ::= "-"? [0-9]+',
    'number ::= integer ("." [0-9]+)?',
)
"""The rules that every grammar shares: attribute values, text without tags, numbers."""


def literal(text: str) -> str:
    """`text` as a terminal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def text_within(name: str, rule: str) -> list[str]:
    r"""Rules for the body of tag `name`: any text in which no tag of that name, in any case or namespace, occurs.

    Other tags may. A `<<` is not followed by a letter, which would begin a marker or a heredoc.
    """
    return [
        rf'{rule} ::= ([^<\x00] | "<" {rule}-angle)+',
        rf'{rule}-angle ::= [^A-Za-z_/<\x00] | "<" [^A-Za-z_/<\x00] | "/" [^A-Za-z_<\x00] | {rule}-tag',
        rf'{rule}-tag ::= "/"? {rule}-0 ([:.] {rule}-0?)* [^A-Za-z0-9_:.<\x00-]',
        *_other_names(name, rule),
    ]


def _other_names(name: str, rule: str) -> Iterator[str]:
    """Rules for the name of a tag other than `name`: it differs in some letter, or is longer."""
    for place, letter in enumerate(name):
        letters = letter.lower() + letter.upper() if letter.isalpha() else letter
        others = "".join(each for each in (_WORD if place else _FIRST) if each not in letters)
        more = f"{rule}-{place + 1}?" if place + 1 < len(name) else f"{_class(_WORD)}+"
        yield f"{rule}-{place} ::= {_class(others)} {_class(_WORD)}* | {_class(letters)} {more}"


def edits(rule: str) -> list[str]:
    """Rules for a body of one or more edit markers: SEARCH with REPLACE, or APPEND."""
    return [
        f'{rule} ::= {rule}-one ("\\n" {rule}-one)*',
        f'{rule}-one ::= "<<SEARCH\\n" {rule}-s "\\nSEARCH\\n<<REPLACE\\n" {rule}-r "\\nREPLACE"'
        f' | "<<APPEND\\n" {rule}-a "\\nAPPEND"',
        *_marked("SEARCH", f"{rule}-s", rule),
        *_marked("REPLACE", f"{rule}-r", rule),
        *_marked("APPEND", f"{rule}-a", rule),
        f"{rule}-gap ::= [ \\t\\n]+",
        f'{rule}-rest ::= ([^{_SPACE}<\\x00] | "<" [^{_SPACE}<\\x00])*',
    ]


def _marked(word: str, rule: str, parent: str) -> Iterator[str]:
    """Rules for the text between markers: no word of it is `word`, which would close it."""
    gap, rest = f"{parent}-gap", f"{parent}-rest"
    yield f"{rule} ::= {gap}? {rule}-0 ({gap} {rule}-0)* {gap}?"
    for place, letter in enumerate(word):
        last = place + 1 == len(word)
        more = f"[^{_SPACE}<>\\x00] {rest}" if last else f"{rule}-{place + 1}?"
        away = f'"<" ([^{_SPACE}<\\x00] {rest})?' if place == 0 else f'"<" [^{_SPACE}<\\x00] {rest}'
        yield f'{rule}-{place} ::= [^{_SPACE}<{letter}\\x00] {rest} | {away} | "{letter}" {more}'


def _class(characters: str) -> str:
    """A character class; consecutive characters are written as ranges."""
    runs: list[str] = []
    for character in sorted(characters.replace("-", "")):
        if runs and ord(runs[-1][-1]) + 1 == ord(character):
            runs[-1] = runs[-1][0] + character
        else:
            runs.append(character)
    ranges = "".join(run if len(run) == 1 else f"{run[0]}-{run[1]}" for run in runs)
    return f"[{ranges}{'-' if '-' in characters else ''}]"
