"""Finds workflows, reads them, and starts runs of them.

spec: @shipped_workflows
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.contract import Options, attributes_of, check_options, one_model
from engine.driving import prompts
from engine.driving.model_choice import check_tokenizer, choose_model, sync_environment_models
from engine.driving.run_names import free_name, words_of
from engine.errors import EngineError, NotFound, Overflow, PermissionDenied, ValidationError
from engine.models.protocol import storable
from engine.project.root_names import note_root
from engine.system.durable import held_folder, open_regular, text_of
from engine.system.places import config_folder
from engine.texts import folder_of
from engine.threads.joining import expect_threads

from .models import models_of

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle

SYNTAXES = {".yaml": "yaml", ".yml": "yaml", ".json": "jsonc", ".jsonc": "jsonc"}
"""How a file is read, by the end of its name."""
_BYTES = 4_000_000
"""Bytes of a file; a longer one is refused."""
_LISTED = 200
"""Files of a folder that are listed."""
LATEST = """
    select workflow_id
    from (
        select
            l.workflow_id, l.name, l.syntax = 'rows' as as_rows,
            row_number() over (
                partition by l.name, l.syntax = 'rows' order by l.project is null, l.workflow_id desc
            ) as place
        from workflow_list as l
        left join projects as p on p.name = l.project
        where l.project is null or p.root is :root
    )
    where place = 1
"""
"""Of the workflows in the file that have one name, the latest that was written as rows, and the latest that was read from a
text; those of the project in the folder `root` come before those of all.
"""
_READ = "select workflow_read(?, ?, (select json_group_array(name) from tools))"


@dataclass(frozen=True)
class Source:
    """The text of a workflow, and where it stands."""

    source: str
    syntax: str
    text: str

    @property
    def name(self) -> str:
        """What it is called where it is looked for: its file without the end."""
        return Path(self.source.removeprefix("engine:")).stem

    @property
    def file(self) -> str | None:
        """The absolute path of its file; None for one that comes with the engine."""
        return None if self.source.startswith("engine:") else os.path.abspath(self.source)


def shipped() -> Iterator[Source]:
    """The workflows that come with the engine."""
    for file in sorted((folder_of("engine.templates") / "workflows").iterdir(), key=lambda each: each.name):
        if (syntax := SYNTAXES.get(Path(file.name).suffix)) is not None:
            yield Source(f"engine:{file.name}", syntax, file.read_text("utf-8"))


def folders(db: Handle, root: Path | None) -> list[Path]:
    """Where workflows are looked for: the folders of the setting `workflow_folders` in `root`, then the user's own."""
    named = str(db.value("select value from settings where name = 'workflow_folders'") or "")
    below = [Path(each.strip()) for each in named.split(",") if each.strip()]
    own = [root / each for each in below if not each.is_absolute() and ".." not in each.parts] if root else []
    return [*own, config_folder() / "workflows"]


def find_all(db: Handle, root: Path | None) -> Iterator[Source]:
    """All workflows in files: those of the folders, then those that come with the engine. What is no text is passed over."""
    for folder in folders(db, root):
        names: list[str] = []
        with suppress(OSError):
            names = sorted(os.listdir(folder))
        for name in [each for each in names if Path(each).suffix in SYNTAXES][:_LISTED]:
            if (text := _text_in(folder, name)) is not None:
                yield Source(str(folder / name), SYNTAXES[Path(name).suffix], text)
    yield from shipped()


def _named(db: Handle, name: str, root: Path | None) -> Iterator[Source]:
    """The workflows of a name in files, in the order in which they count."""
    for folder in folders(db, root):
        for end, syntax in SYNTAXES.items():
            if (text := _text_in(folder, name + end)) is not None:
                yield Source(str(folder / (name + end)), syntax, text)
    yield from (each for each in shipped() if each.name == name)


def stored(db: Handle, name: str, root: Path | None, *, as_rows: bool) -> int | None:
    """The id of the workflow of a name that is in the file, one that was written as rows or one that was read; else None."""
    query = f"{LATEST} and name = :name and as_rows = :as_rows"
    found = db.value(query, {"name": name, "root": None if root is None else str(root), "as_rows": as_rows})
    return None if found is None else int(found)


def find(db: Handle, given: str | os.PathLike[str], root: Path | None) -> Source | int:
    """The workflow that `given` names: a file, or a name; the id of one that is in the database.

    A name is looked up among the rows that an app wrote, in the project's folders, in the user's, among those that come with
    the engine, and last among those that were run before. Raises `NotFound` (404), `ValidationError` (400) for the text of a
    workflow, and what `of_file` raises.
    """
    name = os.fspath(given)
    if "\n" in name:
        raise ValidationError(
            "give the name or the file of a workflow, not its text; write the text to a file that ends in "
            f"{', '.join(SYNTAXES)}"
        )
    if Path(name).suffix in SYNTAXES or os.sep in name:
        return of_file(Path(name).expanduser())
    if (as_rows := stored(db, name, root, as_rows=True)) is not None:
        return as_rows
    if (found := next(_named(db, name, root), None)) is not None:
        return found
    if (before := stored(db, name, root, as_rows=False)) is not None:
        return before
    raise NotFound(f"workflow {name!r}: not found; 'engine workflow list' lists the workflows, or give a file")


