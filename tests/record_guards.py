"""The one list of what the record keeps, and the triggers that hold it.

sql/record, the guards of each module and the table in sql/record/SPEC.md are made from `RECORD` (`make spec`), and `make
check` says where they differ. A column that a table of the record does not name here never changes, so a new one is
guarded until somebody says otherwise.
tests/hostile/test_the_record_cannot_be_altered.py tries every table and column.
"""

from __future__ import annotations

import re
import sqlite3
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.schema.build import installed

ROOT = Path(__file__).parent.parent
ROWID = ("rowid", "_rowid_", "oid")
WIDTH = 100
OWN_NUMBERS = {"events"}
"""The tables whose rows are inserted with their number."""
STATEMENT = re.compile(r"^create (?:unique |virtual )?(?:table|index) .*?;\n", re.MULTILINE | re.DOTALL)

OF_A_RUN = "exists (select 1 from runs where id = old.run_id)"
OF_A_SENT_TURN = "exists (select 1 from turns where id = old.turn_id and phase <> 'assembling')"
OF_A_JUDGED_TURN = "exists (select 1 from turns where id = old.turn_id and phase = 'judged')"
USAGE = "response finish_reason prompt_tokens cached_tokens completion_tokens reasoning_tokens cost cost_from"
OF_AN_OPEN_TURN = "exists (select 1 from turns where id = old.turn_id and phase <> 'judged')"
OF_A_SELECTION = "exists (select 1 from rule_selections where id = old.selection_id)"
OF_A_NARROWING = "exists (select 1 from tool_narrowings where loop_id = old.loop_id)"
OF_A_COMMAND = "exists (select 1 from commands where id = old.command_id)"
WITH_THE_CLOCK = "new.since - (select coalesce(max(id), 0) from events) in (0, 1)"
SEEN = "content_id visibility state outcome context_order turn"
# a fork marks what its parent had not finished
AS_A_VERSION = f"""new.since <> old.since and {WITH_THE_CLOCK}
    or new.since = old.since
    and (new.{SEEN.replace(" ", ", new.")})
    is (old.{SEEN.replace(" ", ", old.")})
    and (new.metadata_id is old.metadata_id or not exists (select 1 from turns where run_id = old.run_id))"""
WITH_ITS_SUMMARY = "old.summary is null and old.cut is not null and new.summary is not null"
UNTIL_A_SWEEP = "not exists (select 1 from _purges where run_id < 0)"


@dataclass(frozen=True)
class Kept:
    """A table of the record; the conditions are SQL over `old` and `new`.

    `stays`: a row of which this holds is not deleted; '' where each deletion is recorded. `may`: columns, and the condition
    under which they change. `free`: columns that change at any time, along rules of their own. `taken`: an insert of which
    this holds is refused; by default one whose key a row has already, which REPLACE would delete without asking any trigger.
    """

    name: str
    stays: str
    may: tuple[tuple[str, str], ...] = ()
    free: str = ""
    taken: str = ""

    @property
    def fixed(self) -> list[str]:
        """The columns that never change."""
        named = " ".join((self.free, *(columns for columns, _ in self.may))).split()
        return [column for column in columns_of(self.name) if column not in named]


