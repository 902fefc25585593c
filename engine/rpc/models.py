"""Methods about models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.driving.model_choice import full_name, sync_environment_models
from engine.models.aliases import add_alias, remove_alias

if TYPE_CHECKING:
    from engine.db.database import Row

    from .projects import Project

_MODELS = """
    select alias, actual, context_length as contextLength, tool_calling as toolCalling, origin
    from models
    order by alias
    limit coalesce(:limit, -1) offset coalesce(:offset, 0)
"""


async def get_models(project: Project, given: dict[str, Any]) -> list[Row]:
    """The aliases with the models that they mean, those of the environment too."""

    def read(db: Any) -> list[Row]:
        sync_environment_models(db)
        rows: list[Row] = db.rows(_MODELS, {"limit": given.get("limit"), "offset": given.get("offset")})
        return rows

    return await project.hub.db.call_async(read)


async def add_model(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Add an alias, or change what it means."""

    def add(db: Any) -> str:
        actual: str = full_name(db, given["actual"])
        add_alias(db, given["alias"], actual, context=given.get("contextLength"))
        return actual

    return {"alias": given["alias"], "actual": await project.hub.db.call_async(add)}


async def remove_model(project: Project, given: dict[str, Any]) -> dict[str, Any]:
    """Remove an alias."""
    await project.hub.db.call_async(lambda db: remove_alias(db, given["alias"]))
    return {"alias": given["alias"]}