def of_file(place: Path) -> Source:
    """The text of a file. Raises `NotFound` (404), `PermissionDenied` (403) for one that cannot be read, `ValidationError`
    (400) for one that is no text or of no known kind, and `Overflow` (413) for one that is too long.
    """
    syntax = SYNTAXES.get(place.suffix)
    if syntax is None:
        raise ValidationError(f"{str(place)!r}: the name of a workflow file must end in {' or '.join(SYNTAXES)}")
    try:
        real = Path(os.path.realpath(place, strict=True))
        with held_folder(real.parent) as folder, open_regular(real.name, folder) as file:
            data = file.read(_BYTES + 1)
    except FileNotFoundError as error:
        raise NotFound(f"{str(place)!r}: there is no such file") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise PermissionDenied(f"{str(place)!r}: cannot be read, {why}") from error
    if len(data) > _BYTES:
        raise Overflow(f"{str(place)!r}: has more than {_BYTES:,} bytes")
    text = text_of(data)
    if text is None:
        raise ValidationError(f"{str(place)!r}: is not UTF-8 text")
    return Source(str(place), syntax, text)


def read(db: Handle, source: Source) -> dict[str, Any]:
    """What a text says, with its problems and notes, as `workflow_read` gives it; nothing is kept."""
    found: dict[str, Any] = json.loads(db.value(_READ, (source.text, source.syntax)))
    return found


def start(
    db: Handle,
    given: str | os.PathLike[str] | Source,
    variables: Mapping[str, Any] | None,
    run: str | None,
    options: Options,
) -> tuple[str, int, list[str]]:
    """Start a run of a workflow without driving it; returns (run, loop sequence, notes).

    Raises what `find` raises, `ValidationError` (400) for all that is wrong with it and for missing variables, `NotFound`
    (404) for an unknown model or folder, and `Conflict` (409) for the name of a run that is there.
    """
    check_options(options)
    if options.get("fork") is not None or options.get("at") is not None:
        raise ValidationError("a workflow starts new runs; leave out fork and at")
    root = options.get("root")
    place = None
    if root is not None:
        from engine.project.workspace import Workspace

        place = Workspace(Path(root)).root
    source = given if isinstance(given, Source) else find(db, given, place)
    sync_environment_models(db)
    model, lacks_model = _model_of(db, options, root)
    check_tokenizer(db)
    attributes = attributes_of({**prompts.with_sandbox(options), "model": model})
    read_from = None if isinstance(source, int) else source.file
    with db.savepoint():
        workflow = source if isinstance(source, int) else _keep(db, source, place)
        if lacks_model and db.value("select 1 from _steps_of_any_model where workflow_id = ?", (workflow,)):
            raise lacks_model
        name = str(db.value("select name from workflows where id = ?", (workflow,)))
        alias = run or free_name(db, f"{words_of(name)}-run")
        db.insert(
            "verb_start_workflow",
            run=alias,
            workflow_id=workflow,
            variables=_as_json(variables or {}),
            attributes=prompts.as_json(attributes),
            models=json.dumps(
                models_of(db, workflow, read_from, place, model, partial(choose_model, db, None, root=root))
            ),
        )
        note_root(db, alias, root)
        expect_threads(db, alias)
    notes = [
        f"{row['name']}: the workflow has no such variable; its steps are told of it all the same"
        for row in db.rows(
            "select v.name from workflow_values as v join runs as r on r.id = v.run_id "
            "where r.alias = ? and v.origin = 'undeclared' order by v.name",
            (alias,),
        )
    ]
    return alias, 1, notes


def _model_of(
    db: Handle, options: Options, root: str | os.PathLike[str] | None
) -> tuple[str | None, EngineError | None]:
    """The model of the run; where none is named and none can be chosen, None and why: steps may name all that they need."""
    given = db.app_models.name(one_model(options))
    try:
        return choose_model(db, None, given, root), None
    except EngineError as error:
        if given is not None:
            raise
        return None, error


def _as_json(variables: Mapping[str, Any]) -> str:
    """Variables as JSON, without characters that cannot be stored. Raises `ValidationError` (400) for what is no text."""
    try:
        told = {name: storable(value) if isinstance(value, str) else value for name, value in variables.items()}
        return json.dumps(told, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValidationError(f"variables: {error}; give each variable a text") from error


def _keep(db: Handle, source: Source, place: Path | None) -> int:
    """The id of a workflow in the file: that of this text, made where it is new."""
    from engine.skills.changing import project_of

    project = None if place is None else project_of(db, place)
    db.insert(
        "verb_write_workflow",
        project_id=project,
        syntax=source.syntax,
        text=source.text,
        source=source.file or source.source,
    )
    return int(
        db.value(
            "select max(id) from workflows where text = ? and syntax = ? and project_id is ?",
            (source.text, source.syntax, project),
        )
    )


def steps(db: Handle, run: str) -> list[Row]:
    """The steps of a run of a workflow in their order. Raises `NotFound` (404) for a run that is of none."""
    rows = db.rows("select * from step_list where run = ?", (run,))
    if not rows:
        raise NotFound(f"run {run!r}: is not a workflow run; 'engine workflow list' lists workflow runs")
    return rows


def _text_in(folder: Path, name: str) -> str | None:
    try:
        with held_folder(folder) as held, open_regular(name, held) as file:
            data = file.read(_BYTES + 1)
    except (OSError, ValueError):
        return None
    return text_of(data) if len(data) <= _BYTES else None
