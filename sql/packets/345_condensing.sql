-- Condensing: old results of tools are summarized before a packet is too long.
-- It happens if condense_ratio, a share of the ceiling, is set. It is step 1 in demotions. Bodies are kept, and a
-- result that is read again is visible again.
-- spec: @condensation

-- views

-- The share of the ceiling above which the packet of an open turn is condensed; no row where none is set. A run with a
-- parent that is not its fork was delegated to: delegated_condense_ratio holds for it.
create view _condense_ratios as
select turn_id, ratio
from (
    select
        t.id as turn_id,
        cast(
            coalesce(
                json_extract(l.config, '$.condense_ratio'),
                (
                    select nullif(s.value, '')
                    from settings as s
                    join runs as r on r.id = t.run_id and r.parent_run_id is not null and r.forked_at is null
                    where s.name = 'delegated_condense_ratio'
                ),
                (select nullif(value, '') from settings where name = 'condense_ratio')
            ) as real
        ) as ratio
    from turns as t
    join loops as l on l.id = t.loop_id
    where t.phase <> 'judged' and t.phase = 'assembling'
)
where ratio > 0;

-- The results of tools that condensing summarizes in the packet of an open turn: log entries, output channels, and files and
-- pages that were read as a whole, that are visible and shorter when summarized, all but the newest four. A result that was
-- read again counts as new.
create view _condensable_results as
select turn_id, step, entry_id, path, turn, tokens
from (
    select
        t.id as turn_id,
        1 as step,
        c.entry_id,
        c.path,
        c.turn,
        cast(ceil(c.expansion / c.chars_per_token) as integer) as tokens,
        row_number() over (partition by t.id order by max(c.last_used_turn, c.turn) desc, c.entry_id desc) as place
    from turns as t indexed by idx_turns_one_open
    cross join _context_costs as c on c.run_id = t.run_id
    where t.phase <> 'judged' and t.phase = 'assembling'
        and c.visibility = 'visible'
        and c.expansion > 0
        and (
            c.kind in (select name from tools)
            or c.kind in ('file', 'http', 'https', 'mcp')
            -- log://turn_N/ is followed by the action; updates, errors and messages of the budget are no results
            or (
                c.category = 'logging'
                and substr(c.path, 7 + instr(substr(c.path, 7), '/')) not glob 'update/*'
                and substr(c.path, 7 + instr(substr(c.path, 7), '/')) not glob 'error/*'
                and substr(c.path, 7 + instr(substr(c.path, 7), '/')) not glob 'budget/*'
            )
        )
)
where place > 4;

create view results_in_full as
-- The results of tools, files and pages that each run shows its model in full, the oldest first: select path, tokens from
-- results_in_full where run = 'demo'. 'engine context RUN --summarized PATH' shows one in short, '/compact' in a chat all.
select run, turn, tokens, path, body
from known_entries
where visibility = 'visible'
    and tokens > 0
    and (
        category = 'data'
        or (category = 'logging' and path not glob 'log://turn_*/update/*' and path not glob 'log://turn_*/error/*')
    )
order by turn, path;

-- Summarize old results of tools: insert into _condense (turn_id).
create view _condense as
select id as turn_id
from turns
where false;

-- triggers

-- _submit_packet does this once a turn; one log entry tells the model which results were summarized.
create trigger _condense__condense
instead of insert on _condense
begin
    -- replace: an entry may have been demoted in this turn and made visible again
    insert or replace into demotions (turn_id, entry_id, step, path, turn, tokens)
    select turn_id, entry_id, step, path, turn, tokens
    from _condensable_results
    where turn_id = new.turn_id;
    insert into _demote (turn_id, step) values (new.turn_id, 1);
    insert into _write_entry (run_id, path, body, attributes, state, writer, turn, loop_id)
    select
        t.run_id,
        'log://turn_' || t.sequence || '/budget/condensed',
        'Condensed: ' || counted(n.entries, 'old result') || ', ' || counted(n.tokens, 'token')
        || case n.entries when 1 then ', is' else ', are' end || ' summarized from now on; '
        || 'get what you still need.' || char(10) || n.lines,
        '{"action":"budget"}',
        'resolved',
        'system',
        t.sequence,
        t.loop_id
    from turns as t
    join _demotion_notes as n on n.turn_id = t.id and n.step = 1
    where t.id = new.turn_id;
    update turns
    set condensed = 1
    where id = new.turn_id;
end;
