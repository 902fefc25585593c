-- Processes: shell commands as proposals, their output as streaming entries.
-- The record of a command is its log entry; the bytes it prints are data, one entry a channel: _1 what it prints, _2 its
-- errors. A process that was cut off with the engine is never started again: it is recorded as interrupted.
-- spec: @tool_sh @tool_env @streaming_entries

-- views

-- The channels of a process, by effect.
create view effect_channels as
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

-- The entries that the channels fill, with what was printed since the process began.
create view channel_entries as
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
from effect_channels as c
cross join run_paths as p on p.run_id = c.run_id and p.path = c.path;

-- What is told of a process at its end, in one line.
create view process_reports as
select
    x.effect_id,
    case x.outcome
        when 'interrupted' then 'interrupted: the engine was stopped while this ran: '
        when 'timeout' then 'stopped after the time-out: '
        else case x.state when 'cancelled' then 'aborted ' else 'ran ' end
    end
    || quote(p.target)
    || coalesce(', exit=' || json_extract(x.detail, '$.exit_code'), '')
    || coalesce(' (' || json_extract(x.detail, '$.duration_s') || 's)', '')
    || coalesce('. ' || json_extract(x.detail, '$.note'), '')
    || '. Output: ' || (
        select group_concat(line, ', ')
        from (
            select
                c.path || case
                    when b.chars > 0 then ' (' || token_estimate(b.chars, 2) || ' tokens)'
                    else ' (empty)'
                end as line
            from channel_entries as c
            cross join entry_bodies as b on b.run_id = c.run_id and b.entry_id = c.entry_id
            where c.effect_id = x.effect_id
            order by c.channel
        )
    ) as report
from effect_results as x
cross join effects as f on f.id = x.effect_id
cross join proposals as p on p.id = f.proposal_id;

-- Report output: insert into effect_output (effect_id, channel, text).
create view effect_output as
select effect_id, channel, null as text, null as lease
from effect_channels
where false;

-- The end of a process: insert into process_ends (effect_id).
create view process_ends as
select id as effect_id
from effects;

-- Commands being performed; an insert performs one.
create view performing_process as
select *
from commands
where state = 'performing' and action in ('sh', 'env');

-- Commands being performed; an insert performs one.
create view performing_ask_user as
select *
from commands
where state = 'performing' and action = 'ask_user';

-- triggers

create trigger commands__perform_process
after update of state on commands
when new.state = 'performing' and new.action in ('sh', 'env')
begin
    insert into performing_process
    select *
    from commands
    where id = new.id;
end;

create trigger performing_process__perform
instead of insert on performing_process
begin
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = new.action || ' needs a command: <' || new.action || '>ls</' || new.action || '>.'
    where id = new.id and trim(coalesce(new.body, ''), char(32, 9, 10, 13)) = '';
    insert into proposal_openings (command_id, kind, target, detail)
    select new.id, 'process', new.body, json_object('command', new.body)
    where (select state from commands where id = new.id) = 'performing';
end;

create trigger commands__perform_ask_user
after update of state on commands
when new.state = 'performing' and new.action = 'ask_user'
begin
    insert into performing_ask_user
    select *
    from commands
    where id = new.id;
end;

create trigger performing_ask_user__perform
instead of insert on performing_ask_user
begin
    update commands
    set state = 'failed', outcome = 'validation', message = 'ask_user needs a question.'
    where id = new.id and trim(coalesce(new.body, ''), char(32, 9, 10, 13)) = '';
    insert into proposal_openings (command_id, kind, target, detail)
    select
        new.id, 'question', new.body,
        json_object('question', new.body, 'options', json_extract(new.attributes, '$.options'))
    where (select state from commands where id = new.id) = 'performing';
end;

create trigger effects__open_channels
after insert on effects
when new.kind = 'process'
begin
    insert into entry_writes (run_id, path, body, attributes, visibility, state, writer, turn)
    select
        c.run_id, c.path, '',
        json_object('command', json_extract(new.detail, '$.command'), 'channel', c.channel),
        'summarized', 'streaming', 'system',
        (select sequence from turns where id = c.turn_id)
    from effect_channels as c
    where c.effect_id = new.id
    order by c.channel;
end;

create trigger effect_output__append
instead of insert on effect_output
begin
    select fail(409, 'effect ' || new.effect_id || ': another process drives its run')
    from effect_leases
    where effect_id = new.effect_id and token is not new.lease;
    -- what a process prints after its end, or its abort, is not kept
    insert into entry_chunks (run_id, entry_id, text)
    select c.run_id, c.entry_id, new.text
    from channel_entries as c
    join effects as f on f.id = c.effect_id and f.state in ('pending', 'started')
    where c.effect_id = new.effect_id and c.channel = new.channel;
end;

create trigger process_ends__cut
instead of insert on process_ends
begin
    insert into entry_writes (run_id, path, body, visibility, state, outcome, writer, turn)
    select
        c.run_id,
        c.path,
        coalesce(c.printed, ''),
        -- a channel that stayed empty is not worth a line
        case when c.printed is null then 'archived' else 'summarized' end,
        case when x.outcome = 'interrupted' then 'cancelled' else x.state end,
        x.outcome,
        'system',
        (select sequence from turns where id = c.turn_id)
    from channel_entries as c
    join effect_results as x on x.effect_id = c.effect_id
    where c.effect_id = new.effect_id;
    delete from entry_chunks
    where (run_id, entry_id) in (select run_id, entry_id from channel_entries where effect_id = new.effect_id);
    update proposals
    set reason = (select report from process_reports where effect_id = new.effect_id)
    where id = (select proposal_id from effects where id = new.effect_id);
    update commands
    set message = (select report from process_reports where effect_id = new.effect_id)
    where id = (select command_id from effects where id = new.effect_id);
end;
