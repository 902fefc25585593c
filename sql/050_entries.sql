-- Entries: everything the model can know, each under a path.
-- An entry is an identity (scope, path). What a run sees of it is its view: a pinned content, attributes, visibility and
-- state. A write moves only the writer's pin, so a fork shares its parent's entries and neither sees what the other
-- writes. Entries of project and global scope have one head that every run with a view follows. No view: not in context.
-- Bodies are immutable: an entry that changes points to another one, so the past keeps what it saw.
-- spec: @contents @entries @run_views @scopes

-- tables

-- Bodies. What is asked for most stands before the text, so that it is read without it.
create table if not exists contents (
    id integer primary key,
    chars integer not null,
    summary_chars integer not null,
    lines integer not null,
    -- the summary: the body up to 'cut' and a count of the rest; or 'summary', where it is something else; or, both null,
    -- the body itself
    cut integer,
    summary text,
    body text not null
) strict;

-- Full-text search over the bodies of searchable schemes; rowid is contents.id.
create virtual table if not exists content_search using fts5 (
    body, content = 'contents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

create table if not exists entries (
    id integer primary key,
    scope text not null,
    path text not null
        constraint entries_path_length check (length(path) between 1 and 2048),
    -- the part of the path before '://'; null for a file
    scheme text,
    -- the row of schemes that it follows
    kind text not null constraint entries_kind references schemes (name),
    -- the head, for project and global scope only
    content_id integer constraint entries_content references contents (id),
    attributes text constraint entries_attributes_json check (attributes is null or json_valid(attributes)),
    -- sha256 of the file's bytes
    hash text,
    since integer,
    constraint entries_path_once_per_scope unique (scope, path)
) strict;

-- What views tell of an entry beside its body: its attributes, and the head that the packet shows. A view of run scope
-- has a row where it has attributes, or a state or outcome other than resolved; forks and history share it.
create table if not exists _entry_metadata (
    id integer primary key,
    attributes text constraint entry_metadata_attributes_json check (attributes is null or json_valid(attributes)),
    head text not null
) strict;

create table if not exists run_views (
    run_id integer not null constraint run_views_run references runs (id) on delete cascade,
    entry_id integer not null constraint run_views_entry references entries (id),
    -- the pin; null follows the entry's head
    content_id integer constraint run_views_content references contents (id),
    metadata_id integer constraint run_views_metadata references _entry_metadata (id),
    visibility text not null constraint run_views_visibility references visibilities (name),
    state text not null constraint run_views_state references states (name),
    outcome text,
    writer text not null constraint run_views_writer references writer_tiers (name),
    loop_id integer,
    -- the clock when it came into context or was written, while it is in context: its place in the packet
    context_order integer,
    -- the turn that wrote it last, which its head shows
    turn integer not null,
    -- the turn that wrote or promoted it last: what the ladder demotes
    last_used_turn integer not null,
    write_count integer not null default 1,
    -- the clock when this row became what it is
    since integer not null,
    primary key (run_id, entry_id)
) strict, without rowid;

create index if not exists idx_run_views_in_context on run_views (run_id, entry_id) where visibility <> 'archived';

-- The growing body of a streaming entry; cut into one content when it ends.
create table if not exists entry_chunks (
    id integer primary key,
    run_id integer not null constraint entry_chunks_run references runs (id) on delete cascade,
    entry_id integer not null constraint entry_chunks_entry references entries (id),
    text text not null
) strict;

create index if not exists idx_entry_chunks_run_id_entry_id on entry_chunks (run_id, entry_id, id);

-- views

-- Every content with its summary.
create view _content_texts as
select
    id,
    body,
    coalesce(summary, substr(body, 1, cut) || char(10) || '[… ' || (chars - cut) || ' more characters]', body) as summary,
    -- a summary that is not the beginning of the body
    summary as symbols,
    cut,
    chars,
    summary_chars,
    lines
from contents;

create view known_entries as
-- Every entry as each run sees it. Read-only: write through verb_set and its kin.
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
    coalesce(
        st.status,
        case when v.outcome like 'status:%' then cast(substr(v.outcome, 8) as integer) end,
        (select o.status from outcomes as o where o.name = substr(v.outcome, 1, instr(v.outcome || ':', ':') - 1)),
        500
    ) as status,
    v.writer,
    v.turn,
    cast(coalesce(c.chars, 0) / 2.0 + 0.5 as integer) as tokens,
    coalesce(c.lines, 0) as lines,
    v.write_count,
    (
        select strftime('%Y-%m-%d %H:%M:%f', ev.at / 1000.0, 'unixepoch')
        from events as ev
        where ev.id <= max(v.since, coalesce(e.since, 0))
        order by ev.id desc
        limit 1
    ) as updated_at
from run_views as v
join runs as r on r.id = v.run_id
join entries as e on e.id = v.entry_id
join schemes as s on s.name = e.kind
join states as st on st.name = v.state
left join _entry_metadata as b on b.id = v.metadata_id
left join contents as c on c.id = coalesce(v.content_id, e.content_id);

-- The present body of each view, for the rules that read it.
create view _entry_bodies as
select
    v.run_id,
    v.entry_id,
    e.scope,
    e.path,
    e.scheme,
    e.kind,
    e.hash,
    coalesce(v.content_id, e.content_id) as content_id,
    c.body,
    c.chars,
    coalesce(b.attributes, e.attributes, '{}') as attributes,
    v.visibility,
    v.state,
    v.outcome
from run_views as v
join entries as e on e.id = v.entry_id
left join _entry_metadata as b on b.id = v.metadata_id
left join contents as c on c.id = coalesce(v.content_id, e.content_id);

-- Where a run finds a path: in one of its scopes, through a view of its own. The joins keep that order: the other way
-- round each look-up would read all views of the run.
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

-- The metadata that an entry shows in a packet, without its last brace: what follows depends on the loop.
create view _entry_heads as
select
    v.run_id,
    v.entry_id,
    entry_head(
        s.category, v.turn, v.state, v.outcome,
        coalesce(
            st.status,
            (select o.status from outcomes as o where o.name = substr(v.outcome, 1, instr(v.outcome || ':', ':') - 1))
        ),
        coalesce(b.attributes, e.attributes)
    ) as head
from run_views as v
join entries as e on e.id = v.entry_id
join schemes as s on s.name = e.kind
join states as st on st.name = v.state
left join _entry_metadata as b on b.id = v.metadata_id;

-- triggers

create trigger contents__guard_update
before update on contents
begin
    select fail(405, 'contents are immutable; write the entry again');
end;

create trigger contents__guard_delete
before delete on contents
when not exists (select 1 from _purges)
begin
    select fail(405, 'contents are immutable; only the purge of a whole run removes them');
end;

create trigger _entry_metadata__guard_update
before update on _entry_metadata
begin
    select fail(405, 'the metadata of entries is immutable; write the entry again');
end;

create trigger _entry_metadata__guard_delete
before delete on _entry_metadata
when not exists (select 1 from _purges)
begin
    select fail(405, 'the metadata of entries is immutable; only the purge of a whole run removes it');
end;
