"""The tree of a command line: its commands with their words, what each is fed with, and where it writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from engine.functions.lazy import lazy_regex

from .hiding import evaluates, is_hidden_in
from .named import Name, tokens
from .quoting import source_of, text_of
from .words import Words

_PLAIN_NODES = frozenset(
    (
        "program", "list", "pipeline", "subshell", "command", "command_name", "word", "number",
        "concatenation", "string", "string_content", "raw_string",
    )
)  # fmt: skip
"""What a plain line is made of: a name that is missing here, such as that of a loop, may set a variable such as PATH."""
_BLANK = lazy_regex(r"(?<!\\)[ \t\n]")
_PROMPT = lazy_regex(r"@[PAEKk]\}$")
"""An expansion that evaluates the value of a variable."""
_QUOTE = lazy_regex(r"['\"\\]")
_TEXTS = ("raw_string", "ansi_c_string", "string_content", "word")
_HEREDOC = ("heredoc_start", "heredoc_body", "heredoc_end")
_WORDS = (
    "word",
    "number",
    "string",
    "raw_string",
    "ansi_c_string",
    "translated_string",
    "concatenation",
    "expansion",
    "simple_expansion",
    "command_substitution",
    "process_substitution",
    "arithmetic_expansion",
    "brace_expression",
)
_REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")


class Around(NamedTuple):
    """What a command gets from around it: whether its standard input holds something, the text of a heredoc that it holds,
    and the files to which its standard output goes.
    """

    fed: bool
    heredoc: str = ""
    files: tuple[str, ...] = ()
    is_changed: bool = False
    """Whether the shell takes backslashes out of the heredoc, so that its text is not what is read."""


class Reading(Protocol):
    """What is known of a line so far."""

    readable: bool
    plain: bool

    def program(self, words: Words, around: Around, depth: int) -> None:
        """Note a program."""

    def name(self, found: Iterable[Name]) -> None:
        """Note programs that the line may start."""


class Tree:
    """The tree of one command line."""

    def __init__(self, reading: Reading, source: bytes, depth: int) -> None:
        self._reading = reading
        self._bytes = source
        self._depth = depth
        self._behind: dict[int, list[str | None]] = {}
        """Words of a command that stand behind a redirection."""
        self.commands: list[list[str]] = []
        """The words of each command as they are written, those inside of strings excepted."""

    def walk(self, root: Any, fed: bool) -> None:
        """Look at every node below `root`; `fed` says whether its standard input is a pipe, a file or a heredoc."""
        below = [(root, Around(fed))]
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
                around = self._fed_by(node, around)._replace(fed=True)
            elif kind == "herestring_redirect":
                self._reading.name(tokens(source_of(self._bytes, node)))
            elif kind.endswith("_substitution"):
                around = Around(False)
            elif kind == "variable_assignment":
                self._assigned(node)
            elif kind in ("declaration_command", "unset_command", "test_command"):
                self._evaluated(node)
            elif kind == "expansion" and _PROMPT.search(source_of(self._bytes, node)):
                self._reading.readable = False
            children = [
                (child, around._replace(fed=True) if kind == "pipeline" and place else around)
                for place, child in enumerate(node.named_children)
            ]
            below += reversed(children)

    def _command(self, node: Any, around: Around) -> None:
        words = (*self._words(node), *self._behind.pop(node.id, ()))
        self.commands.append([source_of(self._bytes, child) for child in node.named_children])
        if any(self._feeds(child) for child in node.named_children):
            around = around._replace(fed=True)
        if words:
            self._reading.program(words, around, self._depth)

    def _redirected(self, statement: Any, around: Around) -> Around:
        """What the command of a statement with redirections gets."""
        redirects = list(statement.named_children)
        for child in statement.named_children:
            if child.type == "heredoc_redirect":
                redirects += child.named_children
                around = self._fed_by(child, around)
        if any(self._feeds(redirect) for redirect in redirects):
            around = around._replace(fed=True)
        self._keep_words(statement, redirects)
        files = [self._written(redirect) for redirect in redirects if redirect.type == "file_redirect"]
        return around._replace(files=(*around.files, *(file for file in files if file)))

    def _keep_words(self, statement: Any, redirects: list[Any]) -> None:
        """Keep the words that stand behind a redirection for the command before it; the grammar takes them for targets."""
        more = [
            text_of(self._bytes, word)
            for redirect in redirects
            if redirect.type in _REDIRECTS
            for word in _words_behind(redirect)
        ]
        body = statement.child_by_field_name("body")
        if more and body is not None and body.type == "command":
            self._behind[body.id] = more
        elif more:
            self._reading.readable = False

    def _assigned(self, assignment: Any) -> None:
        name, value = (assignment.child_by_field_name(field) for field in ("name", "value"))
        text = "" if value is None else text_of(self._bytes, value) or source_of(self._bytes, value)
        if name is not None and is_hidden_in(source_of(self._bytes, name), text):
            self._reading.readable = False
        self._reading.name(tokens(text))

    def _evaluated(self, command: Any) -> None:
        """Look into the texts that a command may take for names of variables."""
        below = list(command.named_children)
        while below:
            node = below.pop()
            if node.type in _TEXTS and evaluates(source_of(self._bytes, node)):
                self._reading.readable = False
            if not node.type.endswith("_substitution"):
                below += node.named_children

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

    def _fed_by(self, redirect: Any, around: Around) -> Around:
        """What a command with a heredoc gets."""
        text = self._heredoc(redirect)
        start = next((child for child in redirect.named_children if child.type == "heredoc_start"), None)
        is_quoted = start is not None and _QUOTE.search(source_of(self._bytes, start))
        return around._replace(heredoc=text, is_changed=not is_quoted and "\\" in text)

    def _heredoc(self, redirect: Any) -> str:
        """The text of a heredoc, a blank where it is empty."""
        bodies = (child for child in redirect.named_children if child.type == "heredoc_body")
        return next((source_of(self._bytes, body) for body in bodies), "") or " "


def _words_behind(redirect: Any) -> list[Any]:
    """The words of a redirection that are none of its own: a shell takes them for arguments of the command before it."""
    words = [
        child for child in redirect.named_children if child.type not in ("file_descriptor", *_HEREDOC, *_REDIRECTS)
    ]
    if redirect.type == "heredoc_redirect":
        return [word for word in words if word.type in _WORDS]
    return words[1:]
