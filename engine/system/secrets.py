"""What of the environment is a secret, and how it is kept from the processes that the engine starts.

The engine reads keys from `os.environ`, and from files (`engine.keys.keys`), which tell it to `learn` them.
`clean_environment` is what commands get. `hide` takes the secrets out of what other processes can see of this one, which
only the command line does: an app's process is the app's.

spec: @keys_of_commands
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress

_NAME = re.compile(
    "KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|WEBHOOK|CONNECTION_?STR|CONN_?STR"
    "|(^|_)(PAT|PASS|PW|PWD|AUTH|DSN|JWT|BEARER)(_|[0-9]*$)|(DATABASE|DB|REDIS|MONGO(DB)?|AMQP|BROKER)_UR[IL]"
    "|(?<!ASK)(?<!BY)(?<!COM)PASS[0-9]*$|(PW|PWD|SAS)[0-9]*$|^VCAP_SERVICES$",
    re.IGNORECASE,
)
# Folders and the like, which commands need; the socket of an agent gives no key away. What ends in ASKPASS is a program
# that asks a person.
_HARMLESS = frozenset(
    {"PWD", "OLDPWD", "HOME", "PATH", "SHELL", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM", "TMPDIR", "SSH_AUTH_SOCK"}
)
_WITHHELD = frozenset({"ENGINE_TRUST"})
"""Variables of the engine alone: what a command starts shall not take a file for this user's."""
_USER_IN_URL = re.compile(r"(?<=//)[^\s/?#@'\"]+@")
_IN_URL = re.compile(r"//(?!git@)[^\s/?#@'\"]+@|^[^\s/?#@:]+:[^\s/?#@]+@[\w.-]+(:\d+)?/?$")
_KEY_SHAPED = re.compile(
    r"\b(?:sk|xai|csk|gsk|pk|rk|hf|npm|gh[pousr]|glpat|github_pat|xox[abeprs]|pypi)[-_][\w*.-]{8,}|\bAIza[\w*.-]{8,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|(?<=Bearer )\S+|(?<=Basic )[\w+/=]{8,}"
)
_PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|Authorization:", re.IGNORECASE)
_SHORTEST = 12
"""A shorter value is not looked for in others: it may stand there by chance."""
_PR_SET_DUMPABLE = 4
_learnt: set[str] = set()
_is_hiding = False


def is_secret(name: str, value: str) -> bool:
    """Whether a variable is kept from commands: by its name, by credentials in an address, or by the shape of a key."""
    if name in _HARMLESS:
        return False
    return bool(_NAME.search(name) or _IN_URL.search(value) or _KEY_SHAPED.search(value) or _PRIVATE.search(value))


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without secrets, and without variables in which the value of one of them stands again.

    What loosens a guard of the engine for a person is left out, too.
    """
    secret = {name for name, value in environ.items() if is_secret(name, value)}
    values = [value for name, value in environ.items() if name in secret and len(value) >= _SHORTEST] + [*_learnt]
    return {
        name: value
        for name, value in environ.items()
        if name not in secret | _WITHHELD and (name in _HARMLESS or not any(each in value for each in values))
    }


def masked(text: str, *keys: str) -> str:
    """`text` without the given keys, without what looks like a key, and without the user part of addresses."""
    for key in keys:
        if key:
            text = text.replace(key, "[key]")
    return _USER_IN_URL.sub("", _KEY_SHAPED.sub("[key]", text))


def scrubbed(text: str) -> str:
    """`text` without the secrets of this process, and masked: for what is stored or printed."""
    known = {value for name, value in os.environ.items() if len(value) >= _SHORTEST and is_secret(name, value)}
    return masked(text, *sorted(known | _learnt, key=len, reverse=True))


def without_learnt(text: str) -> str:
    """`text` without the secrets that were read from files or given to a server; what merely looks like a key stays."""
    for value in sorted(_learnt, key=len, reverse=True):
        text = text.replace(value, "[key]")
    return text


def learn(value: str) -> None:
    """Keep a secret of a file, or of a variable that a person named, like those that are known by their names."""
    if len(value) >= _SHORTEST:
        _learnt.add(value)
    if _is_hiding:
        hide()


def hide() -> None:
    """Keep the secrets of this process from others of the same user, as far as the system allows (Linux).

    They are taken out of the environment that new processes inherit and out of the block that `/proc/PID/environ` shows.
    `os.environ` still has them. The process becomes one whose memory others cannot read; it leaves no core dump.
    """
    global _is_hiding
    _is_hiding = True
    clean = clean_environment(os.environ)
    secret = [name for name in os.environ if name not in clean]
    for name in secret:
        os.unsetenv(name)
    if secret and sys.platform == "linux":
        with suppress(OSError, ValueError, IndexError):
            _overwrite(secret)
    if secret or _learnt:
        _close_memory()


def _close_memory() -> None:
    """Make the memory of this process unreadable for others of the same user, and its crash leave no dump (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _overwrite(names: list[str]) -> None:
    """Write zeros over the values of these variables in the block that the process was started with."""
    with open("/proc/self/stat", "rb") as file:
        start = int(file.read().rpartition(b")")[2].split()[47])
    with open("/proc/self/environ", "rb") as file:
        block = file.read()
    heads = tuple(os.fsencode(name) + b"=" for name in names)
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        place = start
        for entry in block.split(b"\0"):
            if entry.startswith(heads):
                length = len(entry) - entry.index(b"=") - 1
                memory.seek(place + len(entry) - length)
                memory.write(bytes(length))
            place += len(entry) + 1
