-- Kept patches: the diffs of accepted edits, as entries that the model can read.
-- Each file that a turn of the run has written or removed has one entry, patch://turn_N/PATH, with the diff of what
-- was done, archived: it takes no room in a packet until it is got. The patch of a child (232) is made of these.
-- spec: @kept_patches

-- views

-- Keep the diff of a write that has ended: insert into _keep_patch (effect_id), by _late_call.
create view _keep_patch as
select id as effect_id
from effects
where false;

-- What each write of a turn has changed. A text that a decision put in place of the proposed one is compared with the one
-- that the file had before.
create view _written_patches as
select
    f.id as effect_id,
    f.run_id,
    'patch://turn_' || t.sequence || '/' || path_slug(p.target) as path,
    case
        when s.body is null then json_extract(p.detail, '$.diff')
        else edit_diff(
            p.target,
            case
                when json_extract(p.detail, '$.before') is not null
                    then (
                        select b.body
                        from entries as e
                        join entry_versions as v on v.entry_id = e.id
                        join contents as b on b.id = v.content_id
                        where e.scope = 'project:' || r.project_id and e.path = p.target
                        order by v.ended desc
                        limit 1
                    )
            end,
            n.body
        )
    end as diff,
    t.sequence as turn,
    t.loop_id
from effects as f
join proposals as p on p.id = f.proposal_id
join turns as t on t.id = f.turn_id
join runs as r on r.id = f.run_id
left join contents as n on n.id = p.content_id
left join _first_decisions as d on d.proposal_id = p.id
left join resolutions as s on s.id = d.resolution_id and p.kind = 'file_write';

-- triggers

-- A second edit of a file in one turn is added behind the first.
create trigger _keep_patch__keep
instead of insert on _keep_patch
begin
    insert into _write_entry (run_id, path, body, visibility, state, writer, turn, loop_id)
    select
        w.run_id,
        w.path,
        coalesce(
            (
                select b.body
                from _run_paths as q
                join _entry_bodies as b on b.run_id = q.run_id and b.entry_id = q.entry_id
                where q.run_id = w.run_id and q.path = w.path
            ), ''
        ) || w.diff,
        'archived', 'resolved', 'system', w.turn, w.loop_id
    from _written_patches as w
    where w.effect_id = new.effect_id and w.diff <> '';
end;
