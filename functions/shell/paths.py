"""The paths that a command line names, as far as they can be read from it.

They say what a line is about, so that what is known of its folders can be shown. They are no guard: a line may work in
folders that it does not name, and a word may look like a path and be none.
"""

from __future__ import annotations

from functools import lru_cache
from posixpath import join, normpath

from engine.functions.compact import to_json
from engine.functions.lazy import lazy_regex
from engine.functions.limits import SHELL_LINE_CHARACTERS

from .words import SHELLS, name_of

_MOST = 200
_LONGEST = 1_000
_DEPTH = 3
"""Texts within texts that are read."""
_WORDS = 2_000
"""Words that are looked at, those of texts within texts included."""
_NOWHERE = "//root"
"""Where a line stands that has no root: no absolute path leads there."""
_HEREDOC = lazy_regex(r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w{0,80})\1([^\n]*)\n.*?(?:\n[ \t]*\2(?=\n|$)|\Z)", 16)
# a word is what stands between blanks, with its quotes and escapes
_TOKEN = lazy_regex(
    r"""[ \t]+ | \\\n | (?<![^\s;&|()])\#[^\n]* | (?P<end>[\n;&|]+) | (?P<open>\() | (?P<close>\)) | [<>]+&?
    | (?P<word>(?:[^ \t\n;&|()<>'"\\] | \\. | '[^']*'? | "(?:[^"\\] | \\.)*"?)+) | .""",
    16 | 64,
)
_QUOTED = lazy_regex(r"""\\(.)|'([^']*)'?|"((?:[^"\\]|\\.)*)"?""", 16)
_STRING_ESCAPE = lazy_regex(r"\\([$`\"\\\n])")
# where a path may begin within a word: --file=a/b, HEAD:a/b, a/b:c/d
_PARTS = lazy_regex(r"[=:,]")
# what only the shell knows, and patterns: the path ends with the folder before it
_UNKNOWN = lazy_regex(r"[$`*?\[{].*", 16)
_CHANGES_FOLDER = ("cd", "pushd", "chdir")


@lru_cache(maxsize=512)
def paths_of(line: str, root: str | None) -> str:
    """The paths below `root` that `line` names, as a JSON array of paths from there."""
    found = _Paths((root or _NOWHERE).rstrip("/"))
    found.read(line[:SHELL_LINE_CHARACTERS], found.root, runs=True, depth=0)
    return to_json(list(found.paths)[:_MOST])


class _Paths:
    def __init__(self, root: str) -> None:
        self.root = root
        self.paths: dict[str, None] = {}
        self._words_left = _WORDS

    def read(self, line: str, folder: str, *, runs: bool, depth: int) -> None:
        """Read a text that stands in `depth` others, from `folder` on; `runs` says whether a shell runs it."""
        behind: list[str] = []
        words: list[str] = []
        for token in _TOKEN.finditer(_HEREDOC.sub(r"\3\n", line)):
            if self._words_left <= 0:
                return
            if token["word"]:
                word = _plain(token["word"])
                self._word(word, words, folder, runs=runs, depth=depth)
                if runs and words and words[0] in _CHANGES_FOLDER and not word.startswith("-"):
                    folder = _from(folder, word)
                words.append(word)
            elif token["end"]:
                words = []
            elif token["open"]:
                behind.append(folder)
                words = []
            elif token["close"]:
                folder = behind.pop() if behind else folder
                words = []

    def _word(self, word: str, before: list[str], folder: str, *, runs: bool, depth: int) -> None:
        """Note the paths in a word of a command, behind those `before` it."""
        self._words_left -= 1
        if depth < _DEPTH and any(mark in word for mark in " \n\t('\""):
            self.read(word, folder, runs=any(name_of(each) in SHELLS for each in before[:20]), depth=depth + 1)
        for part in dict.fromkeys((word, *_PARTS.split(word))):
            known = _UNKNOWN.sub("", part)
            path = known if known == part else known.rpartition("/")[0]
            # a program has a slash where it is a file of the project
            if path and len(path) <= _LONGEST and path[0] not in "~-" and ("/" in part or (runs and before)):
                full = _from(folder, path)
                if full.startswith(self.root + "/"):
                    self.paths[full[len(self.root) + 1 :]] = None


def _from(folder: str, path: str) -> str:
    return normpath(join(folder, path)) if path and len(path) <= _LONGEST else folder


def _plain(word: str) -> str:
    """A word as a program gets it."""
    return _QUOTED.sub(lambda found: found[1] or found[2] or _STRING_ESCAPE.sub(r"\1", found[3] or ""), word)
