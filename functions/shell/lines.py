"""Reads a command line as a shell does: which programs it starts, with which arguments, and what stays unknown.

It is parsed by tree-sitter's grammar of bash, never run. What a line hides from it (a program named by a variable, a script
that another program prints) makes the line unreadable, which is said, so that a person is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from engine.functions.compact import to_json
from engine.functions.lazy import lazy_regex
from engine.functions.limits import SHELL_LINE_CHARACTERS, SHELL_LINE_SECONDS
from engine.functions.sources.syntax import language, root_of

from .quoting import source_of, text_of
from .scripts import scripts_of
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
_PLAIN_NODES = frozenset(
    (
        "program", "list", "pipeline", "subshell", "command", "command_name", "word", "number",
        "concatenation", "string", "string_content", "raw_string",
    )
)  # fmt: skip
"""What a plain line is made of: a name that is missing here, such as that of a loop, may set a variable such as PATH."""
_PLAIN_TEXT = lazy_regex(r"""(?:[^'"\\$`<>*?\[~{]|\\[^\n]|'[^']*'|"(?:[^"\\$`]|\\[$`"\\])*")*""")
_BLANK = lazy_regex(r"(?<!\\)[ \t\n]")
_JOINED = lazy_regex(r"[^ \t\n]\\\n[^ \t\n]")
"""A word that goes on in the next line, which the grammar takes for two."""
_SETS_EDITOR = lazy_regex(r"(?:\b[A-Z_]*EDITOR|(?:core|sequence)\.editor)=")
_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
_COPIERS = ("cat", "tee", "dd", "tac", "sponge", "envsubst")
"""Programs that write their standard input as it is."""
_REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")


def shell_read(line: str | None) -> str | None:
    """What a command line does, as a JSON object; NULL for NULL.

    `programs` are those that it starts, in order, those inside of substitutions, functions, ``sh -c`` and behind `sudo`,
    `env` and the like included: `program` (its name without its folder), `path` (with it; null where none is named),
    `scripts` (the files that it runs: itself where it has a folder, and the script of a shell or an interpreter),
    `arguments` (joined by blanks), `behind` (those from its subcommand on, where these are others), `bare` (1: no arguments
    that give it something to do, and nothing on its standard input), `waits` (1: by them it waits for a person at a
    terminal). `writes` are the files that the text of a heredoc is written to. `readable` is 0 where a program or a script
    is not known from the text, or where it is no valid line. `plain` is 1 for commands, lists, pipelines and subshells of
    which the shell changes no word: no expansion, redirection, assignment, comment, loop or function. `stays` is 1 where
    each program is started in the folder of the line itself.
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
            read = _Line(self, source, depth)
            read.walk(root, fed)
            if self.plain and read.commands != plain_commands(line):
                # two readers that differ: one of them is wrong
                self.plain = False

    def program(self, words: Words, around: _Around, depth: int) -> None:
        """Note a program and those that it runs."""
        program = words[0]
        if program is None or len(self.programs) >= _PROGRAMS or depth > _DEPTH:
            self.readable = False
            return
        name = name_of(program)
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
            if around.heredoc:
                self.line(around.heredoc, fed=True, depth=depth + 1)
            else:
                self.readable = False


class _Around(NamedTuple):
    """What a command gets from around it: whether its standard input holds something, the text of a heredoc that it holds,
    and the files to which its standard output goes.
    """

    fed: bool
    heredoc: str = ""
    files: tuple[str, ...] = ()


class _Line:
    """The tree of one command line."""

    def __init__(self, reading: _Reading, source: bytes, depth: int) -> None:
        self._reading = reading
        self._bytes = source
        self._depth = depth
        self.commands: list[list[str]] = []
        """The words of each command as they are written, those inside of strings excepted."""

    def walk(self, root: Any, fed: bool) -> None:
        """Look at every node below `root`; `fed` says whether its standard input is a pipe, a file or a heredoc."""
        below = [(root, _Around(fed))]
        while below:
            node, around = below.pop()
            kind = node.type
            if kind == "word" and _BLANK.search(source_of(self._bytes, node)):
                # a backslash at the beginning of a line: the grammar takes it for the line before
                self._reading.readable = False
            if kind not in _PLAIN_NODES:
                self._reading.plain = False
            if kind == "command":
                self._command(node, around)
            elif kind == "redirected_statement":
                around = self._redirected(node, around)
            elif kind == "heredoc_redirect":
                # what is piped behind the heredoc stands inside of it
                around = around._replace(fed=True, heredoc=self._heredoc(node))
            elif kind.endswith("_substitution"):
                around = _Around(False)
            children = [
                (child, around._replace(fed=True) if kind == "pipeline" and place else around)
                for place, child in enumerate(node.named_children)
            ]
            below += reversed(children)

    def _command(self, node: Any, around: _Around) -> None:
        words = tuple(self._words(node))
        self.commands.append([source_of(self._bytes, child) for child in node.named_children])
        if any(self._feeds(child) for child in node.named_children):
            around = around._replace(fed=True)
        if words:
            self._reading.program(words, around, self._depth)

    def _redirected(self, statement: Any, around: _Around) -> _Around:
        """What the command of a statement with redirections gets."""
        redirects = list(statement.named_children)
        for child in statement.named_children:
            if child.type == "heredoc_redirect":
                redirects += child.named_children
                around = around._replace(heredoc=self._heredoc(child))
        if any(self._feeds(redirect) for redirect in redirects):
            around = around._replace(fed=True)
        files = [self._written(redirect) for redirect in redirects if redirect.type == "file_redirect"]
        return around._replace(files=(*around.files, *(file for file in files if file)))

    def _written(self, redirect: Any) -> str | None:
        """The file that a redirection writes to; None for one that reads, or that leads to another descriptor."""
        operator = next((child.type for child in redirect.children if not child.is_named), "")
        target = redirect.child_by_field_name("destination")
        if ">" not in operator or operator == ">&" or target is None:
            return None
        return text_of(self._bytes, target) or source_of(self._bytes, target)

    def _words(self, command: Any) -> Iterator[str | None]:
        for child in command.children:
            if child.type == "command_name":
                yield from (text_of(self._bytes, each) for each in child.named_children[:1])
            elif child.is_named and child.type not in (*_REDIRECTS, "variable_assignment", "comment"):
                yield text_of(self._bytes, child)

    def _feeds(self, node: Any) -> bool:
        """Whether a redirection gives the standard input something to read."""
        return node.type in ("heredoc_redirect", "herestring_redirect") or (
            node.type == "file_redirect" and source_of(self._bytes, node).lstrip("0").startswith("<")
        )

    def _heredoc(self, redirect: Any) -> str:
        """The text of a heredoc, a blank where it is empty."""
        bodies = (child for child in redirect.named_children if child.type == "heredoc_body")
        return next((source_of(self._bytes, body) for body in bodies), "") or " "
