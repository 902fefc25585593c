-- The judge: a run of role judge that sees the criteria, the result and what was changed, and says PASS or FAIL.
-- It is a child of the run whose result it judges. Its mode has no tool that acts. The texts that it reads are
-- fenced, and its verdict is the first word of its response, so no text in a result can forge a verdict.
-- spec: @judge @fences

-- views

-- Each loop, and those of the runs below it that do a part of its work.
create view _loops_below as
select id as loop_id, id as below_id
from loops
union all
select c.parent_loop_id, d.loop_id
from children as c
join children as d on d.run_id = c.run_id or instr(d.lineage, '/' || c.run_id || '/');

-- The changes of files that a loop made, a diff each: the writes and removals that were accepted and done.
create view _loop_diffs as
select
    t.loop_id,
    p.id as proposal_id,
    case
        when s.body is null
            then coalesce(json_extract(p.detail, '$.diff'), p.target || ': ' || replace(p.kind, 'file_', ''))
        -- the decision put another text in place of the proposed one
        else edit_diff(
            p.target,
            (
                select b.body
                from _file_heads as h
                join contents as b on b.id = h.content_before
                where h.content_id = p.content_id
            ),
            (select c.body from contents as c where c.id = p.content_id)
        )
    end as diff
from turns as t
cross join commands as m on m.turn_id = t.id
cross join proposals as p on p.command_id = m.id
left join _first_decisions as d on d.proposal_id = p.id
left join resolutions as s on s.id = d.resolution_id
where p.kind in ('file_write', 'file_delete') and p.state = 'resolved';

-- What a judge would read of each held result, and how much of it: half of 'room' characters of the result, and of the
-- changes what is left.
create view _judged_texts as
select
    turn_id,
    accept,
    result,
    changes,
    model,
    substr(result, 1, room / 2) as shown_result,
    substr(changes, 1, room - min(length(result), room / 2)) as shown_changes
from (
    select
        h.turn_id,
        h.accept,
        coalesce(h.answer, '') as result,
        coalesce(
            (
                select group_concat(diff, char(10))
                from (
                    select d.diff
                    from _loop_diffs as d
                    where d.loop_id in (select b.below_id from _loops_below as b where b.loop_id = h.loop_id)
                    order by d.proposal_id
                )
            ), 'No file was changed.'
        ) as changes,
        m.model,
        -- a small window holds less: a character a token leaves half of it for the rest
        min(
            (select cast(value as integer) from settings where name = 'judge_chars'),
            coalesce(
                (select k.context_length from models as k where k.alias = coalesce(m.model, r.model)),
                (select cast(value as integer) from settings where name = 'context_length')
            )
        ) as room
    from _held_turns as h
    join runs as r on r.id = h.run_id
    join loops as l on l.id = h.loop_id
    join (
        select
            o.id as loop_id,
            coalesce(
                o.config ->> '$.accept_model', (select nullif(value, '') from settings where name = 'judge_model'), o.model
            ) as model
        from loops as o
    ) as m on m.loop_id = l.id
);

-- The prompt and the options of the judge of each held result. A tag gets a suffix where one of the texts could end it.
create view _judge_prompts as
select
    turn_id,
    'Does the result fulfil the criteria? PASS or FAIL, and why.'
    || (
        select
            group_concat(
                char(10) || char(10) || '<' || fence_tag(n.name, t.accept || t.result || t.changes) || '>'
                || char(10) || n.shown
                || char(10) || '</' || fence_tag(n.name, t.accept || t.result || t.changes) || '>'
                || case
                    when length(n.shown) < n.chars
                        then char(10) || 'Of the ' || n.name || ' the first ' || length(n.shown) || ' of ' || n.chars
                        || ' characters are shown.'
                    else ''
                end, ''
            )
        from (
            select 'criteria' as name, t.accept as shown, length(t.accept) as chars
            union all
            select 'result', t.shown_result, length(t.result)
            union all
            select 'changes', t.shown_changes, length(t.changes)
        ) as n
    ) as prompt,
    json_patch('{}', json_object(
        'model', model, 'temperature', 0, 'max_turns', 3,
        'no_repo', 1, 'no_web', 1, 'no_interaction', 1, 'no_proposals', 1, 'no_processes', 1
    )) as attributes
from _judged_texts as t;

-- The verdicts of judges that have ended. One that ended in another way than by an answer is an error.
create view _judge_ends as
select
    k.id as check_id,
    k.turn_id,
    case when l.status = 200 then verdict_read(t.response, l.answer) ->> '$.verdict' else 'error' end as verdict,
    case
        when c.state <> 'resolved' then coalesce(nullif(c.message, ''), c.outcome)
        when l.status = 200 then verdict_read(t.response, l.answer) ->> '$.reasons'
        else 'the judge ended at ' || l.status || coalesce(': ' || coalesce(l.reason, l.answer), '')
    end as reasons
from acceptance_checks as k
join commands as c on c.id = k.command_id and c.state in ('resolved', 'failed', 'cancelled')
left join _judges as j on j.command_id = c.id
left join loops as l on l.id = j.loop_id and c.state = 'resolved'
left join turns as t on t.id = (select max(o.id) from turns as o where o.loop_id = l.id)
where k.kind = 'judge' and k.verdict is null;

-- triggers

-- The judge, the effect that waits for it and the row of the check are made at once.
create trigger _begin_check__begin_judge
instead of insert on _begin_check
when new.kind = 'judge'
begin
    insert into commands (
        run_id, loop_id, turn_id, ordinal, writer, action, body, log_path, state, quiet, created_at
    )
    select
        h.run_id, h.loop_id, h.turn_id,
        (select coalesce(max(c.ordinal), -1) + 1 from commands as c where c.turn_id = new.turn_id),
        'system', 'judge', h.accept, log_path(h.sequence, 'judge', h.accept), 'accepted', 1, now()
    from _held_turns as h
    where h.turn_id = new.turn_id;
    insert into effects (run_id, turn_id, command_id, kind, detail)
    select run_id, turn_id, id, 'verify', '{}'
    from commands
    where id = (select max(id) from commands);
    insert into _start_child (parent_run_id, role, prompt, attributes, effect_id)
    select new.run_id, 'judge', p.prompt, p.attributes, (select max(id) from effects)
    from _judge_prompts as p
    where p.turn_id = new.turn_id;
    insert into acceptance_checks (run_id, loop_id, turn_id, attempt, kind, command_id, started_at)
    select new.run_id, new.loop_id, new.turn_id, new.attempt, 'judge', command_id, now()
    from effects
    where id = (select max(id) from effects);
end;
