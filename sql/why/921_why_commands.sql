-- Why commands: who asked for a command, how it ended, and which rule, decision or failure was the reason.
-- spec: @why

-- views

-- The commands of each run with those of its past: 'taken_by' is the run that has the row, 'target' what it was about.
create view _asked_commands as
select
    r.alias as run,
    r.alias as taken_by,
    cast(c.id as text) as subject,
    c.id as command_id,
    t.sequence as turn,
    c.log_path,
    coalesce(c.path, trim((select b.body from _command_bodies as b where b.command_id = c.id))) as target
from commands as c
join runs as r on r.id = c.run_id
left join turns as t on t.id = c.turn_id
union all
select
    p.run, p.source, cast(c.id as text), c.id, p.turn, c.log_path,
    coalesce(c.path, trim((select b.body from _command_bodies as b where b.command_id = c.id)))
from past_turns as p
join commands as c on c.turn_id = p.turn_id
where p.source_id <> p.run_id;

-- A command in a few words: its tool and the beginning of what it was about.
create view _command_words as
select
    c.id as command_id,
    c.action || coalesce(
        ' ' || nullif(case
            when length(coalesce(c.path, b.body)) > 100 then substr(coalesce(c.path, b.body), 1, 99) || '…'
            else coalesce(c.path, b.body)
        end, ''), ''
    ) as words,
    substr(coalesce(c.outcome, ''), 1, instr(coalesce(c.outcome, '') || ':', ':') - 1) as outcome,
    case when length(c.message) > 300 then substr(c.message, 1, 299) || '…' else nullif(c.message, '') end as told
from commands as c
left join _command_bodies as b on b.command_id = c.id;

-- Who asked for each command, how it stands, and what it waits for or followed from.
create view _told_commands as
select
    a.run, a.subject, 10 as place,
    case
        when a.turn is not null then 'The model asked for it on turn ' || a.turn || ': ' || w.words || '.'
        else 'It came from outside of a turn, by the ' || c.writer || ': ' || w.words || '.'
    end as says,
    'command_results' as source,
    json_object('run', a.taken_by, 'command_id', c.id) as key
from _asked_commands as a
join commands as c on c.id = a.command_id
join _command_words as w on w.command_id = c.id
union all
select
    a.run, a.subject, 20,
    case
        when c.state = 'resolved' then 'It was carried out' || coalesce(': ' || w.told, '.')
        when c.state = 'queued' then 'It waits for the commands before it.'
        when c.state = 'proposed' then 'It waits for a decision.'
        when c.state in ('performing', 'accepting', 'accepted') then 'It is being carried out.'
        when c.state = 'cancelled' then 'It was cancelled' || coalesce(': ' || w.told, '.')
        when w.outcome = 'aborted' then 'It did not start: ' || coalesce(w.told, 'a command before it failed.')
        when w.outcome in (
                'rejected', 'permission', 'readonly', 'method_not_allowed', 'repeated', 'duplicate', 'blocked',
                'blocked_again', 'validation', 'truncated'
            ) then case
            when w.told glob 'refused: *' then 'It was ' || w.told
            else 'It was refused' || coalesce(': ' || w.told, '.')
        end
        else 'It failed' || coalesce(': ' || w.told, '.')
    end,
    'run_log', json_object('run', a.taken_by, 'command_id', c.id)
from _asked_commands as a
join commands as c on c.id = a.command_id
join _command_words as w on w.command_id = c.id
union all
select
    a.run, a.subject, 22,
    'The outcome ' || o.name || ' means: ' || o.meaning || '. '
    || case when o.strikes then 'It counts as a strike.' else 'It does not count as a strike.' end,
    'outcomes', json_object('name', o.name)
