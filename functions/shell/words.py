"""What a program does with its arguments: which ones start another program, and which are shells and interpreters."""

from __future__ import annotations

from collections.abc import Iterator

from engine.functions.lazy import lazy_regex

from .quoting import Changed
from .wrappers import JOINS, RUNS, SPLITS, Wrapper, wrapper_of

Words = tuple[str | None, ...]
"""A program and its arguments; None for a word that only the shell knows, such as ``"$1"``, and `Changed` for a pattern."""

_PLAIN_ENDS = lazy_regex(r"[\n;&|()]+")
_PLAIN_WORD = lazy_regex(r"""(?:[^ \t\n;&|()'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+|[\n;&|()]+""", 16)


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
_PARALLEL = Wrapper(
    "-j -a -I -N -n -L -S -C -d -E -P --jobs --arg-file --colsep --delimiter --joblog --results --timeout"
)
_LOOKS = lazy_regex(r"-[pvV]*[vV][pvV]*")
"""Options with which `command` only tells what it would run."""
_NEGATES = {"time": ("!",), "coproc": ("!",)}
_REPLACES = lazy_regex(r"-[0rtpxo]*i|--replace$")
"""Options with which `xargs` puts what it reads in the place of `{}`."""
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
_MOVE = frozenset(("cd", "pushd", "popd", ".", "source", "trap", "find")) | JOINS.keys() | SPLITS.keys() | RUNS.keys()
"""Programs that change the folder, or run others in a folder that their arguments tell."""


def may_move(name: str) -> bool:
    """Whether what follows this program, or what it runs, may be started in another folder."""
    return name in _MOVE or name in SHELLS or (wrapper_of(name) is not None and name not in _STAY)


def behind_options(name: str, arguments: Words) -> Words:
    """The arguments of a program from its subcommand on; all of them where it has none."""
    return without_options(arguments, Wrapper(_SUBCOMMANDS[name])) if name in _SUBCOMMANDS else arguments


def is_bare(words: Words) -> bool:
    """Whether the arguments of a program name nothing to run, so that an interpreter would read that from its input."""
    return all(word in _IDLE for word in words[1:])


def run_by(words: Words) -> Iterator[Words]:
    """The programs that a program runs, with their arguments; none for one that runs no other."""
    name, arguments = name_of(words[0] or ""), words[1:]
    if name == "find":
        for place, word in enumerate(arguments[:-1]):
            if word in _FINDS:
                yield tuple(None if each and "{}" in each else each for each in _until_end(arguments[place + 1 :]))
        return
    wrapper = wrapper_of(name)
    if name in RUNS:
        if RUNS[name] not in arguments:
            return
        arguments = arguments[arguments.index(RUNS[name]) + 1 :]
    elif wrapper is None or (name == "command" and arguments and _LOOKS.fullmatch(arguments[0] or "")):
        return
    inner = without_options(arguments, wrapper or Wrapper())
    if name in _NEGATES:
        while inner and inner[0] in _NEGATES[name]:
            inner = without_options(inner[1:], wrapper or Wrapper())
    if name == "xargs":
        inner = _fed_by_xargs(inner, arguments)
    if inner:
        yield inner


def _fed_by_xargs(inner: Words, arguments: Words) -> Words:
    """What `xargs` runs: words that it replaces, and those that it adds at the end, are not known."""
    marks = [value for place in range(len(arguments)) for value in _value_at(arguments, place, ("-I", "--replace"))]
    if marks or any(word and _REPLACES.match(word) for word in arguments[: len(arguments) - len(inner)]):
        mark = (marks[0] if marks else None) or "{}"
        return tuple(None if word and mark in word else word for word in inner)
    return (*inner, None) if inner else ()


def lines_in(words: Words) -> list[str | None]:
    """The command lines that a program gets as an argument, as ``sh -c`` and ``eval`` do; None for one that is not known."""
    name, arguments = name_of(words[0] or ""), words[1:]
    if name in JOINS:
        line = without_options(arguments, JOINS[name], assigns=False)
        return [None if None in line else " ".join(str(word) for word in line)] if line else []
    if name in ("parallel", "sem"):
        return _parallel_lines(arguments)
    if name == "trap":
        told = arguments[1:] if arguments[:1] == ("--",) else arguments
        return list(told[:1]) if len(told) > 1 and told[0] not in ("-", "-p", "-l") else []
    if name == "alias":
        return [word and word.partition("=")[2] for word in arguments if word is None or "=" in word]
    if name in SHELLS:
        is_line, behind = _shell_words(arguments)
        # a pattern may become any text
        return [None if isinstance(each, Changed) else each for each in behind[:1]] if is_line else []
    options = SPLITS.get(name, ())
    found = [value for place in range(len(arguments)) for value in _value_at(arguments, place, options)]
    # `env` reads escapes of its own
    return [None if name == "env" and value and "\\" in value else value for value in found]


def _parallel_lines(arguments: Words) -> list[str | None]:
    """What `parallel` runs: a line, in which braces stand for its arguments, or the arguments themselves."""
    inner = without_options(arguments, _PARALLEL, assigns=False)
    ends = [place for place, word in enumerate(inner) if word is None or word.startswith(":::")]
    line = inner[: ends[0]] if ends else inner
    # without a command, its arguments or the lines of its input are commands
    return [" ".join(str(word) for word in line)] if line else [None]


def has_script(words: Words) -> bool:
    """Whether a shell is told what to run by its arguments, and not by its standard input."""
    return "-s" not in words and bool(_shell_words(words[1:])[1])


def shell_script(words: Words) -> str | None:
    """The file that a shell is told to run by its arguments; None where it gets a command line, or nothing."""
    told, behind = _shell_words(words[1:])
    return behind[0] if behind and not told and "-s" not in words else None


def script_words(arguments: Words) -> Words:
    """The words of a shell that say what it reads: its options, and the script, but not the line behind ``-c``."""
    is_line, behind = _shell_words(arguments)
    before = len(arguments) - len(behind)
    return arguments[: before if is_line else before + 1]


def sets_variables(words: Words) -> bool:
    """Whether a program that runs another sets variables for it, such as PATH, as `env` does."""
    before = len(words) - len(next(run_by(words), ()))
    return wrapper_of(name_of(words[0] or "")) is not None and any(
        word and _is_assignment(word) for word in words[1:before]
    )


def _shell_words(arguments: Words) -> tuple[bool, Words]:
    """Whether a shell has the option ``-c``, and what stands behind its options."""
    told, place = False, 0
    while place < len(arguments):
        word = arguments[place]
        if word is None or isinstance(word, Changed) or word[:1] not in ("-", "+") or len(word) < 2:
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


def without_options(words: Words, wrapper: Wrapper, *, assigns: bool = True) -> Words:
    """The words behind the options and, if it `assigns`, the assignments of a wrapper, and behind what stands before its
    program.
    """
    valued, place, before = wrapper.valued.split(), 0, wrapper.before
    while place < len(words):
        word = words[place]
        if word is None or isinstance(word, Changed):
            break
        if word == "--":
            place += 1
        elif word.startswith("-"):
            place += 2 if _takes_next(word, valued) else 1
        elif assigns and _is_assignment(word):
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
