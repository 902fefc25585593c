-- Discovery: tools, skills, rules, references and entries, found by their words and by their meaning.
-- The index has its own texts, which are made at the first search, so a run that does not search pays nothing. Words
-- are found by full-text search, meanings by the vectors of an embedder. A vector belongs to the digest of its text
-- and to the name of its embedder. So a text that moves keeps its vector, and vectors of different embedders are
-- never compared.
-- needs: nothing
-- spec: @discovery @mcp_resources

-- tables

-- The texts that searches look into, as they were when somebody last searched: a long one is several pieces, one row each.
create table if not exists search_texts (
    id integer primary key,
    kind text not null
        constraint search_texts_kind check (kind in ('tool', 'skill', 'rule', 'reference', 'mcp', 'entry')),
    -- run:N, project:N or global
    scope text not null,
    -- the path of an entry, else the name of the tool, skill, rule or reference, or mcp://SERVER/NAME
    name text not null,
    -- the entry that the text is of, and its content; null: it is of no entry
    entry_id integer,
    content_id integer,
    -- the name in words, as full-text search reads it
    words text not null,
    text text not null,
    -- the digest of what is embedded, which is the name and the beginning of the text
    digest text not null,
    -- the line of the content in which it begins
    line integer not null default 1
) strict;

create index if not exists idx_search_texts_entry on search_texts (kind, entry_id, content_id);

create index if not exists idx_search_texts_digest on search_texts (digest, kind, scope, name, entry_id, content_id);