from _asked_commands as a
join commands as c on c.id = a.command_id and c.state in ('failed', 'cancelled')
join _command_words as w on w.command_id = c.id
join outcomes as o on o.name = w.outcome
union all
-- what it was done in
select
    a.run, a.subject, 60,
    'The command line ran '
    || case when p.sandbox is null then 'without a sandbox' else 'in the sandbox ' || p.sandbox end
    || coalesce(' and ended with exit code ' || p.exit_code, '') || coalesce(', after ' || p.seconds || ' s', '') || '.',
    'processes', json_object('run', p.run, 'effect_id', p.effect_id)
from _asked_commands as a
join effects as f on f.command_id = a.command_id and f.kind = 'process'
join processes as p on p.effect_id = f.id
union all
-- whom it was given to
select
    a.run, a.subject, 65,
    'It delegated the work to the child run ' || k.alias || ', which is ' || s.name || '.',
    'run_overview', json_object('run', k.alias)
from _asked_commands as a
join effects as f on f.command_id = a.command_id
join children as h on h.effect_id = f.id
join runs as k on k.id = h.run_id
join _run_statuses as q on q.run_id = k.id
join statuses as s on s.code = q.status;

-- What refused each command that was not done: the command before it, a veto, a thread, a rule for its mode, its scheme or
-- its file, or a limit.
create view _refusal_reasons as
select
    a.run, a.subject, 30 as place,
    'An earlier command of the turn had failed: ' || w.words || coalesce(' (' || nullif(w.outcome, '') || ')', '') || '.'
    as says,
    'run_log' as source,
    json_object('run', a.taken_by, 'command_id', o.id) as key
from _asked_commands as a
join commands as c on c.id = a.command_id and c.outcome = 'aborted'
join commands as o on o.id = (
    select x.id
    from _aborting_commands as f
    join commands as x on x.turn_id = f.turn_id and x.ordinal = f.ordinal
    where f.turn_id = c.turn_id
    order by f.ordinal
    limit 1
)
join _command_words as w on w.command_id = o.id
union all
select
    a.run, a.subject, 31, 'A veto stopped it before it started.', 'vetoes', json_object('command_id', v.command_id)
from _asked_commands as a
join vetoes as v on v.command_id = a.command_id
union all
select
    a.run, a.subject, 32,
    'The thread ' || (ev.detail ->> '$.thread') || ' blocked it at its point ' || (ev.detail ->> '$.point')
    || coalesce(': ' || h.purpose, '') || '.',
    'thread_log', json_object('run', a.taken_by, 'event_id', ev.id)
from _asked_commands as a
join commands as c on c.id = a.command_id and c.outcome in ('blocked', 'blocked_again')
join events as ev on ev.turn_id = c.turn_id and ev.kind = 'thread.blocked' and ev.detail ->> '$.command' = c.id
left join threads as h on h.id = ev.detail ->> '$.thread_id'
union all
select
    a.run, a.subject, 33,
    'Prompt ' || l.sequence || ' has the mode ' || l.mode || ': ' || m.meaning || '.',
    'loop_list', json_object('run', a.taken_by, 'loop', l.sequence)
from _asked_commands as a
join commands as c on c.id = a.command_id and c.outcome = 'permission' and c.writer = 'model'
join loops as l on l.id = c.loop_id and l.mode <> 'act'
join modes as m on m.name = l.mode
union all
select
    a.run, a.subject, 34,
    'The tool <' || o.name || '> can be used in the modes ' || coalesce(o.modes, '(none)')
    || coalesce(', but not with the options ' || o.hidden_by, '') || '.',
    'tool_list', json_object('name', o.name)
from _asked_commands as a
join commands as c on c.id = a.command_id and c.outcome = 'permission' and c.writer = 'model'
join tool_list as o on o.name = c.action
where not exists (select 1 from _loop_tools as n where n.loop_id = c.loop_id and n.name = c.action)
union all
select
    a.run, a.subject, 35,
    'Entries of ' || s.name || ' (' || s.meaning || ') may be written by: '
    || (select group_concat(w.writer, ', ') from _scheme_writers as w where w.scheme = s.name) || '.',
    'schemes', json_object('name', s.name)
