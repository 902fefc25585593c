-- Messages to models about an undo: each run whose files an undo or redo has changed gets one before its next packet.
-- spec: @undo_told

-- views

-- Who is told of what was taken back or done again: the run that it was done in, its forks where the edit is in their past,
-- and the runs of a tree above and below.
create view _undo_hearers as
select l.run_id, u.command_id
from (select distinct run_id, command_id from undone_edits) as u
join commands as c on c.id = u.command_id
join _lines_of_all_runs as l on l.source_id = u.run_id
where l.depth = 0
    or exists (
        select 1
        from undone_edits as o
        left join undone_edits as i on i.command_id = o.undone_id and c.action = 'redo'
        join _past_edits as e on e.run_id = l.run_id and e.command_id = coalesce(i.undone_id, o.undone_id)
        where o.command_id = u.command_id
    )
union
select e.run_id, u.command_id
from undone_edits as u
join commands as c on c.id = u.command_id
left join undone_edits as i on i.command_id = u.undone_id and c.action = 'redo'
join _past_edits as e on e.command_id = coalesce(i.undone_id, u.undone_id)
where e.child_id is not null or e.run_id in (select d.run_id from children as d);

-- What was taken back, or done again, of the edits in a run's past, and its model has not been told.
create view _untold_undos as
select
    u.run_id,
    u.command_id,
    'log://undo/' || u.command_id as path,
    c.action,
    case c.action when 'undo' then 'Taken back' else 'Done again' end || ' by a decision from outside: ' || (
        select group_concat(what, ', ')
        from (
            select
                case
                    when k.action = 'rewind' then 'the rewind to turn ' || w.turn
                    else '<' || k.action || '>' || coalesce(' of turn ' || t.sequence, '') || coalesce(' of ' || b.alias, '')
                end as what
            from undone_edits as o
            -- a redo names what the undo had taken back
            left join undone_edits as i on i.command_id = o.undone_id and c.action = 'redo'
            join commands as k on k.id = coalesce(i.undone_id, o.undone_id)
            left join turns as t on t.id = k.turn_id
            left join rewinds as w on w.command_id = k.id
            left join children as d on d.run_id = k.run_id and d.run_id <> u.run_id
            left join runs as b on b.id = d.run_id
            where o.command_id = u.command_id
            order by k.id desc
        )
    ) || '.' || coalesce(
        case c.action when 'undo' then ' These edits are undone.' else ' These edits are restored.' end
        || ' The files are now:' || char(10) || (
            select group_concat('* ' || coalesce(fence_path(p.target), p.target) || case
                    when p.kind = 'file_delete' then ' - removed'
                    when json_extract(p.detail, '$.before') is null then ' - brought back'
                    else ' - as before'
                end, char(10))
            from proposals as p
            where p.command_id = u.command_id and p.state = 'resolved'
        ) || char(10) || 'Read a file again before you change it.', ''
    ) as body
from _undo_hearers as u
join commands as c on c.id = u.command_id and c.state = 'resolved'
where not exists (select 1 from _run_paths as p where p.run_id = u.run_id and p.path = 'log://undo/' || u.command_id);

-- Tell the model of a turn what was taken back since its last packet: insert into _tell_undone (turn_id).
create view _tell_undone as
select id as turn_id
from turns
where false;

-- triggers

create trigger _tell_undone__tell
instead of insert on _tell_undone
begin
    insert into _write_entry (run_id, path, body, attributes, state, writer, turn, loop_id)
    select
        t.run_id, u.path, u.body, json_object('action', u.action, 'target', 'files'), 'resolved', 'system', t.sequence,
        t.loop_id
    from turns as t
    cross join _untold_undos as u on u.run_id = t.run_id
    where t.id = new.turn_id
    order by u.command_id;
end;

create trigger _prepare_packet__tell_undone
instead of insert on _prepare_packet
when exists (select 1 from undone_edits)
begin
    insert into _tell_undone (turn_id) values (new.turn_id);
end;
