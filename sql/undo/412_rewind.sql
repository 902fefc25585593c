-- Rewind: returns a run to the point before a past turn.
-- A fork from that turn takes the name over; the run as it was stays under the name with a number, with its open
-- proposals and its queue. With files, what the run changed since that turn is set back to the texts that scans and
-- edits have stored, changes by its shell commands included. What others changed, and what no text is stored of,
-- stays.
-- spec: @rewind

-- tables

-- Which run took the name of which: 'run_id' is the fork that has it since, 'turn' the one that it goes on with.
create table if not exists rewinds (
    command_id integer primary key constraint rewinds_command references commands (id) on delete cascade,
    run_id integer not null constraint rewinds_run references runs (id) on delete cascade,
    from_run_id integer not null constraint rewinds_from_run references runs (id) on delete cascade,
    turn integer not null
) strict;

create index if not exists idx_rewinds_run_id on rewinds (run_id);

create index if not exists idx_rewinds_from_run_id on rewinds (from_run_id);

-- views

create view _parted_runs__undo as
select run_id
from rewinds
union all
select from_run_id
from rewinds;

-- The lines of each run that a rewind parted from it, and until when they were the same run (Unix milliseconds): those that
-- it took the name of, and those that gave the name back.
create view _parted_lines as
with recursive line (run_id, source_id, until) as (
    select l.run_id, w.source_id, w.until
    from _lines_of_all_runs as l
    join (
        select w.run_id as of_run, w.from_run_id as source_id, c.created_at as until
        from rewinds as w
        join commands as c on c.id = w.command_id
        union all
        select w.from_run_id, w.run_id, max(c.created_at)
        from rewinds as w
        join undone_edits as u on u.undone_id = w.command_id and u.run_id = w.from_run_id
        join commands as c on c.id = u.command_id
        group by w.command_id
    ) as w on w.of_run = l.source_id
    union
    select l.run_id, w.from_run_id, min(l.until, c.created_at)
    from line as l
    join rewinds as w on w.run_id = l.source_id
    join commands as c on c.id = w.command_id
)
select run_id, source_id, max(until) as until
from line
group by run_id, source_id;

-- The commands that wrote or removed files for a run, or for one below it: its edits, and those of lines that it was parted
-- from.
create view _own_edits as
select run_id, command_id
from _past_edits
union
select l.run_id, c.id
from _parted_lines as l
join _tree_edits as p on p.run_id = l.source_id
join commands as c on c.id = p.command_id and c.created_at <= l.until;

-- The turns of a run, of lines that it was parted from, and of the runs below, that ran shell commands, and from when to
-- when. A background command ran until its own end; where the engine died meanwhile, that is not known.
create view _command_turns as
select f.turn_id, o.run_id, min(f.started_at) as began, max(coalesce(j.ended_at, f.ended_at, f.started_at)) as ended
from (
    select run_id, turn_id
    from past_turns
    union
    select l.run_id, t.id
    from _parted_lines as l
    join turns as t on t.run_id = l.source_id and t.created_at <= l.until
) as o
join _turns_below as b on b.turn_id = o.turn_id
join effects as f on f.turn_id = b.below_id
left join _background_processes as j on j.effect_id = f.id and j.outcome is not 'interrupted'
where f.kind = 'process' and f.started_at is not null
group by f.turn_id, o.run_id;

-- The states that commands made: of several that wrote the same text the latest that had begun by then. A removal has no
-- text to know it by: the event that follows settles its proposal.
create view _made_states as
select f.entry_id, s.began, max(f.command_id) as command_id
from _edit_files as f
join _file_texts as s on s.entry_id = f.entry_id and s.content_id = f.content_id
join effects as x on x.command_id = f.command_id and x.proposal_id = f.proposal_id
where f.kind = 'file_write'
    and x.started_at <= (select v.at from events as v where v.id <= s.began order by v.id desc limit 1)
