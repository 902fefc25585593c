"""What a program does with its arguments: which ones start another program, and which are shells and interpreters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

Words = tuple[str | None, ...]
"""A program and its arguments; None for a word that only the shell knows, such as ``"$1"``."""

_PLAIN_ENDS = lazy_regex(r"[\n;&|()]+")
_PLAIN_WORD = lazy_regex(r"""(?:[^ \t\n;&|()'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+|[\n;&|()]+""", 16)


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
    "flock": _Wrapper("-w -E --timeout", 1),
    "runuser": _Wrapper("-u -g -G -c -s -w --user --group --supp-group --command --shell --whitelist-environment"),
    "busybox": _Wrapper(),
    "toybox": _Wrapper(),
    "uv": _Wrapper("-p --project --directory --with --python --extra --group --package --env-file"),
}
_JOINS = {"eval": _Wrapper(), "watch": _Wrapper("-n --interval")}
"""Programs that run their arguments, joined by blanks, as a command line."""
_SPLITS = {
    "env": ("-S", "--split-string"),
    "script": ("-c", "--command"),
    "flock": ("-c", "--command"),
    "su": ("-c", "--command"),
    "runuser": ("-c", "--command"),
}
"""Options of programs whose value is a command line."""
_RUNS = {"uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run"}
"""Programs that run another behind this word."""
_SUBCOMMANDS = {
    "git": "-C -c --git-dir --work-tree --namespace --config-env --attr-source",
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"), "-H -c -l --host --context --config --log-level --url --connection"
    ),
    "docker-compose": "-f -p --file --project-name --profile --env-file --project-directory --parallel --progress --ansi",
    **dict.fromkeys(
        ("kubectl", "oc"), "-n -s -v --namespace --context --cluster --user --kubeconfig --server --token --as"
    ),
    "npm": "-w --prefix --workspace",
    "systemctl": "-H -M -t -p --host --machine --type --property",
}
"""Programs whose first word is a subcommand, and their options before it that take a value."""
SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"))
_SHELL_OPTIONS = "-o -O --rcfile --init-file"
"""Options of shells that take a value."""
_FINDS = ("-exec", "-execdir", "-ok", "-okdir")
"""Options of `find` behind which a command stands."""
_IDLE = frozenset(
    ("-i", "-q", "-u", "-l", "-s", "-b", "-B", "-E", "-I", "-O", "--login", "--interactive", "--quiet", "-")
)
"""Options with which a shell or an interpreter still reads what to do from its standard input."""


def name_of(program: str) -> str:
    """The name of a program without its folder."""
    return program.rstrip("/").rpartition("/")[2]


