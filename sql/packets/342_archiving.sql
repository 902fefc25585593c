-- Archiving: entries leave the context of a long run, before a packet would be too large.
-- Summaries take room, too, so a run with many small steps fills its window in the end. These are steps 3 and 5 of
-- the ladder (340). Nothing is lost: an archived entry can be found by its path, a pattern or its text.
-- spec: @archiving @max_history

-- views

-- The entries that each step of archiving takes out of the packet of an open turn, the oldest use first, until it fills
-- half of the ceiling: so the ladder is asked again only when the run has grown. Step 3 takes data in short, then
-- records of the log that are older than the last 20 turns; it is left out where they do not leave a tenth of the ceiling
-- to spare. Step 5 takes those, then visible data, then the rest of the log; it is left out where all that is too little.
-- Open questions, the prompt of the loop and what the setting kept_in_context names stay.
create view _archivable_entries as
select
    turn_id,
    case when is_early and freed_early >= overflow + ceiling / 10 and place < 3 then 3 else 5 end as step,
    entry_id,
    path,
    turn,
    tokens
from (
    select
        *,
        sum(tokens) over (partition by turn_id order by place, since, entry_id) - tokens as freed_before,
        sum(case when place < 3 then tokens else 0 end) over (partition by turn_id) as freed_early,
        sum(tokens) over (partition by turn_id) as freed_by_all
    from (
        select
            t.id as turn_id,
            -- step 3 has not been taken, nor one after it
            t.ladder < 3 as is_early,
            case
                when c.category = 'data' then case c.visibility when 'visible' then 3 else 1 end
                else case when c.turn < t.sequence - 20 then 2 else 4 end
            end as place,
            max(c.last_used_turn, c.turn) as since,
            c.entry_id,
            c.path,
            c.turn,
            cast(
                ceil(case c.visibility when 'visible' then c.visible else c.summarized end / c.chars_per_token) as integer
            ) as tokens,
            b.ceiling,
            t.context_tokens - b.ceiling as overflow
        from _open_costs as c
        join turns as t on t.id = c.turn_id
        join _loop_ceilings as b on b.loop_id = t.loop_id
        join settings as k on k.name = 'kept_in_context'
        where c.category <> 'unknown'
            and not c.is_task
            and c.turn < t.sequence
            and c.path not glob coalesce(k.value, '')
    )
)
where freed_before < overflow + ceiling / 2 and freed_by_all >= overflow;

-- What is told of the entries that were archived for the packet of an open turn: how many, and how to list them.
create view _archive_notes as
select
    turn_id,
    sum(entries) as entries,
    'Archived ' || counted(sum(entries), 'entry', 'entries') || ' (' || group_concat(entries || ' ' || kind, ', ')
    || '), ' || counted(sum(tokens), 'token') || ', the oldest first; <get path="'
    || case min(kind) when 'file' then '' else min(kind) || '://' end || '**" manifest/> lists them.' as told
from (
    select d.turn_id, e.kind, count(*) as entries, sum(d.tokens) as tokens
    from turns as t indexed by idx_turns_one_open
    cross join demotions as d on d.turn_id = t.id and d.step in (3, 5)
    join entries as e on e.id = d.entry_id
    where t.phase <> 'judged'
    group by d.turn_id, e.kind
    order by e.kind
)
group by turn_id;

-- The records of the log that are older than the earlier prompts which the setting max_history keeps, for the first turn of
-- a prompt. What the setting kept_in_context names stays.
create view _old_history as
select t.id as turn_id, v.run_id, v.entry_id
from turns as t
join loops as l on l.id = t.loop_id
join settings as h on h.name = 'max_history' and h.value is not null
join settings as k on k.name = 'kept_in_context'
join run_views as v on v.run_id = t.run_id and v.visibility <> 'archived'
join entries as e on e.id = v.entry_id
join schemes as s on s.name = e.kind and s.category in ('logging', 'prompt')
where not exists (select 1 from turns as o where o.loop_id = t.loop_id and o.sequence < t.sequence)
    and v.turn < coalesce(
        (
            select min(b.sequence)
            from turns as b
            join loops as p on p.id = b.loop_id
            where p.run_id = t.run_id and p.sequence >= l.sequence - cast(h.value as integer)
        ), 0
    )
    and e.path not glob coalesce(k.value, '');

-- triggers

-- When a prompt begins, what is older than max_history prompts is archived.
create trigger _prepare_packet__archive_history
instead of insert on _prepare_packet
when exists (select 1 from settings as h where h.name = 'max_history' and h.value is not null)
begin
    insert into _show_entry (run_id, entry_id, visibility)
    select o.run_id, o.entry_id, 'archived'
    from _old_history as o
    where o.turn_id = new.turn_id;
end;
