-- Doors of undo: take edits back, or take an undo back.
-- Whoever asks for an undo also decides on it. The file changes are proposals that are accepted in the same
-- statement. So a kill leaves either nothing, or effects that the next driver carries out.
-- spec: @undo

-- views

-- Undos of a run that are decided and whose effects are not over.
create view _open_undos as
select run_id, id as command_id
from commands
where action in ('undo', 'redo', 'rewind') and state in ('performing', 'proposed', 'accepting', 'accepted');

create view verb_undo_edits as
-- Take back the newest edit of a run that stands, or those of a turn: insert into verb_undo_edits (run, turn, redo,
-- decided_by, plan, request_id, lease). 'redo' is 1 to take back the newest undo instead; with 'plan', which _undo_plans
-- gives, it is refused where it would do something else than was shown.
select
    null as run, null as turn, 0 as redo, null as decided_by, null as plan, null as request_id, null as lease
where false;

-- Take back what can be: insert into _undo (run_id, way, turn, plan, request_id, decided_by, lease), 'way' being undo or
-- redo. The run is given by its number: for a name SQLite would compute the views of edits for all runs.
create view _undo as
select
    null as run_id, null as way, null as turn, null as plan, null as request_id, null as decided_by, null as lease
where false;

-- Refuse what cannot be taken back: insert into _check_undo (run_id, way, turn, plan).
create view _check_undo as
select null as run_id, null as way, null as turn, null as plan
where false;

-- Propose what a command from outside a turn does to a file, and leave it undecided: insert into _propose_file
-- (command_id, path, content_id, before, leads_to, executable, diff). Without a content the file is removed; without
-- 'executable' it keeps its mode. What it writes is not known to the model.
create view _propose_file as
select command_id, target as path, content_id, null as before, null as leads_to, null as executable, null as diff
from proposals
where false;

-- Accept all that a command from outside a turn proposes, in somebody's name: insert into _accept_all (command_id,
-- decided_by). A command that proposes nothing is resolved.
create view _accept_all as
select id as command_id, null as decided_by
from commands
where false;

-- Swap the names of two runs that a rewind has parted: insert into _swap_names (run_id, other_id, lease).
create view _swap_names as
select run_id, from_run_id as other_id, null as lease
from rewinds
where false;

-- triggers

-- A run whose last undo or rewind is not over is not at rest.
create trigger _expect_at_rest__expect_undone
instead of insert on _expect_at_rest
begin
    select fail(
        409, 'run ' || new.run || ': the last undo or rewind was interrupted; to finish it: engine resume ' || new.run
    )
    from runs as r
    join _open_undos as o on o.run_id = r.id
    where r.alias = new.run;
end;

create trigger verb_undo_edits__undo
instead of insert on verb_undo_edits
when new.request_id is null or not exists (select 1 from commands where request_id = new.request_id)
begin
    insert into _expect_at_rest (run, lease) values (new.run, new.lease);
    insert into _undo (run_id, way, turn, plan, request_id, decided_by, lease)
    select
        id, case when coalesce(new.redo, 0) then 'redo' else 'undo' end, new.turn, new.plan, new.request_id,
        new.decided_by, new.lease
    from runs
    where alias = new.run;
end;

-- The edits become one command, all of whose files change or none.
create trigger _undo__undo
instead of insert on _undo
begin
    insert into _check_undo (run_id, way, turn, plan) values (new.run_id, new.way, new.turn, new.plan);
    insert into commands (request_id, run_id, writer, action, state, attributes, created_at)
    values (
        new.request_id,
        coalesce(
            (
                select s.keeps
                from _undo_swaps as s
                where s.run_id = new.run_id and s.way = new.way and s.turn is new.turn
            ), new.run_id
        ),
        'client', new.way, 'performing', json_object('together', 1, 'turn', new.turn, 'by', new.decided_by), now()
    );
    insert into _propose_file (command_id, path, content_id, before, leads_to, executable, diff)
    select
        (select max(id) from commands), f.path, f.content_then, f.hash_now, f.leads_to, f.executable,
        edit_diff(f.path || coalesce(' -> ' || coalesce(fence_path(f.leads_to), f.leads_to), ''), b.body, a.body)
    from _undo_files as f
    left join contents as b on b.id = f.content_now
    left join contents as a on a.id = f.content_then
    where f.run_id = new.run_id and f.way = new.way and f.turn is new.turn
    -- what is removed goes last: a file that was moved is back before its copy is gone
    order by f.hash_then is null, f.path;
    -- before the names change
    insert into undone_edits (run_id, command_id, undone_id)
    select k.run_id, k.id, c.command_id
    from commands as k
    cross join _undo_choices as c
    where k.id = (select max(id) from commands)
        and c.run_id = new.run_id
        and c.way = new.way
        and c.turn is new.turn;
    insert into _swap_names (run_id, other_id, lease)
    select w.run_id, w.from_run_id, new.lease
    from undone_edits as u
    left join undone_edits as i on i.command_id = u.undone_id
    join rewinds as w on w.command_id = coalesce(i.undone_id, u.undone_id)
    where u.command_id = (select max(id) from commands);
    insert into _accept_all (command_id, decided_by) values ((select max(id) from commands), new.decided_by);