OF_RUNS = (
    Kept(
        "runs",
        stays="not exists (select 1 from _purges where run_id = old.id)",
        # a rewind swaps the names of two lines; a person's new name stands in the events first
        may=(
            (
                "alias",
                "exists (select 1 from _parted_runs where run_id = old.id)\n    or new.alias = ("
                "\n        select json_extract(detail, '$.to') from events where run_id = old.id and kind = 'run.renamed'"
                "\n        order by id desc limit 1\n    )",
            ),
        ),
        free="title labels archived_at model persona system_prompt temperature effort context_limit status next_turn "
        "next_loop responses updated_at",
    ),
    Kept("run_scopes", stays=OF_A_RUN),
    Kept("children", stays=OF_A_RUN),
    Kept(
        "loops",
        stays=OF_A_RUN,
        # a loop begins in the queue
        taken="new.id > 0\n    or new.status = 102\n"
        "    or exists (select 1 from loops where run_id = new.run_id and sequence = new.sequence)",
        may=(("reason answer output streak chars_per_token started_at ended_at", "old.status in (100, 102)"),),
        free="status",
    ),
    Kept(
        "turns",
        stays=OF_A_RUN,
        may=(
            (USAGE, "\n    and ".join(f"(old.{name} is null or new.{name} is old.{name})" for name in USAGE.split())),
            ("ms_model", "old.ms_model is null or old.phase <> 'judged'"),
            ("native", "old.response is null or new.native = old.native"),
            # an answer that was paid for is stored, even where its loop was aborted meanwhile
            ("lease reasoning", "old.phase <> 'judged' or old.response is null"),
            (
                "phase status prose warnings context_chars context_tokens entry_chars seen_at "
                "fingerprint streak chars_per_token ladder condensed refused scanned ended_at",
                "old.phase <> 'judged'",
            ),
        ),
        free="ms_engine",
    ),
    Kept("workflows", stays="true"),
    Kept("workflow_variables", stays="true"),
    Kept("workflow_steps", stays="true"),
    Kept("workflow_needs", stays="true"),
    Kept("workflow_runs", stays=OF_A_RUN),
    Kept("workflow_values", stays=OF_A_RUN),
    Kept(
        "step_runs",
        stays=OF_A_RUN,
        may=(("state reason child_run_id started_at ended_at", "old.state in ('waiting', 'running')"),),
    ),
    Kept("turn_errors", stays=OF_A_SENT_TURN, may=(("slug", "old.slug is null"),)),
    Kept("model_calls", stays=OF_A_RUN, may=(("state status message ended_at", "old.state = 'open'"),)),
    Kept("votes", stays=OF_A_JUDGED_TURN, taken=OF_A_JUDGED_TURN),
    Kept("turn_seals", stays=OF_A_JUDGED_TURN, may=(("digest", "old.digest = ''"),)),
    Kept("purged_seals", stays="true"),
    Kept(
        "handoffs",
        stays="exists (select 1 from loops as l join runs as r on r.id = l.run_id where l.id = old.loop_id)",
        # a turn may name a persona that the end of its loop does not follow
        may=(("persona model tools note command_id next_loop_id", "old.next_loop_id is null"),),
    ),
    Kept(
        "acceptance_checks",
        stays=OF_A_RUN,
        may=(("verdict counts reasons ended_at", "old.verdict is null"),),
    ),
    Kept("commits", stays=OF_A_RUN, may=(("hash left_out reason ended_at", "old.ended_at is null"),)),
    Kept("commit_edits", stays="exists (select 1 from commits where command_id = old.commit_id)"),
    Kept(
        "hook_calls",
        stays=OF_A_RUN,
        may=(("verdict refuses reason exit_code ended_at", "old.verdict is null"),),
    ),
)
OF_PACKETS = (
    Kept("packets", stays=OF_A_SENT_TURN),
    Kept("chunk_lists", stays=UNTIL_A_SWEEP),
    Kept("chunks", stays=UNTIL_A_SWEEP),
    Kept("pictures", stays=UNTIL_A_SWEEP),
    Kept("turn_pictures", stays=OF_A_SENT_TURN),
    Kept("attachments", stays=OF_A_RUN),
    Kept("demotions", stays=OF_A_JUDGED_TURN, taken=OF_A_JUDGED_TURN),
    Kept(
        "rule_selections",
        stays=OF_A_RUN,
        may=(
            (
                "chars all_chars tag",
                "not exists (select 1 from turns where loop_id = old.loop_id and phase <> 'assembling')",
            ),
        ),
    ),
    Kept(
        "file_modes",
        stays="exists (select 1 from entries where id = old.entry_id and scope not like 'purged:%')",
        # the command goes with its run
        may=(("command_id", f"not {OF_A_COMMAND}"), ("is_executable", "old.is_executable is null")),
    ),
    Kept("rule_findings", stays=OF_A_SELECTION),
    Kept("rule_lines", stays=OF_A_SELECTION),
    Kept("_answer_hits", stays="exists (select 1 from turns where id = old.turn_id)"),
    Kept("tool_narrowings", stays="exists (select 1 from loops where id = old.loop_id)"),
    Kept("_tool_choices", stays=OF_A_NARROWING),
)
OF_COMMANDS = (
    Kept(
        "commands",
        stays=OF_A_RUN,
        # commands__ignore_repeats passes over a second one with a request_id
        taken="new.id > 0",
        may=(
            (
                "attributes state outcome message log_path quiet is_pattern entry_id",
                # two values are compared, a table is made of more
                "old.state not in ('resolved', 'failed') and old.state <> 'cancelled'\n    or " + OF_AN_OPEN_TURN,
            ),
            # a long body is kept once, in the response of its turn
            (
                "body body_at body_chars",
                "new.body is null\n    and old.body = (\n"
                "        select substr(response, new.body_at, new.body_chars) from turns where id = old.turn_id\n    )",
            ),
        ),
    ),
    Kept("vetoes", stays=OF_A_COMMAND),
    Kept("imported_calls", stays=OF_A_COMMAND),
    Kept(
        "proposals",
        stays=OF_A_RUN,
        may=(
            # the decision may bring another text or the answer to a question, and a plugin another text while it is taken
            (
                "state outcome reason decided_at content_id detail",
                "old.state in ('proposed', 'accepting', 'accepted')\n    and (\n"
                "        old.state = 'accepting' or old.state = 'proposed' and new.state = 'accepting'\n"
                "        or new.content_id is old.content_id and new.detail = old.detail\n    )",
            ),
        ),
    ),
    Kept("resolutions", stays=OF_A_RUN, may=(("created_at", "old.created_at = 0"),)),
    Kept(
        "effects",
        stays=OF_A_RUN,
        may=(("state identity started_at ended_at", "old.state in ('pending', 'started')"),),
    ),
    Kept(
        "effect_results",
        stays="exists (select 1 from effects where id = old.effect_id)",
        # effect_results__guard refuses a second result
        taken="new.id > 0",
    ),
    Kept(
        "jobs",
        stays=OF_A_RUN,
        may=(("ended_at state outcome exit_code detail", "old.ended_at is null"),),
    ),
    Kept("process_cancels", stays="exists (select 1 from effects where id = old.effect_id)"),
    Kept(
        "undone_edits",
        stays=f"{OF_A_RUN}\n    and {OF_A_COMMAND}\n    and exists (select 1 from commands where id = old.undone_id)",
    ),
    Kept(
        "rewinds",
        stays=f"{OF_A_COMMAND}\n    and {OF_A_RUN}\n    and exists (select 1 from runs where id = old.from_run_id)",
    ),
)
OF_ENTRIES = (
    Kept(
        "run_views",
        # a removal is kept in run_view_versions, as a change is
        stays="",
        may=((f"{SEEN} metadata_id since", AS_A_VERSION),),
        free="writer loop_id last_used_turn write_count picture_chars",
    ),
    Kept("events", stays=f"old.run_id is null or {OF_A_RUN}"),
    Kept("run_view_versions", stays=OF_A_RUN),
    Kept("run_view_uses", stays=OF_A_RUN),
    Kept(
        "entry_versions", stays="exists (select 1 from entries where id = old.entry_id and scope not like 'purged:%')"
    ),
    # that of a file is made when it is first shown
    Kept(
        "contents",
        stays=UNTIL_A_SWEEP,
        may=tuple((name, WITH_ITS_SUMMARY) for name in ("summary", "cut", "summary_chars")),
    ),
    Kept("_entry_metadata", stays=UNTIL_A_SWEEP),
    Kept(
        "entries",
        stays="old.scope not like 'purged:%'",
        may=(
            ("content_id attributes since", WITH_THE_CLOCK),
            ("scope", "exists (select 1 from _purges where old.scope = 'run:' || run_id)"),
        ),
        free="hash",
    ),
)
RECORD = OF_RUNS + OF_PACKETS + OF_COMMANDS + OF_ENTRIES
"""The tables of the record."""

