"""Which rows belong to a run, and what their columns mean outside of its file: read off the tables of the file.

A table belongs to runs if a foreign key with `on delete cascade` leads from it to `runs`, directly or by other tables. What
such rows refer to goes with them: entries, contents, packets' parts. What no foreign key says stands in the tables of
this file; a test asks for each column that looks like an id or a clock and is in none of them.

spec: @run_files
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import apsw

from engine.schema.update import build_of

PARTS = ("chunks", "chunk_lists")
"""The tables that have a form of their own in a run's file: parts of packets by their texts, stretches by their parts."""
SHARED = ("projects", "entries", "nodes", "workflows", "contents", "_entry_metadata", "pictures")
"""The tables whose rows go with a run that names them, or by their scope."""
CHILDREN = {
    "entry_versions": "entry_id",
    "document_links": "entry_id",
    "file_modes": "entry_id",
    "edges": "child_id",
    "events": "run_id",
    "workflow_steps": "workflow_id",
    "workflow_variables": "workflow_id",
    "workflow_needs": "workflow_id",
}
"""The tables that belong to a run without a foreign key that says so, or to a row of a shared one; by which column."""
LEFT_OUT = {
    "_cached_answers": "answers to prompts of other runs",
    "_matched_entries": "empty between two statements",
    "_prepared_loops": "made anew",
    "call_estimates": "of calls that are under way",
    "call_reservations": "of calls that are under way",
    "hook_holds": "what a driver asks now",
    "leases": "who drives now",
    "process_claims": "who is about to begin a process",
    "run_hooks": "what a driver asks now",
    "text_vectors": "made anew",
}
"""The tables that belong to a run, and the reasons for which they stay in its file."""
REFERENCES = {
    ("_thread_clocks", "turn_id"): "turns",
    ("_thread_offers", "command_id"): "commands",
    ("_thread_offers", "loop_id"): "loops",
    ("_thread_offers", "turn_id"): "turns",
    ("acceptance_checks", "command_id"): "commands",
    ("acceptance_checks", "loop_id"): "loops",
    ("acceptance_checks", "turn_id"): "turns",
    ("children", "effect_id"): "effects",
    ("children", "loop_id"): "loops",
    ("children", "parent_loop_id"): "loops",
    ("children", "parent_run_id"): "runs",
    ("children", "root_loop_id"): "loops",
    ("children", "root_run_id"): "runs",
    ("commands", "entry_id"): "entries",
    ("commands", "loop_id"): "loops",
    ("commits", "loop_id"): "loops",
    ("demotions", "entry_id"): "entries",
    ("effects", "turn_id"): "turns",
    ("entry_versions", "content_id"): "contents",
    ("events", "entry_id"): "entries",
    ("events", "run_id"): "runs",
    ("events", "turn_id"): "turns",
    ("file_modes", "entry_id"): "entries",
    ("hook_calls", "command_id"): "commands",
    ("hook_calls", "loop_id"): "loops",
    ("hook_calls", "turn_id"): "turns",
    ("job_channels", "entry_id"): "entries",
    ("jobs", "loop_id"): "loops",
    ("jobs", "run_id"): "runs",
    ("packets", "before_id"): "packets",
    ("proposals", "loop_id"): "loops",
    ("proposals", "turn_id"): "turns",
    ("resolutions", "proposal_id"): "proposals",
    ("run_view_uses", "entry_id"): "entries",
    ("run_view_versions", "content_id"): "contents",
    ("run_view_versions", "entry_id"): "entries",
    ("run_view_versions", "metadata_id"): "_entry_metadata",
    ("run_views", "loop_id"): "loops",
    ("step_runs", "child_run_id"): "runs",
    ("thread_states", "loop_id"): "loops",
    ("workflow_runs", "effect_id"): "effects",
}
"""The ids that no foreign key declares, because the row may be gone."""
CLOCKS = frozenset(
    [
        ("entries", "since"),
        ("entry_versions", "began"),
        ("entry_versions", "ended"),
        ("events", "id"),
        ("file_modes", "began"),
        ("run_view_versions", "began"),
        ("run_view_versions", "context_order"),
        ("run_view_versions", "ended"),
        ("run_views", "context_order"),
        ("run_views", "since"),
        ("turns", "seen_at"),
    ]
)
"""The columns that hold a clock (events.id)."""
MARKS = {
    ("_thread_clocks", "result_id"): "effect_results",
    ("turn_seals", "command_id"): "commands",
    ("turn_seals", "resolution_id"): "resolutions",
    ("turn_seals", "result_id"): "effect_results",
}
"""The columns that hold the highest id so far of a table."""
SCOPES = frozenset([("run_scopes", "scope"), ("entries", "scope"), ("nodes", "scope")])
"""The columns that hold a scope: run:N, project:N or global."""
DROPPED = {
    ("commands", "request_id"): None,
    ("effect_results", "lease"): None,
    ("effects", "identity"): None,
    ("jobs", "identity"): "",
    ("jobs", "lease"): None,
    ("projects", "name"): None,
    ("projects", "root"): None,
    ("projects", "root_names"): None,
    ("rule_findings", "domain_id"): None,
    ("rule_selections", "rule_set_id"): 0,
    ("turns", "lease"): None,
    ("workflows", "project_id"): None,
    ("workflows", "source"): None,
}
"""The columns that mean something in their file or on their machine only, and what they hold in another one."""
SPECIAL = frozenset([("children", "lineage"), ("packets", "parts")])
"""The columns that hold several ids."""
NAMED = {"threads": ("name", "level = 'shipped'")}
"""The tables of which some rows are in every file, by which column they are known, and which rows these are."""


