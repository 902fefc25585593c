-- Ladder: which entries are summarized or archived when a packet is too long.
-- A rendered packet is submitted with its length. One that fits is taken (335); for one that does not, the next step
-- of the ladder summarizes entries or archives them (342), and the packet is rendered again. Nothing is lost: what
-- was demoted can be read again.
-- spec: @budget_enforcement

-- tables

-- The entries that were summarized to make a packet smaller, by condensing (step 1) or by the ladder (steps 2 and 4), or
-- archived by it (steps 3 and 5).
create table if not exists demotions (
    turn_id integer not null constraint demotions_turn references turns (id) on delete cascade,
    entry_id integer not null,
    step integer not null,
    path text not null,
    -- the turn that wrote the entry
    turn integer not null,
    -- what it frees
    tokens integer not null,
    primary key (turn_id, entry_id)
) strict, without rowid;

-- views

create view _submit_packet as
-- Submit a rendered packet: insert into _submit_packet (turn_id, chars, lease). One that fits is taken; otherwise
-- entries are demoted, and it has to be rendered again. Nothing happens for a turn that assembles none any more.
select id as turn_id, context_chars as chars, lease
from turns
where false;

-- Carry out the decision on a packet: insert into _decide_packet (turn_id, chars, lease, tokens, decision). 'decision'
-- is take, condense, demote, or stop where the loop's time is over.
create view _decide_packet as
select id as turn_id, context_chars as chars, lease, context_tokens as tokens, null as decision
from turns
where false;

-- The entries that each step of the ladder takes: those that it archives (342), and the visible ones that it summarizes,
-- as far as that makes them shorter; the oldest use first, until a tenth of the ceiling is free, without which the next turn
-- would overflow again. Step 2 takes what was read or done before the turn before, where that is enough. Step 4 takes any
-- entry: first what would be too long by itself, then older results, older facts, and at last what the turn before brought,
-- little more of it than has to. The prompt of the loop goes where all of them are too little.
create view _ladder_candidates as
select turn_id, step, entry_id, path, turn, tokens
from _archivable_entries
union all
select turn_id, case when is_old_result and is_first and freed_by_old >= overflow then 2 else 4 end as step, entry_id, path,
    turn, tokens
from (
    select
        *,
        sum(case when is_task then 0 else tokens end) over (
            partition by turn_id
            order by overflow > freed_by_all - tokens and not is_task desc, is_new, not is_old_result, since, entry_id
        ) - tokens as freed_before
    from (
        select
            *,
            sum(tokens * is_old_result) over (partition by turn_id) as freed_by_old,
            sum(case when is_task then 0 else tokens end) over (partition by turn_id) as freed_by_all,
            sum(case when is_task then tokens else 0 end) over (partition by turn_id) as freed_by_prompt
        from (
            select
                t.id as turn_id,
                t.ladder < 2 as is_first,
                c.is_task,
                c.last_used_turn = t.sequence - 1 as is_new,
                c.last_used_turn <> t.sequence - 1
                -- one by one the schemes would be a table
                and (c.category = 'logging' or instr(' file http https mcp sh env subtask execute ', ' ' || c.kind || ' '))
                    as is_old_result,
                max(c.last_used_turn, c.turn) as since,
                c.entry_id,
                c.path,
                c.turn,
                cast(ceil(c.expansion / c.chars_per_token) as integer) as tokens,
                -- the provider refused one that should have fitted
                case when t.context_tokens > b.ceiling then t.context_tokens - b.ceiling else b.ceiling / 5 end as overflow,
                b.ceiling
            from _open_costs as c
            join turns as t on t.id = c.turn_id
            join _loop_ceilings as b on b.loop_id = t.loop_id
            where c.visibility = 'visible' and c.expansion > 0
        )
    )
)
where case
    when is_task then freed_by_all < overflow
    -- what is told of it takes room, too
    when freed_by_all >= overflow
        then freed_before < overflow + case when is_new then min(ceiling / 20, 400) else ceiling / 10 end
    when freed_by_all + freed_by_prompt >= overflow then freed_before < overflow - freed_by_prompt + ceiling / 10
    -- all of it is too little: older entries stay in view
    else is_new
end;

-- Take the next step of the ladder: insert into _take_ladder_step (turn_id, from_step). from_step is the last step
-- taken, 0 for none.
create view _take_ladder_step as
select id as turn_id, ladder as from_step
from turns
where false;

