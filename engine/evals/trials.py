"""One trial: a case is given to a model, in a folder of its own, and what came of it is checked.

spec: @eval_cases @eval_checks
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.contract import Result
from engine.errors import EngineError, NotFound, ValidationError

if TYPE_CHECKING:
    from engine.api.database import Database

_CODE = threading.Lock()


class Stopped(Exception):  # noqa: N818 - an outcome, not a defect
    """The evaluation was interrupted before this trial had ended."""


@dataclass
class Trial:
    """What a task and a check get: the `case` as the file has it, the model, an open file, and a folder of its own.

    A check also gets the `result` of the prompt; of a task that returned a text, its `answer` alone. `model` is None where
    the cases name none, `expected` is what the case says of it.
    """

    db: Database
    case: Mapping[str, Any]
    model: str | None
    run: str
    folder: Path
    home: Path
    on_driver: Callable[[Any], None] | None = None
    result: Result[Any] | None = None
    answer: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def prompt(self) -> str:
        """The prompt, in the form of this trial."""
        return str(self.case["prompt"])

    @property
    def expected(self) -> Any:
        """What the case says is expected, for checks by code."""
        return self.case.get("expected")

    def ask(self, **options: Any) -> Result[Any]:
        """Give the prompt to the run of this trial, with the options of the case and these: what is done without a task."""
        return self.db.run(
            self.prompt, run=self.run, **{"model": self.model, "on_driver": self.on_driver, **self.options, **options}
        )


def carry_out(trial: Trial, is_stopped: Callable[[], bool]) -> dict[str, Any]:
    """Carry a trial out: the columns of its `_end_trial`. Raises `Stopped` where it was interrupted."""
    from .checks import checked

    began = time.monotonic()
    told: dict[str, Any] = {"error": None, "checks": []}
    try:
        _make_folder(trial)
        trial.options = {"root": trial.folder} if _has_files(trial) else {}
        trial.options |= trial.case.get("options", {})
        task = function_of(trial.case["task"], trial.home) if trial.case.get("task") else Trial.ask
        answered = task(trial)
        told["milliseconds"] = round((time.monotonic() - began) * 1000)
        if is_stopped():
            raise Stopped
        _take(trial, answered)
        told["error"] = _ended_badly(trial)
        if told["error"] is None:
            told["checks"] = [checked(trial, check) for check in trial.case.get("checks", ())]
    except Stopped:
        raise
    except Exception as error:
        if is_stopped():
            raise Stopped from None
        told["error"] = error.message if isinstance(error, EngineError) else f"{type(error).__name__}: {error}"
    if is_stopped():  # a judge may have been stopped
        raise Stopped
    told.setdefault("milliseconds", round((time.monotonic() - began) * 1000))
    told["run"] = trial.result.run if trial.result else None
    told["cost"] = cost_of(trial)
    return {**told, "answer": trial.answer}


def _take(trial: Trial, answered: object) -> None:
    if isinstance(answered, Result):
        trial.result, trial.answer = answered, answered.answer
    elif isinstance(answered, str):
        trial.answer = answered
    else:
        raise TypeError(f"the task returned {answered!r:.80}; return the Result of db.run, or a text")


def _ended_badly(trial: Trial) -> str | None:
    result = trial.result
    if result is None or result.status in (200, 204):
        return None
    if result.status == 202:
        return 'it waits for a decision; options: {"yolo": true} accepts what a case proposes in its folder'
    return f"it ended with status {result.status}" + (f": {result.reason}" if result.reason else "")


def cost_of(trial: Trial) -> float | None:
    """What the run of a trial cost; None where nobody knows."""
    if trial.result is None:
        return None
    return trial.result.cost if trial.result.tree_cost is None else trial.result.tree_cost


def _has_files(trial: Trial) -> bool:
    return "files" in trial.case or "folder" in trial.case


def _make_folder(trial: Trial) -> None:
    """Put the files of a case into its folder: a copy of the folder that it names, then those that it brings."""
    if named := trial.case.get("folder"):
        source = trial.home / named
        if not source.is_dir():
            raise NotFound(f"folder {named!r} of the case: there is no such folder in {trial.home}")
        shutil.copytree(source, trial.folder, dirs_exist_ok=True, symlinks=True)
    for path, text in trial.case.get("files", {}).items():
        place = (trial.folder / path).resolve()
        if not place.is_relative_to(trial.folder.resolve()):
            raise ValidationError(f"file {path!r} of the case: leads out of its folder")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for a trial, removed at the end, whatever its run made of it."""
    return tempfile.TemporaryDirectory(prefix="engine-eval-", ignore_cleanup_errors=True)


def function_of(name: str, home: Path) -> Callable[..., Any]:
    """The function that a name means: `file.py:function` beside the file of cases, or `module:function`.

    Raises `ValidationError` (400) for one that is not there.
    """
    source, _, attribute = name.rpartition(":")
    if not source or not attribute:
        raise ValidationError(f"code {name!r}: write FILE.py:FUNCTION or MODULE:FUNCTION")
    with _CODE:
        module = _module_of(source, home)
    found = getattr(module, attribute, None)
    if not callable(found):
        raise ValidationError(f"code {name!r}: {source} has no function {attribute!r}")
    return partial(found)


def _module_of(source: str, home: Path) -> Any:
    if not source.endswith(".py"):
        with _on_path(home):
            return importlib.import_module(source)
    place = (home / source).resolve()
    name = f"engine_eval_code_{abs(hash(str(place)))}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None or not place.is_file():
        raise ValidationError(f"code {source!r}: there is no such file in {home}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        with _on_path(place.parent):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


class _on_path:  # noqa: N801 - reads like a function
    """While code is imported, what lies beside it can be imported too."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __enter__(self) -> None:
        sys.path.insert(0, self.folder)

    def __exit__(self, *_: object) -> None:
        with suppress(ValueError):
            sys.path.remove(self.folder)
