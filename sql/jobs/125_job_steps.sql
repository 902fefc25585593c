-- Job steps: a background command starts, prints and ends.
-- See 124. The doors are for the driver that holds the lease of the run. For a kept job they are for its keeper,
-- which has the token of the driver that started the job.
-- spec: @background_jobs @kept_jobs

-- views

-- What is written of a job when it starts, with an empty channel out of the way, and when it ends: insert into
-- _write_job (effect_id).
create view _write_job as
select effect_id
from jobs
where false;

-- triggers

-- The effect is done: dispatch goes on. The entries that it leaves as resolved stream from here on.
create trigger _start_job__start
instead of insert on _start_job
begin
    insert into _start_effect (effect_id, identity, lease) values (new.effect_id, new.identity, new.lease);
    insert into jobs (effect_id, run_id, loop_id, lease, identity, started_at, detail)
    select
        f.id, f.run_id, m.loop_id, new.lease, new.identity, now(),
        case when l.token is null then '{}' else json_object('keeper', l.holder) end
    from effects as f
    join commands as m on m.id = f.command_id
    left join leases as l on l.run_id = f.run_id and l.token = new.lease and f.detail ->> '$.keep' is not null
    where f.id = new.effect_id and f.state = 'started';
    select fail(409, 'effect ' || new.effect_id || ': has already ended')
    where not exists (select 1 from jobs where effect_id = new.effect_id);
    insert into job_channels (effect_id, channel, entry_id)
    select effect_id, channel, entry_id
    from _channel_entries
    where effect_id = new.effect_id;
    insert into _finish_effect (effect_id, state, message, lease)
    select effect_id, 'resolved', report, new.lease
    from _job_reports
    where effect_id = new.effect_id;
    insert into _write_job (effect_id) values (new.effect_id);
end;

create trigger _append_job_output__append
instead of insert on _append_job_output
begin
    select fail(409, 'effect ' || new.effect_id || ': another process works on its run')
    from _job_leases
    where effect_id = new.effect_id and token is not new.lease;
    insert into entry_chunks (run_id, entry_id, text, position)
    select j.run_id, c.entry_id, new.text, c.printed
    from jobs as j
    join job_channels as c on c.effect_id = j.effect_id and c.channel = new.channel
    where j.effect_id = new.effect_id and j.ended_at is null;
    -- output that comes after the end is dropped
    select case
            when j.effect_id is null
                then fail(
                    404,
                    'effect ' || quote(new.effect_id) || ': not a background command; see the view processes'
                )
            when coalesce(new.channel, 0) not in (1, 2)
                then fail(
                    400, 'effect ' || j.effect_id || ': channel is 1 (output) or 2 (errors), not ' || quote(new.channel)
                )
        end
    from (select changes() as stored) as s
    left join jobs as j on j.effect_id = new.effect_id
    where not s.stored;
    update job_channels
    set printed = printed + length(new.text)
    where effect_id = new.effect_id
        and channel = new.channel
        and exists (select 1 from jobs where effect_id = new.effect_id and ended_at is null);
    update job_channels
    set dropped = dropped + (
            select coalesce(sum(s.chars), 0)
            from _surplus_pieces as s
            where s.effect_id = new.effect_id and s.channel = new.channel
        )
    where effect_id = new.effect_id
        and channel = new.channel
        and printed > (select cast(value as integer) from settings where name = 'process_output_bytes');
    delete from entry_chunks
    where id in (
            select s.id
            from job_channels as c
            join _surplus_pieces as s on s.effect_id = c.effect_id and s.channel = c.channel
            where c.effect_id = new.effect_id
                and c.channel = new.channel
                and c.printed > (select cast(value as integer) from settings where name = 'process_output_bytes')
        );
end;

-- Only the end of a long output is shown; a get with line and limit reads all of it. A channel that has been empty so far
-- comes into context with the first that it prints.
create trigger _show_job_output__show
instead of insert on _show_job_output
begin
    select fail(404, 'run ' || quote(new.run_id) || ': not found; see the table runs')
    where not exists (select 1 from runs where id = new.run_id);
    insert into _write_entry (run_id, path, body, visibility, state, writer)
    select
        t.run_id,
        e.path,
        case
            when length(t.text) > 2000
                then '[… ' || counted(length(t.text) - 2000, 'character') || ' before this; get it with line and limit]'
                || char(10) || substr(t.text, -2000)
            else t.text
        end,
        case when t.shown = 0 then 'summarized' end,
        'streaming',
        'system'
    from jobs as j
    cross join _job_texts as t on t.effect_id = j.effect_id and t.printed > t.shown
    cross join run_views as v on v.run_id = t.run_id and v.entry_id = t.entry_id
    cross join entries as e on e.id = t.entry_id
    where j.run_id = new.run_id and j.ended_at is null;
    update job_channels
    set shown = printed
    where effect_id in (select effect_id from jobs where run_id = new.run_id and ended_at is null);