FREE = {
    "entry_chunks": "output while it comes; it becomes a content",
    "job_channels": "how much of an output is there; the output becomes a content",
    "leases": "who drives a run now",
    "call_estimates": "of calls under way",
    "fallback_failures": "configuration",
    "fallbacks": "which model failed stands in its call, and who goes on in the vote",
    "call_reservations": "of calls under way",
    "spending": "added up as answers arrive; each turn has its cost",
    "prompt_spending": "added up as answers arrive; each turn has its cost",
    "bound_stops": "what stopped a prompt stands in its votes and its reason",
    "evals": "results of trials; the runs that they tell of are the record",
    "eval_trials": "results of trials; the runs that they tell of are the record",
    "eval_checks": "results of trials; the runs that they tell of are the record",
    "run_hooks": "configuration; what one said stands in hook_calls",
    "hook_points": "vocabulary",
    "hook_holds": "what a turn waits for now",
    "media_models": "configuration",
    "projects": "configuration",
    "setting_layers": "configuration",
    "file_constraints": "configuration",
    "brackets": "vocabulary",
    "rule_sets": "configuration; what it made of a prompt stands in its selection",
    "rule_domains": "configuration",
    "rule_sources": "configuration; the files that rules were read from",
    "rule_keywords": "configuration",
    "star_commands": "configuration",
    "star_command_rules": "configuration",
    "rule_brackets": "configuration",
    "bracket_rules": "configuration",
    "rule_overrides": "configuration",
    "model_tiers": "configuration",
    "executor_models": "configuration",
    "write_claims": "work in hand",
    "command_policies": "configuration; who decided by one stands in the decision",
    "threads": "configuration; what one did stands in the events",
    "thread_patterns": "configuration",
    "thread_uses": "configuration",
    "thread_states": "where threads stand now; events keep how they came there",
    "_thread_clocks": "up to where threads were told",
    "_thread_offers": "the event that threads are being asked about",
    "thread_events": "vocabulary",
    "test_programs": "vocabulary",
    "grants": "configuration; a row counts only as the user's own store confirms it",
    "file_stats": "what the last scan of a folder found",
    "_skills": "configuration; what runs have seen of a skill stands in their packets",
    "node_statuses": "vocabulary",
    "nodes": "what apps and people relate; the steps of plans are read from entries, whose contents are kept",
    "edges": "as nodes",
    "_graph_changes": "a counter that says when to look again",
    "document_links": "made from contents, which do not change",
    "models": "configuration",
    "settings": "configuration",
    "personas": "the installed ones, and a person's own",
    "tools": "the installed ones",
    "packet_sections": "the installed ones",
    "run_options": "vocabulary",
    "step_states": "vocabulary",
    "run_transitions": "vocabulary",
    "loop_transitions": "vocabulary",
    "turn_transitions": "vocabulary",
    "turn_phases": "vocabulary",
    "statuses": "vocabulary",
    "states": "vocabulary",
    "outcomes": "vocabulary",
    "modes": "vocabulary",
    "visibilities": "vocabulary",
    "writer_tiers": "vocabulary",
    "categories": "vocabulary",
    "schemes": "vocabulary",
    "model_failures": "vocabulary",
    "_entry_actions": "vocabulary",
    "_explained_lines": "work in hand",
    "_prepared_loops": "work in hand; what was found stands in the narrowing and in the packets",
    "_result_statuses": "vocabulary",
    "_matched_entries": "work in hand",
    "_purges": "work in hand",
    "_rule_candidates": "work in hand",
    "_rule_hits": "work in hand",
    "_rule_drafts": "work in hand",
    "content_search": "an index",
    "text_search": "an index",
    "_function_tools": "what an app that opens the file gives; a call stands in commands",
    "mcp_items": "what MCP servers listed last; what was read of them stands in entries",
    "_cached_answers": "what may be given again; the answers stand in turns",
    "search_texts": "what an index is of, made anew when somebody searches",
    "text_vectors": "the same",
    "process_claims": "work in hand",
    "_search_clock": "the same",
    "_search_ranks": "work in hand",
    "search_rankers": "vocabulary",
    "engine_meta": "what the rules of the file were made from",
    "engine_modules": "what the rules of the file were made from",
    "module_offers": "the installed ones",
    "engine_objects": "what the rules of the file were made from",
}
"""The tables that hold no record, and what they hold."""

