"""Reads a command line as a shell does: which programs it starts, with which arguments, and what stays unknown.

It is parsed by tree-sitter's grammar of bash, never run. What a line hides from it (a program named by a variable, a script
that another program prints) makes the line unreadable, which is said, so that a person is asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from engine.functions.compact import to_json
from engine.functions.lazy import lazy_regex
from engine.functions.limits import SHELL_LINE_CHARACTERS, SHELL_LINE_SECONDS
from engine.functions.sources.syntax import language, root_of

from .hiding import hides
from .named import MOST, names_in, names_in_input
from .quoting import Changed
from .scripts import scripts_of
from .tree import Around, Tree
from .waits import waits
from .words import (  # fmt: skip
    SHELLS,
    Words,
    behind_options,
    has_script,
    is_bare,
    joined,
    lines_in,
    may_move,
    name_of,
    plain_commands,
    run_by,
    sets_variables,
)

_DEPTH = 5
"""Command lines within command lines that are read."""
_PROGRAMS = 500
_ARGUMENTS = 10 * SHELL_LINE_CHARACTERS
"""Characters of the arguments of all programs together, counted twice where a subcommand stands behind options: what stands
behind several programs counts for each of them."""
_PLAIN_TEXT = lazy_regex(r"""(?:[^'"\\$`<>*?\[~{]|\\[^\n]|'[^']*'|"(?:[^"\\$`]|\\[$`"\\])*")*""")
_JOINED = lazy_regex(r"[^ \t\n]\\\n[^ \t\n]")
"""A word that goes on in the next line, which the grammar takes for two."""
_SETS_EDITOR = lazy_regex(r"(?:\b[A-Z_]*EDITOR|(?:core|sequence)\.editor)=")
_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
_COPIERS = ("cat", "tee", "dd", "tac", "sponge", "envsubst")
"""Programs that write their standard input as it is."""


def shell_read(line: str | None) -> str | None:
    """What a command line does, as a JSON object; NULL for NULL.

    `programs` are those that it starts, in order, those inside of substitutions, functions, ``sh -c`` and behind `sudo`,
    `env` and the like included: `program` (its name without its folder), `path` (with it; null where none is named),
    `scripts` (the files that it runs: itself where it has a folder, and the script of a shell or an interpreter),
    `arguments` (joined by blanks), `behind` (those from its subcommand on, where these are others), `bare` (1: no arguments
    that give it something to do, and nothing on its standard input), `waits` (1: by them it waits for a person at a
    terminal). `maybe` are programs that it may start besides: names in code, in assignments, and among the arguments of a
    program that may start what they name; each has its `program` and the `arguments` behind it, both null where the line
    cannot be read. `writes` are the files that
    the text of a heredoc is written to. `readable` is 0 where a program or a script is not known from the text, or where it
    is no valid line. `plain` is 1 for commands, lists, pipelines and subshells of which the shell changes no word: no
    expansion, redirection, assignment, comment, loop or function. `stays` is 1 where each program is started in the folder
    of the line itself.
    """
    return None if line is None else _read(line)


def shell_paths(line: str | None, root: str | None) -> str | None:
    """The paths below the folder `root` that a command line names, as a JSON array, each from there; at most 200.

    Words are read as a shell reads them, also behind `=` and `:`, and in the text that another shell is given; of other
    texts in quotes what has a slash. They count from the folder that `cd` has led to. Of a pattern, and of a word that only
    the shell knows, the folder before it is taken. NULL for NULL; `root` NULL: there are no absolute paths.
    """
    if line is None:
        return None
    from .paths import paths_of  # only for projects with instructions in folders

    return paths_of(line, root)


@lru_cache(maxsize=64)
def _read(line: str) -> str:
    reading = _Reading()
    reading.line(line, fed=False, depth=0)
    return to_json(
        {
            "readable": int(reading.readable),
            "plain": int(reading.plain and reading.readable),
            "stays": int(reading.stays and reading.readable),
            "programs": reading.programs,
            "maybe": reading.maybe(),
            "writes": reading.writes,
        }
    )


class _Reading:
    def __init__(self) -> None:
        self.readable = True
        self.plain = True
        self.stays = True
        self.programs: list[dict[str, Any]] = []
        self.writes: list[str] = []
        self._named: dict[tuple[str, str], None] = {}
        self._room = _ARGUMENTS
        self._sets_editor = False

    def line(self, line: str, *, fed: bool, depth: int) -> None:
        """Read a command line that stands in `depth` others."""
        grammar = language("tree_sitter_bash")
        if grammar is None or depth > _DEPTH or len(line) > SHELL_LINE_CHARACTERS or "\0" in line:
            self.readable = False
            return
        if _JOINED.search(line) or any(mark.isspace() and mark not in " \t\n" for mark in line):
            # the grammar ends a word there, and a shell does not
            self.readable = False
        if not line.replace("\n", " ").replace("\t", " ").isprintable() or not _PLAIN_TEXT.fullmatch(line):
            self.plain = False
        self._sets_editor = self._sets_editor or bool(_SETS_EDITOR.search(line))
        source = line.encode(errors="replace")
        root = root_of(grammar, source, SHELL_LINE_SECONDS)
        if root is None or root.has_error:
            self.readable = False
        if root is not None:
            read = Tree(self, source, depth)
            read.walk(root, fed)
            if self.plain and read.commands != plain_commands(line):
                # two readers that differ: one of them is wrong
                self.plain = False

    def name(self, found: Iterable[tuple[str, str]]) -> None:
        """Note programs that the line may start."""
        for each in found:
            if len(self._named) >= MOST:
                self.readable = False
                return
            self._named[each] = None

    def maybe(self) -> list[dict[str, str | None]]:
        """The programs that the line may start, besides those that it is known to start."""
        known = {(each["program"], each["arguments"]) for each in self.programs}
        named: list[tuple[str | None, str | None]] = [each for each in self._named if each not in known]
        found = named if self.readable else [(None, None), *named]
        return [{"program": name, "arguments": rest} for name, rest in found]

    def program(self, words: Words, around: Around, depth: int) -> None:
        """Note a program and those that it runs."""
        program = words[0]
        name = name_of(program or "")
        if program is None or isinstance(program, Changed) or len(self.programs) >= _PROGRAMS or depth > _DEPTH:
            self.readable = False
            return
        if hides(words, fed=around.fed, heredoc=around.heredoc):
            self.readable = False
        arguments = joined(words[1:])
        behind = joined(behind_options(name, words[1:]))
        self._room -= len(arguments) + len(behind)
        if self._room < 0:
            self.readable = False
            return
        self.programs.append(
            {
                "program": name,
                "arguments": arguments,
                "behind": None if behind == arguments else behind,
                "bare": int(is_bare(words) and not around.fed),
                "waits": int(waits(words, fed=around.fed, sets_editor=self._sets_editor)),
                "path": program if "/" in program else None,
                "scripts": scripts_of(words),
            }
        )
        self.name(names_in(words))
        if around.heredoc:
            self.name(names_in_input(words, around.heredoc))
        if around.heredoc and name in _COPIERS:
            named = [word for word in words[1:] if word and not word.startswith("-")] if name == "tee" else []
            self.writes += [file for file in (*around.files, *named) if file not in _NOWHERE]
        if sets_variables(words):
            self.plain = False
        if may_move(name):
            self.stays = False
        for inner in run_by(words):
            if self._room < 0:
                break
            self.program(inner, around._replace(fed=around.fed or name in ("xargs", "parallel")), depth + 1)
        for line in lines_in(words):
            if line is None:
                self.readable = False
            else:
                self.line(line, fed=around.fed, depth=depth + 1)
        if name in SHELLS and around.fed and not has_script(words):
            # what it runs comes by its standard input
            if around.heredoc and not around.is_changed:
                self.line(around.heredoc, fed=True, depth=depth + 1)
            else:
                self.readable = False
