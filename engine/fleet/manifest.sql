-- The manifest of a fleet: its tasks, who works on them, what came of each attempt, and what was spent.
-- Any number of workers write to it through the doors (names with an underscore that are inserted into). A door is one
-- transaction, so a worker that is killed leaves whole rows. What a task has come to is in its own engine file; the manifest
-- says who may write that file now. It calls no function but SQLite's own.
-- spec: @fleet_manifest @fleet_growth

-- tables

create table fleet (
    id integer primary key constraint fleet_one check (id = 1),
    mark text not null,
    files text not null,
    roots text,
    concurrency integer not null constraint fleet_concurrency check (concurrency > 0),
    -- US dollars; null: no ceiling
    max_cost real,
    -- the most that one call may cost, where the model's price is not known
    call_cost real,
    max_output integer not null,
    options text not null constraint fleet_options_json check (json_valid(options)),
    created_at integer not null,
    -- an attempt would have gone above the ceiling: nothing begins until somebody raises it
    ceiling_at integer
) strict;

-- Why an attempt ended, and how often a task is tried again after that. retries null: as often as it takes.
create table failure_kinds (
    name text primary key,
    retries integer,
    first_wait_ms integer not null,
    longest_wait_ms integer not null,
    meaning text not null
) strict, without rowid;
insert into failure_kinds (name, retries, first_wait_ms, longest_wait_ms, meaning) values
    ('done', 0, 0, 0, 'it was answered'),
    ('stopped', null, 0, 0, 'the fleet was stopped; the run goes on where it stood'),
    ('ceiling', null, 0, 0, 'the next call might have cost more than is left; the run goes on where it stood'),
    ('lost', 20, 0, 0, 'the worker ended in the middle; the run goes on where it stood'),
    ('rate_limit', 8, 5000, 60000, 'the provider asked to slow down'),
    ('provider', 4, 2000, 30000, 'the provider could not be reached, took too long, or failed'),
    ('busy', 6, 500, 10000, 'another process has the file'),
    ('crash', 1, 500, 500, 'an error that is nobody''s answer'),
    ('refused', 0, 0, 0, 'the task cannot be begun, or the provider refuses it: a model, key, folder or option is wrong'),
    ('limit', 0, 0, 0, 'a limit of turns or seconds, or it was aborted'),
    ('waits', 0, 0, 0, 'it waits for a decision of a person'),
    ('rejected', 0, 0, 0, 'a person or a policy rejected it'),
    ('too_large', 0, 0, 0, 'the prompt does not fit into the context'),
    ('no_output', 0, 0, 0, 'the answer is not of the form that was asked for'),
    ('not_done', 0, 0, 0, 'the model says that it cannot be done, or a check failed'),
    ('no_price', 0, 0, 0, 'there is a ceiling, and the price of the model is not known'),
    ('cancelled', 0, 0, 0, 'somebody cancelled it');

-- The kind of a status of a prompt, or of its last model call if that failed.
create table status_kinds (
    status integer primary key,
    kind text not null constraint status_kinds_kind references failure_kinds (name)
) strict;
insert into status_kinds (status, kind) values
    (200, 'done'), (204, 'done'), (202, 'waits'), (102, 'stopped'), (100, 'stopped'), (400, 'refused'), (401, 'refused'),
    (403, 'rejected'), (404, 'refused'), (406, 'no_output'), (409, 'busy'), (413, 'too_large'), (422, 'not_done'),
    (429, 'rate_limit'), (499, 'limit'), (500, 'provider'), (502, 'provider'), (503, 'provider'), (504, 'provider');

create table tasks (
    id integer primary key,
    name text not null constraint tasks_name_unique unique,
    kind text not null constraint tasks_kind check (kind in ('prompt', 'workflow', 'eval')),
    definition text not null constraint tasks_definition_json check (json_valid(definition)),
    file text not null constraint tasks_file_unique unique,
    root text,
    state text not null default 'waiting'
        constraint tasks_state check (state in ('waiting', 'running', 'done', 'failed', 'cancelled')),
    not_before integer not null default 0,
    cancel_at integer
) strict;
create index idx_tasks_waiting on tasks (not_before, id) where state = 'waiting';
create index idx_tasks_state on tasks (state);

create table workers (
    id integer primary key,
    -- the process, as engine.system.identity tells it
    identity text not null,
    place text not null,
    began_at integer not null,
    seen_at integer not null,
    ended_at integer
) strict;

