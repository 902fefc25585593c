"""How the tools of a configured server were defined when its user allowed them: `mcp.json` in the configuration folder.

A tool that is allowed by its name is called without a decision only as it was first seen; `engine mcp confirm` forgets that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.system.places import config_folder, own_lock, read_own, write_own


def store() -> Path:
    """The path of `mcp.json`."""
    return config_folder() / "mcp.json"


@dataclass(frozen=True)
class KeptPins:
    """The digests of the allowed tools of the server `name`, which the file `source` names."""

    source: str
    name: str

    def known(self) -> Mapping[str, str]:
        """The digest of each tool that was seen before."""
        found = _read().get(self._key, {})
        return {str(tool): str(digest) for tool, digest in found.items()} if isinstance(found, dict) else {}

    def keep(self, digests: Mapping[str, str]) -> None:
        """Keep the digests of tools that are seen for the first time; where that cannot be written, they are so again."""
        if digests:
            with suppress(OSError):
                self._write({**self.known(), **digests})

    def forget(self) -> None:
        """Forget them; raises `OSError` where that cannot be written."""
        if self._key in _read():
            self._write({})

    @property
    def _key(self) -> str:
        return f"{self.source}#{self.name}"

    def _write(self, digests: Mapping[str, str]) -> None:
        with own_lock(store()):
            kept = {key: value for key, value in (_read() | {self._key: dict(digests)}).items() if value}
            write_own(store(), (json.dumps(kept, indent=2, sort_keys=True) + "\n").encode())


def _read() -> dict[str, object]:
    try:
        found = json.loads(read_own(store()) or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