_STAY = frozenset(("nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "xargs", "command", "exec"))
"""Programs that run another one in the folder that they were started in."""
_MOVE = (
    frozenset(("cd", "pushd", "popd", ".", "source", "trap", "find")) | _JOINS.keys() | _SPLITS.keys() | _RUNS.keys()
)
"""Programs that change the folder, or run others in a folder that their arguments tell."""


def may_move(name: str) -> bool:
    """Whether what follows this program, or what it runs, may be started in another folder."""
    return name in _MOVE or name in SHELLS or (name in _WRAPPERS and name not in _STAY)


def behind_options(name: str, arguments: Words) -> Words:
    """The arguments of a program from its subcommand on; all of them where it has none."""
    return _without_options(arguments, _Wrapper(_SUBCOMMANDS[name])) if name in _SUBCOMMANDS else arguments


def is_bare(words: Words) -> bool:
    """Whether the arguments of a program name nothing to run, so that an interpreter would read that from its input."""
    return all(word in _IDLE for word in words[1:])


def run_by(words: Words) -> Iterator[Words]:
    """The programs that a program runs, with their arguments; none for one that runs no other."""
    name, arguments = name_of(words[0] or ""), words[1:]
    if name == "find":
        yield from (_until_end(arguments[place + 1 :]) for place, word in enumerate(arguments[:-1]) if word in _FINDS)
        return
    if name in _RUNS:
        if _RUNS[name] not in arguments:
            return
        arguments = arguments[arguments.index(_RUNS[name]) + 1 :]
    elif name not in _WRAPPERS or (name == "command" and arguments and arguments[0] in ("-v", "-V", "-pv", "-pV")):
        return
    if inner := _without_options(arguments, _WRAPPERS.get(name, _Wrapper())):
        yield inner


def lines_in(words: Words) -> list[str | None]:
    """The command lines that a program gets as an argument, as ``sh -c`` and ``eval`` do; None for one that is not known."""
    name, arguments = name_of(words[0] or ""), words[1:]
    if name in _JOINS:
        line = _without_options(arguments, _JOINS[name])
        return [None if None in line else " ".join(str(word) for word in line)] if line else []
    if name == "trap":
        return list(arguments[:1]) if len(arguments) > 1 and arguments[0] not in ("-", "-p", "-l", "--") else []
    if name in SHELLS:
        told, behind = _shell_words(arguments)
        return list(behind[:1]) if told else []
    options = _SPLITS.get(name, ())
    return [value for place in range(len(arguments)) for value in _value_at(arguments, place, options)]


def has_script(words: Words) -> bool:
    """Whether a shell is told what to run by its arguments, and not by its standard input."""
    return "-s" not in words and bool(_shell_words(words[1:])[1])


def shell_script(words: Words) -> str | None:
    """The file that a shell is told to run by its arguments; None where it gets a command line, or nothing."""
    told, behind = _shell_words(words[1:])
    return behind[0] if behind and not told and "-s" not in words else None


def sets_variables(words: Words) -> bool:
    """Whether a program that runs another sets variables for it, such as PATH, as `env` does."""
    before = len(words) - len(next(run_by(words), ()))
    return name_of(words[0] or "") in _WRAPPERS and any(word and _is_assignment(word) for word in words[1:before])


def _shell_words(arguments: Words) -> tuple[bool, Words]:
    """Whether a shell has the option ``-c``, and what stands behind its options."""
    told, place = False, 0
    while place < len(arguments):
        word = arguments[place]
        if word is None or word[:1] not in ("-", "+") or len(word) < 2:
            break
        place += 1
        if word == "--":
            break
        told = told or (word[0] == "-" and word[1] != "-" and "c" in word)
        place += word.replace("+", "-", 1) in _SHELL_OPTIONS.split() or (word[1] != "-" and word[-1] in "oO")
    return told, arguments[place:]


def _value_at(arguments: Words, place: int, options: tuple[str, ...]) -> Words:
    """The value of one of `options`, a short and a long one, where it stands at `place`."""
    word = arguments[place] or ""
    for option in options:
        name, letters, value = word.partition(option[1:])
        if word == option:
            return arguments[place + 1 : place + 2]
        if option[:2] == "--" and word.startswith(f"{option}="):
            return (word.partition("=")[2],)
        if option[:2] != "--" and letters and name[:1] == "-" and name[1:].isalpha() | (name == "-"):
            return (value,) if value else arguments[place + 1 : place + 2]
    return ()


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
        elif word.startswith("-"):
            place += 2 if _takes_next(word, valued) else 1
        elif _is_assignment(word):
            place += 1
        elif before:
            before -= 1
            place += 1
        else:
            break
    return words[place:]


def _takes_next(word: str, valued: list[str]) -> bool:
    """Whether the value of an option is the next word: of ``-n``, and of ``-in`` where no letter before takes one."""
    if word.startswith("--"):
        return word in valued
    takes = [f"-{letter}" in valued for letter in word[1:]]
    return takes[-1:] == [True] and not any(takes[:-1])


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def joined(words: Words) -> str:
    """Words with a blank between them; U+FFFD stands for one that only the shell knows."""
    return " ".join("\ufffd" if word is None else word for word in words)


def plain_commands(line: str) -> list[list[str]]:
    """The words of each command of a line of plain text, read without the grammar."""
    commands: list[list[str]] = [[]]
    for found in _PLAIN_WORD.finditer(line):
        if _PLAIN_ENDS.fullmatch(found[0]):
            commands.append([])
        else:
            commands[-1].append(found[0])
    return [words for words in commands if words]
