"""The programs that a line may start although it is not known to: names in code, in assignments, and among the arguments of
programs that may start what these name.

A policy of a person counts for them too, so that a program which is refused is not started by another one.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.functions.lazy import lazy_regex

from .hiding import SCRIPTED
from .scripts import is_interpreter
from .words import SHELLS, Words, behind_options, name_of, run_by
from .wrappers import JOINS, wrapper_of

MOST = 200
"""Names of one line; a line with more cannot be read."""
_REST = 200
"""Characters behind a name that count as its arguments."""
_TOKEN = lazy_regex(r"[\w.+@/-]+")
_IS_LINE = lazy_regex(r"[\s;&|()<>`$'\",]")
_QUOTES = lazy_regex(r"['\"\\]")
_GIT_RUNS = frozenset(
    (
        "bisect",
        "config",
        "difftool",
        "filter-branch",
        "mergetool",
        "rebase",
        "submodule",
        "var",
        "send-email",
        "archive",
    )
)
"""Subcommands of git that start what their arguments name."""
_HARMLESS = """
    : [ [[ test true false echo printf cat tac ls dir grep egrep fgrep zgrep rg ag ack head tail wc uniq cut tr paste join
    comm cmp diff cd pwd pushd popd mkdir rmdir rm cp mv ln touch chmod chown chgrp stat file du df tree which type whereis
    man help info apropos date cal seq basename dirname realpath readlink sha1sum sha256sum sha512sum md5sum cksum base64
    base32 xxd od hexdump strings jq yq tee sponge sleep ps kill pgrep pkill pidof lsof id whoami groups uname hostname
    export declare typeset local readonly unset read let set shopt ulimit umask wait jobs exit return break continue shift
    alias unalias history pip pip2 pip3 apt apt-get apt-cache aptitude dpkg dpkg-query rpm dnf yum apk brew pacman snap gem
    cpan luarocks npm pnpm yarn conda mamba poetry pipenv pdm uv cargo go rustc gcc g++ cc c++ clang clang++ ld ar nm objdump
    tsc eslint prettier ruff black isort flake8 mypy pyright pylint pytest gofmt rustfmt shellcheck hadolint sqlfluff zip
    unzip gzip gunzip bzip2 xz zstd cksum iconv dos2unix unix2dos fmt fold nl expand column rev shuf sqlite3 curl wget http
    ping dig host nslookup getent mktemp truncate fallocate sync lsblk free uptime dmesg nproc arch locale
    tput clear reset sum split csplit pr expr bc dc factor numfmt printenv tsort unexpand yes
"""
_STARTS_NONE = frozenset(_HARMLESS.split())
"""Programs that start none that their arguments name; where some do behind a word such as `run`, that is read elsewhere."""

Name = tuple[str, str]
"""The name of a program that may be started, and what stands behind it."""


def names_in(words: Words) -> Iterator[Name]:
    """The names among the arguments of a program that it may start."""
    name, arguments = name_of(words[0] or ""), words[1:]
    if name in _STARTS_NONE or name in SHELLS or name in JOINS or name == "find":
        return
    if name == "git":
        arguments = _arguments_of_git(arguments)
    elif name in SCRIPTED:
        return  # what of its script starts programs is not read at all
    elif wrapper_of(name) is not None:
        arguments = _own_words(words)
    code = is_interpreter(name)
    for place, word in enumerate(arguments):
        if word is None:
            continue
        if code or _IS_LINE.search(word):
            yield from tokens(word)
        else:
            rest = " ".join("\ufffd" if each is None else each for each in arguments[place + 1 : place + 40])
            yield from _names_of(word.rpartition("=")[2], rest[:_REST])


def names_in_input(words: Words, text: str) -> Iterator[Name]:
    """The names in a text that a program gets as its standard input, if it may start them."""
    name = name_of(words[0] or "")
    if not (name in _STARTS_NONE or name in SHELLS):
        yield from tokens(text)


def tokens(text: str) -> Iterator[Name]:
    """Every word of a text that may be the name of a program, with the words behind it; also those that quotes hide."""
    for each in dict.fromkeys((text, _QUOTES.sub("", text))):
        for found in _TOKEN.finditer(each):
            rest = " ".join(_TOKEN.findall(each[found.end() : found.end() + _REST]))
            yield from _names_of(found[0], rest)


def _names_of(word: str, rest: str) -> Iterator[Name]:
    """A program as it is written, and without its folder."""
    yield name_of(word), rest
    if "/" in word:
        yield word, rest


def _arguments_of_git(arguments: Words) -> Words:
    """Of git, what may name a program: the values of ``-c``, and the arguments of subcommands that run commands."""
    behind = behind_options("git", arguments)
    before = arguments[: len(arguments) - len(behind)]
    if behind[:1] and behind[0] in _GIT_RUNS:
        return (*before, *behind[1:])
    return (
        *before,
        *(each for each in behind if each and each.startswith(("--exec", "--upload-pack", "--receive-pack", "-O"))),
    )


def _own_words(words: Words) -> Words:
    """The words of a wrapper before the program that it runs; all of them, if an option is none that is known."""
    inner = next(run_by(words), ())
    if not inner:
        return ()
    wrapper = wrapper_of(name_of(words[0] or ""))
    assert wrapper is not None, "it runs another program"
    own = words[1 : len(words) - len(inner)]
    known = {*wrapper.valued.split(), *wrapper.flags.split(), "--", "!"}
    if all(word is None or not word.startswith("-") or _is_known(word, known) for word in own):
        return tuple(each for each in own if each and "=" in each)
    return words[1:]


def _is_known(option: str, known: set[str]) -> bool:
    """Whether an option is one of these, alone, with its value, or letters that are written together."""
    if option.startswith("--"):
        return option.partition("=")[0] in known
    return option in known or option[:2] in known or option[1:].isdigit()
