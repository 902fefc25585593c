"""The models and settings that are in force here: those of the database, the environment and the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.api.database import Database


@contextmanager
def with_environment(db: Database) -> Iterator[Database]:
    """A database in memory with the models of `db` and of the environment, and with the settings that are in force."""
    import engine
    from engine.config.configuration import copy_settings, load, project_folder
    from engine.driving.model_choice import sync_environment_models

    with engine.open(":memory:", config=True) as beside:
        columns = {row["name"] for row in beside.rows("select name from pragma_table_info('models')")} - {"id"}
        for row in db.rows("select * from models"):
            beside.execute("delete from models where alias = ?", (row["alias"],))
            beside.insert("models", **{name: value for name, value in row.items() if name in columns})
        copy_settings(db, beside)
        load(beside, project_folder(db.path))
        sync_environment_models(beside)
        yield beside
