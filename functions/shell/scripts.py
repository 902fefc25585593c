"""Which words of a program of a command line are files that it runs, without asking the disk."""

from __future__ import annotations

from .words import SHELLS, Words, name_of, shell_script

_INTERPRETERS = {
    "python": "-W -X --check-hash-based-pycs",
    "pypy": "-W -X",
    "node": "-r --require --import --loader -C --conditions",
    "deno": "",
    "bun": "-r --preload",
    "ruby": "-I -r -C",
    "perl": "-I",
    "php": "-d -c",
    "lua": "-l",
    "Rscript": "",
}
"""The beginnings of the names of interpreters, each with those of its options that take a value."""
_CODE = frozenset(("-c", "-m", "-e", "-E", "-p", "--eval", "--print"))
"""Options with the program itself, or with the name of a module."""


def scripts_of(words: Words) -> list[str]:
    """The files that a program and its arguments run: the program where it is named with a folder, and the script that a
    shell or an interpreter gets as its first argument, as ``sh x.sh``, ``python -u x.py`` and ``. x.sh`` do.
    """
    program = words[0] or ""
    name = name_of(program)
    found = [program] if "/" in program else []
    if name in SHELLS:
        script = shell_script(words)
    elif name in (".", "source"):
        script = words[1] if len(words) > 1 else None
    else:
        valued = next((valued for start, valued in _INTERPRETERS.items() if _is_version_of(name, start)), None)
        script = None if valued is None else _first_operand(words[1:], valued.split())
    return [*found, script] if script else found


def is_interpreter(name: str) -> bool:
    """Whether the program of this name runs code that its arguments or its standard input hold."""
    return any(_is_version_of(name, start) for start in _INTERPRETERS)


def _is_version_of(name: str, start: str) -> bool:
    return name.startswith(start) and not name[len(start) :].strip("0123456789.")


def _first_operand(arguments: Words, valued: list[str]) -> str | None:
    place = 0
    while place < len(arguments):
        word = arguments[place]
        if word in _CODE:
            return None
        if word != "run" and (word is None or not word.startswith("-")):
            return word
        place += 2 if word in valued else 1
    return None
