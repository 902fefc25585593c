-- Time travel: what each run had in context at each of its turns.
-- Each turn stores the clock at which its packet was accepted (seen_at). The model saw the state at that clock.
-- spec: @context_at @time_travel

-- views

-- Each run (depth 0) with its parent (depth 1), the parent of that one, and so on. Of an ancestor only the turns with a
-- number below before_turn belong to the past of the run.
create view _run_lines as
select
    r.id as run_id,
    cast(s.value ->> 0 as integer) as source_id,
    cast(s.value ->> 1 as integer) as depth,
    cast(s.value ->> 2 as integer) as before_turn
from runs as r
-- for one run at a time: a recursion of the whole view would begin at every run of the file
cross join json_each((
    with recursive line (source_id, depth, before_turn) as (
        select r.id, 0, null
        union all
        select p.parent_run_id, l.depth + 1, min(coalesce(l.before_turn, p.forked_at), p.forked_at)
        from line as l
        join runs as p on p.id = l.source_id
        where p.parent_run_id is not null
    )
    select json_group_array(json_array(source_id, depth, before_turn))
    from line
)) as s;

create view past_turns as
-- The turns in the past of each run: its own, and those before the fork of the runs that it was forked from. 'source' is
-- the run that took the turn: select l.* from past_turns as p join run_log as l on l.run = p.source and l.turn = p.turn
-- where p.run = 'demo'.
select
    r.alias as run,
    t.sequence as turn,
    s.alias as source,
    l.run_id,
    l.source_id,
    t.id as turn_id,
    t.seen_at,
    strftime('%Y-%m-%d %H:%M:%S', t.created_at / 1000.0, 'unixepoch') as created_at
from _run_lines as l
join runs as r on r.id = l.run_id
join runs as s on s.id = l.source_id
join turns as t on t.run_id = l.source_id and (l.depth = 0 or t.sequence < l.before_turn);

create view context_at as
-- What a run had in context at a turn: select path, visibility, body from context_at where run = 'demo' and turn = 3.
-- 'body' is the whole text and 'tokens' about what that takes, also where it was shown in short (summarized); the words that
-- the model read stand in packet_texts. 'written' is the turn that wrote it, 0 where that was before the first one.
select
    t.run,
    t.turn,
    s.category,
    e.path,
    coalesce(v.visibility, h.visibility) as visibility,
    coalesce(v.state, h.state) as state,
    c.body,
    case when v.run_id is null then h.outcome else v.outcome end as outcome,
    coalesce(v.turn, h.turn) as written,
    coalesce(
        b.attributes, case when coalesce(e.since, 0) <= t.seen_at then e.attributes else (
            select w.attributes
            from entry_versions as w
            where w.entry_id = e.id and w.began <= t.seen_at and w.ended > t.seen_at
        ) end
    ) as attributes,
    cast(coalesce(c.chars, 0) / 2.0 + 0.5 as integer) as tokens
from past_turns as t
-- joined from the one turn to the entries in the scopes of its run; v is the present view where it began by the turn's
-- clock, else h is the version that was in force
cross join run_scopes as l on l.run_id = t.source_id
cross join entries as e on e.scope = l.scope
cross join schemes as s on s.name = e.kind and s.model_visible
left join run_views as v on v.run_id = t.source_id and v.entry_id = e.id and v.since <= t.seen_at
left join run_view_versions as h
    on h.run_id = t.source_id and h.entry_id = e.id and h.began <= t.seen_at and h.ended > t.seen_at
left join _metadata as b on b.id = coalesce(v.metadata_id, h.metadata_id)
left join contents as c
    on c.id = coalesce(
        v.content_id, h.content_id, case when coalesce(e.since, 0) <= t.seen_at then e.content_id else (
            select w.content_id
            from entry_versions as w
            where w.entry_id = e.id and w.began <= t.seen_at and w.ended > t.seen_at
        ) end
    )
where coalesce(v.visibility, h.visibility) <> 'archived' and coalesce(v.state, h.state) <> 'proposed';

