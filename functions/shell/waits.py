"""Which programs wait for a person at a terminal by their arguments: they open an editor, ask, or read statements.

What is not known for certain is not said to wait: a command that nobody answers ends by itself, or by its time-out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from .words import SHELLS, Words, behind_options, has_script, name_of


class Told(NamedTuple):
    """The options of a command, and its other words. Letters that are written together, as in ``-am``, are options each."""

    options: frozenset[str]
    words: tuple[str, ...]

    def has(self, names: str) -> bool:
        """Whether one of these options is given."""
        return not self.options.isdisjoint(names.split())


class Call(NamedTuple):
    """A program's arguments, whether its standard input holds something, and whether the line says which editor to use."""

    arguments: tuple[str, ...]
    fed: bool
    sets_editor: bool


_HELP = "-h --help --version -V"
_GIT_ASKS = {
    **dict.fromkeys(("add", "commit"), "-p --patch -i --interactive"),
    **dict.fromkeys(("checkout", "restore", "reset", "stash"), "-p --patch"),
    **dict.fromkeys(("clean", "am"), "-i --interactive"),
}
"""Subcommands of git, and their options that ask."""
_GIT_EDITS = {
    "add": "-e --edit",
    "commit": "-e --edit -c --reedit-message",
    "rebase": "-i --interactive --edit-todo --continue",
    **dict.fromkeys(("cherry-pick", "revert", "merge"), "-e --edit --continue"),
    "config": "-e --edit",
    "branch": "--edit-description",
}
"""Subcommands of git, and their options that open an editor."""
_GIT_MESSAGE = "-m --message -F --file"
_GIT_SAID = {
    "commit": f"{_GIT_MESSAGE} -C --reuse-message --fixup --dry-run --porcelain --short",
    "tag": f"{_GIT_MESSAGE} -l --list -d --delete -v --verify",
    "notes": f"{_GIT_MESSAGE} -C --reuse-message",
}
"""Options with which these need no editor."""
_GIT_VALUED = "-m -F -C -c -t -u -S -U -s -X -o -b -B -n --message --file --author --date --onto --strategy --exec -x"
_NO_SQL = {
    "psql": (
        "-c --command -f --file -l --list",
        "-h -p -U -d -v -P -o -F -R -T -L -n --host --port --username --dbname",
    ),
    "mysql": ("-e --execute", "-h -P -u -D -S --host --port --user --database --socket"),
    "mongosh": ("--eval -f --file", "--host --port -u -p --username --password"),
}
"""Clients of databases: options that give them something to do, and those that take a value."""
_ALWAYS = frozenset(
    ("vipw", "vigr", "sudoedit", "visudo", "tig", "lazygit", "gitui", "ranger", "mc", "nmtui", "cfdisk", "ipdb", "pudb")
)


def waits(words: Words, *, fed: bool, sets_editor: bool) -> bool:
    """Whether a program would wait for a person.

    `fed`: its standard input holds something. `sets_editor`: the line says which editor is to be used, such as none.
    """
    name = name_of(words[0] or "")
    told = behind_options(name, words[1:])
    if None in told or not name:
        return False
    arguments = tuple(str(word) for word in told)
    if name in _ALWAYS:
        return not _told(arguments, "").has(f"{_HELP} -c --check")
    if name in SHELLS:
        return not fed and not has_script(words) and not _told(words[1:], "").has(f"-c {_HELP}")
    look = _LOOKS.get(name)
    if look is None and name.startswith("python"):
        look = _python
    return look is not None and look(Call(arguments, fed, sets_editor))


def _told(words: Words, valued: str, *, leads: bool = False) -> Told:
    """Words as options and others; `valued` are options that take a value. With `leads` what follows the first other word
    belongs to another program.
    """
    takes, options, others, place = set(valued.split()), set(), [], 0
    while place < len(words):
        word = words[place] or ""
        place += 1
        if word == "--":
            others += [each or "" for each in words[place:]]
            break
        if not word.startswith("-") or word == "-":
            others.append(word)
            if leads:
                break
        elif word.startswith("--"):
            name, equals, _ = word.partition("=")
            options.add(name)
            place += name in takes and not equals
        else:
            options.add(word)
            for at, letter in enumerate(word[1:], 2):
                options.add(f"-{letter}")
                if f"-{letter}" in takes:
                    place += at == len(word)
                    break
    return Told(frozenset(options), tuple(others))


def _git(call: Call) -> bool:
    if not call.arguments:
        return False
    verb, told = call.arguments[0], _told(call.arguments[1:], _GIT_VALUED)
    if told.has("-h --help"):
        return False
    if told.has(_GIT_ASKS.get(verb, "")) and (verb, *told.words[:1]) != ("stash", "show"):
        # commit -i takes the named files in; git knows no other use of it there
        return not call.fed and not (verb == "commit" and told.words and not told.has("-p --patch --interactive"))
    if verb in ("gui", "citool"):
        return True
    if call.sets_editor or told.has("--no-edit"):
        return False
    if told.has(_GIT_EDITS.get(verb, "")):
        return True
    match verb:
        case "commit":
            return not told.has(_GIT_SAID[verb])
        case "tag":
            return told.has("-a --annotate -s --sign") and not told.has(_GIT_SAID[verb])
        case "notes":
            return told.words[:1] in (("add",), ("edit",), ("append",)) and not told.has(_GIT_SAID[verb])
        case "mergetool" | "difftool":
            return not told.has("-y --no-prompt")
    return False