@dataclass(frozen=True)
class Table:
    """A table whose rows go with a run: its columns, and what those mean.

    `owner` is the column by which its rows are found, `references` are the tables that columns refer to, `numbered` says
    whether its rows are known by the number of their place in the run's file.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    owner: str | None
    blobs: frozenset[str]
    needed: frozenset[str]
    references: dict[str, str] = field(hash=False)

    @property
    def numbered(self) -> bool:
        """Whether rows have an id of their own."""
        return self.key == ("id",) and "id" not in self.references

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The columns that a run's file has: all but the id, which is the number, and those that are dropped."""
        own = ("id",) if self.numbered and self.name != "events" else ()
        return tuple(each for each in self.columns if each not in own and (self.name, each) not in DROPPED)


@dataclass(frozen=True)
class Plan:
    """The tables of a file whose rows go with a run, in an order in which each stands behind those that it refers to."""

    tables: dict[str, Table]

    @classmethod
    def of(cls, connection: apsw.Connection) -> Plan:
        """The plan for the tables that a file has: those of the engine, of its modules and of plugins' modules."""
        names = sorted(each.name for each in build_of(connection).fresh.objects if each.type == "table")
        keys = {name: _foreign_keys(connection, name) for name in names}
        owners = _owners(keys)
        mine = [name for name in names if name in owners or name in ("runs", *SHARED)]
        found = {name: _table(connection, name, owners.get(name), keys, mine) for name in mine}
        return cls(_in_order(found))


def _foreign_keys(connection: apsw.Connection, table: str) -> dict[str, tuple[str, str, bool]]:
    rows = connection.execute(
        'select "from", "table", "to", on_delete = \'CASCADE\' from pragma_foreign_key_list(?) order by id desc, seq',
        (table,),
    )
    return {str(column): (str(parent), str(to), bool(cascades)) for column, parent, to, cascades in rows}


def _owners(keys: dict[str, dict[str, tuple[str, str, bool]]]) -> dict[str, str]:
    """The tables that belong to runs, each with the column by which."""
    owners = {name: column for name, column in CHILDREN.items() if name in keys}
    grows = True
    while grows:
        grows = False
        for name, columns in keys.items():
            if name in owners or name in ("runs", *LEFT_OUT, *SHARED):
                continue
            of_runs = [column for column, (parent, _, cascades) in columns.items() if cascades and parent == "runs"]
            of_others = [column for column, (parent, _, cascades) in columns.items() if cascades and parent in owners]
            wanted = sorted(of_runs, key=lambda column: column != "run_id") + of_others
            if wanted:
                owners[name], grows = wanted[0], True
    return owners


def _table(
    connection: apsw.Connection,
    name: str,
    owner: str | None,
    keys: dict[str, dict[str, tuple[str, str, bool]]],
    mine: list[str],
) -> Table:
    info = connection.execute('select name, type, "notnull", pk from pragma_table_info(?)', (name,)).fetchall()
    key = tuple(str(column) for column, _, _, place in sorted(info, key=lambda row: int(str(row[3]))) if place)
    references = {column: target for (table, column), target in REFERENCES.items() if table == name and target in mine}
    for column in keys[name]:
        target = _target(name, column, keys)
        if target in mine and (name, column) not in DROPPED:
            references[column] = target
    return Table(
        name,
        tuple(str(row[0]) for row in info),
        key,
        owner,
        frozenset(str(row[0]) for row in info if row[1] == "BLOB"),
        frozenset(str(row[0]) for row in info if row[2] or row[3]),
        references,
    )


def _target(table: str, column: str, keys: dict[str, dict[str, tuple[str, str, bool]]]) -> str | None:
    """The table whose ids a column holds, followed through keys that are references themselves; None for no ids."""
    while column in keys.get(table, {}):
        table, column, _ = keys[table][column]
    return table if column == "id" else None


def _in_order(tables: dict[str, Table]) -> dict[str, Table]:
    """Tables behind those that they refer to, otherwise by name, whatever other modules a file has."""

    def depth(name: str, above: tuple[str, ...] = ()) -> int:
        below = {*tables[name].references.values()} - {name, *above}
        return max((1 + depth(each, (*above, name)) for each in below), default=0)

    return {name: tables[name] for name in sorted(tables, key=lambda name: (depth(name), name))}
