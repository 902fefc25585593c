"""Reads a GBNF grammar and draws random sentences from it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Draw = Callable[["Dice"], str]

_TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|[A-Za-z][A-Za-z0-9-]*|[()|*+?])')
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r"}
# What a class is drawn from: mostly what writers write, sometimes anything.
_USUAL = "abcdefghijklmnopqrstuvwxyzSETRCHAPND_-.:/ \n\t0123456789<>=\"'`&;{}[]()#|*"
_ODD = "\r\x85\xa0\u2028\u3000éß漢😀\x01\x1f\x7f\ufeff\u200b"


class Dice:
    """Draws; what is repeated is repeated less often the longer the sentence has become."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.steps = 0

    def again(self) -> bool:
        self.steps += 1
        return self.random.random() < (0.85 if self.steps < 400 else 0.1)


class Grammar:
    """The grammar `text`; raises ValueError for what is no GBNF, or a rule that is not there."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, Draw] = {}
        self._used: set[str] = set()
        for line in text.splitlines():
            name, _, right = line.partition(" ::= ")
            if not re.fullmatch(r"[a-z][a-z0-9-]*", name) or name in self.rules:
                raise ValueError(f"no rule, or a second one: {line!r}")
            self.rules[name] = _Reader(self, right).whole()
        if missing := {*self._used, "root"} - self.rules.keys():
            raise ValueError(f"no such rule: {sorted(missing)}")

    def sentence(self, seed: int) -> str:
        """A sentence, the same one for the same seed."""
        return self.rules["root"](Dice(seed))

    def reference(self, name: str) -> Draw:
        self._used.add(name)
        return lambda dice: self.rules[name](dice)


class _Reader:
    """Reads the right side of one rule."""

    def __init__(self, grammar: Grammar, text: str) -> None:
        self.grammar = grammar
        self.tokens: list[str] = []
        position = 0
        while position < len(text.rstrip()):
            found = _TOKEN.match(text, position)
            if found is None:
                raise ValueError(f"not GBNF: {text[position:]!r}")
            self.tokens.append(found[1])
            position = found.end()

    def whole(self) -> Draw:
        draw = self.choice()
        if self.tokens:
            raise ValueError(f"left over: {self.tokens}")
        return draw

    def choice(self) -> Draw:
        options = [self.sequence()]
        while self.tokens and self.tokens[0] == "|":
            self.tokens.pop(0)
            options.append(self.sequence())
        return options[0] if len(options) == 1 else lambda dice: dice.random.choice(options)(dice)

    def sequence(self) -> Draw:
        items: list[Draw] = []
        while self.tokens and self.tokens[0] not in "|)":
            items.append(self.repeated(self.item()))
        return lambda dice: "".join([item(dice) for item in items])

    def repeated(self, item: Draw) -> Draw:
        sign = self.tokens.pop(0) if self.tokens and self.tokens[0] in "*+?" else ""
        if sign == "?":
            return lambda dice: item(dice) if dice.random.random() < 0.5 else ""
        if not sign:
            return item

        def many(dice: Dice) -> str:
            parts = [item(dice)] if sign == "+" else []
            while dice.again():
                parts.append(item(dice))
            return "".join(parts)

        return many

    def item(self) -> Draw:
        token = self.tokens.pop(0)
        if token == "(":
            inner = self.choice()
            if self.tokens.pop(0) != ")":
                raise ValueError("a group is not closed")
            return inner
        if token[0] == '"':
            text = _unescaped(token[1:-1])
            return lambda dice: text
        return _class(token) if token[0] == "[" else self.grammar.reference(token)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _character(found[1]), text)


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if escape[0] in "xuU" and len(escape) > 1 else _PLAIN.get(escape, escape)


def _class(token: str) -> Draw:
    # Python's own classes have the same escapes, but for the brackets, which both write with a backslash.
    pattern = re.compile(token, re.DOTALL)
    usual, odd = ["".join(c for c in each if pattern.fullmatch(c)) for each in (_USUAL, _ODD)]
    usual = usual or next(chr(code) for code in range(0x10000) if pattern.fullmatch(chr(code)))
    return lambda dice: dice.random.choice(odd if odd and dice.random.random() < 0.05 else usual)