MESSAGES = {
    "rows": "the record is append-only; only the purge of a whole run removes rows",
    "keys": "the record is append-only; no row is replaced or numbered by hand",
    "fixed": "the record is append-only; this value never changes",
    "may": "the record is append-only; this value does not change any more",
}
"""What an error says."""


def sql_files() -> list[Path]:
    """The SQL files of the concepts in the order in which they are run; no migrations."""
    files = [path for path in (ROOT / "sql").glob("*/*.sql") if path.parent.name != "migrations"]
    return sorted(files, key=lambda path: path.name)


@cache
def _tables() -> sqlite3.Connection:
    """The tables and indexes of a fresh file, made from the SQL files."""
    connection = sqlite3.connect(":memory:")
    for path in sql_files():
        for statement in STATEMENT.findall(path.read_text("utf-8")):
            connection.execute(statement)
    return connection


def columns_of(table: str) -> list[str]:
    """The columns of a table."""
    return [name for (name,) in _tables().execute("select name from pragma_table_info(?) order by cid", (table,))]


def keys_of(table: str) -> list[tuple[list[str], str]]:
    """The columns of each key of a table, and the condition of a partial one."""
    primary = [
        name for name, place in _tables().execute("select name, pk from pragma_table_info(?)", (table,)) if place
    ]
    found = [(primary, "")]
    for index, partial in _tables().execute(
        "select name, partial from pragma_index_list(?) where \"unique\" and origin <> 'pk'", (table,)
    ):
        names = [name for (name,) in _tables().execute("select name from pragma_index_info(?)", (index,))]
        (sql,) = _tables().execute("select sql from sqlite_schema where name = ?", (index,)).fetchone()
        found.append((names, sql.partition(" where ")[2].strip() if partial else ""))
    return found