-- Summarize or archive the entries that demotions lists for a step: insert into _demote (turn_id, step).
create view _demote as
select turn_id, step
from demotions
where false;

-- What each step demoted for the packet of an open turn, as the model reads: totals, and a line for each of up to 50
-- entries.
create view _demotion_notes as
select
    turn_id,
    step,
    count(*) as entries,
    sum(tokens) as tokens,
    group_concat(line, char(10)) filter (where place <= 50) as lines
from (
    select
        d.turn_id,
        d.step,
        d.tokens,
        '* ' || coalesce(fence_path(d.path), d.path) || ' (turn ' || d.turn || ', ' || counted(d.tokens, 'token')
        || ')' as line,
        row_number() over (partition by d.turn_id, d.step order by d.path) as place
    from turns as t indexed by idx_turns_one_open
    cross join demotions as d on d.turn_id = t.id
    where t.phase <> 'judged'
)
group by turn_id, step;

-- What the model is told of the ladder: what was demoted, or that nothing is left to demote, which ends the loop (soft
-- is 0).
create view _ladder_reports as
select
    t.id as turn_id,
    t.ladder < 6 as soft,
    case when t.ladder < 6 then 'Context overflow: ' else 'Context full: ' end
    || 'a packet of ' || t.context_tokens || ' tokens '
    || case
        when t.context_tokens > b.ceiling then 'is above the ceiling of ' || b.ceiling
        else 'was rejected by the model as too long'
    end
    || case
        when coalesce(n.entries, a.entries) is null then ' and nothing can be demoted.'
        else '.'
    end
    || coalesce(
        ' Demoted ' || counted(n.entries, 'entry', 'entries') || ', ' || counted(n.tokens, 'token') || '.', ''
    )
    || coalesce(' ' || a.told, '')
    || case
        when t.ladder < 6 then ' Get what you still need, in slices.' || coalesce(char(10) || n.lines, '')
        when t.context_tokens <= b.ceiling
            then ' Choose a model with a larger window, set a lower context limit (--context-limit), or archive entries.'
                || coalesce(
                    ' The model said: '
                    || (select c.message from model_calls as c where c.turn_id = t.id and c.status = 413 order by c.id desc),
                    ''
                )
        else ' Only instructions, tools, open questions and the start of the prompt are left: raise '
            || '--context-limit, choose a model with a larger window, archive entries, or offer fewer tools (narrow_tools).'
    end as message
from turns as t
join _loop_ceilings as b on b.loop_id = t.loop_id
left join (
    select
        turn_id,
        sum(entries) as entries,
        sum(tokens) as tokens,
        group_concat(lines, char(10)) as lines
    from _demotion_notes
    where step in (2, 4)
    group by turn_id
) as n on n.turn_id = t.id
left join _archive_notes as a on a.turn_id = t.id;

-- Tell the model what the ladder has done: insert into _tell_ladder (turn_id), by _late_call.
create view _tell_ladder as
select id as turn_id
from turns
where false;

-- triggers

-- Condensing changes the log in its middle, and a provider's cache of the packet ends there. So after the first time in
-- a loop it waits until it frees a sixteenth of the ceiling, unless the packet is too long.
create trigger _submit_packet__submit
instead of insert on _submit_packet
begin
    select fail(404, 'turn ' || quote(new.turn_id) || ': not found; see the view _next_steps')
    where not exists (select 1 from turns where id = new.turn_id);
    select fail(
        400, 'turn ' || new.turn_id || ': chars must be the number of characters in the packet, not ' || quote(new.chars)
    )
    where coalesce(typeof(new.chars) <> 'integer' or new.chars < 0, 1);
    insert into _offer_packet (turn_id, chars, lease) values (new.turn_id, new.chars, new.lease);
    -- it was not taken
    insert into _decide_packet (turn_id, chars, lease, tokens, decision)
    select
        turn_id, new.chars, new.lease, tokens,
        case
            when exists (select 1 from _loop_seconds as c where c.loop_id = o.loop_id and c.seconds_left <= 0) then 'stop'
            when not condensed
                and tokens > ceiling * (select q.ratio from _condense_ratios as q where q.turn_id = o.turn_id)
                and (select sum(c.tokens) from _condensable_results as c where c.turn_id = o.turn_id) >= case
                    when tokens <= ceiling
                        and exists (select 1 from turns as p where p.loop_id = o.loop_id and p.condensed)
                        then ceiling / 16
                    else 1
                end
                then 'condense'
            when tokens > ceiling then 'demote'
            else 'take'
        end
    from (
        select *, cast(ceil(new.chars / chars_per_token) as integer) as tokens
        from _packet_limits
        where turn_id = new.turn_id
    ) as o;
