-- Context: what a run has in view, as the text that the packet prints.
-- An entry is shown as a header of metadata, its path and its body. The views below give each form with its length, so
-- the figures of the budget are those of the very text that is sent. A row's version is made without its text: the
-- renderer reads the text of a version once.
-- spec: @context @fences @token_accounting @visibility

-- views

-- What is in context, with its metadata up to the figures. Proposed entries wait outside.
create view _context_views as
select
    -- that of the loop: a comparison for each entry less
    l.run_id,
    v.entry_id,
    e.path,
    coalesce(e.shown_path, e.path) as shown_path,
    e.kind,
    s.category,
    v.visibility,
    v.turn,
    v.last_used_turn,
    -- its places: in the summary, which a promotion leaves as it is, and among what is visible
    max(v.context_order, coalesce(e.since, 0)) as context_order,
    max(v.since, coalesce(e.since, 0)) as shown,
    coalesce(v.content_id, e.content_id) as content_id,
    v.picture_chars,
    -- what has no metadata of its own is resolved, without attributes, or has those of its head
    coalesce(
        b.head,
        case
            when e.attributes is null and v.state = 'resolved' and v.outcome is null then '{"turn":' || v.turn
            else entry_head(
                s.category, v.turn, v.state, v.outcome,
                (select q.status from _view_statuses as q where q.run_id = v.run_id and q.entry_id = v.entry_id),
                e.attributes
            )
        end
    ) as start,
    l.id as loop_id,
    l.chars_per_token
from loops as l
-- '+': else each row is compared with the run that was asked for
join run_views as v indexed by idx_run_views_in_context on v.run_id = +l.run_id
join entries as e on e.id = v.entry_id
join schemes as s on s.name = e.kind and s.model_visible
left join _entry_metadata as b on b.id = v.metadata_id
where l.status = 102 and v.visibility <> 'archived' and v.state <> 'proposed';

-- What is in context, with the parts of its text. tokens= is what making an entry visible costs and what demoting it
-- frees.
create view _context_texts as
select
    v.run_id,
    v.entry_id,
    v.path,
    v.shown_path,
    v.kind,
    v.category,
    v.visibility,
    v.turn,
    v.last_used_turn,
    v.context_order,
    v.shown,
    -- the content whose beginning the summary is, and how much of it
    case when c.symbols is null then c.id end as prefix_of,
    coalesce(c.cut, c.chars) as prefix_chars,
    c.id as content_id,
    coalesce(nullif(c.chars, 0), v.picture_chars, 0) as chars,
    coalesce(c.body, '') as body,
    coalesce(c.summary, '') as summary,
    v.start || case
        when v.category = 'logging' then ''
        else ',"lines":' || coalesce(c.lines, 0) || ',"tokens":' || cast(ceil((case v.category
                -- 32: the fixed words of its row; its own digits are left out
                when 'data'
                    then length(v.start) + 2 * length(v.shown_path || coalesce(c.fence, ''))
                        + coalesce(nullif(c.chars, 0), v.picture_chars, 0) + length(coalesce(c.lines, 0)) + 32
                -- indented, a tab a line
                when 'prompt'
                    then coalesce(length(replace(c.body, char(10), '  ')) - length(replace(c.summary, char(10), '  ')), 0)
                else coalesce(c.chars - c.summary_chars, 0)
            end) / v.chars_per_token) as integer)
    end || '} <<' as opening,
    ':::' || v.shown_path || coalesce(c.fence, '') as fence,
    -- within a loop, two texts of one entry have different versions
    v.start || ' ' || v.visibility || ' ' || coalesce(v.content_id, v.picture_chars, '') as version,
    coalesce(c.summary_chars, 0) as summary_chars,
    -- the prompt of the loop, which has a section of its own
    case
        when v.category = 'prompt'
            then v.path = 'prompt://' || (select min(o.sequence) from turns as o where o.loop_id = v.loop_id)
        else 0
    end as is_task,
    v.chars_per_token
from _context_views as v
left join _content_texts as c on c.id = v.content_id;

-- What each entry in context takes, in characters of the very text that is sent, envelope included: while it is
-- summarized, and what showing it whole adds beside its envelope. Texts of the log are indented: a tab for each line feed,
-- which is what a text has more than itself without line feeds, and one more.
create view _envelope_costs as
select
    run_id,
    entry_id,
    path,
    kind,
    category,
    visibility,
    turn,
    last_used_turn,
    is_task,
    -- the envelope is named once: it is many terms, and each place where it stands is compiled
    case
        when category = 'prompt' and is_task then summary_chars
        else envelope + case
            when category in ('data', 'unknown') then summary_chars + 1
            when chars = 0 then 0
            else 2 + 2 * summary_chars - length(replace(summary, char(10), ''))
        end
    end as summarized,
    case
        when chars = summary_chars then 0
        when category in ('data', 'unknown') or is_task then chars - summary_chars
        else 2 * (chars - summary_chars)
            - length(replace(body, char(10), '')) + length(replace(summary, char(10), ''))
    end as added,
    chars_per_token
from (
    select *, length(opening) + 2 * length(fence) + 2 as envelope
    from _context_texts
    where category in ('data', 'logging', 'unknown', 'prompt')
);