def triggers(kept: Kept) -> Iterator[str]:
    """The guards of a table, each as SQL."""
    if kept.stays:
        yield _trigger(kept, "rows", "before delete", kept.stays, "rows")
    if taken := kept.taken.replace("old.", "new.") or _key_is_taken(kept.name):
        yield _trigger(kept, "keys", "before insert", taken, "keys")
    has_rowid = "without rowid" not in _sql_of(kept.name)
    yield _trigger(kept, "fixed", _update_of([*kept.fixed, *(ROWID if has_rowid else ())]), "", "fixed")
    for names, where in kept.may:
        yield _trigger(kept, names.split()[0], _update_of(names.split()), f"({where}) is not true", "may")


def guards(tables: Iterable[Kept]) -> str:
    """The guards of those tables that are the core's, as SQL."""
    return _guards(kept for kept in tables if folder_of(kept.name) not in modules())


def module_guards(module: str) -> str:
    """The guards of the tables of a module, as SQL."""
    return _guards(kept for kept in RECORD if folder_of(kept.name) == module)


@cache
def modules() -> frozenset[str]:
    """The names of all modules."""
    return frozenset(module.name for module in installed().modules)


@cache
def folder_of(table: str) -> str:
    """The folder of `sql/` that makes a table."""
    made = re.compile(rf"^create (?:virtual )?table if not exists {table}\b", re.MULTILINE)
    return next(path.parent.name for path in sql_files() if made.search(path.read_text("utf-8")))


def _guards(tables: Iterable[Kept]) -> str:
    return "\n" + "\n".join(sql for kept in tables for sql in triggers(kept))


def _sql_of(table: str) -> str:
    (sql,) = _tables().execute("select sql from sqlite_schema where name = ?", (table,)).fetchone()
    return str(sql)


def _key_is_taken(table: str) -> str:
    """A row with one of the keys of `new` is there, or a number was given that SQLite is to give: it is -1 before that.

    A key of all columns needs no guard: its row would be the same.
    """
    return "\n    or ".join(
        _is_taken(table, names, where) for names, where in keys_of(table) if names != columns_of(table)
    )


def _is_taken(table: str, names: list[str], where: str) -> str:
    if names == ["id"] and table not in OWN_NUMBERS:
        return "new.id > 0"
    match = " and ".join([*(f"{name} = new.{name}" for name in names), *([where] if where else [])])
    return (f"new.{where} and " if where else "") + f"exists (select 1 from {table} where {match})"


def _update_of(names: list[str]) -> str:
    return textwrap.fill("after update of " + ", ".join(names), WIDTH, subsequent_indent="    ")


def _trigger(kept: Kept, what: str, event: str, when: str, why: str) -> str:
    return (
        f"create trigger {kept.name}__keep_{what}\n{event} on {kept.name}\n"
        + (f"when {when}\n" if when else "")
        + f"begin\n    select raise(abort, '405 {kept.name}: {MESSAGES[why]}');\nend;\n"
    )