end;

create trigger _finish_job__guard
instead of insert on _finish_job
when not exists (select 1 from jobs where effect_id = new.effect_id)
begin
    select fail(404, 'effect ' || quote(new.effect_id) || ': not a background command; see the view processes');
end;

-- A request to end it, or the end of its loop, explains an end that the driver tells as interrupted.
create trigger _finish_job__finish
instead of insert on _finish_job
when exists (select 1 from jobs where effect_id = new.effect_id and ended_at is null)
begin
    select fail(409, 'effect ' || new.effect_id || ': another process works on its run')
    from _job_leases
    where effect_id = new.effect_id and token is not new.lease;
    update jobs
    set ended_at = now(),
        state = case
            when new.outcome = 'interrupted' then 'cancelled'
            when coalesce(new.outcome, '') = '' and coalesce(new.exit_code, 0) = 0 then 'resolved'
            else 'failed'
        end,
        outcome = case
            when new.outcome = 'interrupted' and exists (select 1 from _jobs_to_end where effect_id = new.effect_id)
                then 'cancelled'
            when new.outcome is not null then new.outcome
            when new.exit_code <> 0 then 'exit:' || new.exit_code
        end,
        exit_code = new.exit_code,
        detail = coalesce(
            (
                select json_set(
                    coalesce(new.detail, '{}'), '$.note',
                    x.why || coalesce('; ' || json_extract(new.detail, '$.note'), '')
                )
                from _jobs_to_end as x
                where x.effect_id = new.effect_id and new.outcome = 'interrupted'
            ),
            new.detail, '{}'
        )
    where effect_id = new.effect_id;
    insert into _write_job (effect_id) values (new.effect_id);
end;

-- At its start the channels are empty and stay out of the packet. At its end the output becomes a content, and the record
-- moves to the end of the log, where the model reads it next.
create trigger _write_job__write
instead of insert on _write_job
begin
    insert into _write_entry (run_id, path, body, visibility, state, outcome, writer)
    select
        j.run_id,
        n.path,
        coalesce(t.text, ''),
        case when t.text is null then 'archived' when t.shown = 0 then 'summarized' end,
        j.state,
        j.outcome,
        'system'
    from jobs as j
    cross join _channel_entries as n on n.effect_id = j.effect_id
    cross join _job_texts as t on t.effect_id = j.effect_id and t.channel = n.channel
    where j.effect_id = new.effect_id;
    delete from entry_chunks
    where (run_id, entry_id) in (
            select j.run_id, c.entry_id
            from jobs as j
            join job_channels as c on c.effect_id = j.effect_id
            where j.effect_id = new.effect_id and j.ended_at is not null
        );
    insert into _write_entry (run_id, path, body, state, outcome, writer, turn)
    select j.run_id, m.log_path, r.report, j.state, j.outcome, 'system', a.next_turn - 1
    from jobs as j
    join effects as f on f.id = j.effect_id
    join commands as m on m.id = f.command_id
    join runs as a on a.id = j.run_id
    join _job_reports as r on r.effect_id = j.effect_id
    cross join _run_paths as p on p.run_id = j.run_id and p.path = m.log_path
    where j.effect_id = new.effect_id;
    insert into events (at, run_id, turn_id, kind, detail)
    select
        now(), j.run_id, f.turn_id, case when j.ended_at is null then 'job.started' else 'job.ended' end,
        json_object('effect', j.effect_id, 'outcome', j.outcome)
    from jobs as j
    join effects as f on f.id = j.effect_id
    where j.effect_id = new.effect_id;
end;

create trigger _end_kept_jobs__ask
instead of insert on _end_kept_jobs
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    insert into process_cancels (effect_id, asked_by, reason, created_at)
    select k.effect_id, 'an abort', new.reason, now()
    from runs as r
    join _kept_processes_unasked as k on instr(k.lineage, '/' || r.id || '/')
    where r.alias = new.run;
end;
