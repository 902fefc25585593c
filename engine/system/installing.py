"""Where the engine was installed from, for those who are to install an extra of it."""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from pathlib import Path


def how_to_install(extra: str) -> str:
    """The command that adds an extra: from the folder or the wheel that the engine was installed from, where that is there.

    A name alone would ask the package index, which may know another project by it.
    """
    # both are slow to import, and most processes say nothing of extras
    from importlib.metadata import distributions
    from urllib.parse import unquote, urlsplit

    # what a build left in the working folder has the name too, and no origin
    for each in distributions(name="engine"):
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            origin = json.loads(each.read_text("direct_url.json") or "null")
            folder = Path(unquote(urlsplit(origin["url"]).path))
            is_there = (folder / "pyproject.toml").is_file() or ("archive_info" in origin and folder.is_file())
            if origin["url"].startswith("file:") and is_there:
                editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
                return f"pip install {editable}{shlex.quote(f'{folder}[{extra}]')}"
    return f"pip install 'engine[{extra}]'"