end;

-- 'stop' judges the turn; after 'condense' and 'demote' the packet is rendered again.
create trigger _decide_packet__decide
instead of insert on _decide_packet
begin
    insert into _take_packet (turn_id, chars, lease, tokens)
    select new.turn_id, new.chars, new.lease, new.tokens
    where new.decision = 'take';
    update turns
    set context_chars = new.chars, context_tokens = new.tokens, lease = new.lease, seen_at = null
    where id = new.turn_id and new.decision <> 'take';
    insert into _late_call (door, a)
    select '_condense', new.turn_id
    where new.decision = 'condense';
    insert into _late_call (door, a, b)
    select '_take_ladder_step', id, ladder
    from turns
    where id = new.turn_id and new.decision = 'demote';
    insert into _late_call (door, a)
    select '_judge_turn', new.turn_id
    where new.decision = 'stop';
end;

-- The step is one event, whatever the number of its entries.
create trigger _demote__demote
instead of insert on _demote
begin
    insert into events (at, run_id, turn_id, kind, detail)
    select
        now(), t.run_id, t.id,
        case
            when n.step = 1 then 'context.condensed'
            when n.step in (3, 5) then 'context.archived'
            else 'context.demoted'
        end,
        json_object('entries', n.entries, 'tokens', n.tokens)
    from turns as t
    join _demotion_notes as n on n.turn_id = t.id and n.step = new.step
    where t.id = new.turn_id;
    insert into _show_entry (run_id, entry_id, visibility)
    select t.run_id, d.entry_id, case when d.step in (3, 5) then 'archived' else 'summarized' end
    from turns as t
    join demotions as d on d.turn_id = t.id and d.step = new.step
    join run_views as v on v.run_id = t.run_id and v.entry_id = d.entry_id
    where t.id = new.turn_id
        and v.visibility in ('visible', case when d.step in (3, 5) then 'summarized' else 'visible' end);
end;

-- The next step is the first one that has candidates; where none has, it is 6, and the turn is judged.
create trigger _take_ladder_step__take
instead of insert on _take_ladder_step
begin
    -- replace: an entry may have been condensed in this turn and made visible again, or be archived after it was demoted
    insert or replace into demotions (turn_id, entry_id, step, path, turn, tokens)
    select turn_id, entry_id, step, path, turn, tokens
    from (
        select *, min(step) over () as next_step
        from _ladder_candidates
        -- the fourth is taken as long as it has candidates
        where turn_id = new.turn_id and (step > new.from_step or (step = 4 and new.from_step = 4))
    )
    where step = next_step;
    update turns
    set ladder = coalesce(
            (select max(d.step) from demotions as d where d.turn_id = new.turn_id and d.step > max(new.from_step, 1)),
            (
                select max(d.step)
                from demotions as d
                join run_views as v on v.run_id = turns.run_id and v.entry_id = d.entry_id and v.visibility = 'visible'
                where d.turn_id = new.turn_id and d.step = 4 and new.from_step = 4
            ), 6
        )
    where id = new.turn_id;
    insert into _demote (turn_id, step)
    select id, ladder
    from turns
    where id = new.turn_id and ladder < 6;
    insert into _late_call (door, a) values ('_tell_ladder', new.turn_id);
    insert into _late_call (door, a)
    select '_judge_turn', id
    from turns
    where id = new.turn_id and ladder = 6;
end;

-- One error in the log tells of all steps for this packet: each step replaces it.
create trigger _tell_ladder__tell
instead of insert on _tell_ladder
begin
    delete from turn_errors
    where turn_id = new.turn_id and slug = 'budget';
    insert into turn_errors (turn_id, status, message, slug, soft, detail)
    select turn_id, 413, message, 'budget', soft, '{"source":"budget"}'
    from _ladder_reports
    where turn_id = new.turn_id;
end;
