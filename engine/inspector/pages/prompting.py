"""What the form of a prompt offers: models, modes, personas, folders and options.

spec: @inspector_writes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.api.database import Database

_MODELS = """
    select alias as name from models
    union
    select model from runs where model is not null
    order by 1
    limit 100
"""
_FOLDERS = """
    select p.root
    from projects as p
    where p.root is not null
    order by (select max(r.updated_at) from runs as r where r.project_id = p.id) desc
    limit 40
"""
_FLAGS = "select name, meaning from run_options where scope = 'loop' and kind = 'flag' order by name"
_WHOLES = ("max_turns", "max_depth")
_NUMBERS = "select name, meaning, least, most from run_options where name in (?, ?) order by name desc"


def prompt_form(db: Database, *, is_new: bool) -> dict[str, Any]:
    """The choices of the form; a new run also chooses a persona and a folder."""
    return {
        "models": [name for (name,) in db.tuples(_MODELS)],
        "modes": db.rows("select name, meaning from modes order by name"),
        "flags": db.rows(_FLAGS),
        "numbers": db.rows(_NUMBERS, _WHOLES),
        "personas": [name for (name,) in db.tuples("select name from personas order by name")] if is_new else [],
        "folders": [root for (root,) in db.tuples(_FOLDERS)] if is_new else [],
        "is_new": is_new,
    }