from _asked_commands as a
join commands as c on c.id = a.command_id and c.outcome in ('permission', 'method_not_allowed')
join schemes as s
    on s.name = case instr(c.path, '://') when 0 then 'file' else substr(c.path, 1, instr(c.path, '://') - 1) end
where not exists (select 1 from _scheme_writers as w where w.scheme = s.name and w.writer = c.writer)
    or c.outcome = 'method_not_allowed'
union all
select
    a.run, a.subject, 36, 'The rule for files ' || f.pattern || ' is ' || f.rule || '.',
    'file_constraints', json_object('id', f.id)
from _asked_commands as a
join commands as c on c.id = a.command_id and c.outcome = 'readonly'
join runs as r on r.id = c.run_id
join file_constraints as f on f.project_id = r.project_id and f.rule = 'readonly'
where exists (select 1 from proposals as p where p.command_id = c.id and p.target glob f.pattern)
union all
select
    a.run, a.subject, 37,
    s.words || ' It means: ' || s.meaning || '.', s.source, s.key
from _asked_commands as a
join commands as c on c.id = a.command_id and c.outcome in ('repeated', 'timeout', 'overflow')
join _setting_words as s on s.turn_id = c.turn_id and s.name = case
    when c.outcome = 'repeated' then 'max_repeated_commands'
    when c.outcome = 'timeout' then case when c.action in ('get', 'search') then 'web_timeout' else 'process_timeout' end
    else 'max_entry_tokens'
end;

-- Who decides who decides: each proposal of a command, and the grant, policy, option, person or app that decided on it.
create view _decision_reasons as
-- what nobody has decided on
select
    a.run, a.subject, 40 + 5 * p.ordinal as place,
    case p.kind
        when 'question' then 'It is a question, which only a person can answer: ' || coalesce(substr(p.target, 1, 200), '')
        else 'It waits for the decision of a person: ' || p.action || ' ' || coalesce(substr(p.target, 1, 200), '')
    end as says,
    'open_proposals' as source,
    json_object('run', a.taken_by, 'proposal_id', p.id) as key
from _asked_commands as a
join proposals as p on p.command_id = a.command_id and p.state = 'proposed'
union all
select
    a.run, a.subject, 39,
    'No grant and no policy accepts it, and prompt ' || l.sequence || ' does not have the option yolo.',
    'loop_list', json_object('run', a.taken_by, 'loop', l.sequence)
from _asked_commands as a
join proposals as p on p.command_id = a.command_id and p.state = 'proposed' and p.kind <> 'question'
join loops as l on l.id = p.loop_id
where not exists (select 1 from _loop_flags as f where f.loop_id = l.id and f.flag = 'yolo')
group by a.run, a.command_id
union all
select
    a.run, a.subject, 38,
    'The policy ' || k.name || ' (' || k.level || ') needs the decision of a person for ' || k.program || ' ' || k.arguments
    || ', even with yolo.',
    'policies', json_object('policy_id', k.id)
from _asked_commands as a
join proposals as p on p.command_id = a.command_id and p.kind = 'process'
join runs as r on r.id = p.run_id
join command_policies as k
    on k.decision = 'ask'
    and (k.project_id = r.project_id or k.run_id = p.run_id)
    -- as a shell would read it, a line names more: this tells of the ones that it begins with
    and p.target || ' ' glob k.program || ' ' || k.arguments || '*'