group by f.entry_id, s.began
union all
select f.entry_id, s.began, f.command_id
from _edit_files as f
join _file_texts as s on s.entry_id = f.entry_id and s.hash is null
join events as v
    on v.id > s.began
    and v.id <= s.began + 4
    and v.kind = 'proposal.resolved'
    and v.run_id = f.run_id
    and v.detail ->> '$.path' = f.log_path
where f.kind = 'file_delete';

-- The changes of files since a turn was sent, in order, and whether they are the run's own. What a scan found is its own
-- where the turn before it, of all turns of the project, ran shell commands of the run; a file that was written before the
-- first of these began, or, as it is now, after the last of them had ended, is not. Commands that went on when the turn
-- before was sent, of whichever run of the tree, count as well. 'child' is the run below that made the change by an edit.
create view _changes_since as
select
    h.run_id,
    h.turn,
    h.entry_id,
    h.began,
    h.before,
    (
        select r.alias
        from commands as k
        join children as d on d.run_id = k.run_id and d.run_id <> h.run_id
        join runs as r on r.id = d.run_id
        where k.id = coalesce(m.command_id, h.decided)
    ) as child,
    case
        when coalesce(m.command_id, h.decided) is not null
            then exists (
                select 1
                from _own_edits as o
                where o.run_id = h.run_id and o.command_id = coalesce(m.command_id, h.decided)
            )
        else exists (
            select 1
            from _command_turns as c
            where c.run_id = h.run_id
                and exists (
                    select 1
                    from turns as t
                    join turns as o on o.id = c.turn_id
                    left join children as d on d.run_id = t.run_id
                    where t.id = (
                            select t.id
                            from turns as t
                            join runs as r on r.id = t.run_id
                            where r.project_id = h.project_id and t.seen_at < h.began
                            order by t.seen_at desc
                            limit 1
                        )
                        and (
                            t.id = o.id
                            or (
                                (t.run_id = h.run_id or instr(d.lineage, '/' || h.run_id || '/'))
                                and c.ended >= (select v.at from events as v where v.id = t.seen_at)
                            )
                        )
                )
                -- the project was scanned before, or the file may be older than all that
                and exists (
                    select 1
                    from turns as t
                    join runs as r on r.id = t.run_id
                    where r.project_id = h.project_id and t.scanned and t.seen_at <= h.began
                )
                -- file systems tell the time by ticks, some of two seconds
                and (
                    not h.is_present
                    or h.hash is null
                    or (
                        h.mtime <= c.ended + 2000
                        and (h.before is not null or h.mtime >= c.began - 2000)
                    )
                )
        )
    end as is_own
from (
    select
        t.run_id,
        t.turn,
        t.seen_at,
        r.project_id,
        s.entry_id,
        s.began,
        s.hash,
        s.is_present,
        s.is_mode,
        s.decided,
        f.mtime_ns / 1000000 as mtime,
        -- the clock of the state before; null: there was no file
        case
            when coalesce(lag(json_extract(s.attributes, '$.kind')) over heads, 'text') <> 'missing'
                then lag(s.began) over heads
        end as before,
        s.hash is not lag(s.hash) over heads
        or coalesce(json_extract(s.attributes, '$.kind'), 'text')
        is not coalesce(
            lag(json_extract(s.attributes, '$.kind')) over heads,
            case when lag(s.began) over heads is null then 'missing' else 'text' end
        )
        or s.is_executable <> lag(s.is_executable) over heads
        or json_extract(s.attributes, '$.leads_to')
        is not lag(json_extract(s.attributes, '$.leads_to')) over heads as is_change
    from past_turns as t
    join runs as r on r.id = t.run_id
    join entries as e
        on e.scope = 'project:' || r.project_id
        and e.kind = 'file'
        and (
            e.since > t.seen_at
            or exists (select 1 from file_modes as m where m.entry_id = e.id and m.began > t.seen_at)
        )
    join _file_states as s on s.entry_id = e.id
    left join file_stats as f on f.project_id = r.project_id and f.path = e.path
    window heads as (partition by t.run_id, t.turn, s.entry_id order by s.began)
) as h
left join _made_states as m on m.entry_id = h.entry_id and m.began = h.began and not h.is_mode
where h.began > h.seen_at and h.is_change;

