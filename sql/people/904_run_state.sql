-- Run state: the facts about a run as JSON, for programs.
-- spec: @run_state_view

-- views

-- What happened in each run, in the order of time, as a JSON array: the commands and errors of its turns, each prompt at the
-- turn that took it up, and each command from outside a turn behind the turn that had begun. What was written stands in it
-- with its text.
create view _run_histories as
select
    r.id as run_id,
    (
        select json_group_array(json_object(
            'tool', h.tool, 'path', h.path, 'status', h.status, 'body', h.body, 'turn', h.turn, 'target', h.target
        ))
        from (
            select *
            from (
                select
                    k.*,
                    coalesce(k.turn, max(k.begun) over (order by k.at, k.command_id is null, k.command_id), 0) as place
                from (
                    select
                        g.action as tool, g.path, g.status,
                        case
                            when g.action in ('set', 'think') and g.state = 'resolved' then coalesce(b.body, g.body)
                            else g.body
                        end as body,
                        g.turn, g.target, g.ordinal, g.command_id, c.created_at as at,
                        case when g.command_id is not null then g.turn end as begun
                    from run_log as g
                    left join commands as c on c.id = g.command_id
                    left join _command_bodies as b on b.command_id = g.command_id
                    where g.run = r.alias
                        and not (
                            g.command_id is not null and g.turn is null
                            and lower(c.path) glob 'run://*' and c.body is not null
                        )
                    union all
                    select
                        'set', 'prompt://' || l.turn, 200, l.prompt, l.turn, 'run://' || r.alias, -3, null,
                        l.created_at, null
                    from (
                        select p.*, (select min(t.sequence) from turns as t where t.loop_id = p.id) as turn
                        from loops as p
                        where p.run_id = r.id
                    ) as l
                    union all
                    -- no row of the history: when each turn began
                    select null, null, null, null, null, null, null, null, t.created_at, t.sequence
                    from turns as t
                    where t.run_id = r.id
                ) as k
            )
            where tool is not null
            order by place, turn is null, case when turn is null then at else ordinal end, command_id
        ) as h
    ) as history
from runs as r;

create view run_state as
-- One row a run, for programs: turn, status and latest answer; as JSON the history, the open questions (unknowns), and
-- the usage (telemetry), of a workflow that of its steps.
select
    r.alias as run,
    r.next_turn - 1 as turn,
    (select s.status from _run_statuses as s where s.run_id = r.id) as status,
    coalesce(
        (select l.answer from loops as l where l.run_id = r.id and l.answer is not null order by l.sequence desc limit 1), ''
    ) as answer,
    (select h.history from _run_histories as h where h.run_id = r.id) as history,
    (
        select json_group_array(json_object('path', u.path, 'body', u.body))
        from known_entries as u
        where u.run = r.alias and u.category = 'unknown' and u.visibility <> 'archived'
    ) as unknowns,
    (
        select json_object(
            'context_tokens', coalesce(
                (select t.context_tokens from turns as t where t.run_id = r.id and t.context_tokens is not null
                order by t.sequence desc limit 1), 0
            ),
            'context_size', (
                select b.context_size
                from loops as l
                join _loop_ceilings as b on b.loop_id = l.id
                where l.run_id = r.id
                order by l.sequence desc
                limit 1
            ),
            'prompt_tokens', coalesce(sum(s.prompt_tokens), 0),
            'cached_tokens', coalesce(sum(s.cached_tokens), 0),
            'completion_tokens', coalesce(sum(s.completion_tokens), 0),
            'reasoning_tokens', coalesce(sum(s.reasoning_tokens), 0),
            'cost', (select c.cost from _work_costs as c where c.run_id = r.id),
            'turns', count(*),
            'ms_model', coalesce(sum(s.ms_model), 0),
            'ms_engine', coalesce(sum(s.ms_engine), 0)
        )
        from turns as s
        where s.run_id in (select w.working_run_id from _working_runs as w where w.run_id = r.id)
    ) as telemetry,
    strftime('%Y-%m-%d %H:%M:%S', r.updated_at / 1000.0, 'unixepoch') as updated_at
from runs as r;