-- Every entry at two turns of a run, side by side. The visibility is null where the entry was not in context.
create view _turn_pairs as
select
    f.run,
    f.turn as from_turn,
    t.turn as to_turn,
    e.path,
    case when coalesce(fv.state, fh.state) <> 'proposed' then nullif(coalesce(fv.visibility, fh.visibility), 'archived') end
        as visibility_before,
    case when coalesce(tv.state, th.state) <> 'proposed' then nullif(coalesce(tv.visibility, th.visibility), 'archived') end
        as visibility,
    coalesce(
        fv.content_id, fh.content_id, case when coalesce(e.since, 0) <= f.seen_at then e.content_id else (
            select w.content_id
            from entry_versions as w
            where w.entry_id = e.id and w.began <= f.seen_at and w.ended > f.seen_at
        ) end
    ) as content_before,
    coalesce(
        tv.content_id, th.content_id, case when coalesce(e.since, 0) <= t.seen_at then e.content_id else (
            select w.content_id
            from entry_versions as w
            where w.entry_id = e.id and w.began <= t.seen_at and w.ended > t.seen_at
        ) end
    ) as content,
    coalesce(fv.state, fh.state) as state_before,
    coalesce(tv.state, th.state) as state,
    coalesce(fv.outcome, fh.outcome) as outcome_before,
    coalesce(tv.outcome, th.outcome) as outcome,
    coalesce(
        (select attributes from _metadata where id = coalesce(fv.metadata_id, fh.metadata_id)),
        case when coalesce(e.since, 0) <= f.seen_at then e.attributes else (
            select w.attributes
            from entry_versions as w
            where w.entry_id = e.id and w.began <= f.seen_at and w.ended > f.seen_at
        ) end
    ) as attributes_before,
    coalesce(
        (select attributes from _metadata where id = coalesce(tv.metadata_id, th.metadata_id)),
        case when coalesce(e.since, 0) <= t.seen_at then e.attributes else (
            select w.attributes
            from entry_versions as w
            where w.entry_id = e.id and w.began <= t.seen_at and w.ended > t.seen_at
        ) end
    ) as attributes
from past_turns as f
cross join past_turns as t on t.run_id = f.run_id and t.seen_at is not null
cross join run_scopes as l on l.run_id = f.run_id
cross join entries as e on e.scope = l.scope
cross join schemes as s on s.name = e.kind and s.model_visible
left join run_views as fv on fv.run_id = f.source_id and fv.entry_id = e.id and fv.since <= f.seen_at
left join run_view_versions as fh
    on fh.run_id = f.source_id and fh.entry_id = e.id and fh.began <= f.seen_at and fh.ended > f.seen_at
left join run_views as tv on tv.run_id = t.source_id and tv.entry_id = e.id and tv.since <= t.seen_at
left join run_view_versions as th
    on th.run_id = t.source_id and th.entry_id = e.id and th.began <= t.seen_at and th.ended > t.seen_at
where f.seen_at is not null;

create view context_changes as
-- What changed in context between two turns: select path, change, visibility_before, visibility from context_changes
-- where run = 'demo' and from_turn = 2 and to_turn = 5. 'change' is appeared, disappeared, changed, or moved where only
-- the visibility differs.
select
    p.run,
    p.from_turn,
    p.to_turn,
    p.path,
    case
        when p.visibility_before is null then 'appeared'
        when p.visibility is null then 'disappeared'
        when p.content_before is not p.content or p.state_before <> p.state
            or p.outcome_before is not p.outcome or p.attributes_before is not p.attributes
            then 'changed'
        else 'moved'
    end as change,
    p.visibility_before,
    p.visibility,
    case when p.visibility_before is not null then b.body end as body_before,
    case when p.visibility is not null then a.body end as body,
    p.state_before,
    p.state,
    p.outcome_before,
    p.outcome,
    p.attributes_before,
    p.attributes
from _turn_pairs as p
left join contents as b on b.id = p.content_before
left join contents as a on a.id = p.content
where p.visibility_before is not p.visibility
    or (
        p.visibility is not null
        and (
            p.content_before is not p.content or p.state_before <> p.state
            or p.outcome_before is not p.outcome or p.attributes_before is not p.attributes
        )
    );
