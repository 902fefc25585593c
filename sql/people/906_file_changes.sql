-- File changes: which files of a project changed, which command changed them, and who decided it.
-- The views call no function of the engine and write nothing; times are UTC.
-- spec: @file_changes

-- views

-- Each text that a project's file has had, with the one before it; 'began' is the clock of the change. change is null
-- where a file that was gone is still gone.
create view _file_heads as
select
    project_id,
    path,
    began,
    content_id,
    content_before,
    case
        when is_missing and coalesce(was_missing, 1) then null
        when is_missing then 'deleted'
        when coalesce(was_missing, 1) then 'created'
        else 'changed'
    end as change,
    was_missing is null as is_first
from (
    select
        *,
        lag(content_id) over heads as content_before,
        lag(is_missing) over heads as was_missing
    from (
        select
            e.id as entry_id,
            cast(substr(e.scope, 9) as integer) as project_id,
            e.path,
            v.began,
            v.content_id,
            coalesce(json_extract(v.attributes, '$.kind') = 'missing', 0) as is_missing
        from entries as e
        join entry_versions as v on v.entry_id = e.id
        where e.kind = 'file' and e.scope glob 'project:*'
        union all
        select
            id, cast(substr(scope, 9) as integer), path, since, content_id,
            coalesce(json_extract(attributes, '$.kind') = 'missing', 0)
        from entries
        where kind = 'file' and scope glob 'project:*' and since is not null
    )
    window heads as (partition by entry_id order by began)
);

-- The changes of files on disk that a scan found, with the turn whose packet it was made for; turn_id is null where no
-- turn was open. What an effect wrote or deleted is none of them, nor what the first scan of a project found.
create view _found_changes as
select *
from (
    select
        h.project_id,
        h.path,
        h.content_id,
        h.content_before,
        h.change,
        h.is_first,
        h.at,
        (
            select b.turn_id
            -- in this order: backwards from the change to the turn that had begun
            from events as b
            cross join turns as t on t.id = b.turn_id
            cross join runs as r on r.id = t.run_id and r.project_id = h.project_id
            where b.id < h.began
                and b.kind = 'turn.begun'
                and (
                    t.seen_at >= h.began
                    or (t.seen_at is null and coalesce(t.ended_at >= h.at, 1))
                )
            order by b.id desc
            limit 1
        ) as turn_id
    from (
        select
            *,
            (select ev.at from events as ev where ev.id <= f.began order by ev.id desc limit 1) as at
        from _file_heads as f
        where f.change is not null
            and (
                f.content_id is null
                or f.content_id not in (select p.content_id from proposals as p where p.content_id is not null)
            )
    ) as h
    where h.change <> 'deleted'
        or not exists (
            select 1
            from proposals as p
            join runs as r on r.id = p.run_id and r.project_id = h.project_id
            join effects as x on x.command_id = p.command_id and x.proposal_id = p.id
            where p.kind = 'file_delete' and p.target = h.path and abs(x.ended_at - h.at) <= 1000
        )
) as c
where not c.is_first
    or exists (
        select 1
        from turns as t
        join runs as r on r.id = t.run_id and r.project_id = c.project_id
        where t.id < c.turn_id and t.scanned
    );

-- The lines of each content as a JSON array; null where it has none. A backslash is written as another character, so that
-- '\n' in the JSON is always a line feed.
create view _content_lines as
select
    id as content_id,
    '[' || replace(
        json_quote(replace(
            case substr(body, -1) when char(10) then substr(body, 1, length(body) - 1) else body end, '\', char(57344)
        )), '\n', '","'
    ) || ']' as lines
from contents
where body <> '';

-- The processes that may have made what the scan for a turn found: those of the turn before in its run, and the background
-- commands that an earlier turn of the run had started and that still ran when the turn before began.
create view _processes_before as
select t.id as found_for, m.turn_id, x.proposal_id
from turns as t
join turns as o on o.run_id = t.run_id and o.sequence = t.sequence - 1
join commands as m on m.turn_id = o.id
join effects as x on x.command_id = m.id and x.kind = 'process' and x.started_at is not null
union all
select t.id, m.turn_id, x.proposal_id
from turns as t
join turns as o on o.run_id = t.run_id and o.sequence = t.sequence - 1
join _background_processes as j on j.run_id = t.run_id and coalesce(j.ended_at, o.created_at) >= o.created_at
join effects as x on x.id = j.effect_id
join commands as m on m.id = x.command_id and m.turn_id < o.id;

-- Each change of a project's file, with the command or the turn that it came from, and what tells its lines: a diff, or
-- the texts before and after.
create view _changes_of_files as
select
    p.run_id,
    p.turn_id,
    x.ended_at as at,
    p.target as path,
    case
        when p.kind = 'file_delete' then 'deleted'
        when json_extract(p.detail, '$.before') is null then 'created'
        else 'changed'
    end as change,
    'command' as cause,
    p.action as command,
    -- a text that the decision put in place of the proposed one has no diff
    case s.body is null when 1 then json_extract(p.detail, '$.diff') end as diff,
    p.content_id,
    (select h.content_before from _file_heads as h where s.body is not null and h.content_id = p.content_id)
        as content_before,
    s.decided_by,
    p.command_id
