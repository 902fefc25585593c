"""Keywords in a prompt: which of many words a text holds, in one pass over it, and which star-commands.

Words are literal; letter case does not count, by Unicode's case folding. All words of a set are found at once, with the
automaton of Aho and Corasick: its states are the beginnings of words, and each character of the text leads from one to the
next. A state learns where a character leads when it is first asked; then a step is one look into a dictionary.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from operator import getitem

from engine.functions.lazy import lazy_regex

KEYWORD_SETS = 8
"""How many sets of words are kept ready."""
READ_CHARACTERS = 200_000
"""After so many characters a set forgets what it has learned, which is at most a step for each of them."""

_STAR = lazy_regex(r"\*([a-zA-Z]\w*)", re.ASCII)
_STAR_APART = lazy_regex(r"(?<!\S)\*([a-zA-Z]\w*)", re.ASCII)
_PATH = lazy_regex(r"[^\s\"'`<>()\[\]{},;|*?]+")
# a line and a column behind it
_PLACE = lazy_regex(r":\d+(?::\d+)?$")
_LOOKS_LIKE_ONE = lazy_regex(r"\w[/.]\w|^\.\w")
_PATH_CHARACTERS = 512
_PATHS = 200


def keywords_find(text: str | None, words: str | None, whole: int | None) -> str | None:
    """The lines of `words` that `text` holds, as a JSON array in their order.

    Letter case does not count (Unicode's case folding); white space around a word does not belong to it, and a blank one
    is never found. With `whole` 1 no letter, digit or underscore may stand beside the word.
    """
    if text is None or words is None:
        return None
    return json.dumps(_known(words).found_in(text.casefold(), whole=bool(whole)), ensure_ascii=False)


def star_commands(text: str | None, strict: int | None) -> str | None:
    """The names behind a `*` in `text`, in lower case, as a JSON array; each once, in their order.

    A name is an ASCII letter and more letters, digits and underscores. With `strict` 1 white space stands before the `*`.
    """
    if text is None:
        return None
    pattern = _STAR_APART if strict else _STAR
    return json.dumps(list(dict.fromkeys(name.lower() for name in pattern.findall(text))))


def paths_named(text: str | None) -> str | None:
    """What `text` names that looks like the path of a file, as a JSON array: each once, at most 200.

    A path has a slash or a dot inside, as `src/main` and `notes.md`; punctuation around it does not belong to it.
    """
    if text is None:
        return None
    return json.dumps(list(dict.fromkeys(_paths(text)))[:_PATHS], ensure_ascii=False)


def _paths(text: str) -> Iterator[str]:
    for found in _PATH.finditer(text):
        path = _PLACE.sub("", found[0].rstrip(".:!")).removeprefix("./")
        if len(path) <= _PATH_CHARACTERS and "://" not in path and _LOOKS_LIKE_ONE.search(path):
            yield path


class _State(dict[str, "_State"]):
    """A beginning of words: where each character leads. `back` is the longest end of it that is a beginning too."""

    __slots__ = ("back", "shorter", "words")
    # states are themselves, whatever they lead to
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __init__(self) -> None:
        self.back: _State | None = None
        self.words: list[int] = []
        """The words that end here."""
        self.shorter: _State | None = None
        """The longest end of this beginning at which words end."""

    def __missing__(self, character: str) -> _State:
        self[character] = found = _next(self, character)
        return found


def _next(state: _State, character: str) -> _State:
    """Where a character leads: on from the longest end of this beginning that it continues, else to the root."""
    while state.back is not None and character not in state:
        state = state.back
    return state.get(character, state)


class _Words:
    """A set of words, ready to be found."""

    def __init__(self, words: str) -> None:
        self._words = words.split("\n")
        self._folded = [word.strip().casefold() for word in self._words]
        self._root = self._automaton()
        self._read = 0

    def found_in(self, folded: str, *, whole: bool) -> list[str]:
        """The words that a folded text holds."""
        self._read += len(folded)
        if self._read > READ_CHARACTERS:
            self._root, self._read = self._automaton(), len(folded)
        passed = set(accumulate(folded, getitem, initial=self._root))
        found = sorted({number for state in _ends(passed) for number in state.words})
        if whole:
            found = [n for n in found if re.search(rf"(?<!\w){re.escape(self._folded[n])}(?!\w)", folded)]
        return [self._words[number] for number in found]

    def _automaton(self) -> _State:
        root = _State()
        for number, word in enumerate(self._folded):
            state = root
            for character in word:
                if character not in state:
                    state[character] = _State()
                state = state[character]
            if word:
                state.words.append(number)
        waiting = deque((root, *step) for step in root.items())
        while waiting:
            parent, character, state = waiting.popleft()
            waiting.extend((state, *step) for step in state.items())
            state.back = root if parent.back is None else _next(parent.back, character)
            state.shorter = state.back if state.back.words else state.back.shorter
        return root


def _ends(passed: set[_State]) -> Iterator[_State]:
    """The states at which words end among those that were passed and their ends, each once."""
    seen: set[_State] = set()
    for state in passed:
        end = state if state.words else state.shorter
        while end is not None and end not in seen:
            seen.add(end)
            yield end
            end = end.shorter


@lru_cache(maxsize=KEYWORD_SETS)
def _known(words: str) -> _Words:
    return _Words(words)
