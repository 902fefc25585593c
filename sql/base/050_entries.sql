-- Entries: everything the model can know, each under a path.
-- An entry is an identity (scope, path). A run sees it through its row of run_views, its view: a pinned content,
-- attributes, a visibility and a state. A write changes only the pin of the run that writes, so a fork shares the
-- entries of its parent and neither sees what the other writes. An entry of project or global scope has one head, which
-- every run with a view of it follows. An entry is not in context of a run without a view of it. Contents are
-- immutable: a changed entry points to another one, so a past turn keeps what it saw.
-- spec: @contents @entries @run_views @scopes

-- tables

-- The bodies of entries. Figures stand before the text, so that SQLite reads them without it.
create table if not exists contents (
    id integer primary key,
    -- length of what is shown of it in full view, and of its summary, in characters
    chars integer not null,
    summary_chars integer not null,
    lines integer not null,
    -- how the body is summarized: by the text 'summary', which a file gets when it is first shown (054); else by its first
    -- 'cut' characters and a count of the rest; or, if both are null, by the whole body
    cut integer,
    summary text,
    -- what packets show of it in full view, where a plugin projects its scheme; null: the body
    shown text,
    body text not null,
    -- ':::' and what follows the name in the fence around the body and its summary; null: neither holds ':::'
    fence text
) strict;