union all
-- what was decided
select
    a.run, a.subject, 40 + 5 * p.ordinal,
    case
        when s.decided_by = 'callback' then 'The app (on_proposal)'
        when s.decided_by = 'yolo' then 'The option yolo'
        when s.decided_by = 'sandbox' then 'The sandbox, where it can only read,'
        when s.decided_by glob 'grant *' or s.decided_by glob 'policy *' then 'The ' || s.decided_by
        when s.decided_by in ('client', 'plugin', 'system') then 'The ' || s.decided_by
        else s.decided_by
    end
    || case s.decision when 'accept' then ' accepted ' when 'reject' then ' rejected ' else ' failed ' end
    || case p.kind
        when 'file_write' then 'writing ' when 'file_delete' then 'deleting ' when 'question' then 'the question '
        when 'process' then 'the command line '
        else p.kind || ' '
    end
    || coalesce(substr(p.target, 1, 200), '')
    || case when s.body is not null and p.kind <> 'question' then ', with a changed text' else '' end
    || coalesce(': ' || nullif(substr(s.reason, 1, 300), ''), '.'),
    'decisions', json_object('run', a.taken_by, 'proposal_id', p.id)
from _asked_commands as a
join proposals as p on p.command_id = a.command_id
join _first_decisions as d on d.proposal_id = p.id
join resolutions as s on s.id = d.resolution_id
union all
select
    a.run, a.subject, 41 + 5 * p.ordinal,
    'Prompt ' || l.sequence || ' has the option yolo: ' || o.meaning || '.',
    'run_options', json_object('name', o.name)
from _asked_commands as a
join proposals as p on p.command_id = a.command_id
join _first_decisions as d on d.proposal_id = p.id
join resolutions as s on s.id = d.resolution_id and s.decided_by = 'yolo'
join loops as l on l.id = p.loop_id
join run_options as o on o.name = 'yolo'
union all
select
    a.run, a.subject, 42 + 5 * p.ordinal,
    g.granted_by || ' had granted ' || g.kind || ' ' || coalesce(g.target, 'for any target')
    || case when g.revoked_at is null then '.' else ', and has revoked the grant since.' end,
    'grants', json_object('id', g.id)
from _asked_commands as a
join proposals as p on p.command_id = a.command_id
join _first_decisions as d on d.proposal_id = p.id
join resolutions as s on s.id = d.resolution_id and s.decided_by glob 'grant *'
join grants as g on 'grant ' || g.id = s.decided_by
union all
select
    a.run, a.subject, 43 + 5 * p.ordinal,
    'The policy ' || k.name || ' (' || k.level || ') says for ' || k.program || ': ' || k.decision || '.',
    'policies', json_object('policy_id', k.id)
from _asked_commands as a
join proposals as p on p.command_id = a.command_id
join _first_decisions as d on d.proposal_id = p.id
join resolutions as s on s.id = d.resolution_id and s.decided_by glob 'policy *'
join command_policies as k on k.id = (
    select min(o.id)
    from command_policies as o
    where 'policy ' || o.name = s.decided_by and coalesce(instr(s.reason, o.message), 1)
)
union all
-- what a person is asked about, although an option or a grant may accept the like
select
    a.run, a.subject, 39,
    'It needed a decision, because ' || case
        when max(p.kind = 'question') then 'it is a question.'
        when max(p.kind = 'process') then 'it runs a command line.'
        when max(p.kind in ('file_write', 'file_delete')) then 'it changes a file.'
        else 'it acts outside the database.'
    end,
    'command_results', json_object('run', a.taken_by, 'command_id', a.command_id)
from _asked_commands as a
join proposals as p on p.command_id = a.command_id
group by a.run, a.command_id;

create view command_reasons as
-- Why each command was done, refused, asked about or allowed, a sentence a row: select says, source, key from
-- command_reasons where run = 'demo' and subject = '17' order by place. 'subject' is the number of the command. 'source' is
-- a view or table, and 'key' a JSON object of those of its columns that name the row. The commands of a run's past are its
-- own, too.
select run, 'command' as topic, subject, place, says, source, key
from _told_commands
union all
select run, 'command', subject, place, says, source, key
from _refusal_reasons
union all
select run, 'command', subject, place, says, source, key
from _decision_reasons;
