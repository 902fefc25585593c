"""What a client may choose for a session: its mode, its model, and commands that begin a prompt.

All but the modes use the handle of the session, which one thread at a time does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acp import schema

from engine.acp.texts import title
from engine.driving.model_choice import check_effort, choose_model, sync_environment_models, takes_effort
from engine.errors import EngineError, NotFound, PermissionDenied, ValidationError
from engine.functions.values import EFFORTS
from engine.models import resolve_model

from .sessions import MODES

if TYPE_CHECKING:
    from .sessions import Session

MODEL, EFFORT = "model", "effort"
"""The ids of the options."""
_AS_IT_IS = "default"
"""The effort that the alias, the setting or the model itself says."""
_EFFORT = "select effort from runs where alias = ?"
_MOST_COMMANDS = 100
_SKILLS = """
    select s.name, s.description
    from skills as s
    left join projects as p on p.name = s.project
    where s.problem is null and (s.project is null or p.root = ?)
    order by s.name
    limit ?
"""


def modes(session: Session, known: Sequence[str]) -> schema.SessionModeState:
    """The modes that a session may have, and the one that it has."""
    available = [schema.SessionMode(id=each, name=MODES[each][0], description=MODES[each][1]) for each in known]
    return schema.SessionModeState(current_mode_id=session.mode, available_modes=available)


def set_mode(session: Session, mode: str, known: Sequence[str]) -> None:
    """Let the next prompts of a session have a mode. Raises `PermissionDenied` (403) for yolo where nobody allowed it,
    `NotFound` (404) for a mode that there is not.
    """
    if mode in MODES and mode not in known:
        raise PermissionDenied(f"mode {mode!r}: needs a server that was started with 'engine serve acp --yolo'")
    if mode not in known:
        raise NotFound(f"mode {mode[:100]!r}: unknown; the modes are {', '.join(known)}")
    session.mode = mode


def options(session: Session) -> list[schema.SessionConfigOptionSelect | schema.SessionConfigOptionBoolean]:
    """The options of a session: its model, of those that can be used here, and, if it can be told, how hard that thinks."""
    sync_environment_models(session.database)
    current = _model(session)
    names = list(dict.fromkeys([*_usable(session), *([current] if current else [])]))
    if not names:
        return []
    found: list[schema.SessionConfigOptionSelect | schema.SessionConfigOptionBoolean] = [
        _select(MODEL, "Model", "model", current or names[0], names)
    ]
    if current and _takes_effort(session, current):
        effort = session.effort or session.database.value(_EFFORT, (session.run,))
        levels = [*EFFORTS] if effort else [_AS_IT_IS, *EFFORTS]
        found.append(_select(EFFORT, "Effort", "thought_level", effort or _AS_IT_IS, levels))
    return found


def set_option(session: Session, option: str, value: str | bool) -> None:
    """Let the next prompts of a session have another model or effort.

    Raises `NotFound` (404) for an option or a model that there is not, `ValidationError` (400) for an effort that is none or
    that the model does not take.
    """
    db = session.database
    match option, value:
        case "model", str(name):
            session.model = choose_model(db, session.run, name, session.root)
        case "effort", str(level):
            if level not in (_AS_IT_IS, *EFFORTS):
                raise ValidationError(f"effort {level[:40]!r}: must be one of {', '.join(EFFORTS)}")
            chosen = None if level == _AS_IT_IS else level
            if model := _model(session):
                check_effort(db, session.run, model, chosen)
            session.effort = chosen
        case _:
            raise NotFound(f"option {option[:100]!r}: no option has this value; the options are {MODEL} and {EFFORT}")


def _select(
    option: str, name: str, category: Any, current: str, values: Sequence[str]
) -> schema.SessionConfigOptionSelect:
    choices = [schema.SessionConfigSelectOption(value=each, name=title(each)) for each in values]
    return schema.SessionConfigOptionSelect(
        type="select", id=option, name=name, category=category, current_value=current, options=choices
    )


def commands(session: Session) -> schema.AvailableCommandsUpdate:
    """The commands of a session: its skills, by their names."""
    rows = session.database.rows(_SKILLS, (str(session.root), _MOST_COMMANDS))
    return schema.AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[
            schema.AvailableCommand(
                name=row["name"],
                description=title(row["description"] or row["name"]),
                input=schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint="what to do")),
            )
            for row in rows
        ],
    )


def expanded(session: Session, text: str) -> str:
    """A prompt that begins with /NAME of a skill says so in words; any other is as it is."""
    name, _, rest = text.removeprefix("/").partition(" ")
    if not text.startswith("/"):
        return text
    known = {row["name"] for row in session.database.rows(_SKILLS, (str(session.root), _MOST_COMMANDS))}
    return f"Get skill://{name} and do what it says. {rest}".strip() if name in known else text


def _model(session: Session) -> str | None:
    """The model of the next prompt; None where there is none."""
    try:
        return choose_model(session.database, session.run, session.model, session.root)
    except EngineError:
        return session.model


def _takes_effort(session: Session, name: str) -> bool:
    """Whether a model can be told how hard to think."""
    db = session.database
    actual = str(db.value("select actual from models where alias = ?", (name,)) or name)
    try:
        return takes_effort(db.app_models.find(actual) or resolve_model(actual, db.keys_for(session.run, session.root)))
    except EngineError:
        return False


def _usable(session: Session) -> list[str]:
    from engine.models.availability import problem

    keys = session.database.keys_for(session.run, session.root)
    rows = session.database.rows("select alias, actual from models order by alias")
    return [str(row["alias"]) for row in rows if problem(row["actual"], keys) is None]
