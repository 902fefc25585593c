"""Which tables and columns a run's file has is read off the schema; what the schema does not say is decided, here.

1. Each table that belongs to a run is exported or left out with a reason.
2. Each column that looks like an id, a clock or a scope has a meaning outside of its file.

spec: @run_files
"""

from __future__ import annotations

import engine
from engine.schema.build import installed
from engine.transfer.plan import (
    CHILDREN,
    CLOCKS,
    DROPPED,
    LEFT_OUT,
    MARKS,
    PARTS,
    REFERENCES,
    SCOPES,
    SHARED,
    SPECIAL,
    Plan,
)

OF_THE_FILE = frozenset(
    [
        "_entry_actions", "_explained_lines", "_function_tools", "_graph_changes", "_purges", "_result_statuses",
        "_rule_candidates", "_rule_drafts", "_rule_hits", "_search_clock", "_search_ranks", "_skills",
        "bracket_rules", "brackets", "categories", "content_search", "engine_meta", "engine_modules",
        "engine_objects", "eval_checks", "eval_trials", "evals", "executor_models", "fallback_failures",
        "file_constraints", "file_stats", "hook_points", "loop_transitions", "mcp_items",
        "media_models", "model_failures", "model_tiers", "models", "modes", "module_offers", "node_statuses", "outcomes",
        "packet_sections", "personas", "purged_seals", "rule_brackets", "rule_domains", "rule_keywords", "rule_sets",
        "rule_sources", "run_options", "run_transitions", "schemes", "search_rankers", "search_texts",
        "setting_layers", "settings", "spending", "star_command_rules", "star_commands", "states", "statuses", "step_states",
        "test_programs", "thread_events", "tools", "turn_phases", "turn_transitions", "visibilities", "writer_tiers",
    ]
)  # fmt: skip
"""The tables that belong to the file, its projects and its models. A new table is here, or a run brings its rows along."""


def whole(db: engine.Database) -> Plan:
    db.install(*(module.name for module in installed().offered))
    return Plan.of(db.connection)


def test_each_table_is_exported_or_belongs_to_the_file(db: engine.Database) -> None:
    plan = whole(db)
    made = {each.name for each in installed().fresh.objects if each.type == "table"}
    made -= {name for name in made if name.startswith(("content_search_", "text_search"))}
    assert made == plan.tables.keys() | {*PARTS, *LEFT_OUT} | OF_THE_FILE
    assert not plan.tables.keys() & {*LEFT_OUT, *OF_THE_FILE}


def test_each_id_has_a_meaning_outside_of_its_file(db: engine.Database) -> None:
    for table in whole(db).tables.values():
        known = {*table.references} | {
            column for name, column in {*CLOCKS, *DROPPED, *MARKS, *REFERENCES, *SCOPES, *SPECIAL} if name == table.name
        }
        for column in table.columns:
            looks = column.endswith(("_id", "lease")) or column in (
                "scope",
                "began",
                "ended",
                "since",
                "seen_at",
                "identity",
            )
            assert not looks or column in known, f"{table.name}.{column}"
        assert table.owner is not None or table.name in {"runs", *SHARED}


def test_what_is_said_of_columns_is_of_columns_that_there_are(db: engine.Database) -> None:
    tables = whole(db).tables
    for name, column in {*CLOCKS, *DROPPED, *MARKS, *REFERENCES, *SCOPES, *SPECIAL, *CHILDREN.items()}:
        assert column in tables[name].columns, f"{name}.{column}"


def test_tables_stand_behind_those_that_they_refer_to(db: engine.Database) -> None:
    tables = whole(db).tables
    order = list(tables)
    for table in tables.values():
        for target in {*table.references.values()} - {table.name}:
            assert order.index(target) < order.index(table.name), (target, table.name)
    # whatever other modules a file has
    with engine.open(":memory:") as core:
        few = list(Plan.of(core.connection).tables)
    assert [name for name in order if name in few] == few
