"""What a folder of rules says, whatever its format, and how its files are read."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from engine.errors import Conflict
from engine.system.durable import held_folder, open_regular

FILE_BYTES = 1_000_000
"""The largest file of rules that is read."""
RULE_CHARACTERS = 2_000
RULES = 200
WORD_CHARACTERS = 200
WORDS = 500
DOMAINS = 500
"""How long a rule and a word may be; how many rules, and words of a kind, a domain may have; how many domains a set may."""

STAR_COMMAND = re.compile(r"[a-z][a-z0-9_]{0,59}")
"""The name of a star-command."""

_ODD = re.compile(r"[^a-z0-9_-]+")


@dataclass
class Domain:
    """A domain as a file describes it; `file` is what people are told that its rules came from."""

    name: str
    is_active: bool = True
    always_on: bool = False
    recall: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    file: str | None = None
    whole_words: bool = False


@dataclass
class StarCommand:
    """A star-command as a file describes it."""

    name: str
    description: str = ""
    rules: list[str] = field(default_factory=list)


@dataclass
class Bracket:
    """What a file says of a bracket; None: nothing."""

    name: str
    after_prompts: int | None = None
    is_enabled: bool = True
    rules: list[str] = field(default_factory=list)


@dataclass
class Found:
    """A set of rules as it was read. `warnings` are sentences about what was left out."""

    source: str
    domains: list[Domain] = field(default_factory=list)
    star_commands: list[StarCommand] = field(default_factory=list)
    brackets: list[Bracket] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    devmode: bool = False
    stars_on: bool = True
    brackets_on: bool = True
    basis: str = "prompts"
    warnings: list[str] = field(default_factory=list)
    place: Path | None = None
    """The folder or the file on the disk; None for what is no file of a person."""
    files: dict[str, Stamp | None] = field(default_factory=dict)
    """The files that were read, by their paths; None for one that is not there."""
    rules_only: bool = False
    """Whether it is a single file, which says nothing but rules."""


class Stamp(NamedTuple):
    """How a file was when it was read: time in nanoseconds, bytes, SHA-256 of its text."""

    mtime_ns: int
    size: int
    sha256: str


class Folder:
    """A folder of rules: its files are read whole, none outside of it, and no link is followed."""

    def __init__(self, place: Path, shown: str) -> None:
        self.place = place
        self.shown = shown
        """The folder as people are told of it."""
        self.files: dict[str, Stamp | None] = {}
        """The files that were asked for."""

    def named(self, path: str) -> str:
        """A file of the folder as people are told of it."""
        return f"{self.shown}/{path}" if self.shown else path

    def text(self, path: str) -> str:
        """The text of a file of the folder; raises `OSError` where it cannot be read, `ValueError` where it may not be."""
        parts = PurePosixPath(path).parts
        if not parts or parts[0] == "/" or ".." in parts:
            raise ValueError("it is outside the folder")
        self.files[str(self.place / path)] = None
        with held_folder(self.place, parts[:-1]) as folder, open_regular(parts[-1], folder) as file:
            status, data = os.fstat(file.fileno()), file.read(FILE_BYTES + 1)
        self.files[str(self.place / path)] = Stamp(status.st_mtime_ns, status.st_size, hashlib.sha256(data).hexdigest())
        if len(data) > FILE_BYTES:
            raise ValueError(f"it has more than {FILE_BYTES:,} bytes")
        return data.decode("utf-8-sig")

    def optional(self, path: str, found: Found, instead: str) -> str | None:
        """The text of a file that may be missing, None where it is; a warning says why it cannot be read otherwise."""
        try:
            return self.text(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            found.warnings.append(f"{self.named(path)}: cannot be read, {why(error)}; {instead}")
            return None

    def needed(self, path: str) -> str:
        """The text of a file without which the folder says nothing; raises `Conflict` (409) where it cannot be read."""
        try:
            return self.text(path)
        except (OSError, ValueError) as error:
            raise Conflict(f"{self.named(path)}: cannot be read, {why(error)}") from error


def why(error: OSError | ValueError) -> str:
    """Why a file could not be read, as the end of a sentence."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return (error.strerror or "it cannot be opened") if isinstance(error, OSError) else str(error)


def domain_name(text: str, where: str) -> str:
    """The name of a domain for what a file calls it; raises `Conflict` (409) where nothing is left of it."""
    name = _ODD.sub("-", text.strip().lower()).strip("-_")[:60]
    if not name:
        raise Conflict(f"{where}: {text[:60]!r} is not a valid name for a domain; use letters, digits, - and _")
    return name


def kept_rules(rules: list[str], where: str, found: Found) -> list[str]:
    """The rules that can be kept; a warning says which cannot."""
    lines = [" ".join(rule.split()) for rule in rules]
    short = [line for line in lines if 0 < len(line) <= RULE_CHARACTERS and "\0" not in line]
    if len(short) < len(rules):
        found.warnings.append(
            f"{where}: {len(rules) - len(short)} left out; a rule must be a text of 1 to {RULE_CHARACTERS:,} characters"
        )
    if len(short) > RULES:
        found.warnings.append(f"{where}: the first {RULES} of {len(short)} rules are imported")
    return short[:RULES]


def kept_words(words: list[str], where: str, found: Found) -> list[str]:
    """The words that can be kept, each once and without white space around it; a warning says which cannot."""
    named = list(dict.fromkeys(word.strip() for word in words if word.strip()))
    kept = [word for word in named if len(word) <= WORD_CHARACTERS and word.isprintable()]
    if len(kept) < len(named):
        found.warnings.append(
            f"{where}: {len(named) - len(kept)} left out, a word is one line of up to {WORD_CHARACTERS} characters"
        )
    if len(kept) > WORDS:
        found.warnings.append(f"{where}: the first {WORDS} of {len(kept)} words are imported")
    return kept[:WORDS]
