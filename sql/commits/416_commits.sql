-- Commits: what a run has edited becomes a git commit, for each edit or for each prompt.
-- The setting commit says which. A commit is a command of the system with an effect: the driver has git make it, and what
-- came of it is told here. It holds the edits of the run that stand and that no commit of it holds yet, and nothing else;
-- git is asked about each file whether it holds anything of somebody else. The triggers that begin one are hung into the
-- connection of the driver (engine/driving/commit_wires.py), so that a file without the setting compiles nothing of this.
-- needs: undo
-- spec: @commits

-- tables

create table if not exists commits (
    -- the command that it is
    command_id integer primary key constraint commits_command references commands (id) on delete cascade,
    run_id integer not null constraint commits_run references runs (id) on delete cascade,
    loop_id integer not null,
    message text not null,
    -- what git calls it; null: there is none, or not yet
    hash text,
    -- a JSON object: the files that it does not hold, with the reasons
    left_out text not null default '{}' constraint commits_left_out check (json_valid(left_out)),
    -- why there is none
    reason text,
    ended_at integer
) strict;

create index if not exists idx_commits_run_id on commits (run_id);

-- The edits that each commit was asked to hold.
create table if not exists commit_edits (
    commit_id integer not null constraint commit_edits_commit references commits (command_id) on delete cascade,
    edit_id integer not null constraint commit_edits_edit references commands (id) on delete cascade,
    primary key (commit_id, edit_id)
) strict, without rowid;

create index if not exists idx_commit_edits_edit_id on commit_edits (edit_id);

-- views

-- The edits of runs that stand and that no commit holds.
create view _uncommitted_edits as
select s.run_id, s.command_id
from _standing_edits as s
where not exists (
        select 1
        from commit_edits as e
        join commits as c on c.command_id = e.commit_id
        where e.edit_id = s.command_id and c.hash is not null
    );

-- The files that a commit is to hold, as a JSON array: the hash that each has on disk, and those that it had before and
-- between the edits, of which the last commit of git must have one; '-' where there is no file.
create view _commit_files as
select
    f.commit_id,
    json_group_array(json_object('path', f.path, 'after', f.after, 'known', json(f.known))) as files
from (
    select
        e.commit_id,
        x.path,
        (
            select coalesce(z.hash_after, '-')
            from commit_edits as o
            join _edit_files as z on z.command_id = o.edit_id and z.path = x.path
            where o.commit_id = e.commit_id
            order by z.command_id desc, z.proposal_id desc
            limit 1
        ) as after,
        json_group_array(distinct k.value) as known
    from commit_edits as e
    join _edit_files as x on x.command_id = e.edit_id
    cross join json_each(json_array(coalesce(x.hash_before, '-'), coalesce(x.hash_after, '-'))) as k
    group by e.commit_id, x.path
) as f
group by f.commit_id;

-- Have git commit what a run has edited: insert into _begin_commit (run_id, loop_id, turn_id), by _late_call. Without
-- uncommitted edits nothing happens.
create view _begin_commit as
select run_id, loop_id, turn_id
from commands
where false;

-- Give the driver a commit to make: insert into _order_commit (command_id), by _late_call.
create view _order_commit as
select command_id
from commits
where false;

-- Take what the driver tells of a commit: insert into _end_commit (effect_id, detail), by _late_call.
create view _end_commit as
select id as effect_id, detail
from effects
where false;

create view commit_log as
-- The git commits of what runs edited: select * from commit_log where run = 'demo'. 'hash' is null where there is none, and
-- 'reason' says why; 'left_out' are the files that it does not hold, with the reasons, as JSON. Times are UTC.
select
    r.alias as run,
    l.sequence as loop,
    t.sequence as turn,
    c.hash,
    substr(c.message, 1, instr(c.message || char(10), char(10)) - 1) as subject,
    c.left_out,
    c.reason,
    strftime('%Y-%m-%d %H:%M:%S', c.ended_at / 1000.0, 'unixepoch') as ended_at,
    c.message,
    c.command_id
from commits as c
join commands as m on m.id = c.command_id
join runs as r on r.id = c.run_id
join loops as l on l.id = c.loop_id
left join turns as t on t.id = m.turn_id;

