"""A build with two tables more, and the build after it: a table is renamed, given a column, rebuilt.

The machinery of migrations is proved by them, since the tables of the engine have had one version so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import apsw

from engine.schema.build import VERSION, Build, installed
from engine.schema.registration import register
from engine.schema.update import prepare

NEXT = VERSION + 1
# A table renamed, one given a column, one rebuilt that others refer to and that has rows.
STEPS = """
alter table notes rename to remarks;
alter table remarks add column weight integer not null default 1 constraint remarks_weight check (weight > 0);
pragma legacy_alter_table = on;
create table new_shelves (
    id integer primary key,
    title text not null constraint shelves_title_unique unique
) strict;
insert into new_shelves (id, title) select id, name from shelves;
drop table shelves;
alter table new_shelves rename to shelves;
pragma legacy_alter_table = off;
create index idx_shelves_title on shelves (title);
"""
OLD = (
    "300_shelves.sql",
    """
create table if not exists shelves (
    id integer primary key,
    name text not null
) strict;
create table if not exists notes (
    id integer primary key,
    shelf_id integer not null constraint notes_shelf references shelves (id) on delete cascade, -- where it stands
    body text
) strict;
create view note_list as select n.body, s.name from notes as n join shelves as s on s.id = n.shelf_id;
create view notes_door as select body from notes;
create trigger notes_door__write instead of insert on notes_door begin
    insert into notes (shelf_id, body) values (1, new.body);
end;
create trigger notes__guard before delete on notes begin select fail(409, 'notes stay'); end;
create trigger shelves__guard before delete on shelves begin select fail(409, 'shelves stay'); end;
create trigger shelves__count after insert on shelves begin update notes set body = 'spoilt'; end;
""",
)
NEW = (
    "300_shelves.sql",
    """
create table if not exists shelves (
    id integer primary key,
    -- what is written on it
    title text not null constraint shelves_title_unique unique
) strict;
create table if not exists remarks (
    id integer primary key,
    shelf_id integer not null constraint notes_shelf references shelves (id) on delete cascade,
    body text,
    weight integer not null default 1 constraint remarks_weight check (weight > 0)
) strict;
create index if not exists idx_shelves_title on shelves (title);
create view remark_list as select r.body, s.title, r.weight from remarks as r join shelves as s on s.id = r.shelf_id;
create trigger remarks__guard before delete on remarks begin select fail(409, 'remarks stay'); end;
""",
)


@cache
def first_build() -> Build:
    """The installed build with two tables more, which are those of its first version."""
    return installed()._replace(sources=(*installed().sources, OLD))


@cache
def next_build() -> Build:
    """The build after it: its first migration holds the tables of the version before, as they are in a file."""
    before = first_build()._replace(plugins=()).fresh.objects
    virtual = [f"{each.name}_" for each in before if each.sql.lower().startswith("create virtual")]
    by_itself = ("sqlite_", "engine_", *virtual)
    kinds = ("table", "index")
    made = [each for kind in kinds for each in before if each.type == kind and not each.name.startswith(by_itself)]
    tables = "".join(f"{each.sql};\n" for each in made)
    return first_build()._replace(
        version=NEXT,
        sources=(*installed().sources, NEW),
        migrations=((VERSION, tables), (NEXT, STEPS)),
    )


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    """A connection to the file with the functions of the engine."""
    with closing(apsw.Connection(str(path))) as connection:
        register(connection)
        yield connection


def migrate(path: Path, build: Build, **options: bool) -> None:
    """Bring the file to the version of `build`."""
    with opened(path) as connection:
        prepare(connection, build=build, **options)