-- What a rewind with files does to each file that changed since its turn was sent; 'stays' is why it is left as it is.
create view _rewind_files as
select
    run_id,
    turn,
    path,
    case
        when kind_then = 'missing' then 'removed'
        when kind_now = 'missing' then 'brought back'
        else 'changed'
    end as change,
    child,
    hash_now,
    content_now,
    leads_to,
    hash_then,
    content_then,
    -- the mode that the file is to have; null: the one that it has, or an ordinary one
    case
        when kind_then = 'missing' then null
        when kind_now = 'missing' then nullif(executable_then, 0)
        when executable_then <> executable_now then executable_then
    end as executable,
    case
        when not is_own then 'was changed by others'
        when others then 'was changed by others, too'
        when kind_now not in ('text', 'missing') then 'is ' || replace(kind_now, '_', ' ')
        when kind_then not in ('text', 'missing') then 'was ' || replace(kind_then, '_', ' ')
        when led_to is not null and leads_to is not led_to then 'was a symbolic link to ' || led_to
        when leads_to is not led_to and kind_now = 'text' then 'is now a symbolic link'
        when is_readonly then 'is readonly'
    end as stays
from (
    select
        c.run_id,
        c.turn,
        e.path,
        c.is_own,
        c.others,
        (select group_concat(distinct j.value) from json_each(c.children) as j) as child,
        exists (select 1 from _readonly_files as k where k.entry_id = e.id) as is_readonly,
        coalesce(json_extract(e.attributes, '$.kind'), 'text') as kind_now,
        e.hash as hash_now,
        e.content_id as content_now,
        json_extract(e.attributes, '$.leads_to') as leads_to,
        coalesce((select m.is_executable from _modes_now as m where m.entry_id = e.id), 0) as executable_now,
        coalesce(v.is_executable, 0) as executable_then,
        case
            when v.entry_id is null then 'missing' else coalesce(json_extract(v.attributes, '$.kind'), 'text')
        end as kind_then,
        v.hash as hash_then,
        v.content_id as content_then,
        json_extract(v.attributes, '$.leads_to') as led_to
    from (
        -- one row for each file, by windows and not by groups: so SQLite computes it for the run and turn asked for alone
        select
            run_id, turn, entry_id,
            max(is_own) over changes as is_own,
            -- what it was before the change that is taken back first, and whether others changed it after that
            max(case when is_own and began = first then before end) over changes as before,
            max(not is_own and began > first) over changes as others,
            json_group_array(child) over changes as children,
            row_number() over (partition by run_id, turn, entry_id order by began desc) as place
        from (
            select
                *,
                min(case when is_own then began end) over (partition by run_id, turn, entry_id) as first
            from _changes_since
        )
        window changes as (partition by run_id, turn, entry_id)
    ) as c
    join entries as e on e.id = c.entry_id
    left join _file_states as v on v.entry_id = c.entry_id and v.began = c.before
    where c.place = 1
)
where not is_own
    or (kind_now, hash_now) is not (kind_then, hash_then)
    -- of a file that was never there nothing else is left to tell
    or kind_now <> 'missing'
    and (leads_to, executable_now) is not (led_to, executable_then)
union all
-- of these there is neither text nor hash: only their time tells that they were written since
select t.run_id, t.turn, f.path, 'changed', null, null, null, null, null, null, null, 'is too large'
from past_turns as t
join events as v on v.id = t.seen_at
join runs as r on r.id = t.run_id
join file_stats as f on f.project_id = r.project_id and f.kind = 'too_large' and f.mtime_ns / 1000000 > v.at
join entries as e on e.scope = 'project:' || f.project_id and e.path = f.path and e.since <= t.seen_at;