end;

-- Refused where a file is not as the edit left it.
create trigger _check_undo__check
instead of insert on _check_undo
begin
    select fail(
        404,
        'run ' || alias || ': ' || case
            when new.way = 'redo' then 'there is no undo to take back'
            when new.turn is null then 'there is no edit to undo'
            when not exists (select 1 from turns as t where t.run_id = new.run_id and t.sequence = new.turn)
                then 'there is no turn ' || new.turn || '; ''engine log ' || alias || ''' shows its turns'
            else 'turn ' || new.turn || ' has no edit to undo; to take back changes by shell commands, too: engine '
                || 'rewind ' || alias || ' ' || new.turn || ' --files'
        end
    )
    from runs
    where id = new.run_id
        and not exists (
            select 1
            from _undo_choices as c
            where c.run_id = new.run_id and c.way = new.way and c.turn is new.turn
        );
    select fail(409, 'run ' || r.alias || ': ' || f.path || ' ' || f.obstacle || '; nothing was changed')
    from _undo_files as f
    cross join runs as r on r.id = new.run_id
    where f.run_id = new.run_id and f.way = new.way and f.turn is new.turn and f.obstacle is not null;
    select fail(409, 'run ' || r.alias || ': the run or its files have changed since you saw the diff; look at the '
        || 'diff again')
    from _undo_plans as p
    cross join runs as r on r.id = new.run_id
    where p.run_id = new.run_id
        and p.way = new.way
        and p.turn is new.turn
        and p.plan is not coalesce(new.plan, p.plan);
end;

create trigger _propose_file__propose
instead of insert on _propose_file
begin
    insert into proposals (
        command_id, run_id, ordinal, path, kind, action, target, content_id, detail, state, created_at
    )
    select
        c.id, c.run_id, (select count(*) from proposals as o where o.command_id = c.id), 'log://commands/' || c.id,
        case when new.content_id is null then 'file_delete' else 'file_write' end, c.action, new.path, new.content_id,
        json_object(
            'before', new.before,
            -- a file that is brought back needs no constraint to belong to the project
            'exists', 1,
            'leads_to', new.leads_to,
            'executable', new.executable,
            'diff', new.diff,
            'known', 0
        ),
        'proposed', now()
    from commands as c
    where c.id = new.command_id;
    insert into _decide_mode (command_id, path, is_executable)
    select new.command_id, new.path, new.executable
    where new.executable is not null;
    insert into events (at, run_id, kind, detail)
    select
        p.created_at, p.run_id, 'proposal.opened', json_object('path', p.path, 'action', p.action, 'target', p.target)
    from proposals as p
    where p.id = (select max(id) from proposals);
end;

-- The command is 'proposed' until here, as any is whose proposals wait.
create trigger _accept_all__accept
instead of insert on _accept_all
begin
    update commands
    set state = 'proposed'
    where id = new.command_id and exists (select 1 from proposals where command_id = new.command_id);
    insert into resolutions (run_id, path, decision, decided_by, created_at)
    select run_id, 'log://commands/' || id, 'accept', coalesce(new.decided_by, 'client'), now()
    from commands
    where id = new.command_id and state = 'proposed';
    insert into _resolve_command (command_id, message)
    select id, ''
    from commands
    where id = new.command_id and state = 'performing';
end;

-- A driver knows its run by name, so neither may be driven.
create trigger _swap_names__swap
instead of insert on _swap_names
begin
    select fail(409, 'run ' || r.alias || ': a process works on it; try again when it has stopped')
    from runs as r
    join _leases_in_force as l on l.run_id = r.id
    where r.id in (new.run_id, new.other_id) and l.token is not new.lease;
    select fail(
        409,
        'run ' || r.alias || ': the command ' || c.path || ' still runs in the background; stop it first with '
        || '''engine abort ' || r.alias || ''''
    )
    from _kept_processes as k
    join runs as r on r.id = k.run_id
    join _effect_channels as c on c.effect_id = k.effect_id and c.channel = 1
    where k.run_id in (new.run_id, new.other_id);
    insert into events (at, run_id, kind, detail)
    select now(), a.id, 'run.renamed', json_object('from', a.alias, 'to', b.alias)
    from runs as a
    join runs as b on b.id in (new.run_id, new.other_id) and b.id <> a.id
    where a.id in (new.run_id, new.other_id);
    -- a name is unique at every moment
    update runs
    set alias = alias || '.' || new.run_id || '.' || new.other_id
    where id = new.run_id;
    update runs
    set alias = (
            select substr(alias, 1, length(alias) - length('.' || new.run_id || '.' || new.other_id))
            from runs
            where id = new.run_id
        ),
        updated_at = now()
    where id = new.other_id;
    update runs
    set alias = (
            select json_extract(detail, '$.to')
            from events
            where run_id = new.run_id and kind = 'run.renamed'
            order by id desc
            limit 1
        ),
        updated_at = now()
    where id = new.run_id;
end;