create table attempts (
    id integer primary key,
    task_id integer not null constraint attempts_task references tasks (id),
    number integer not null,
    worker_id integer not null constraint attempts_worker references workers (id),
    -- whoever ends the attempt has to know it
    token text not null constraint attempts_token_unique unique,
    began_at integer not null,
    ended_at integer,
    outcome text constraint attempts_outcome references failure_kinds (name),
    -- the prompt of the run that ended; null if none did
    loop integer,
    status integer,
    reason text,
    answer text,
    turns integer,
    tokens integer,
    cost real,
    constraint attempts_number_once unique (task_id, number),
    constraint attempts_end check ((ended_at is null) = (outcome is null))
) strict;
create unique index idx_attempts_one_open on attempts (task_id) where ended_at is null;
create index idx_attempts_open_by_worker on attempts (worker_id) where ended_at is null;

-- What a key of a provider may do in a minute; null: as much as it likes.
create table rates (key text primary key, requests integer, tokens integer) strict, without rowid;

-- Model calls, kept where there is a ceiling or a rate. An open one reserves its bound; one that nobody settled costs it.
create table calls (
    id text primary key,
    attempt_id integer not null constraint calls_attempt references attempts (id),
    key text not null,
    began_at integer not null,
    ended_at integer,
    tokens integer not null,
    bound real not null constraint calls_bound check (bound >= 0),
    cost real
) strict, without rowid;
create index idx_calls_by_key on calls (key, began_at);
create index idx_calls_open on calls (attempt_id) where ended_at is null;

create table totals (
    id integer primary key constraint totals_one check (id = 1),
    spent real not null default 0,
    reserved real not null default 0
) strict;
insert into totals (id) values (1);

-- views

create view _now as
select cast((julianday('now') - 2440587.5) * 86400000.0 as integer) as ms;

-- What is left below the ceiling; left is null without one.
create view budget as
select f.max_cost, t.spent, t.reserved, f.max_cost - t.spent - t.reserved as left, f.ceiling_at
from fleet as f
cross join totals as t;

-- The task that the next worker gets.
create view _next_task as
select t.id as task_id, 1 + (select count(*) from attempts as a where a.task_id = t.id) as number
from tasks as t
where t.state = 'waiting'
    and t.not_before <= (select ms from _now)
    and (select ceiling_at from fleet) is null
order by t.not_before, t.id
limit 1;

-- What a worker needs to know of an attempt. next_loop is the prompt of the run that it has to bring to its end; what is
-- known is what earlier attempts have told.
create view work as
select
    a.id as attempt_id,
    a.token,
    a.number,
    a.worker_id,
    t.id as task_id,
    t.name,
    t.kind,
    t.definition,
    t.file,
    t.root,
    t.cancel_at is not null as is_cancelled,
    1 + coalesce((select max(b.loop) from attempts as b where b.task_id = t.id), 0) as next_loop,
    (select coalesce(sum(b.turns), 0) from attempts as b where b.task_id = t.id) as known_turns,
    (select coalesce(sum(b.tokens), 0) from attempts as b where b.task_id = t.id) as known_tokens,
    (select coalesce(sum(b.cost), 0.0) from attempts as b where b.task_id = t.id) as known_cost
from attempts as a
join tasks as t on t.id = a.task_id
where a.ended_at is null;

-- What becomes of a task by how its attempt ended.
create view _after_attempt as
select
    a.id as attempt_id,
    a.task_id,
    case
        when t.cancel_at is not null and a.outcome <> 'done' then 'cancelled'
        when a.outcome in ('done', 'cancelled') then a.outcome
        when k.retries is null or a.failures <= k.retries then 'waiting'
        else 'failed'
    end as state,
    a.ended_at + min(k.first_wait_ms * (1 << min(a.failures - 1, 20)), k.longest_wait_ms) as not_before
from (
    select
        c.id,
        c.task_id,
        c.outcome,
        c.ended_at,
        (select count(*) from attempts as b where b.task_id = c.task_id and b.outcome = c.outcome) as failures
    from attempts as c
    where c.ended_at is not null
) as a
join tasks as t on t.id = a.task_id
join failure_kinds as k on k.name = a.outcome;

-- How long a call with a key has to wait until its minute has room, in milliseconds.
create view rate_waits as
select
    r.key,
    max(
        case
            when r.requests is not null
                and (select count(*) from calls as c where c.key = r.key and c.began_at > n.ms - 60000) >= r.requests
                then (
                    select p.began_at + 60001 - n.ms
                    from (
                        select c.began_at, row_number() over (order by c.began_at desc) as place
                        from calls as c
                        where c.key = r.key and c.began_at > n.ms - 60000
                    ) as p
                    where p.place = r.requests
                )
            else 0
        end,
        case
            when r.tokens is not null
                and (select sum(c.tokens) from calls as c where c.key = r.key and c.began_at > n.ms - 60000) >= r.tokens
                then 250
            else 0
        end
    ) as wait_ms
