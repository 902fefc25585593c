"""A run against a web server: what it says, what it has, what its log tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from driving import DONE, script

import engine

TEXT = "text/plain; charset=utf-8"


class Session:
    """A run against a site: what it says, what it has, what its log tells."""

    def __init__(self, db: engine.Database, folder: Path, **options: Any) -> None:
        self.db = db
        self._folder = folder
        self.options = options
        self._said: list[str] = []

    def say(self, *answers: str) -> engine.Result:
        """Let the model give these answers to a prompt, and then say that it is done."""
        self._said += [*answers, DONE]
        # a scripted model goes on where the run is
        model = script(self._folder, *self._said)
        return self.db.run("Look", run="demo", model=model, **self.options)

    def get(self, path: str, body: str = "", **attributes: str) -> tuple[str, str | None, str]:
        """State, outcome and message of one get."""
        said = "".join(f' {name}="{value}"' for name, value in attributes.items())
        self.say(f'<get path="{path}"{said}>{body}</get>' if body else f'<get path="{path}"{said}/>')
        return self.told()

    def told(self) -> tuple[str, str | None, str]:
        """State, outcome and message of the last get or search."""
        row = self.db.rows("select state, outcome, message from command_results where action in ('get', 'search')")[-1]
        return row["state"], row["outcome"], row["message"]

    def entry(self, path: str) -> dict[str, Any]:
        """The entry of a path, with its attributes."""
        row = self.db.row("select * from known_entries where run = 'demo' and path = ?", (path,))
        assert row is not None, path
        return {**row, "attributes": json.loads(row["attributes"] or "{}")}