-- What each entry in context costs, in the same characters: while it is summarized, what showing it whole adds to that,
-- and both together. Data that is visible stands in the summary all the same, so it has two envelopes.
create view _context_costs as
select
    *,
    case category when 'data' then summarized + added else added end as expansion
from _envelope_costs;

create view _packet_prompt as
-- The task: the prompt of the active loop.
select
    t.id as turn_id,
    l.mode,
    case c.visibility when 'visible' then c.body else c.summary end as text,
    fence_tag('prompt', case c.visibility when 'visible' then c.body else c.summary end) as tag,
    case when l.mode = 'ask' then ' warn="File editing disallowed."' else '' end as warning,
    -- 1: with figures of the packet's size
    (select value = '1' from settings where name = 'prompt_figures') as has_figures
from turns as t
join loops as l on l.id = t.loop_id
join _run_paths as p
    on p.run_id = t.run_id and p.path = 'prompt://' || (select min(o.sequence) from turns as o where o.loop_id = t.loop_id)
join _context_texts as c on c.run_id = p.run_id and c.entry_id = p.entry_id;

-- What the prompt's section is made of, so that it is read once as long as nobody changes that.
create view _prompt_stamps as
select
    t.id as turn_id,
    json_array(
        v.visibility,
        coalesce(v.content_id, e.content_id),
        (select value from settings where name = 'prompt_figures')
    ) as stamp
from turns as t
join _run_paths as p
    on p.run_id = t.run_id and p.path = 'prompt://' || (select min(o.sequence) from turns as o where o.loop_id = t.loop_id)
join run_views as v on v.run_id = p.run_id and v.entry_id = p.entry_id
join entries as e on e.id = p.entry_id
join schemes as s on s.name = e.kind and s.model_visible
where v.visibility <> 'archived' and v.state <> 'proposed';

create view _packet_summary as
-- What the model knows to exist: a line of metadata and a short text for each entry of data. What came into context or
-- was written last stands last, so that what stands before it is what the model was sent before.
select
    t.id as turn_id,
    c.entry_id,
    c.version,
    c.opening || c.fence || char(10) || c.summary || char(10) || c.fence as text,
    c.prefix_of as content_id,
    c.prefix_chars as body_chars
from turns as t
join _context_texts as c on c.run_id = t.run_id
where c.category = 'data'
order by c.context_order, c.entry_id;

create view _packet_visible as
-- What the model is reading: the whole bodies, the latest last; with line_anchors, those of files with anchors.
select
    t.id as turn_id,
    c.entry_id,
    case when c.kind = 'file' and s.value = '1' then c.version || ' anchors' else c.version end as version,
    c.opening || c.fence || char(10)
    || case when c.kind = 'file' and s.value = '1' then anchor_lines(c.body) else c.body end
    || char(10) || c.fence as text,
    -- the body as it stands there
    case when c.kind = 'file' and s.value = '1' then null else c.content_id end as content_id,
    -- not 'chars': a picture without a text has those that it takes besides
    length(c.body) as body_chars
from turns as t
join settings as s on s.name = 'line_anchors'
join _context_texts as c on c.run_id = t.run_id
where c.category = 'data' and c.visibility = 'visible'
order by c.shown, c.entry_id;

create view _packet_log as
-- What has happened, in order, and the prompts before this one. Texts of the model are indented.
select
    t.id as turn_id,
    c.entry_id,
    c.version,
    c.opening || c.fence || case
        when c.body = '' then ''
        else char(10) || char(9) || replace(
            case c.visibility when 'visible' then c.body else c.summary end, char(10), char(10) || char(9)
        )
    end || char(10) || c.fence as text
from turns as t
join _context_texts as c on c.run_id = t.run_id
where c.category = 'logging'
    or (
        c.category = 'prompt'
        and c.path <> 'prompt://' || (select min(o.sequence) from turns as o where o.loop_id = t.loop_id)
    )
order by c.turn, c.entry_id;

create view _packet_unknowns as
-- The questions that are open.
select
    t.id as turn_id,
    c.entry_id,
    c.version,
    c.opening || c.fence || char(10) || case c.visibility when 'visible' then c.body else c.summary end
    || char(10) || c.fence as text
from turns as t
join _context_texts as c on c.run_id = t.run_id
where c.category = 'unknown'
order by c.turn, c.entry_id;

-- What these are made of, null where the run has no question. Most runs have none, and then no entry is read; a plugin may
-- write a scheme in capitals.
create view _unknown_stamps as
select
    t.id as turn_id,
    json_array(
        (select max(id) from events),
        l.chars_per_token,
        (select group_concat(name || model_visible) from schemes where category = 'unknown')
    ) as stamp
from turns as t
join loops as l on l.id = t.loop_id
where exists (
        select 1
        from schemes as s
        cross join run_scopes as l on l.run_id = t.run_id
        cross join entries as e
            on e.scope = l.scope
            and e.path >= case when s.name in ('*', 'file') then '' else substr(s.name, 1, 1) end
            and e.path < case when s.name in ('*', 'file') then char(1114111) else s.name || ':/0' end
            and e.kind = s.name
        where s.category = 'unknown'
    )
    or exists (
        select 1
        from run_scopes as l
        cross join entries as e on e.scope = l.scope and e.path >= 'A' and e.path < '['
        cross join schemes as s on s.name = e.kind and s.category = 'unknown'
        where l.run_id = t.run_id
    );
