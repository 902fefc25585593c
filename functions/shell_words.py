"""What a program does with its arguments: which ones start another program, and which are shells and interpreters."""

from __future__ import annotations

from typing import NamedTuple

Words = tuple[str | None, ...]
"""A program and its arguments; None for a word that only the shell knows, such as ``"$1"``."""


class _Wrapper(NamedTuple):
    """A program that runs another: its options that take a value, and how many words stand before that program."""

    valued: str = ""
    before: int = 0


_WRAPPERS = {
    "sudo": _Wrapper("-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot"),
    "doas": _Wrapper("-u -C -a"),
    "env": _Wrapper("-u -C -S --unset --chdir --split-string"),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(),
    "time": _Wrapper("-f -o --format --output"),
    "nice": _Wrapper("-n --adjustment"),
    "ionice": _Wrapper("-c -n -p --class --classdata"),
    "chrt": _Wrapper("-p -T -P -D", 1),
    "taskset": _Wrapper("", 1),
    "timeout": _Wrapper("-s -k --signal --kill-after", 1),
    "stdbuf": _Wrapper("-i -o -e --input --output --error"),
    "xargs": _Wrapper("-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --replace"),
    "parallel": _Wrapper("-j -a -I -N --jobs --arg-file"),
    "exec": _Wrapper("-a"),
    "command": _Wrapper(),
    "builtin": _Wrapper(),
    "coproc": _Wrapper(),
    "chroot": _Wrapper("--userspec --groups", 1),
    "unshare": _Wrapper("-S -G -w --wd"),
    "nsenter": _Wrapper("-t -S -G --target"),
    "strace": _Wrapper("-e -o -p -s -u -a -E -I -O -P -S"),
    "ltrace": _Wrapper("-e -o -p -s -u -n"),
    "watch": _Wrapper("-n -d --interval"),
    "flock": _Wrapper("-w -E --timeout", 1),
    "script": _Wrapper("-c -I -O -T -B -m -E -o --command"),
    "busybox": _Wrapper(),
    "toybox": _Wrapper(),
    "uv": _Wrapper("--project --directory"),
}
_SPLITS = {"env": ("-S", "--split-string"), "script": ("-c", "--command"), "flock": ("-c", "--command")}
"""Options of wrappers whose value is a command line."""
_RUNS = {"uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run"}
"""Programs that run another behind this word."""
SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"))
_FINDS = ("-exec", "-execdir", "-ok", "-okdir")
_IDLE = frozenset(
    ("-i", "-q", "-u", "-l", "-s", "-b", "-B", "-E", "-I", "-O", "--login", "--interactive", "--quiet", "-")
)


def name_of(program: str) -> str:
    """The name of a program without its folder."""
    return program.rstrip("/").rpartition("/")[2]


def is_bare(words: Words) -> bool:
    """Whether a program has no arguments but such as leave an interpreter waiting for input."""
    return all(word in _IDLE for word in words[1:])


def run_by(words: Words) -> list[Words]:
    """The programs that a program runs, with their arguments; none for one that runs no other."""
    name, arguments = name_of(words[0] or ""), words[1:]
    if name == "find":
        return [_until_end(arguments[place + 1 :]) for place, word in enumerate(arguments[:-1]) if word in _FINDS]
    if name in _RUNS:
        if _RUNS[name] not in arguments:
            return []
        arguments = arguments[arguments.index(_RUNS[name]) + 1 :]
    elif name not in _WRAPPERS:
        return []
    inner = _without_options(arguments, _WRAPPERS.get(name, _Wrapper()))
    return [inner] if inner else []


def lines_in(words: Words) -> list[str | None]:
    """The command lines that a program gets as an argument, as ``sh -c`` and ``eval`` do; None for one that is not known."""
    name, arguments = name_of(words[0] or ""), words[1:]
    if name == "eval":
        return [None if None in arguments else " ".join(str(word) for word in arguments)] if arguments else []
    if name in SHELLS:
        for place, word in enumerate(arguments):
            if word is None or not word.startswith("-"):
                return []
            if not word.startswith("--") and "c" in word:
                behind = [other for other in arguments[place + 1 :] if other is None or not other.startswith("-")]
                return behind[:1]
        return []
    options = _SPLITS.get(name, ())
    return [arguments[place + 1] for place, word in enumerate(arguments[:-1]) if word is not None and word in options]


def has_script(words: Words) -> bool:
    """Whether a shell is told what to run by its arguments, and not by its standard input."""
    return bool(lines_in(words)) or any(word is None or not word.startswith("-") for word in words[1:])


def _until_end(words: Words) -> Words:
    """The words up to ``;`` or ``+``, which end a command of `find`."""
    ends = [place for place, word in enumerate(words) if word in (";", "+")]
    return words[: ends[0]] if ends else words


def _without_options(words: Words, wrapper: _Wrapper) -> Words:
    """The words behind the options and assignments of a wrapper, and behind what stands before its program."""
    valued, place, before = wrapper.valued.split(), 0, wrapper.before
    while place < len(words):
        word = words[place]
        if word is None:
            break
        if word == "--":
            place += 1
        elif word.startswith("-") and len(word) > 1:
            place += 2 if word in valued else 1
        elif _is_assignment(word):
            place += 1
        elif before:
            before -= 1
            place += 1
        else:
            break
    return words[place:]


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()
