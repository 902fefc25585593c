-- Story: a run as a person reads it: the prompt, the steps, the answer.
-- It joins what run_log says with the lines that changed, the exit codes and the end of what processes printed. It
-- calls no function of the engine.
-- spec: @run_story

-- views

-- What each command changed in files: the paths with the lines that were added and removed. Where a decision put another
-- text in place of the proposed one, the two texts are compared.
create view _command_changes as
select
    command_id,
    json_group_array(json_object('path', path, 'change', change, 'added', added, 'removed', removed)) as changes
from (
    select
        p.command_id,
        p.target as path,
        case
            when p.kind = 'file_delete' then 'deleted'
            when json_extract(p.detail, '$.before') is null then 'created'
            else 'changed'
        end as change,
        case
            when x.diff is null then (
                select f.added from file_changes as f where f.command_id = p.command_id and f.path = p.target
            )
            else max((length(x.diff) - length(replace(x.diff, char(10) || '+', ''))) / 2 - 1, 0)
        end as added,
        case
            when x.diff is null then (
                select f.removed from file_changes as f where f.command_id = p.command_id and f.path = p.target
            )
            else (length(x.diff) - length(replace(x.diff, char(10) || '-', ''))) / 2
        end as removed
    from proposals as p
    join (
        select q.id, case when s.body is null then json_extract(q.detail, '$.diff') end as diff
        from proposals as q
        left join _first_decisions as d on d.proposal_id = q.id
        left join resolutions as s on s.id = d.resolution_id
        where q.kind in ('file_write', 'file_delete')
    ) as x on x.id = p.id
    where p.state = 'resolved'
    order by p.id
)
group by command_id;

-- Answers that may lack their end: the text of a turn without a command, of which no provider said that it was at its end.
create view _open_answers as
select l.id as loop_id, 'the model''s provider did not say that the answer was at its end; it may be cut off' as told
from loops as l
join turns as t on t.id = (select max(o.id) from turns as o where o.loop_id = l.id)
where l.status = 200
    and l.answer is not null
    and t.finish_reason = 'incomplete'
    and not exists (select 1 from commands as c where c.turn_id = t.id);

create view prompt_summaries as
-- The latest 50 prompts of each run, in short: number, prompt and answer, 200 characters of each: select * from
-- prompt_summaries where run = 'demo'.
select run, loop, status, prompt, answer, turns, ended_at
from (
    select
        r.alias as run,
        l.sequence as loop,
        (select s.status from _prompt_statuses as s where s.loop_id = l.id) as status,
        case when length(l.prompt) > 200 then substr(l.prompt, 1, 199) || '…' else l.prompt end as prompt,
        case when length(l.answer) > 200 then substr(l.answer, 1, 199) || '…' else l.answer end as answer,
        (select count(*) from turns as t where t.loop_id = l.id) as turns,
        strftime('%Y-%m-%d %H:%M:%S', l.ended_at / 1000.0, 'unixepoch') as ended_at,
        row_number() over (partition by r.id order by l.sequence desc) as place
    from loops as l
    join runs as r on r.id = l.run_id
)
where place <= 50
order by run, loop;

-- What each process printed: the path, the lines and the last 4,000 characters of each channel that is not empty.
create view _command_outputs as
select
    f.command_id,
    json_group_array(json_object(
        'path', n.path,
        'lines', length(b.body) - length(replace(b.body, char(10), '')) + (substr(b.body, -1) <> char(10)),
        'tail', substr(b.body, -4000)
    )) as outputs
from effects as f
join _channel_entries as n on n.effect_id = f.id
join _entry_bodies as b on b.run_id = n.run_id and b.entry_id = n.entry_id and b.body <> ''
group by f.command_id;

create view run_story as
-- A run from prompt to answer: select * from run_story where run = 'demo' order by loop, place, step. 'kind' is prompt,
-- command, note (of the engine: an error, or what was put in short), step (of a workflow) or answer. 'changes' is a JSON
-- array of path, change, added and removed (lines), 'outputs' one of path, lines and tail (the end) of what a process
-- printed; 'seconds' is how long it ran. 'body' is the prompt or answer, the line or text of a command, 'message' what
-- came of it.
select
    r.alias as run, l.sequence as loop, null as turn, -1 as place, 0 as step, 'prompt' as kind, l.mode as action,
    null as target, (select s.status from _prompt_statuses as s where s.loop_id = l.id) as status,
    null as outcome, null as exit_code, null as seconds, null as changes, null as outputs,
    null as decided_by, l.prompt as body, null as message,
    strftime('%Y-%m-%d %H:%M:%S', l.created_at / 1000.0, 'unixepoch') as created_at
from loops as l
join runs as r on r.id = l.run_id
union all
select
    g.run,
    coalesce(
        l.sequence, (select max(o.sequence) from loops as o where o.run_id = c.run_id and o.created_at <= c.created_at), 0
    ),
    g.turn,
    coalesce(
        g.turn,
        (select max(o.sequence) from turns as o where o.run_id = c.run_id and o.created_at <= nullif(c.created_at, 0)),
        -1
    ),
    case when g.turn is null then 5000 + c.id else g.ordinal end,
    case when g.command_id is null then 'note' else 'command' end,
    g.action,
    coalesce(c.path, case when g.command_id is null then g.target end),
    g.status,
    -- a command in the background is done when it was started; what became of it is told of its job
    case when j.effect_id is null then g.outcome when j.ended_at is null then 'runs' else j.outcome end,
    json_extract(coalesce(j.detail, x.detail), '$.exit_code'),
    json_extract(coalesce(j.detail, x.detail), '$.duration_s'),
    (select k.changes from _command_changes as k where k.command_id = g.command_id),
    case when f.id is not null then (select k.outputs from _command_outputs as k where k.command_id = g.command_id) end,
    -- whoever decided, where that was somebody
    nullif(g.decided_by, 'yolo'),
    case when c.path is null or c.path glob '[a-z]*://*' then b.body end,
    case
        when g.action <> 'update' and (f.id is null or (g.state <> 'resolved' and g.outcome not glob 'exit:*')) then g.body
    end,
    g.created_at
from run_log as g
join runs as r on r.alias = g.run
left join commands as c on c.id = g.command_id
left join _command_bodies as b on b.command_id = c.id
left join turns as t on t.run_id = r.id and t.sequence = g.turn
left join loops as l on l.id = t.loop_id
left join effects as f on f.command_id = c.id and f.kind = 'process'
left join effect_results as x on x.effect_id = f.id
left join _background_processes as j on j.effect_id = f.id
-- the prompt and the answer have rows of their own
where g.action <> 'end'
    and not (c.id is not null and c.turn_id is null and lower(c.path) glob 'run://*' and c.body is not null)
    and not (g.action = 'update' and l.answer is not null and trim(g.body) = trim(l.answer))
union all
select
    r.alias, l.sequence, null, 1000000000, 0, 'answer', s.name, null, l.status, null, null,
    round((l.ended_at - l.started_at) / 1000.0, 1), null, null, null, l.answer,
    coalesce(l.reason, (select o.told from _open_answers as o where o.loop_id = l.id)),
    strftime('%Y-%m-%d %H:%M:%S', l.ended_at / 1000.0, 'unixepoch')
from loops as l
join runs as r on r.id = l.run_id
join statuses as s on s.code = l.status
where l.status >= 200 and l.status <> 202;
