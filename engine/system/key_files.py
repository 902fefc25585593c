"""Files whose names say that they hold keys. No model sees them unless a person names them.

spec: @secret_files
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Folders, files and endings whose names say that they hold keys; so do names that begin with .env.
_KEY_FOLDERS = re.compile(r"(?:^|/)\.(?:ssh|gnupg|aws|kube)/")
KEY_FILES = frozenset(
    {"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", "_netrc", ".pgpass", ".git-credentials", ".pypirc"}
    | {".npmrc", ".htpasswd", ".my.cnf", ".vault-token", ".dockercfg"}
)
_KEY_ENDINGS = frozenset({".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"})
_OF_FILES, _OF_ENDINGS = ("|".join(map(re.escape, sorted(names))) for names in (KEY_FILES, _KEY_ENDINGS))
_ANY_KEYS = re.compile(
    rf"(?<![^/\0])(?:\.env|\.(?:ssh|gnupg|aws|kube)/|(?:{_OF_FILES})(?![^\0]))|(?:{_OF_ENDINGS})(?![^\0])"
)
"""Whether one of many names, with NULs between them, may be one of `holds_keys`; read faster than each by itself."""


def holds_keys(name: str) -> bool:
    """Whether the name of a file says that it holds keys: `.env*`, key stores, private files of ssh and the like."""
    folded = name.casefold()
    last = folded.rpartition("/")[2]
    return (
        last.startswith(".env")
        or last in KEY_FILES
        or last[last.rfind(".") :] in _KEY_ENDINGS
        or _KEY_FOLDERS.search(folded) is not None
    )


def any_holds_keys(names: Iterable[str]) -> bool:
    """Whether one of many names may be one of `holds_keys`; quicker than to ask for each."""
    return _ANY_KEYS.search("\0".join(names).casefold()) is not None
