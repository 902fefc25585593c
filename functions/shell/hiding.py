"""What a program is told to run in a way that a line does not show: by the lines that it reads, by names that another word
makes, by values that a shell evaluates.
"""

from __future__ import annotations

from engine.functions.lazy import lazy_regex

from .quoting import Changed
from .scripts import is_interpreter
from .words import SHELLS, Words, behind_options, is_bare, joined, name_of, script_words

_RESERVED = "! { } [[ ]] if then elif else fi for while until do done case esac select function in"
_EVALUATED = "let read printf test [ mapfile readarray wait getopts unset declare typeset local export readonly compgen"
RESERVED = frozenset(_RESERVED.split())
"""Words of the shell's grammar. As the name of a program one of them means that the line is read wrongly."""
EVALUATED = frozenset(_EVALUATED.split())
"""Programs of the shell that evaluate what stands in the brackets of a name that they are given."""
_NAMED = ("let", "read", "mapfile", "readarray", "getopts")
"""Those of which a word that is not known may be such a name."""
_CODE = lazy_regex(r"-[a-zA-Z]*[ceEpr]|--eval|--print|--run")
_CODE_WITHIN = lazy_regex(r"-[a-zA-Z]*[ceEpr]\W|--eval=|--print=")
_MAKES = lazy_regex(r"-[a-zA-Z]*f|--file|--makefile|--eval")
_FISH = ("--command", "--init-command", "-C")
_SED_RUNS = lazy_regex(r"(?:^|[\d$/;{}!]\s*)e(?:\s|;|$)|/[gpIiMm0-9]*e[gpIiMm0-9]*\s*(?:$|[;}\n])")
_AWK_RUNS = lazy_regex(r"system|getline|(?<!\|)\|(?!\|)|@")
SCRIPTED = {"sed": _SED_RUNS, "gsed": _SED_RUNS, **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK_RUNS)}
"""Programs whose script may start others, by a text that this finds."""
_STARTS = lazy_regex(
    r"system|popen|exec|spawn|subprocess|fork|pty|ctypes|eval|compile|__import__|importlib|getattr|globals|vars\(|qx|`"
    r"|child_process|require|import\s*\(|Process|Runtime|dlopen|ffi|syscall|Deno|Bun|shell|open\s*\(?\s*['\"]?\|"
)
"""What stands in code that starts programs, or that makes code of texts."""
_COMMANDS = lazy_regex(
    r"(?:\w*(?:PAGER|EDITOR|VISUAL|BROWSER|COMMAND|CMD|ASKPASS|SHELL)|LESSOPEN|LESSCLOSE|GIT_SSH|GIT_EXTERNAL_DIFF|GIT_PROXY)"
)
"""Variables whose value is a command line for another program."""
_MARKS = lazy_regex(r"[\\'\"$`{*?\[;&|()]")
_SUBSTITUTED = lazy_regex(r"\$[({]|`")
_DESCRIPTOR = lazy_regex(r"/dev/(?:stdin|fd/.*|tty)|/proc/[^/]+/fd/.*|-")
_SETS_SHELL = lazy_regex(
    r"(?:BASH_ENV|ENV|BASH_ALIASES|BASH_CMDS|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|LD_PRELOAD|LD_AUDIT)(?:\[.*\])?"
)
"""Variables that have a shell run something, or another program do something else."""


def sets_shell(name: str) -> bool:
    """Whether a variable of this name has a shell or a program run something that the line does not show."""
    return bool(_SETS_SHELL.fullmatch(name))


def is_hidden_in(name: str, value: str) -> bool:
    """Whether the value of a variable is a line, or a name, that a shell or another program reads in its own way."""
    return sets_shell(name) or evaluates(value) or bool(_COMMANDS.fullmatch(name) and _MARKS.search(value))


def evaluates(text: str) -> bool:
    """Whether a shell that takes this text for the name of a variable runs something."""
    return bool(_SUBSTITUTED.search(text))


def hides(words: Words, *, fed: bool, heredoc: str) -> bool:
    """Whether what a program runs is not known from its arguments."""
    name, arguments = name_of(words[0] or ""), words[1:]
    if name in RESERVED or name.startswith("~"):
        return True
    if name in SHELLS:
        told = script_words(arguments)
        return _is_unknown(told) or any(str(word).startswith(_FISH) for word in told)
    if name in (".", "source"):
        return not arguments or _is_unknown(arguments[:1])
    if name in EVALUATED:
        return any(name in _NAMED if each is None else evaluates(each) for each in arguments)
    if name == "hash":
        return "-p" in arguments
    if name == "enable":
        return "-f" in arguments
    if name in SCRIPTED:
        return any(each is None or SCRIPTED[name].search(each) for each in arguments)
    if name == "git":
        return _is_hidden_in_git(arguments)
    if name == "make":
        return any(each and _MAKES.match(each) for each in arguments) and (fed or "--eval" in joined(arguments))
    if is_interpreter(name):
        return _is_hidden_in_code(words, fed=fed, heredoc=heredoc)
    return any(each and "=" in each and is_hidden_in(*each.partition("=")[::2]) for each in arguments)


def _is_hidden_in_code(words: Words, *, fed: bool, heredoc: str) -> bool:
    """Whether the code that an interpreter is given is not known, or starts programs."""
    if is_bare(words):
        return bool(_STARTS.search(heredoc)) if heredoc else fed
    code = [words[place + 1] for place, word in enumerate(words[:-1]) if place and word and _CODE.fullmatch(word)]
    code += [word for word in words[1:] if word and _CODE_WITHIN.match(word)]
    return any(each is None or _STARTS.search(each) for each in code)


def _is_hidden_in_git(arguments: Words) -> bool:
    """Whether a setting of git for this call alone is a line of its own."""
    before = arguments[: len(arguments) - len(behind_options("git", arguments))]
    return any(each is None or _MARKS.search(each.partition("=")[2].removeprefix("!")) for each in before)


def _is_unknown(words: Words) -> bool:
    """Whether one of these words is not known, or is what the shell has open."""
    return any(word is None or isinstance(word, Changed) or _DESCRIPTOR.fullmatch(word) for word in words)