from proposals as p
join effects as x on x.command_id = p.command_id and x.proposal_id = p.id
left join _first_decisions as d on d.proposal_id = p.id
left join resolutions as s on s.id = d.resolution_id
where p.kind in ('file_write', 'file_delete') and p.state = 'resolved'
union all
select
    t.run_id,
    coalesce(c.process_turn_id, t.id),
    c.at,
    c.path,
    c.change,
    case when c.process_turn_id is null then 'outside' else 'process' end,
    (
        select group_concat(target, char(10))
        from (
            select p.target
            from _processes_before as b
            join proposals as p on p.id = b.proposal_id
            where b.found_for = c.turn_id
            order by p.id
        )
    ),
    null,
    c.content_id,
    c.content_before,
    (
        select group_concat(decided_by, ', ')
        from (
            select distinct s.decided_by
            from _processes_before as b
            join _first_decisions as d on d.proposal_id = b.proposal_id
            join resolutions as s on s.id = d.resolution_id
            where b.found_for = c.turn_id
        )
    ),
    null
from (
    select *, (select max(b.turn_id) from _processes_before as b where b.found_for = f.turn_id) as process_turn_id
    from _found_changes as f
) as c
left join turns as t on t.id = c.turn_id;

-- The texts of files before and after each change that a run made; null where there was no file, or its text is not known.
create view _changed_texts as
select
    c.run_id,
    t.sequence as turn,
    c.path,
    c.change,
    c.at,
    case
        when c.cause = 'process' then (select b.body from contents as b where b.id = c.content_before)
        else (
            select b.body
            from _file_heads as h
            left join contents as b on b.id = h.content_before
            where h.project_id = r.project_id
                and h.path = c.path
                and h.content_id is c.content_id
                and h.began >= coalesce(t.seen_at, 0)
            order by h.began
            limit 1
        )
    end as before,
    (select b.body from contents as b where b.id = c.content_id) as after
from _changes_of_files as c
join runs as r on r.id = c.run_id
left join turns as t on t.id = c.turn_id
where c.cause <> 'outside';

create view file_changes as
-- The files that changed, by what and who decided it: select * from file_changes where path = 'a.py'. 'cause' is command
-- (the engine wrote it), process (a scan found it after a turn that ran a process, or while one ran in the background) or
-- outside; 'change' is created, changed or deleted. 'added' and 'removed' count lines; of what a scan found a line that
-- only moved counts as neither, and they are null where the text is not known. 'run' and 'turn' are null where no turn was
-- open. 'prompt' is what a person had asked for: of a child's change the prompt of the run at the top.
select
    r.alias as run,
    t.sequence as turn,
    c.path,
    c.change,
    c.cause,
    c.command,
    case
        when c.diff is not null then max((length(c.diff) - length(replace(c.diff, char(10) || '+', ''))) / 2 - 1, 0)
        when c.content_id is not null or c.content_before is not null then (
            select coalesce(sum(max(n, 0)), 0)
            from (
                select sum(sign) as n
                from (
                    select j.value, 1 as sign
                    from _content_lines as b
                    join json_each(b.lines) as j
                    where b.content_id = c.content_id
                    union all
                    select j.value, -1
                    from _content_lines as b
                    join json_each(b.lines) as j
                    where b.content_id = c.content_before
                )
                group by value
            )
        )
    end as added,
    case
        when c.diff is not null then (length(c.diff) - length(replace(c.diff, char(10) || '-', ''))) / 2
        when c.content_id is not null or c.content_before is not null then (
            select coalesce(sum(max(n, 0)), 0)
            from (
                select sum(sign) as n
                from (
                    select j.value, -1 as sign
                    from _content_lines as b
                    join json_each(b.lines) as j
                    where b.content_id = c.content_id
                    union all
                    select j.value, 1
                    from _content_lines as b
                    join json_each(b.lines) as j
                    where b.content_id = c.content_before
                )
                group by value
            )
        )
    end as removed,
    c.decided_by,
    strftime('%Y-%m-%d %H:%M:%S', c.at / 1000.0, 'unixepoch') as created_at,
    c.command_id,
    (
        select p.prompt
        from loops as l
        left join children as k on k.run_id = l.run_id
        join loops as p on p.id = coalesce(k.root_loop_id, l.id)
        where l.id = coalesce(t.loop_id, m.loop_id)
    ) as prompt
from _changes_of_files as c
left join runs as r on r.id = c.run_id
left join turns as t on t.id = c.turn_id
left join commands as m on m.id = c.command_id
order by c.at;
