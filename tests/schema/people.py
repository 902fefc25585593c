"""What the tests of the schema share: the views for people with their columns, and a file with a run in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import apsw

import engine

PEOPLES_VIEWS = {
    "run_overview": "run project model status loops turns answer cost created_at updated_at parent",
    "run_log": "run turn ordinal writer action target state outcome status body path decided_by created_at",
    "decisions": "run turn path kind target decision decided_by reason decided_at diff",
    "turn_timeline": "run loop turn mode model status commands errors strikes context_tokens prompt_tokens cached_tokens "
    "completion_tokens reasoning_tokens cost ms_model ms_engine packet_sha256 created_at ended_at",
    "known_entries": "run scope path scheme category body attributes visibility state outcome status turn tokens updated_at",
    "open_proposals": "run turn path action target detail created_at",
    "context_at": "run turn path visibility state body",
    "run_state": "run turn status answer history unknowns telemetry updated_at",
    "command_results": "run command_id request_id turn action path state outcome status message created_at",
    "packet_texts": "run turn role sha256 body sent_at",
    "project_files": "project root path kind size chars lines sha256",
    "audit_entries": "run path turn body status created_at",
    "loop_list": "run loop mode model prompt status reason answer turns strikes created_at started_at ended_at",
    "open_prompts": "run loop status prompt created_at",
    "run_progress": "run event_id type turn context_tokens ceiling cost action target status outcome body path created_at",
    "cost_by_day": "day model run calls prompt_tokens cached_tokens completion_tokens reasoning_tokens cost unknown_prices "
    "known_cost",
    "file_changes": "run turn path change cause command added removed decided_by created_at prompt",
    "command_outputs": "run turn command channel body printed exit_code ended_at path",
    "next_demotions": "run step becomes path visibility turn last_used_turn tokens freed",
    "said": "run turn created_at kind path body",
}
"""The columns that people's views have at least."""

RUN = """
insert into verb_set (run, path, body, attributes) values ('demo', 'run://demo', 'go', '{"model":"m","overwrite_unseen":1}');
insert into _report_file (project_id, path, kind, size, mtime_ns, sha256, text)
values (1, 'a.txt', 'text', 4, 1, 'h', 'one' || char(10));
insert into _sync_files (run_id) values (1);
insert into _begin_turn (run) values ('demo');
insert into _submit_packet (turn_id, chars) values (1, 100);
update turns set response = '<set path="known://a">one</set><get path="a.txt"/><set path="a.txt">two</set>';
insert into _dispatch (run) values ('demo');
"""

NOTES = "# Notes\n\nThe port is 8080.\nThe owner is Ada.\n"
ANSWERS = [
    '<get path="notes.md"/><set path="unknown://owner">Who pays?</set><update status="102">reading</update>',
    '<set path="known://port" tags="port">The port is 8080.</set><sh>echo built; echo careful >&2</sh>'
    '<update status="102">building</update>',
    '<set path="notes.md"><<APPEND\nMore.\nAPPEND</set><update status="102">editing</update>',
    '<update status="200">Done.</update>',
]


def file_with_a_run(path: Path) -> Path:
    """An engine file at `path` in which a run waits for a decision."""
    with engine.open(path) as db:
        run_script(db.connection, RUN)
    return path


def file_of_real_runs(folder: Path) -> Path:
    """A file in `folder` with a run that ended, a fork of it, and a run that waits; nobody has it open."""
    (folder / "work").mkdir()
    (folder / "work" / "notes.md").write_text(NOTES, encoding="utf-8")
    script = folder / "s.jsonl"
    usage = {"prompt_tokens": 900, "cached_tokens": 800, "completion_tokens": 20, "reasoning_tokens": 5, "cost": 0.001}
    script.write_text("".join(json.dumps({"text": text, "usage": usage}) + "\n" for text in ANSWERS), encoding="utf-8")
    with engine.open(folder / "t.db") as db:
        db.run("Go", run="demo", model=f"scripted:{script}", root=folder / "work", yolo=True)
        db.fork("demo", "child", 3)
        db.run("Go", run="waits", model=f"scripted:{script}", root=folder / "work")
    return folder / "t.db"


def run_script(connection: apsw.Connection, sql: str) -> None:
    """Run all statements of `sql`."""
    connection.execute(sql).fetchall()


def names(connection: apsw.Connection, kind: str) -> list[str]:
    """The tables or views of the engine, without the shadow tables of its full-text indexes."""
    rows = connection.execute(
        "select name, sql from sqlite_schema where type = ? and name not glob 'content_search_*' "
        "and name not glob 'text_search_*' "
        "and name not glob 'sqlite_*' order by name",
        (kind,),
    )
    return [name for name, _ in rows]


def views_for_people(connection: apsw.Connection) -> list[str]:
    """The views that say inside their own `create` what they promise: `.schema` shows it at the shell."""
    rows = connection.execute("select name, sql from sqlite_schema where type = 'view' order by name")
    return [name for name, sql in rows if re.search(r"\bas\n--", sql)]