from rates as r
cross join _now as n;

create view task_results as
-- What each task has come to: its last answer, why it failed, what all its attempts cost together, and where its file is.
select
    t.name as task,
    t.kind,
    t.state,
    a.outcome,
    a.answer,
    a.reason,
    a.status,
    coalesce((select sum(b.turns) from attempts as b where b.task_id = t.id), 0) as turns,
    coalesce((select sum(b.tokens) from attempts as b where b.task_id = t.id), 0) as tokens,
    (select sum(b.cost) from attempts as b where b.task_id = t.id) as cost,
    coalesce(a.number, 0) as attempts,
    t.file,
    strftime('%Y-%m-%d %H:%M:%S', a.ended_at / 1000.0, 'unixepoch') as ended_at
from tasks as t
left join attempts as a on a.id = (select max(b.id) from attempts as b where b.task_id = t.id)
order by t.id;

create view attempt_log as
-- Every attempt, the newest first, with the reason if it failed: select * from attempt_log where outcome <> 'done'.
select
    t.name as task,
    a.number as attempt,
    coalesce(a.outcome, 'running') as outcome,
    a.reason,
    (coalesce(a.ended_at, (select ms from _now)) - a.began_at) / 1000.0 as seconds,
    a.turns,
    a.cost,
    w.place as worker,
    t.file,
    strftime('%Y-%m-%d %H:%M:%S', a.began_at / 1000.0, 'unixepoch') as began_at
from attempts as a
join tasks as t on t.id = a.task_id
join workers as w on w.id = a.worker_id
order by a.id desc;

create view fleet_status as
-- One row: how many tasks there are in each state, what they cost, and who works on them. 'workers' are those that have
-- not ended, 'is_over' says that nothing waits and nothing runs.
select
    count(*) as tasks,
    sum(t.state = 'waiting') as waiting,
    sum(t.state = 'running') as running,
    sum(t.state = 'done') as done,
    sum(t.state = 'failed') as failed,
    sum(t.state = 'cancelled') as cancelled,
    sum(t.state in ('waiting', 'running')) = 0 as is_over,
    (select ceiling_at is not null from fleet) as is_at_ceiling,
    (select max_cost from fleet) as max_cost,
    (select spent from totals) as spent,
    (select reserved from totals) as reserved,
    (select coalesce(sum(a.cost), 0.0) from attempts as a) as cost,
    (select coalesce(sum(a.tokens), 0) from attempts as a) as tokens,
    (select coalesce(sum(a.turns), 0) from attempts as a) as turns,
    (select count(*) from attempts as a where a.number > 1) as retries,
    (select count(*) from workers as w where w.ended_at is null) as workers,
    (select max(w.seen_at) from workers as w) as seen_at
from tasks as t;

-- doors

create view _begin_worker as
select identity, place from workers;

create trigger _begin_worker__insert
instead of insert on _begin_worker
begin
    insert into workers (identity, place, began_at, seen_at)
    select new.identity, new.place, ms, ms from _now;
end;

-- A worker that has ended: its attempts are lost (or stopped), and their tasks may be tried again.
create view _end_worker as
select id as worker_id, '' as outcome from workers;

create trigger _end_worker__insert
instead of insert on _end_worker
begin
    update calls
    set ended_at = (select ms from _now), cost = bound
    where ended_at is null
        and attempt_id in (select id from attempts where worker_id = new.worker_id and ended_at is null);
    update tasks
    set state = 'waiting'
    where id in (select task_id from attempts where worker_id = new.worker_id and ended_at is null);
    update attempts
    set ended_at = (select ms from _now), outcome = new.outcome
    where worker_id = new.worker_id and ended_at is null;
    update tasks
    set (state, not_before) = (
        select n.state, n.not_before
        from _after_attempt as n
        where n.task_id = tasks.id
        order by n.attempt_id desc
        limit 1
    )
    where state = 'waiting'
        and id in (
            select a.task_id
            from attempts as a
            where a.worker_id = new.worker_id and a.id = (select max(b.id) from attempts as b where b.task_id = a.task_id)
        );
    update workers set ended_at = (select ms from _now) where id = new.worker_id and ended_at is null;
end;

