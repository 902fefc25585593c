-- Loops: the queue of prompts of each run, and the work on them.
-- Every prompt opens a loop. The loops of a run wait in line, and at most one is active. A loop ends with the status of
-- the verdict on its last turn; an abort ends the active loop and leaves the queue.
-- spec: @loops_table @run_state_machine

-- tables

-- The changes of status that a loop may make.
create table if not exists loop_transitions (
    from_status integer not null constraint loop_transitions_from references statuses (code),
    to_status integer not null constraint loop_transitions_to references statuses (code),
    primary key (from_status, to_status)
) strict, without rowid;

-- The prompts of runs and the work on them, one row each; 'sequence' is the order within a run.
create table if not exists loops (
    id integer primary key,
    run_id integer not null constraint loops_run references runs (id) on delete cascade,
    sequence integer not null,
    mode text not null constraint loops_mode references modes (name),
    model text,
    prompt text not null constraint loops_prompt_not_empty check (trim(prompt) <> ''),
    -- the options of scope 'loop' that the prompt was given, as a JSON object
    config text not null default '{}' constraint loops_config_json check (json_valid(config)),
    status integer not null default 100 constraint loops_status references statuses (code),
    -- why it ended, where its status does not say so
    reason text,
    -- what the model answered; null: nothing so far
    answer text,
    -- the answer as JSON, where the prompt asked for one of a schema; it counts where the loop ended at 200 or 204
    output text constraint loops_output_json check (output is null or json_valid(output)),
    -- strikes in a row, up to its last judged turn
    streak integer not null default 0,
    -- characters a token, fixed when the loop starts
    chars_per_token real not null default 2,
    created_at integer not null,
    started_at integer,
    ended_at integer,
    constraint loops_sequence_per_run unique (run_id, sequence)
) strict;

create unique index if not exists idx_loops_one_active on loops (run_id) where status = 102;

create index if not exists idx_loops_queued on loops (run_id, sequence) where status = 100;

-- seeds

insert or ignore into loop_transitions (from_status, to_status) values
    (100, 102), (100, 499),
    (102, 200), (102, 204), (102, 403), (102, 406), (102, 413), (102, 422), (102, 499), (102, 500);

-- views

-- The status that a run takes with its loop. A loop that ends at 204, 403, 406 or 422 leaves its run at 200, one that ends
-- at 413 at 500.
create view _run_status_after_loop as
select
    code as loop_status,
    case when code in (204, 403, 406, 422) then 200 when code = 413 then 500 else code end as run_status
from statuses;

-- The status of each prompt as people's views show it: that of its loop, 202 while its run waits for a decision.
create view _prompt_statuses as
select
    l.id as loop_id,
    case when l.status = 102 and r.status = 202 then 202 else l.status end as status
from loops as l
join runs as r on r.id = l.run_id;

-- The status of each run as people's views show it: of a run that has ended, that of the prompt that ended last. runs.status
-- knows fewer ends.
create view _run_statuses as
select
    r.id as run_id,
    coalesce(
        (
            select l.status
            from loops as l
            join _run_status_after_loop as k on k.loop_status = l.status and k.run_status = r.status
            where l.run_id = r.id and r.status in (200, 500)
            order by l.sequence desc
            limit 1
        ), r.status
    ) as status
from runs as r;

create view _loop_flags as
-- The flags that are on in a loop: those that its configuration has as 1 or true.
select
    l.id as loop_id,
    l.run_id,
    f.key as flag
from loops as l
join json_each(l.config) as f
where f.value in (1, '1', 'true');

-- The loop that each loop goes on from with the same prompt. A part gives both ids.
create view _prior_loops as
select null as loop_id, null as prior_loop_id
where false;

create view open_prompts as
-- The prompts that have not ended: 100 in line, 102 driven or to be resumed, 202 while their run waits for a decision.
-- A run that has none has ended: select * from open_prompts where run = 'demo'.
select
    r.alias as run,
    l.sequence as loop,
    case when l.status = 102 and r.status = 202 then 202 else l.status end as status,
    l.prompt,
    strftime('%Y-%m-%d %H:%M:%S', l.created_at / 1000.0, 'unixepoch') as created_at
from loops as l
join runs as r on r.id = l.run_id
where l.status in (100, 102);

-- Give a loop another status, and its run with it: insert into _move_loop (loop_id, status, reason).
create view _move_loop as
select id as loop_id, status, reason
from loops
where false;

-- triggers

-- Refuse a prompt that is empty or only white space.
create trigger loops__guard_prompt
before insert on loops
when trim(new.prompt, char(32, 9, 10, 13)) = ''
begin
    select fail(
        400, 'prompt of run ' || coalesce((select alias from runs where id = new.run_id), quote(new.run_id))
        || ': is empty; write what the run should do'
    );
end;

-- A loop changes its status only along loop_transitions.
create trigger loops__guard_transition
before update of status on loops
when new.status <> old.status
    and not exists (
        select 1 from loop_transitions as t where t.from_status = old.status and t.to_status = new.status
    )
begin
    select fail(
        409,
        'loop ' || old.sequence || ' of run ' || (select alias from runs where id = old.run_id)
        || ': its status cannot change from ' || old.status || ' to ' || new.status
    );
end;

-- Write an event for each change of a loop's status.
create trigger loops__record_status
after update of status on loops
when new.status <> old.status
begin
    insert into events (at, run_id, kind, detail)
    values (
        now(), new.run_id, 'loop.status',
        json_object('loop', new.sequence, 'from', old.status, 'to', new.status, 'reason', new.reason)
    );
end;

-- The run takes the status of _run_status_after_loop.
create trigger _move_loop__move
instead of insert on _move_loop
begin
    update loops
    set status = new.status,
        reason = coalesce(new.reason, reason),
        started_at = case new.status when 102 then now() else started_at end,
        ended_at = case when new.status <> 102 then now() end
    where id = new.loop_id;
    update runs
    set status = (select run_status from _run_status_after_loop where loop_status = new.status),
        updated_at = now()
    where id = (select run_id from loops where id = new.loop_id);
end;
