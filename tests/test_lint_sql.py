"""The SQL lint: it passes the house's own form and names what breaks it."""

from __future__ import annotations

import pytest
from lint_sql import lint

GOOD = """\
-- Loops: the prompt queue of a run.
-- Every prompt opens a loop.
-- spec: @loops_table

-- tables

create table if not exists loops (
    id integer primary key,
    run_id integer not null constraint loops_run references runs (id) on delete cascade,
    prompt text not null constraint loops_prompt_not_empty check (trim(prompt) <> ''),
    constraint loops_sequence_per_run unique (run_id, prompt),
    constraint loops_turn foreign key (run_id) references turns (run_id)
) strict;

create unique index if not exists idx_loops_one_active on loops (run_id) where id = 102;

create view next_loops as
select
    strftime('%Y-%m-%d %H:%M:%f', 'now') as at,
    min(id) over (partition by run_id order by id) as first,
    'SELECT it''s' as "Name"
from (select * from loops order by id)
where run_id in (select id from runs order by id limit 1);

create trigger loops__guard before update on loops
begin
    select case when new.id then raise(abort, 'no') end;
    insert into loops (prompt) select value from (with x as (select 1 as value) select * from x);
end;
"""


def test_the_house_form_passes() -> None:
    assert lint(GOOD) == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT 1;", "SELECT is not lowercase"),
        ("select 1; ", "blanks at the end"),
        ("select\t1;", "a tab"),
        (f"select '{'x' * 125}';", "columns"),
        ("create table t (a integer check (a > 0));", "'check' without"),
        ("create table t (a integer constraint b not null references c);", "'references' without"),
        ("create table t (a integer unique);", "'unique' without"),
        ("create table t (a integer, foreign key (a) references b (a));", "'foreign' without"),
        ("select raise(abort, 'a' || 'b');", "raise() with an expression"),
        ("select group_concat(a, ',' order by a) from t;", "'order by' inside group_concat()"),
        ("select json_group_array(a order by b) from t;", "'order by' inside json_group_array()"),
        ("select iif(a, b);", "iif() with other than 3"),
        ("select concat(a, b);", "concat() is not in SQLite 3.40"),
        ("select jsonb(a);", "jsonb() is not in SQLite 3.40"),
        ("select json_valid(a, 6);", "json_valid() with flags"),
        ("select unixepoch('now', 'subsec');", "a format or modifier of unixepoch()"),
        ("select strftime('%F', 'now');", "a format or modifier of strftime()"),
        ("select value from generate_series(1, 3);", "not in every build"),
        ("select 1_000;", "digits parted by '_'"),
        ("select a ->> -1;", "negative index"),
        (
            "create trigger t after insert on a begin insert into b values (1) returning id; end;",
            "'returning'",
        ),
        (
            "create trigger t insert on a begin select case when 1 then 1 end; with x as (y) select 1; end;",
            "with 'with'",
        ),
        (
            "create trigger t after insert on a begin with x as (select 1) insert into b select 1; end;",
            "with 'with'",
        ),
    ],
)
def test_what_breaks_it_is_named(statement: str, told: str) -> None:
    (finding,) = lint(f"{GOOD}\n{statement}\n")
    assert told in finding[1]
    assert finding[0] == GOOD.count("\n") + 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("select 1;\n", "no title sentence"),
        ("-- Loops: a title without an end\n-- spec: @a\n", "no title sentence"),
        ("-- Loops: a title.\n", "no '-- spec: @anchor'"),
        ("-- Loops: a title.\n\n-- spec: @a\n", "no '-- spec: @anchor'"),
        ("-- Loops: a title.\n-- spec: @a", "exactly one newline"),
    ],
)
def test_a_file_opens_with_its_title_and_anchors(text: str, told: str) -> None:
    assert told in " ".join(message for _, message in lint(text))


def test_migrations_need_no_header() -> None:
    assert lint("alter table a add column b integer;\n", header=False) == []