-- Full-text search over the bodies of searchable schemes; rowid is contents.id.
create virtual table if not exists content_search using fts5 (
    body, content = 'contents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

-- The identities of entries; for project and global scope also the head that runs follow.
create table if not exists entries (
    id integer primary key,
    -- run:N, project:N or global
    scope text not null,
    path text not null
        constraint entries_path_length check (length(path) between 1 and 2048),
    -- the part of the path before '://'; null for a file
    scheme text,
    -- the row of schemes that it follows: that of its scheme, 'file' or '*'
    kind text not null constraint entries_kind references schemes (name),
    -- body and attributes of the head; null in run scope
    content_id integer constraint entries_content references contents (id),
    attributes text constraint entries_attributes_json check (attributes is null or json_valid(attributes)),
    -- sha256 of the bytes of a file
    hash text,
    -- the clock (events.id) when the head became what it is
    since integer,
    -- the path as packets write it; null: as it is
    shown_path text,
    constraint entries_path_once_per_scope unique (scope, path)
) strict;

-- The attributes of an entry as a run sees it, and its metadata as packets show them. Rows are immutable; forks and
-- history share them. A view of run scope has a row where it has attributes, or a state or outcome other than resolved.
-- Read the attributes from _metadata.
create table if not exists _entry_metadata (
    id integer primary key,
    -- '{}': those in the head, which has the turn before them and nothing else
    attributes text constraint entry_metadata_attributes_json check (attributes is null or json_valid(attributes)),
    -- JSON without its closing brace
    head text not null
) strict;

-- What each run sees of each entry: its view.
create table if not exists run_views (
    run_id integer not null constraint run_views_run references runs (id) on delete cascade,
    entry_id integer not null constraint run_views_entry references entries (id),
    -- the pinned content; null: that of the entry's head
    content_id integer constraint run_views_content references contents (id),
    -- null: resolved and without attributes, or those of the head
    metadata_id integer constraint run_views_metadata references _entry_metadata (id),
    visibility text not null constraint run_views_visibility references visibilities (name),
    state text not null constraint run_views_state references states (name),
    outcome text,
    -- who wrote it last, and in which loop
    writer text not null constraint run_views_writer references writer_tiers (name),
    loop_id integer,
    -- its place in the packet: the clock when it was written or came into context; null while it is archived
    context_order integer,
    -- the turn that wrote it last; the packet shows it
    turn integer not null,
    -- the turn that wrote it or made it visible last; the ladder demotes by it
    last_used_turn integer not null,
    write_count integer not null default 1,
    -- the clock (events.id) when this row became what it is
    since integer not null,
    -- what the picture that it is took of the last packet that had it in view, in characters; null: it is none
    picture_chars integer,
    primary key (run_id, entry_id)
) strict, without rowid;

create index if not exists idx_run_views_in_context on run_views (run_id, entry_id) where visibility <> 'archived';

-- The body of a streaming entry, piece by piece; at its end the pieces become one content.
create table if not exists entry_chunks (
    id integer primary key,
    run_id integer not null constraint entry_chunks_run references runs (id) on delete cascade,
    entry_id integer not null constraint entry_chunks_entry references entries (id),
    text text not null,
    -- of a piece of a background command: the characters before it in all that was kept; else null
    position integer
) strict;

create index if not exists idx_entry_chunks_run_id_entry_id on entry_chunks (run_id, entry_id, id);

-- seeds

-- a file that was written again after it was removed went on being missing in files of older builds
update entries
set attributes = json_remove(attributes, '$.kind')
where kind = 'file' and content_id is not null and attributes ->> '$.kind' = 'missing';

-- views

-- Every content with its summary.
create view _content_texts as
select
    id,
    coalesce(shown, body) as body,
    case
        when cut is null then coalesce(summary, shown, body)
        else substr(coalesce(shown, body), 1, cut) || char(10) || '[… ' || (chars - cut) || ' more characters]'
    end as summary,
    -- the summary, where it is a text of its own; null: the beginning of the body
    summary as symbols,
    cut,
    chars,
    summary_chars,
    lines,
    fence
from contents;

-- The metadata of entries, with their attributes as they were given.
create view _metadata as
select
    id,
    case attributes when '{}' then '{' || substr(head, instr(head, ',') + 1) || '}' else attributes end as attributes,
    head
from _entry_metadata;

-- The HTTP status of what a run sees of an entry.
create view _view_statuses as
select
    v.run_id,
    v.entry_id,
    (
        select x.status
        from _result_statuses as x
        where x.state = v.state
            and x.outcome in ('', v.outcome, substr(v.outcome, 1, instr(v.outcome || ':', ':') - 1))
        order by length(x.outcome) desc
        limit 1
    ) as status
from run_views as v;

create view known_entries as
-- Every entry as each run sees it, with its body. Read-only: verb_set, verb_cp, verb_mv and verb_rm change entries.
select
    r.alias as run,
    e.scope,
    e.path,
    e.scheme,
    s.category,
    coalesce(c.body, '') || coalesce(
        case v.state
            when 'streaming' then (
                select group_concat(k.text, '')
                from (
                    select text from entry_chunks where run_id = v.run_id and entry_id = v.entry_id order by id
                ) as k
            )
        end, ''
    ) as body,
    coalesce(b.attributes, e.attributes) as attributes,
    v.visibility,
    v.state,
    v.outcome,
    (select q.status from _view_statuses as q where q.run_id = v.run_id and q.entry_id = v.entry_id) as status,
    v.writer,
    v.turn,
    cast(coalesce(c.chars, 0) / 2.0 + 0.5 as integer) as tokens,
    coalesce(c.lines, 0) as lines,
    v.write_count,
    (
        select strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
        from events as ev
        where ev.id <= max(v.since, coalesce(e.since, 0))
        order by ev.id desc
        limit 1
    ) as updated_at
from run_views as v
join runs as r on r.id = v.run_id
join entries as e on e.id = v.entry_id
join schemes as s on s.name = e.kind
left join _metadata as b on b.id = v.metadata_id
left join contents as c on c.id = coalesce(v.content_id, e.content_id);

-- The present body and attributes of each view, for the rules.
create view _entry_bodies as
select
    v.run_id,
    v.entry_id,
    e.path,
    e.scheme,
    e.kind,
    c.body,
    c.chars,
    coalesce(b.attributes, e.attributes, '{}') as attributes,
    v.visibility
from run_views as v
join entries as e on e.id = v.entry_id
left join _metadata as b on b.id = v.metadata_id
left join contents as c on c.id = coalesce(v.content_id, e.content_id);

-- The entry that a run finds under a path: one in its scopes of which it has a view. The joins keep this order, because
-- any other would read all views of the run for each path.
create view _run_paths as
select
    l.run_id,
    e.path,
    e.id as entry_id,
    e.kind,
    e.scheme
from run_scopes as l
cross join entries as e on e.scope = l.scope
cross join run_views as v on v.run_id = l.run_id and v.entry_id = e.id;

-- The metadata of each view as packets show them: JSON without its closing brace. The packet appends the token count,
-- which depends on the loop.
create view _entry_heads as
select
    v.run_id,
    v.entry_id,
    entry_head(
        s.category, v.turn, v.state, v.outcome,
        (select q.status from _view_statuses as q where q.run_id = v.run_id and q.entry_id = v.entry_id),
        coalesce(b.attributes, e.attributes)
    ) as head
from run_views as v
join entries as e on e.id = v.entry_id
join schemes as s on s.name = e.kind
left join _metadata as b on b.id = v.metadata_id;
