-- Sandboxes: the sandbox in which a process runs, and the processes that need no decision.
-- The driver tells which sandbox it has when a process comes up, once a lease; a run without processes asks for none.
-- A command that only reads needs no decision in a sandbox, because the project is read-only there. One that was
-- accepted for that reason never runs without.
-- spec: @sandbox @sandboxed_env

-- views

-- What the processes of each command ask for. Only a prompt says 'off': a file cannot take the sandbox away from those
-- who open it.
create view _sandbox_choices as
select
    c.id as command_id,
    coalesce(
        json_extract(l.config, '$.sandbox'),
        (select s.value from settings as s where s.name = 'sandbox' and s.value <> 'off'),
        'auto'
    ) as choice,
    coalesce(json_extract(l.config, '$.network'), '') as network,
    coalesce((select t.reads from tools as t where t.name = c.action), 0) as reads
from commands as c
left join loops as l on l.id = c.loop_id;

-- The processes that are proposed, or accepted and not started.
create view _processes_ahead as
select run_id, command_id
from proposals
where state = 'proposed' and kind = 'process'
union all
select run_id, command_id
from effects as f
where state = 'pending'
    and kind = 'process'
    and not exists (select 1 from process_claims as k where k.proposal_id = f.proposal_id and k.claimant is not null);

-- What the driver of each run has told: the sandbox that a choice leads to, empty where there is none.
create view _sandboxes_told as
select l.run_id, l.token, j.key as choice, j.value as sandbox
from leases as l
cross join json_each(l.sandboxes) as j
where l.sandboxes is not null;

-- The choices of processes ahead for which the driver has not told its sandbox.
create view _sandbox_questions as
select distinct a.run_id, k.choice
from _processes_ahead as a
cross join leases as l on l.run_id = a.run_id
cross join _sandbox_choices as k on k.command_id = a.command_id
where k.choice <> 'off'
    and not exists (select 1 from _sandboxes_told as t where t.run_id = a.run_id and t.choice = k.choice);

-- The open proposals of the model that only read and will run in a sandbox.
create view _confined_proposals as
select p.run_id, p.id as proposal_id, p.path
from proposals as p
cross join commands as c on c.id = p.command_id and c.writer = 'model'
cross join _sandbox_choices as k on k.command_id = p.command_id and k.reads
cross join _sandboxes_told as t on t.run_id = p.run_id and t.choice = k.choice and t.sandbox <> ''
where p.state = 'proposed'
    and p.kind = 'process'
    and k.choice <> 'off';

-- How the process of an effect is confined. required: it does not run without a sandbox. Sizes are in megabytes.
create view _effect_confinements as
select
    f.id as effect_id,
    k.choice,
    k.choice <> 'off'
    and (
        k.choice <> 'auto'
        -- nothing else keeps a list of domains
        or k.network not in ('', 'all')
        or exists (
            select 1
            from resolutions as s
            where s.run_id = f.run_id and s.proposal_id = f.proposal_id and s.decided_by = 'sandbox'
        )
    ) as required,
    not k.reads as writable,
    k.network,
    (select cast(value as integer) from settings where name = 'sandbox_memory') as memory,
    (select cast(value as integer) from settings where name = 'sandbox_file_size') as file_size,
    (select cast(value as integer) from settings where name = 'sandbox_processes') as processes,
    coalesce((select value from settings where name = 'sandbox_home'), '') as home,
    (
        select json_group_array(x.pattern)
        from file_constraints as x
        where x.project_id = r.project_id and x.rule = 'add'
    ) as shown
from effects as f
join runs as r on r.id = f.run_id
join _sandbox_choices as k on k.command_id = f.command_id
where f.kind = 'process';

create view _confine_processes as
-- Tell which sandbox the driver of a run has for a choice: insert into _confine_processes (run, lease, choice, sandbox,
-- reason). Without a sandbox, 'reason' says why. Proposals that only read and run in a sandbox are accepted, those that
-- are open and those to come.
select r.alias as run, t.token as lease, t.choice, t.sandbox, null as reason
from _sandboxes_told as t
join runs as r on r.id = t.run_id
where false;

create view processes as
-- The shell commands that were started, each with the sandbox that it ran in (null: none): select * from processes where
-- run = 'demo'. 'project' is writable or read-only, 'network' is none, all, or the domains that could be reached; 'state'
-- of one that runs is started, 'background' is 1 for a job.
select
    r.alias as run,
    t.sequence as turn,
    p.path,
    p.target as command,
    coalesce(j.detail, x.detail) ->> '$.sandbox' as sandbox,
    coalesce(j.detail, x.detail) ->> '$.project' as project,
    coalesce(j.detail, x.detail) ->> '$.network' as network,
    coalesce(j.detail, x.detail) ->> '$.exit_code' as exit_code,
    coalesce(j.detail, x.detail) ->> '$.duration_s' as seconds,
    case
        when j.effect_id is null then f.state
        when j.ended_at is null then 'started'
        when j.outcome in ('interrupted', 'cancelled') then j.outcome
        else 'done'
    end as state,
    case when j.effect_id is null then x.outcome else j.outcome end as outcome,
    strftime('%Y-%m-%d %H:%M:%S', f.started_at / 1000.0, 'unixepoch') as started_at,
    f.id as effect_id,
    j.effect_id is not null as background
from effects as f
join runs as r on r.id = f.run_id
join proposals as p on p.id = f.proposal_id
left join turns as t on t.id = f.turn_id
left join effect_results as x on x.effect_id = f.id
left join _background_processes as j on j.effect_id = f.id
where f.kind = 'process' and f.started_at is not null;

-- triggers

-- Refused without the token of the run's lease. That there is no sandbox is an event, which whoever watches is told.
create trigger _confine_processes__confine
instead of insert on _confine_processes
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    where not exists (
        select 1
        from leases as l
        join runs as r on r.id = l.run_id
        where r.alias = new.run and l.token = new.lease
    );
    update leases
    set sandboxes = json_patch(coalesce(sandboxes, '{}'), json_object(new.choice, coalesce(new.sandbox, '')))
    where token = new.lease;
    insert into events (at, run_id, kind, detail)
    select now(), id, 'sandbox.missing', json_object('choice', new.choice, 'reason', new.reason)
    from runs
    where alias = new.run and new.sandbox is null;
    insert into resolutions (run_id, path, proposal_id, decision, decided_by, created_at)
    select c.run_id, c.path, c.proposal_id, 'accept', 'sandbox', now()
    from runs as r
    cross join _confined_proposals as c on c.run_id = r.id
    -- a policy may ask a person all the same
    cross join _yolo_proposals as y on y.proposal_id = c.proposal_id
    where r.alias = new.run
    order by c.proposal_id;
end;