create view undone_commits as
-- The commits that hold an edit which was taken back since: select * from undone_commits where run = 'demo'. The files are
-- as before the edit, and the commit stays until somebody commits that, too. 'undo_id' is the command of the undo.
select distinct
    r.alias as run,
    u.command_id as undo_id,
    c.hash,
    substr(c.message, 1, instr(c.message || char(10), char(10)) - 1) as subject,
    (
        select json_group_array(path)
        from (
            select distinct f.path
            from undone_edits as o
            join commit_edits as e on e.edit_id = o.undone_id and e.commit_id = c.command_id
            join _edit_files as f on f.command_id = o.undone_id
            where o.command_id = u.command_id
            order by f.path
        )
    ) as paths
from undone_edits as u
join commands as k on k.id = u.command_id and k.action in ('undo', 'rewind')
join commit_edits as e on e.edit_id = u.undone_id
join commits as c on c.command_id = e.commit_id and c.hash is not null
join runs as r on r.id = u.run_id;

-- What is told of commits.
create view _told_commits as
select
    g.*,
    case when g.hash is null then 409 else 200 end as status,
    case
        when g.hash is not null then 'committed ' || substr(g.hash, 1, 10) || ': ' || g.subject
        else 'not committed: ' || g.reason
    end
    || coalesce(
        (select '; left out: ' || group_concat(x.key || ' (' || x.value || ')', ', ') from json_each(g.left_out) as x), ''
    ) as told
from commit_log as g
where g.ended_at is not null and (g.hash is not null or g.reason is not null);

create view _log_additions__commits as
select
    c.run, c.turn, 850 as ordinal, 'system' as writer, 'commit' as action, c.hash as target, 'resolved' as state,
    null as outcome, c.status, c.told as body, null as path, c.command_id, null as decided_by, c.ended_at as created_at
from _told_commits as c;

create view _run_progress__commits as
select
    c.run, ev.id as event_id, 'commit' as type, c.turn, null as context_tokens, null as ceiling, null as cost,
    'commit' as action, c.hash as target, c.status, null as outcome, c.told as body, null as path,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch') as created_at
from events as ev
cross join _told_commits as c on c.command_id = json_extract(ev.detail, '$.commit')
where ev.kind = 'commit.ended';

-- An id is given again: an edit to come would count as committed.
create view _acts__commits as
select 9 as rank, 'record' as kind, null as run, 'has commits of edits that are not there' as what
where exists (select 1 from commit_edits where edit_id not in (select id from commands));

-- triggers

create trigger _begin_commit__begin
instead of insert on _begin_commit
when exists (select 1 from _uncommitted_edits where run_id = new.run_id)
begin
    insert into commands (run_id, loop_id, turn_id, ordinal, writer, action, state, quiet, created_at)
    select
        l.run_id, l.id, new.turn_id,
        coalesce((select max(c.ordinal) + 1 from commands as c where c.turn_id = new.turn_id), 0),
        'system', 'commit', 'accepted', 1, now()
    from loops as l
    where l.id = new.loop_id;
    insert into commits (command_id, run_id, loop_id, message)
    select c.id, c.run_id, c.loop_id, commit_message(l.prompt, r.alias)
    from commands as c
    join loops as l on l.id = c.loop_id
    join runs as r on r.id = c.run_id
    where c.id = (select max(id) from commands);
    insert into commit_edits (commit_id, edit_id)
    select (select max(id) from commands), command_id
    from _uncommitted_edits
    where run_id = new.run_id;
    insert into _late_call (door, a)
    select '_order_commit', max(id)
    from commands;
end;

create trigger _order_commit__order
instead of insert on _order_commit
begin
    insert into effects (run_id, turn_id, command_id, kind, detail)
    select c.run_id, m.turn_id, c.command_id, 'commit', json_object('message', c.message, 'files', json(f.files))
    from commits as c
    join commands as m on m.id = c.command_id
    join _commit_files as f on f.commit_id = c.command_id
    where c.command_id = new.command_id;
end;

-- What the driver tells of it: detail has the hash, or the reason, and the files that were left out.
create trigger effect_results__end_commit
after insert on effect_results
when exists (select 1 from effects where id = new.effect_id and kind = 'commit')
begin
    insert into _late_call (door, a, b) values ('_end_commit', new.effect_id, new.detail);
end;

create trigger _end_commit__end
instead of insert on _end_commit
begin
    update commits
    set hash = new.detail ->> '$.hash',
        reason = new.detail ->> '$.reason',
        left_out = coalesce(new.detail -> '$.left_out', '{}'),
        ended_at = now()
    where command_id = (select f.command_id from effects as f where f.id = new.effect_id) and ended_at is null;
    insert into events (at, run_id, turn_id, kind, detail)
    select now(), f.run_id, f.turn_id, 'commit.ended', json_object('commit', f.command_id)
    from effects as f
    where f.id = new.effect_id;
end;
