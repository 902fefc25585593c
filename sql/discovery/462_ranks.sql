-- Ranks: what a search finds, best first.
-- Each ranker sorts the texts that it found. The score of a text is the sum of weight / (60 + place) over the
-- rankers. The weights were chosen on one half of the queries in tests/bench/discovery, and measured on the other.
-- spec: @discovery_ranks @get_like

-- tables

-- The ways of ranking, and how much the place in each counts.
create table if not exists search_rankers (
    name text primary key,
    weight real not null constraint search_rankers_weight check (weight >= 0),
    meaning text not null
) strict, without rowid;

-- The ranks of one search, while it works.
create table if not exists _search_ranks (
    ranker text not null constraint search_ranks_ranker references search_rankers (name),
    text_id integer not null,
    place integer not null,
    primary key (ranker, text_id)
) strict, without rowid;

-- seeds

insert into search_rankers (name, weight, meaning) values
    ('words', 0.6, 'full-text search; words in a name count more than words in a text'),
    ('meaning', 0.4, 'cosine between the vectors of the query and of the text')
on conflict (name) do update set meaning = excluded.meaning;

-- views

-- What the search that works found, best first: the sum of weight / (60 + place) over the rankers that found it.
create view _found_texts as
select
    -- of the pieces that the rankers found, the one with the best place
    t.id as text_id,
    min(r.place) as place,
    t.line,
    t.kind,
    t.name,
    t.scope,
    t.entry_id,
    sum(w.weight / (60 + r.place)) as score,
    group_concat(r.ranker) as found_by,
    substr(t.text, 1, 400) as beginning
from _search_ranks as r
join search_rankers as w on w.name = r.ranker and w.weight > 0
join search_texts as t on t.id = r.text_id
group by t.kind, t.scope, t.name, t.content_id
order by score desc, t.id;

-- What a get with like asks for, an effect of kind 'find'.
create view _find_requests as
select f.id as effect_id, f.run_id, c.path as pattern, c.attributes ->> '$.like' as query
from effects as f
join commands as c on c.id = f.command_id
where f.kind = 'find';

-- The lines of what it found, as the log has them.
create view _find_lines as
select
    f.id as effect_id,
    t.id as text_id,
    '* ' || coalesce(e.shown_path, e.path) || ' - ' || counted(token_estimate(b.chars, l.chars_per_token), 'token')
    || case when t.line > 1 then ', line ' || t.line else '' end as line
from effects as f
join commands as c on c.id = f.command_id
join loops as l on l.id = c.loop_id
join search_texts as t
join entries as e on e.id = t.entry_id
join contents as b on b.id = t.content_id
where f.kind = 'find';

-- doors

-- Rank the texts: insert into _rank_texts (query, embedder, vector, near, kinds, scopes, pattern, run_id). kinds and scopes
-- are JSON arrays, null: all; with run_id entries are those that the run sees, and with pattern those whose path matches.
-- near is a JSON array of the ids of texts whose vectors are compared with that of the query; null: words rank alone.
create view _rank_texts as
select
    null as query, null as embedder, null as vector, null as near, null as kinds, null as scopes, null as pattern,
    null as run_id
where false;

-- triggers

-- The places of the texts that have the 50 best pieces by each ranker. Whose cosine is below 0.2 has no place, nor what is
-- no vector of the query's kind.
create trigger _rank_texts__rank
instead of insert on _rank_texts
begin
    delete from _search_ranks;
    insert into _search_ranks (ranker, text_id, place)
    select 'words', id, row_number() over (order by rank, id) as place
    from (
        -- of each text its best piece
        select id, rank, row_number() over (partition by kind, scope, name, content_id order by rank, id) as piece
        from (
            select t.id, t.kind, t.scope, t.name, t.content_id, s.rank
            from text_search (find_query(new.query), 'bm25(2.0, 1.0)') as s
            cross join search_texts as t on t.id = s.rowid
            where (new.kinds is null or t.kind in (select value from json_each(new.kinds)))
                and (new.scopes is null or t.scope in (select value from json_each(new.scopes)))
                and (
                    new.pattern is null
                    or pattern_match(new.pattern, case t.kind when 'skill' then 'skill://' || t.name else t.name end)
                )
                and (new.run_id is null or exists (
                    select 1 from _run_contents as o
                    where o.run_id = new.run_id and o.entry_id = t.entry_id and o.content_id = t.content_id
                ))
            order by s.rank
            -- a text has 100 pieces at most, so these are of 50 texts or more
            limit 5000
        )
    )
    where piece = 1
    order by place
    limit 50;
    insert into _search_ranks (ranker, text_id, place)
    select 'meaning', id, row_number() over (order by cosine desc, id)
    from (
        select id, cosine, row_number() over (partition by kind, scope, name, content_id order by cosine desc, id) as piece
        from (
            select t.id, t.kind, t.scope, t.name, t.content_id, vectors_cosine(v.vector, new.vector) as cosine
            from json_each(new.near) as n
            cross join search_texts as t on t.id = n.value
            cross join text_vectors as v on v.embedder = new.embedder and v.digest = t.digest
            -- a limit keeps SQLite from calling the function more than once
            limit 10000
        )
        where cosine >= 0.2
    )
    where piece = 1
    order by cosine desc
    limit 50;
end;
