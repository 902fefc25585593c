"""What Datasette is told of a file: which tables and views are internal, and what the others and their columns hold.

spec: @export
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .tables import table

if TYPE_CHECKING:
    from engine.db.database import Store
    from engine.db.view_list import View

# Internal: what begins with an underscore, doors, which are there to be written to, and what the file keeps about itself.
_HIDDEN = """
    select s.name
    from sqlite_schema as s
    where s.type in ('table', 'view')
        and s.name not glob 'sqlite_*'
        and (
            s.name glob '_*'
            or s.name glob 'engine_*'
            or s.name glob 'content_search*'
            or (
                s.type = 'view'
                and exists (select 1 from sqlite_schema as t where t.type = 'trigger' and t.tbl_name = s.name)
            )
        )
    order by s.name
"""


def write(db: Store, views: list[View], target: Path) -> dict[str, int]:
    """Write the metadata for `datasette FILE -m TARGET`; returns the views that it describes, each with 0 rows."""
    tables: dict[str, Any] = {str(name): {"hidden": True} for (name,) in db.tuples(_HIDDEN)}
    for view in views:
        of = table(db, view)
        columns = {column.name: column.description for column in of.columns if column.description}
        tables[view.name] = {"description": of.description} | ({"columns": columns} if columns else {})
    told = {"databases": {db.path.stem: {"tables": tables}}}
    target.write_text(json.dumps(told, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return {view.name: 0 for view in views}
