-- Jobs: shell commands that run in the background, during their run or after it.
-- A <sh background="1"> takes the way of any command line up to its decision. Its effect is done as soon as the
-- command was started: dispatch goes on, and the log entry stays at 102 until the job ends. A job belongs to its loop
-- and to the driver that started it, and ends with either; with keep it belongs to the process that started it, its
-- keeper. The watching process reads _jobs_to_end for jobs that must be stopped: because of an rm of their output, or
-- a row of process_cancels. If nobody watches a job any more, it is recorded as interrupted.
-- spec: @background_jobs @kept_jobs @streaming_entries

-- tables

-- The background commands, one row each.
create table if not exists jobs (
    effect_id integer primary key constraint jobs_effect references effects (id) on delete cascade,
    run_id integer not null,
    loop_id integer not null,
    -- the token of the driver that started it
    lease text,
    -- boot id, process id and start time of the process, as JSON
    identity text not null,
    started_at integer not null,
    -- null: it runs
    ended_at integer,
    state text not null default 'streaming' constraint jobs_state references states (name),
    outcome text,
    exit_code integer,
    -- duration_s, note, and in which sandbox it ran; of a kept one that runs its keeper, a process as in 'identity'
    detail text not null default '{}' constraint jobs_detail_json check (json_valid(detail))
) strict;

create index if not exists idx_jobs_run_id on jobs (run_id, ended_at);

-- The output channels of jobs.
create table if not exists job_channels (
    effect_id integer not null constraint job_channels_job references jobs (effect_id) on delete cascade,
    channel integer not null,
    entry_id integer not null,
    -- characters that were kept, those that were dropped later included
    printed integer not null default 0,
    -- characters that were dropped to keep the latest
    dropped integer not null default 0,
    -- what 'printed' was when a packet showed the channel last
    shown integer not null default 0,
    primary key (effect_id, channel)
) strict, without rowid;

-- views

-- How the background commands stand, for the core.
create view _background_processes__jobs as
select
    effect_id, run_id, identity, started_at, ended_at, outcome, exit_code, detail,
    json_extract(detail, '$.keeper') as keeper, lease as token
from jobs;

-- How much they have printed, for the core.
create view _printed_outputs__jobs as
select effect_id, channel, printed
from job_channels;

-- Why a background command is not started. The driver asks for it before it starts one, so that other commands pay nothing.
create view _job_refusals as
select
    f.id as effect_id,
    case
        when m.action = 'env' or m.turn_id is null
            then 'validation: only a model''s <sh background="1"> runs in the background; leave background out.'
        else 'conflict: ' || counted(n.jobs, 'command')
            || case n.jobs when 1 then ' runs' else ' run' end || ' in the background, which is the limit: '
            || coalesce(n.paths, '') || '. End one with rm.'
    end as refusal
from effects as f
join commands as m on m.id = f.command_id
join (
    select
        r.id as run_id,
        count(j.effect_id) as jobs,
        group_concat(c.path, ', ') as paths
    from runs as r
    left join jobs as j on j.run_id = r.id and j.ended_at is null
    left join _effect_channels as c on c.effect_id = j.effect_id and c.channel = 1
    group by r.id
) as n on n.run_id = f.run_id
where m.action = 'env'
    or m.turn_id is null
    or n.jobs >= (select cast(value as integer) from settings where name = 'max_jobs');

-- The token that is asked of whoever writes of a job: of a kept one that of the driver that started it, of any other that
-- of the lease in force.
create view _job_leases as
select effect_id, token
from _kept_processes
union all
select l.effect_id, l.token
from _effect_leases as l
where not exists (select 1 from _kept_processes as k where k.effect_id = l.effect_id);

-- Jobs that run and are to end, and why.
create view _jobs_to_end as
select
    j.effect_id,
    case
        when k.effect_id is not null then 'stopped by ' || k.asked_by || coalesce(': ' || k.reason, '')
        when json_extract(j.detail, '$.keeper') is not null then 'its output was removed'
        when l.status = 499 then 'its loop was aborted'
        when l.status = 102 then 'its output was removed'
        else 'its loop ended'
    end as why
from jobs as j
cross join loops as l on l.id = j.loop_id
left join process_cancels as k on k.effect_id = j.effect_id
where j.ended_at is null
    and (
        k.effect_id is not null
        or (l.status <> 102 and json_extract(j.detail, '$.keeper') is null)
        or exists (
            select 1
            from job_channels as c
            where c.effect_id = j.effect_id
                and not exists (
                    select 1 from run_views as v where v.run_id = j.run_id and v.entry_id = c.entry_id
                )
        )
    );

-- Jobs that run and whose driver is not the one that holds the lease: nobody reads their output any more, unless somebody
-- keeps them.
create view _leftover_jobs as
select j.effect_id, j.run_id, j.identity, json_extract(j.detail, '$.keeper') as keeper
from jobs as j
where j.ended_at is null
    and not exists (select 1 from leases as l where l.run_id = j.run_id and l.token = j.lease);

create view _start_job as
-- Record that a background command was started, before it can act: insert into _start_job (effect_id, identity, lease).
-- Its command ends, and its output streams.
select effect_id, identity, lease
from jobs
where false;

create view _append_job_output as
-- Store output of a background command: insert into _append_job_output (effect_id, channel, text, lease). Of a channel its
-- beginning and its latest part are kept, half of the setting process_output_bytes each. Nothing happens where it has ended.
select effect_id, channel, null as text, null as lease
from job_channels
where false;

create view _show_job_output as
-- Bring the latest output of running jobs into the next packet: insert into _show_job_output (run_id).
select run_id
from jobs
where false;

create view _finish_job as
-- Report how a background command ended: insert into _finish_job (effect_id, outcome, exit_code, detail, lease). 'outcome'
-- is null, timeout, error or interrupted; an exit code or a request to end it gives another one. Nothing happens where it
-- has ended.
select effect_id, outcome, exit_code, detail, lease
from jobs
where false;

create view _end_kept_jobs as
-- Ask for the end of the background commands that a run and the runs below it have kept: insert into _end_kept_jobs (run,
-- reason). A verb_set that cancels the run does it, too, as 'engine abort' and db.abort do.
select alias as run, null as reason
from runs
where false;