def _python(call: Call) -> bool:
    told = _told(_own(call.arguments), "-W -X -Q", leads=True)
    debugs = call.arguments[:2] == ("-m", "pdb") and not {"-c", "--command"}.intersection(call.arguments)
    return not call.fed and (told.has("-i") or debugs)


def _own(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of Python itself: behind ``-c`` and ``-m`` stand those of the program."""
    ends = [place for place, word in enumerate(arguments) if word[:1] == "-" and word[:2] != "--" and word[-1] in "cm"]
    return arguments[: ends[0] + 1] if ends else arguments


def _leads_with(options: str, valued: str) -> Callable[[Call], bool]:
    """Of an interpreter: whether one of its own options has it wait."""

    def look(call: Call) -> bool:
        told = _told(call.arguments, valued, leads=True)
        return not call.fed and (told.has(options) or not set(told.words[:1]).isdisjoint(options.split()))

    return look


def _container(call: Call) -> bool:
    arguments = call.arguments
    if arguments[:1] in (("compose",), ("container",)):
        arguments = tuple(str(word) for word in behind_options("docker-compose", arguments[1:]))
    verb, own = arguments[:1], arguments[1:]
    if verb in (("attach",), ("edit",)):
        return verb == ("attach",) or not call.sets_editor
    # kubectl takes its options behind the name of the pod, too, up to --
    told = _told(own, _CONTAINER_VALUED, leads=True)
    late = _told(own[: own.index("--")], _CONTAINER_VALUED) if "--" in own else told
    for each in (told, late):
        if each.has("-t --tty") and each.has("-i --interactive --stdin") and not each.has("-d --detach"):
            return verb in (("run",), ("exec",))
    return False


_CONTAINER_VALUED = (
    "-a -c -e -h -l -m -p -u -v -w -n -f --name --env --volume --user --workdir --network --entrypoint --publish --mount "
    "--env-file --label --platform --image --namespace --container --memory --cpus --hostname --add-host --restart --gpus"
)


def _database(name: str) -> Callable[[Call], bool]:
    does, valued = _NO_SQL[name]

    def look(call: Call) -> bool:
        told = _told(call.arguments, f"{valued} {does}")
        # -h is the host
        scripts = name == "mongosh" and any(word.endswith(".js") for word in told.words)
        return not call.fed and not scripts and not told.has(f"{does} --help --version -? -V")

    return look


def _sqlite(call: Call) -> bool:
    words, place = [], 0
    while place < len(call.arguments):
        word = call.arguments[place]
        if word.lstrip("-") in ("version", "help"):
            return False
        if word.startswith("-"):
            place += word.lstrip("-") in ("cmd", "init", "separator", "newline", "nullvalue", "vfs", "maxsize", "mmap")
        else:
            words.append(word)
        place += 1
    return not call.fed and len(words) < 2


def _redis(call: Call) -> bool:
    told = _told(call.arguments, "-h -p -s -a -u -r -i -n -d --user --pass --cert --key --cacert --eval")
    return (
        not call.fed
        and not told.words
        and not told.has("--help --version -v --eval --scan --stat --bigkeys --pipe -x --latency")
    )


def _debugger(call: Call) -> bool:
    batch = {"-batch", "--batch", "-b", "--version", "-version", "--help", "-help", "-h", "-v"}
    return not call.fed and batch.isdisjoint(call.arguments)


def _sudo(call: Call) -> bool:
    told = _told(call.arguments, "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir", leads=True)
    return told.has("-e --edit") or (not call.fed and not told.words and told.has("-s -i --shell --login"))


def _verb(verb: str, options: str = "", unless: str = "") -> Callable[[Call], bool]:
    """Of a program that waits with this subcommand, and one of `options` where there are some, but for `unless`."""

    def look(call: Call) -> bool:
        told = _told(call.arguments, "")
        given = not options or told.has(options)
        return told.words[: bool(verb)] == ((verb,) if verb else ()) and given and not told.has(f"{unless} --help")

    return look


_LOOKS: Mapping[str, Callable[[Call], bool]] = {
    "git": _git,
    "ipython": _leads_with("-i", "-c -m"),
    "node": _leads_with("-i --interactive inspect", "-e -p -r --eval --print --require"),
    "perl": _leads_with("-d", "-e -E -I -M -m"),
    "php": _leads_with("-a --interactive", "-c -d -r -f"),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc"), _container),
    "psql": _database("psql"),
    **dict.fromkeys(("mysql", "mariadb"), _database("mysql")),
    **dict.fromkeys(("mongosh", "mongo"), _database("mongosh")),
    "sqlite3": _sqlite,
    "redis-cli": _redis,
    **dict.fromkeys(("gdb", "lldb"), _debugger),
    **dict.fromkeys(("sudo", "doas"), _sudo),
    "crontab": _verb("", "-e"),
    "systemctl": _verb("edit", unless="--stdin"),
    "npm": _verb("init", unless="-y --yes"),
    **dict.fromkeys(("chsh", "chfn"), _verb("", unless="-s --shell -f -l")),
}
