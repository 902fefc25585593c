"""Reads a run's file, which may come from anybody: line by line, none of them trusted.

spec: @run_files
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from engine.errors import Conflict, NotFound, ValidationError
from engine.schema.build import VERSION
from engine.system.durable import held_folder, open_regular, system_errors

from .exporting import FORM, FORMAT

MOST_BYTES = 256 << 20
"""The longest line that is read."""

Line = dict[str, Any]


class RunFile:
    """A run's file that is open: its first line, and then the rows behind it, as often as they are asked for.

    `modules` are those that its rows need, `run` is the number of the run among its runs.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path, self._file = path, file
        try:
            head = self._parsed(1, self._read(1))
        except ValidationError:
            head = {}
        if head.get("format") != FORMAT:
            raise ValidationError(f"{path}: is not an exported run; 'engine runs export' writes one")
        if (head.get("form"), head.get("tables")) != (FORM, VERSION):
            raise Conflict(
                f"{path}: was exported by an engine with other tables (form {head.get('form')!r}, version "
                f"{head.get('tables')!r}; this engine has {FORM} and {VERSION}); import it with that engine"
            )
        modules, run = head.get("modules"), head.get("run")
        if not isinstance(modules, list) or not all(isinstance(each, str) for each in modules) or type(run) is not int:
            raise self.wrong(1, "is not the first line of an exported run")
        self.modules: list[str] = modules
        self.run: int = run

    def rows(self) -> Iterator[tuple[int, Line]]:
        """The number and the row of each line but the first and the last.

        Raises `ValidationError` (400) for a damaged file.
        """
        self._file.seek(0)
        whole = hashlib.sha256(self._read(1))
        number = 1
        while True:
            number += 1
            text = self._read(number)
            row = self._parsed(number, text)
            if "end" in row:
                break
            whole.update(text)
            yield number, row
        if row != {"end": whole.hexdigest()} or self._file.read(1):
            raise ValidationError(
                f"{self.path}: is damaged: its content does not match its checksum; export the run again"
            )

    def lines(self) -> Iterator[bytes]:
        """All lines, as long as they are."""
        self._file.seek(0)
        return iter(self._file)

    def sha256(self) -> str:
        """The SHA-256 (hex) of the whole file."""
        self._file.seek(0)
        whole = hashlib.sha256()
        while block := self._file.read(1 << 20):
            whole.update(block)
        return whole.hexdigest()

    def wrong(self, number: int, what: str) -> ValidationError:
        """The error that a line is wrong."""
        return ValidationError(f"{self.path}, line {number}: {what}; nothing was imported")

    def refused(self, what: str) -> ValidationError:
        """The error that the file holds something else than a run."""
        return ValidationError(f"{self.path}: {what}; nothing was imported")

    def _read(self, number: int) -> bytes:
        text = self._file.readline(MOST_BYTES + 1)
        if not text:
            raise ValidationError(f"{self.path}: ends too early, after line {number - 1}; copy or export it again")
        if not text.endswith(b"\n"):
            if len(text) > MOST_BYTES:
                raise self.wrong(number, f"is longer than {MOST_BYTES >> 20} MiB")
            raise ValidationError(f"{self.path}: ends in the middle of line {number}; copy or export it again")
        return text

    def _parsed(self, number: int, text: bytes) -> Line:
        try:
            found = json.loads(text.decode())
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self.wrong(number, "is not a JSON object")
        return found


@contextmanager
def opened(path: Path) -> Iterator[RunFile]:
    """A run's file, by a copy that nobody changes meanwhile.

    Raises `EngineError` (403, 404, 409, 500) if it cannot be read, `ValidationError` (400) if it is none.
    """
    with tempfile.TemporaryFile() as copy:
        if not path.exists():
            raise NotFound(f"{path}: no such file")
        place = Path(os.path.realpath(path))
        with (
            system_errors("read", str(path)),
            held_folder(place.parent) as folder,
            open_regular(place.name, folder) as file,
        ):
            shutil.copyfileobj(file, copy)
        copy.seek(0)
        yield RunFile(path, copy)


def bytes_of(value: Any) -> bytes:
    """The bytes behind base64. Raises `ValueError` for anything else."""
    if not isinstance(value, str):
        raise ValueError("no text")
    return b64decode(value, validate=True)