-- The next task for a worker, if there is one: an attempt with this token.
create view _claim_task as
select worker_id, token from attempts;

create trigger _claim_task__insert
instead of insert on _claim_task
begin
    select raise(abort, '409 this worker has ended; start another one')
    where not exists (select 1 from workers where id = new.worker_id and ended_at is null);
    insert into attempts (task_id, number, worker_id, token, began_at)
    select n.task_id, n.number, new.worker_id, new.token, (select ms from _now)
    from _next_task as n;
    update tasks set state = 'running' where id = (select task_id from attempts where token = new.token);
end;

-- How an attempt ended. outcome is a kind, or null: the kind of status.
create view _end_attempt as
select token, outcome, loop, status, reason, answer, turns, tokens, cost from attempts;

create trigger _end_attempt__insert
instead of insert on _end_attempt
begin
    select raise(abort, '409 this attempt was given up; another worker may have its task')
    where not exists (select 1 from attempts where token = new.token and ended_at is null);
    update calls
    set ended_at = (select ms from _now), cost = bound
    where ended_at is null and attempt_id = (select id from attempts where token = new.token);
    update fleet set ceiling_at = (select ms from _now) where new.outcome = 'ceiling';
    update attempts
    set ended_at = (select ms from _now),
        outcome = coalesce(new.outcome, (select kind from status_kinds where status = new.status), 'crash'),
        loop = new.loop,
        status = new.status,
        reason = new.reason,
        answer = new.answer,
        turns = new.turns,
        tokens = new.tokens,
        cost = new.cost
    where token = new.token;
    update tasks
    set (state, not_before) = (
        select n.state, n.not_before
        from _after_attempt as n
        where n.attempt_id = (select id from attempts where token = new.token)
    )
    where id = (select task_id from attempts where token = new.token);
end;

-- A model call that is about to be made. It is kept if its minute has room, and its bound fits below the ceiling.
create view _open_call as
select c.id, a.token, c.key, c.tokens, c.bound
from calls as c
join attempts as a on a.id = c.attempt_id;

create trigger _open_call__insert
instead of insert on _open_call
begin
    select raise(abort, '409 this attempt was given up; another worker may have its task')
    where not exists (select 1 from attempts where token = new.token and ended_at is null);
    insert into calls (id, attempt_id, key, began_at, tokens, bound)
    select new.id, a.id, new.key, (select ms from _now), new.tokens, new.bound
    from attempts as a
    where a.token = new.token
        and coalesce((select w.wait_ms from rate_waits as w where w.key = new.key), 0) = 0
        and coalesce((select b.left >= new.bound from budget as b), 1);
    update totals set reserved = reserved + new.bound where exists (select 1 from calls where id = new.id);
end;

-- What a call has cost, and the tokens that it took.
create view _settle_call as
select id, tokens, cost from calls;

create trigger _settle_call__insert
instead of insert on _settle_call
begin
    update calls
    set ended_at = (select ms from _now), cost = new.cost, tokens = coalesce(new.tokens, tokens)
    where id = new.id and ended_at is null;
end;

create trigger calls__count
after update of ended_at on calls when old.ended_at is null and new.ended_at is not null
begin
    update totals set reserved = max(reserved - old.bound, 0), spent = spent + coalesce(new.cost, 0);
end;

-- Cancel tasks: all, or the one of that name. Those that are running end at their next step.
create view _cancel_tasks as
select name from tasks;

create trigger _cancel_tasks__insert
instead of insert on _cancel_tasks
begin
    update tasks
    set cancel_at = (select ms from _now), state = case state when 'waiting' then 'cancelled' else state end
    where (new.name is null or name = new.name) and state in ('waiting', 'running') and cancel_at is null;
end;

-- Try failed tasks once more: all, or the one of that name.
create view _retry_failed as
select name from tasks;

create trigger _retry_failed__insert
instead of insert on _retry_failed
begin
    update tasks
    set state = 'waiting', not_before = 0, cancel_at = null
    where (new.name is null or name = new.name) and state = 'failed';
end;

-- guards

-- A task that has ended is not begun again, unless somebody tries failed ones again.
create trigger tasks__guard_state
before update of state on tasks
when old.state in ('done', 'cancelled') and new.state <> old.state
begin
    select raise(abort, '409 this task has ended');
end;

-- An attempt ends once.
create trigger attempts__guard_end
before update on attempts
when old.ended_at is not null
begin
    select raise(abort, '409 this attempt has ended');
end;

create trigger attempts__guard_delete
before delete on attempts
begin
    select raise(abort, '409 attempts are not removed');
end;
