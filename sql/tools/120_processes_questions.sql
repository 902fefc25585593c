-- sh, env, ask_user: shell commands and questions, which wait for a decision.
-- The log entry of a command says how it ended. Its output is data, in one entry a channel: _1 for standard output, _2
-- for standard error. A process that was running when the engine was stopped is never started again: it is recorded as
-- interrupted.
-- spec: @tool_sh @tool_env @streaming_entries @tool_ask_user @repeated_commands

-- seeds

insert into tools (name, ordinal, gathers, advertised, reads, modes, hidden_by, schema, meaning) values
    ('env', 40, 1, 1, 1, '["ask","act"]', '["no_proposals","no_processes"]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the shell command; it may only read"},
            "timeout": {
                "type": "number", "minimum": 1, "maximum": 600, "description": "seconds after which it is stopped"}
        }, "required": ["body"]}'),
        'run a command that only reads'),
    ('sh', 50, 1, 1, 0, '["act"]', '["no_proposals","no_processes"]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the shell command"},
            "timeout": {
                "type": "number", "minimum": 1, "maximum": 600, "description": "seconds after which it is stopped"},
            "background": {"type": "boolean", "description": "do not wait for it; it ends with the task"},
            "keep": {"type": "boolean", "description": "with background: it runs on after the task, for the person"}
        }, "required": ["body"]}'),
        'run a shell command'),
    ('ask_user', 110, 1, 1, 1, '["ask","act"]', '["no_interaction","no_proposals","yolo"]',
        json('{"type": "object", "properties": {
            "question": {"type": "string", "description": "the question"},
            "options": {"type": "string", "description": "answers to choose from, separated by semicolons"}
        }, "required": ["question"]}'),
        'ask the person a question')
on conflict (name) do update
    set ordinal = excluded.ordinal, gathers = excluded.gathers, advertised = excluded.advertised, reads = excluded.reads,
        modes = excluded.modes, hidden_by = excluded.hidden_by, schema = excluded.schema, meaning = excluded.meaning;

-- views

-- Why a command line is refused: its loop has run it as often as the setting max_repeated_commands allows, and no file of
-- the project has changed since: neither by an accepted write or removal, nor as a scan after the turn found it.
create view _repeated_processes as
select
    c.id as command_id,
    'repeated: Refused: this loop ran it '
    || case s.value when '1' then 'once' when '2' then 'twice' else s.value || ' times' end
    || ' already, and no file has changed since. Read what it printed, change something, or run something else.' as refusal
from commands as c
cross join settings as s on s.name = 'max_repeated_commands' and cast(s.value as integer) > 0
cross join runs as r on r.id = c.run_id
where c.writer = 'model'
    and c.action in ('sh', 'env')
    and (
        select count(*)
        from turns as t
        cross join commands as o on o.turn_id = t.id
        where t.loop_id = c.loop_id
            and o.id < c.id
            and o.action in ('sh', 'env')
            and coalesce(o.outcome, '') not in (
                'aborted', 'rejected', 'cancelled', 'permission', 'validation', 'blocked', 'blocked_again'
            )
            and trim((select b.body from _command_bodies as b where b.command_id = o.id), char(32, 9, 10, 13))
            = trim(c.body, char(32, 9, 10, 13))
            and not exists (
                select 1
                from effects as f
                cross join effects as w on w.id > f.id and w.kind in ('file_write', 'file_delete')
                cross join proposals as p on p.id = w.proposal_id and p.state = 'resolved'
                cross join runs as q on q.id = w.run_id and q.project_id = r.project_id
                where f.command_id = o.id
            )
            and not exists (
                select 1
                from entries as e
                where e.scope = 'project:' || r.project_id
                    and e.since > (
                        select v.id
                        from events as v
                        where v.id > t.seen_at and v.turn_id = o.turn_id and v.kind = 'turn.judged'
                    )
            )
    ) >= cast(s.value as integer);

-- The output channels of each process, and the path of the entry for each.
create view _effect_channels as
select
    f.id as effect_id,
    f.run_id,
    m.turn_id,
    n.value as channel,
    m.action || '://' || coalesce(
        substr(m.log_path, length('log://') + 1, instr(substr(m.log_path, length('log://') + 1), '/'))
        || substr(m.log_path, instr(m.log_path, '/' || m.action || '/') + length(m.action) + 2),
        'command_' || m.id
    ) || '_' || n.value as path
from effects as f
join commands as m on m.id = f.command_id
join json_each('[1,2]') as n
where f.kind = 'process';

-- The entries of output channels, with the output so far.
create view _channel_entries as
select
    c.effect_id,
    c.channel,
    c.run_id,
    c.turn_id,
    c.path,
    p.entry_id,
    (
        select group_concat(text, '')
        from (select text from entry_chunks where run_id = p.run_id and entry_id = p.entry_id order by id)
    ) as printed
from _effect_channels as c
cross join _run_paths as p on p.run_id = c.run_id and p.path = c.path;

