-- Contents: the bodies of entries, immutable and searchable.
-- An entry that changes points to another row, so the past keeps what it saw. The summarized projection is made once, when
-- a body is stored; bodies of searchable schemes are in the full-text index.
-- spec: @contents

-- tables

-- Bodies, immutable: an entry that changes points to another row.
create table if not exists contents (
    id integer primary key,
    body text not null,
    -- the summarized projection: the body up to 'cut' and a count of the rest; or 'summary', where it is something else;
    -- or, both null, the body itself
    cut integer,
    summary text,
    chars integer not null,
    summary_chars integer not null,
    lines integer not null
) strict;

-- Full-text search over the bodies of searchable schemes; rowid is contents.id.
create virtual table if not exists content_search using fts5 (
    body, content = 'contents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

-- views

-- Store a body: insert into content_writes (path, body); its id is the highest of contents.
create view content_writes as
select null as path, body
from contents
where false;

-- Every content with its summarized projection.
create view content_texts as
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

-- triggers

create trigger content_writes__store
instead of insert on content_writes
begin
    insert into contents (body, cut, summary, chars, summary_chars, lines)
    select
        s.body,
        s.cut,
        s.summary,
        length(s.body),
        coalesce(
            length(s.summary),
            s.cut + length(char(10) || '[… ' || (length(s.body) - s.cut) || ' more characters]'),
            length(s.body)
        ),
        text_lines(s.body)
    from (
        -- materialized: each function is called once
        with clean as materialized (
            -- lengths end at a NUL
            select case when instr(new.body, char(0)) then text_clean(new.body) else new.body end as body
        ),
        short as materialized (
            select body, case when length(body) > 500 then body_summary(new.path, body) end as summary
            from clean
        ),
        beginning as materialized (
            select body, summary, summary_cut(body, summary) as cut
            from short
        )
        select body, cut, case when cut is null then summary end as summary
        from beginning
    ) as s;
end;

create trigger contents__stay_as_they_are
before update on contents
begin
    select fail(405, 'contents are immutable; write the entry again');
end;

create trigger contents__stay
before delete on contents
when not exists (select 1 from purges)
begin
    select fail(405, 'contents are immutable; only the purge of a whole run removes them');
end;
