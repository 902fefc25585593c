-- Door of rewind: a fork takes the name of its run over.
-- spec: @rewind

-- views

-- The plan of a rewind's files as one text, by which it is known again.
create view _rewind_plans as
select run_id, turn, plan
from (
    select
        run_id, turn,
        group_concat(json_array(path, hash_now, hash_then, executable, stays), char(10)) over (
            partition by run_id, turn order by path rows between unbounded preceding and unbounded following
        ) as plan,
        row_number() over (partition by run_id, turn order by path) as place
    from _rewind_files
)
where place = 1;

-- When each turn was sent after which the run ran shell commands, in Unix milliseconds: what these did to files that are no
-- members of the project is in no scan, but the time of such a file tells that it was written since.
create view _commands_since as
select t.run_id, t.turn, v.at
from past_turns as t
join events as v on v.id = t.seen_at
where exists (select 1 from _command_turns as c where c.run_id = t.run_id and c.ended >= v.at);

create view verb_rewind_run as
-- Put a run where one of its turns was sent: insert into verb_rewind_run (run, turn, files, leave, decided_by, plan,
-- request_id, lease). With 'files' 1 its files go back, too, but those that the JSON array 'leave' names; with 'plan',
-- which _rewind_plans gives, it is refused where it would do something else than was shown.
select
    null as run, null as turn, 0 as files, null as leave, null as decided_by, null as plan, null as request_id,
    null as lease
where false;

-- Put a run where a turn was sent: insert into _rewind (run_id, run, turn, files, leave, decided_by, plan, request_id,
-- lease). The run is given by its number: for a name SQLite would compute the view of files for all runs.
create view _rewind as
select
    null as run_id, null as run, null as turn, null as files, null as leave, null as decided_by, null as plan,
    null as request_id, null as lease
where false;

-- Refuse a rewind that cannot be made: insert into _check_rewind (run_id, turn, plan).
create view _check_rewind as
select null as run_id, null as turn, null as plan
where false;

-- triggers

create trigger verb_rewind_run__rewind
instead of insert on verb_rewind_run
when new.request_id is null or not exists (select 1 from commands where request_id = new.request_id)
begin
    insert into _expect_at_rest (run, lease) values (new.run, new.lease);
    insert into _rewind (run_id, run, turn, files, leave, decided_by, plan, request_id, lease)
    select
        id, alias, new.turn, coalesce(new.files, 0), new.leave, new.decided_by, new.plan, new.request_id, new.lease
    from runs
    where alias = new.run;
end;

-- The fork is made under the name that the old line is to have; then the two swap names.
create trigger _rewind__rewind
instead of insert on _rewind
begin
    insert into _check_rewind (run_id, turn, plan) values (new.run_id, new.turn, new.plan);
    insert into _ensure_run (alias, attributes, role)
    select
        new.run || '.' || (
            with recursive numbers (n) as (
                select 1
                union all
                select n + 1 from numbers where exists (select 1 from runs where alias = new.run || '.' || n)
            )
            select max(n) from numbers
        ),
        json_object('fork', new.run, 'at', new.turn),
        case r.role when 'judge' then 'main' else r.role end
    from runs as r
    where r.id = new.run_id;
    -- what people call the old line is said of the new one
    update runs
    set (title, labels) = (
            select o.title, r.labels
            from runs as r
            join run_overview as o on o.run = r.alias
            where r.id = new.run_id
        )
    where id = (select max(id) from runs);
    -- below the run that delegated to it, which waits for the old line, if for any
    insert into children (run_id, parent_run_id, root_run_id, lineage, loop_id)
    select (select max(id) from runs), c.parent_run_id, c.root_run_id, c.lineage, c.loop_id
    from children as c
    join runs as r on r.id = c.run_id
    where r.id = new.run_id and r.role <> 'judge';
    insert into commands (request_id, run_id, writer, action, state, attributes, created_at)
    select
        new.request_id, max(id), 'client', 'rewind', 'performing',
        json_object('together', 1, 'turn', new.turn, 'files', new.files, 'by', new.decided_by), now()
    from runs;
    insert into _propose_file (command_id, path, content_id, before, leads_to, executable, diff)
    select
        (select max(id) from commands), f.path, f.content_then, f.hash_now, f.leads_to, f.executable,
        edit_diff(f.path || coalesce(' -> ' || coalesce(fence_path(f.leads_to), f.leads_to), ''), b.body, a.body)
    from _rewind_files as f
    left join contents as b on b.id = f.content_now
    left join contents as a on a.id = f.content_then
    where new.files
        and f.run_id = new.run_id
        and f.turn = new.turn
        and f.stays is null
        and not exists (select 1 from json_each(coalesce(new.leave, '[]')) as k where k.value = f.path)
    order by f.hash_then is null, f.path;
    insert into rewinds (command_id, run_id, from_run_id, turn)
    select id, run_id, new.run_id, new.turn
    from commands
    where id = (select max(id) from commands);
    insert into _swap_names (run_id, other_id, lease)
    select from_run_id, run_id, new.lease
    from rewinds
    where command_id = (select max(id) from commands);
    insert into _accept_all (command_id, decided_by) values ((select max(id) from commands), new.decided_by);
end;

create trigger _check_rewind__check
instead of insert on _check_rewind
begin
    select fail(
        404, 'run ' || alias || ': turn ' || new.turn || ' was not sent to a model; the last turn is ' || (next_turn - 1)
    )
    from runs
    where id = new.run_id
        and not exists (
            select 1 from past_turns as t where t.run_id = new.run_id and t.turn = new.turn and t.seen_at is not null
        );
    select fail(409, 'run ' || alias || ': the run or its files have changed since you saw the diff; look at the diff again')
    from runs
    where id = new.run_id
        and new.plan is not null
        and new.plan <> coalesce(
            (select p.plan from _rewind_plans as p where p.run_id = new.run_id and p.turn = new.turn), ''
        );
end;
