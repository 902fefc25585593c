-- Condensing: old results of tools put in short before a packet is too long, where a ratio of the ceiling asks for it.
-- It is step 1 of what is demoted; bodies are kept, and what is read again is shown whole again.
-- spec: @condensation

-- views

-- The share of the ceiling above which an open turn's packet is condensed; a row only where one is set. A run with a
-- parent that it was not forked from was delegated to.
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

-- What condensing an open turn's packet puts in short: results of tools, that is their records in the log and their
-- channels, which are shown whole and are shorter in short; all but the newest four. What was read again is new again.
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
            -- what stands behind log://turn_N/ names the tool; errors and what the engine says are no results
            or (
                c.category = 'logging'
                and substr(c.path, 7 + instr(substr(c.path, 7), '/')) not glob 'update/*'
                and substr(c.path, 7 + instr(substr(c.path, 7), '/')) not glob 'error/*'
                and substr(c.path, 7 + instr(substr(c.path, 7), '/')) not glob 'budget/*'
            )
        )
)
where place > 4;

-- Put old results of tools in short: insert into _condense (turn_id).
create view _condense as
select id as turn_id
from turns
where false;

-- triggers

-- Once a turn, and the model is told once.
create trigger _condense__condense
instead of insert on _condense
begin
    -- what was demoted and shown again since is listed anew
    insert or replace into demotions (turn_id, entry_id, step, path, turn, tokens)
    select turn_id, entry_id, step, path, turn, tokens
    from _condensable_results
    where turn_id = new.turn_id;
    insert into _demote (turn_id, step) values (new.turn_id, 1);
    insert into write_entry (run_id, path, body, attributes, state, writer, turn, loop_id)
    select
        t.run_id,
        'log://turn_' || t.sequence || '/budget/condensed',
        'Condensed: ' || n.entries || ' old results, ' || n.tokens || ' tokens, are shown in short from now on; '
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