-- Full-text search over the names and texts; rowid is search_texts.id.
create virtual table if not exists text_search using fts5 (
    words, text, content = 'search_texts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

-- What embedders made of texts: 32-bit floats, little-endian, of length 1, and a bit for the sign of each.
create table if not exists text_vectors (
    id integer primary key,
    embedder text not null,
    digest text not null,
    bits blob not null,
    vector blob not null,
    constraint text_vectors_once unique (embedder, digest)
) strict;

create index if not exists idx_text_vectors_bits on text_vectors (embedder, digest, bits);

-- The clock (the sum of _text_clocks) up to which the entries were read into search_texts, -1 at first: one row.
create table if not exists _search_clock (
    id integer primary key constraint search_clock_once check (id = 1),
    at integer not null,
    -- the embedder of which all texts have a vector; null: of none
    embedder text
) strict;

-- seeds

insert into _search_clock (id, at) values (1, -1) on conflict do nothing;

-- views

-- What can be found besides entries: tools. A part gives texts of another kind, each with its scope and its name, and with
-- its entry and content if it is of one.
create view _known_texts as
select
    'tool' as kind,
    'global' as scope,
    name,
    null as entry_id,
    null as content_id,
    meaning || char(10) || coalesce(
        (
            -- full-text search parts a name at '_' itself, one such as roomNumber it takes for a word
            select group_concat(
                    case when j.key glob '*[A-Z]*' then name_words(j.key) else j.key end
                    || coalesce(': ' || (j.value ->> '$.description'), ''), char(10)
                )
            from json_each(tools.schema, '$.properties') as j
        ), ''
    ) as text
from tools;

-- The entries that can be found: files, those of skills too, and other data; the heads of shared ones and what runs have of
-- their own. The text of a skill is among the known texts.
create view _known_entries as
select e.id as entry_id, e.content_id, e.scope, e.path
from entries as e
join schemes as k on k.name = e.kind and k.model_visible and k.category = 'data' and k.name <> 'rule'
where e.content_id is not null and (e.kind <> 'skill' or instr(substr(e.path, 9), '/'))
union
select e.id, v.content_id, e.scope, e.path
from run_views as v
join entries as e on e.id = v.entry_id
join schemes as k on k.name = e.kind and k.model_visible and k.category = 'data' and k.name <> 'rule'
where v.content_id is not null and (e.kind <> 'skill' or instr(substr(e.path, 9), '/'));

-- By which it is seen that entries have changed: the last event. A part gives what changes with those of which no event
-- says.
create view _text_clocks as
select coalesce(max(id), 0) as clock
from events;

-- The content that each run sees of each of its entries.
create view _run_contents as
select v.run_id, v.entry_id, coalesce(v.content_id, e.content_id) as content_id
from run_views as v
join entries as e on e.id = v.entry_id;

-- Kept texts whose tool, skill, rule or reference is gone or has changed since; they are removed before a search.
create view _stale_texts as
select t.id, t.words, t.text
from search_texts as t
where t.kind in ('tool', 'skill', 'rule', 'reference', 'mcp')
    and (t.kind, t.scope, t.name, case t.line when 1 then t.text else '' end, coalesce(t.content_id, 0)) not in (
        select k.kind, k.scope, k.name, k.text, coalesce(k.content_id, 0) from _known_texts as k
        union all
        select k.kind, k.scope, k.name, '', k.content_id from _known_texts as k where k.content_id is not null
    );

-- Kept texts of entries that are gone or have another content by now.
create view _stale_entries as
select t.id, t.words, t.text
from search_texts as t
where t.kind = 'entry' and (t.entry_id, t.content_id) not in (select k.entry_id, k.content_id from _known_entries as k);

-- What of each text is embedded: its name in words and its first paragraph, or more where that is short; of a tool what it
-- is for, without its arguments.
create view _embeddable_texts as
select
    digest,
    words || char(10) || case
        when kind = 'tool' then substr(text, 1, instr(text || char(10), char(10)) - 1)
        when instr(text, char(10) || char(10)) between 40 and 500 then substr(text, 1, instr(text, char(10) || char(10)))
        else substr(text, 1, 500)
    end as text
from search_texts;

-- doors

-- Bring search_texts up to date: insert into _refresh_search (entries). Entries are read where that is 1.
create view _refresh_search as
select null as entries
where false;

-- The same for entries alone, up to the clock 'at': insert into _refresh_entries (at).
create view _refresh_entries as
select at
from _search_clock
where false;

-- Keep the texts that are missing: insert into _keep_texts (kind) values ('known') for tools, skills, rules and references,
-- ('entry') for entries.
create view _keep_texts as
select kind
from search_texts
where false;

-- Take new texts into the full-text index: insert into _index_texts (id) values (null).
create view _index_texts as
select id
from search_texts
where false;

-- triggers

-- A text that is gone leaves the full-text index before its row goes.
create trigger _refresh_search__refresh
instead of insert on _refresh_search
begin
    insert into text_search (text_search, rowid, words, text)
    select 'delete', s.id, s.words, s.text
    from _stale_texts as s;
    delete from search_texts
    where id in (select all id from _stale_texts);
    insert into _keep_texts (kind)
    values ('known');
    insert into _refresh_entries (at)
    select e.at
    from (select sum(clock) as at from _text_clocks) as e
    where new.entries and e.at is not (select c.at from _search_clock as c);
end;

-- _refresh_search calls it only where the clock is another than when the entries were last read.
create trigger _refresh_entries__refresh
instead of insert on _refresh_entries
begin
    insert into text_search (text_search, rowid, words, text)
    select 'delete', s.id, s.words, s.text
    from _stale_entries as s;
    delete from search_texts
    where id in (select all id from _stale_entries);
    insert into _keep_texts (kind)
    values ('entry');
    delete from text_vectors
    where digest not in (select t.digest from search_texts as t);
    update _search_clock
    set at = new.at;
end;

create trigger _keep_texts__known
instead of insert on _keep_texts
when new.kind = 'known'
begin
    insert into search_texts (kind, scope, name, entry_id, content_id, words, text, digest)
    select
        k.kind, k.scope, k.name, k.entry_id, k.content_id, name_words(k.name), k.text,
        text_digest(name_words(k.name) || char(10) || substr(k.text, 1, 500))
    from _known_texts as k
    where (k.kind, k.scope, k.name) not in (
            select all t.kind, t.scope, t.name
            from search_texts as t
            where t.kind in ('tool', 'skill', 'rule', 'reference', 'mcp') and t.line = 1
        );
    -- what comes behind the first piece of a long skill or reference
    insert into search_texts (kind, scope, name, entry_id, content_id, words, text, digest, line)
    select
        k.kind, k.scope, k.name, k.entry_id, k.content_id, name_words(k.name), j.value ->> 1,
        text_digest(name_words(k.name) || char(10) || substr(j.value ->> 1, 1, 500)), j.value ->> 0
    from _known_texts as k
    cross join contents as c on c.id = k.content_id and c.chars > 4000
    cross join json_each(text_pieces(c.body)) as j on j.key > 0
    where (k.kind, k.scope, k.name) not in (
            select all t.kind, t.scope, t.name
            from search_texts as t
            where t.kind in ('skill', 'reference') and t.line > 1
        );
    insert into _index_texts (id)
    values (null);
end;

create trigger _keep_texts__entries
instead of insert on _keep_texts
when new.kind = 'entry'
begin
    -- most are one piece, which needs no JSON
    insert into search_texts (kind, scope, name, entry_id, content_id, words, text, digest, line)
    select
        'entry', k.scope, k.path, k.entry_id, k.content_id, name_words(k.path),
        case when c.chars > 4000 then j.value ->> 1 else c.body end,
        text_digest(
            name_words(k.path) || char(10) || substr(case when c.chars > 4000 then j.value ->> 1 else c.body end, 1, 500)
        ),
        case when c.chars > 4000 then j.value ->> 0 else 1 end
    from _known_entries as k
    cross join contents as c on c.id = k.content_id
    cross join json_each(case when c.chars > 4000 then text_pieces(c.body) else '[0]' end) as j
    where not exists (
            select 1
            from search_texts as t
            where t.kind = 'entry' and t.entry_id = k.entry_id and t.content_id = k.content_id
        );
    insert into _index_texts (id)
    values (null);
end;

-- A text with a higher id than any in the index is new; with a new one, not all texts have a vector any more.
create trigger _index_texts__index
instead of insert on _index_texts
begin
    update _search_clock
    set embedder = null
    where (select max(t.id) from search_texts as t) > (select coalesce(max(d.id), 0) from text_search_docsize as d);
    insert into text_search (rowid, words, text)
    select t.id, t.words, t.text
    from search_texts as t
    where t.id > (select coalesce(max(d.id), 0) from text_search_docsize as d);
end;

-- Texts, index and vectors are made anew when somebody searches.
create trigger _forget_unused__discovery
instead of insert on _forget_unused
begin
    insert into text_search (text_search)
    values ('delete-all');
    delete from search_texts;
    delete from text_vectors;
    update _search_clock
    set at = -1, embedder = null;
end;