-- The one line that tells how a process ended and where its output is.
create view _process_reports as
select
    x.effect_id,
    case x.outcome
        when 'interrupted' then 'interrupted: the engine was stopped while this ran: '
        when 'timeout' then 'stopped after the time-out: '
        else case
                when x.state = 'cancelled' then 'aborted '
                when f.started_at is null and x.outcome = 'cancelled' then 'did not begin: '
                else 'ran '
            end
    end
    || quote(p.target)
    || coalesce(', exit=' || json_extract(x.detail, '$.exit_code'), '')
    || coalesce(
        ' (' || coalesce(x.detail ->> '$.reason' || ', ', '') || json_extract(x.detail, '$.duration_s') || 's)',
        ' (' || (x.detail ->> '$.reason') || ')',
        ''
    )
    || coalesce('; ' || json_extract(x.detail, '$.note'), '')
    || '. Output: ' || (
        select group_concat(line, ', ')
        from (
            select
                c.path || case
                    when b.chars > 0 then ' (' || counted(token_estimate(b.chars, 2), 'token') || ')'
                    else ' (empty)'
                end as line
            from _channel_entries as c
            cross join _entry_bodies as b on b.run_id = c.run_id and b.entry_id = c.entry_id
            where c.effect_id = x.effect_id
            order by c.channel
        )
    ) as report
from effect_results as x
cross join effects as f on f.id = x.effect_id and f.kind = 'process'
cross join proposals as p on p.id = f.proposal_id;

-- The folders below the root of a run's project that have something to say of what is done in them. A part gives the run,
-- the root and the folder, which ends in '/'.
create view _guided_folders as
select id as run_id, cast(null as text) as root, cast(null as text) as folder
from runs
where false;

create view _append_output as
-- Store output of a running process: insert into _append_output (effect_id, channel, text, lease). Channel 1 is standard
-- output, 2 is standard error. Nothing happens where the process is over.
select effect_id, channel, null as text, null as lease
from _effect_channels
where false;

-- triggers

-- Propose the process; an empty command line fails, and one that is to be kept and would not run in the background.
create trigger _run_process__run
instead of insert on _run_process
begin
    insert into _fail_command (command_id, fault)
    select
        new.id,
        case
            when trim(coalesce(new.body, ''), char(32, 9, 10, 13)) = ''
                then 'validation: ' || new.action || ' needs a command: <' || new.action || '>ls</' || new.action || '>.'
            else 'validation: only a background command is kept: <sh background="1" keep="1">, or leave keep out.'
        end
    where trim(coalesce(new.body, ''), char(32, 9, 10, 13)) = ''
        or (new.attributes ->> '$.keep' is not null and new.attributes ->> '$.background' is null);
    insert into _open_proposal (command_id, kind, target, detail)
    values (
        new.id, 'process', new.body,
        -- without a null
        json_patch(
            '{}',
            json_object(
                'command', new.body,
                'background', new.attributes ->> '$.background',
                'keep', new.attributes ->> '$.keep',
                -- the folders with instructions that it names: the line is read here, where the functions are
                'folders', json((
                    select nullif(json_group_array(distinct i.folder), '[]')
                    from _guided_folders as i
                    cross join json_each(shell_paths(new.body, i.root)) as j
                        on substr(j.value || '/', 1, length(i.folder)) = i.folder
                    where i.run_id = new.run_id
                ))
            )
        )
    );
end;

-- Propose the question, which is answered by accepting it; an empty one fails.
create trigger _run_question__run
instead of insert on _run_question
begin
    insert into _fail_command (command_id, fault)
    select new.id, 'validation: ask_user needs a question.'
    where trim(coalesce(new.body, ''), char(32, 9, 10, 13)) = '';
    insert into _open_proposal (command_id, kind, target, detail)
    values (
        new.id, 'question', new.body,
        json_object('question', new.body, 'options', json_extract(new.attributes, '$.options'))
    );
end;

-- Refused without the token of the lease in force on the run.
create trigger _append_output__append
instead of insert on _append_output
begin
    select fail(409, 'effect ' || new.effect_id || ': another process works on its run')
    from _effect_leases
    where effect_id = new.effect_id and token is not new.lease;
    insert into entry_chunks (run_id, entry_id, text)
    select c.run_id, c.entry_id, new.text
    from _channel_entries as c
    join effects as f on f.id = c.effect_id and f.state = 'started'
    where c.effect_id = new.effect_id and c.channel = new.channel;
    -- output that comes after the end or the abort of the process is dropped
    select case
            when f.id is null
                then fail(
                    404, 'effect ' || quote(new.effect_id) || ': not a process; see the view _pending_effects'
                )
            when coalesce(new.channel, 0) not in (1, 2)
                then fail(
                    400, 'effect ' || f.id || ': channel is 1 (output) or 2 (errors), not ' || quote(new.channel)
                )
            when f.state = 'pending'
                then fail(409, 'effect ' || f.id || ': has not begun; insert into _start_effect first')
        end
    from (select changes() as stored) as s
    left join effects as f on f.id = new.effect_id and f.kind = 'process'
    where not s.stored;
end;
