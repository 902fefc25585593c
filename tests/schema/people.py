"""What the tests of the schema share: the views for people with their columns, and a file with a run in it."""

from __future__ import annotations

import re
from pathlib import Path

import apsw

import engine

PEOPLES_VIEWS = {
    "run_overview": "run project model status loops turns answer cost created_at updated_at parent",
    "run_log": "run turn ordinal writer action target state outcome status body path",
    "turn_timeline": "run loop turn mode model status commands errors strikes context_tokens prompt_tokens cached_tokens "
    "completion_tokens reasoning_tokens cost ms_model ms_engine packet_sha256",
    "known_entries": "run scope path scheme category body attributes visibility state outcome status turn tokens updated_at",
    "open_proposals": "run turn path action target detail since",
    "context_at": "run turn path visibility state body",
    "run_state": "run turn status answer history unknowns telemetry",
    "command_results": "run command_id request_id turn action path state outcome status message",
    "packet_texts": "run turn role sha256 text",
    "project_files": "project root path kind size chars lines sha256",
    "audit_entries": "run path turn body status",
    "loop_list": "run loop mode model prompt status reason answer turns strikes",
}
"""The columns that people's views have at least."""

RUN = """
insert into verb_set (run, path, body, attributes) values ('demo', 'run://demo', 'go', '{"model":"m"}');
insert into report_file (project_id, path, kind, size, mtime_ns, sha256, text)
values (1, 'a.txt', 'text', 4, 1, 'h', 'one' || char(10));
insert into sync_files (run_id) values (1);
insert into begin_turn (run) values ('demo');
insert into submit_packet (turn_id, chars) values (1, 100);
update turns set response = '<set path="known://a">one</set><get path="a.txt"/><set path="a.txt">two</set>';
insert into dispatch (run) values ('demo');
"""


def file_with_a_run(path: Path) -> Path:
    """An engine file at `path` in which a run waits for a decision."""
    with engine.open(path) as db:
        run_script(db.connection, RUN)
    return path


def run_script(connection: apsw.Connection, sql: str) -> None:
    """Run all statements of `sql`."""
    connection.execute(sql).fetchall()


def names(connection: apsw.Connection, kind: str) -> list[str]:
    """The tables or views of the engine, without the shadow tables of its full-text index."""
    rows = connection.execute(
        "select name, sql from sqlite_schema where type = ? and name not glob 'content_search_*' "
        "and name not glob 'sqlite_*' order by name",
        (kind,),
    )
    return [name for name, _ in rows]


def views_for_people(connection: apsw.Connection) -> list[str]:
    """The views that say inside their own `create` what they promise: `.schema` shows it at the shell."""
    rows = connection.execute("select name, sql from sqlite_schema where type = 'view' order by name")
    return [name for name, sql in rows if re.search(r"\bas\n--", sql)]
