-- Answer cache: a prompt that is nearly the same as an earlier one gets the earlier answer.
-- The cache is off by default. It refers to the turn that gave the answer; the response is not copied. Only turns
-- without other commands are cached. A hit is recorded: the turn has the answer as its response, and its cost is 0.
-- needs: nothing
-- spec: @answer_cache

-- tables

-- Turns whose answer may be given again, with what the prompt of each means.
create table if not exists _cached_answers (
    turn_id integer primary key constraint cached_answers_turn references turns (id) on delete cascade,
    -- SHA-256 of its model and of its packet without the prompt
    key blob not null,
    -- what made the vector of its prompt, and that; null: it is found by the same prompt alone
    embedder text,
    vector blob,
    hits integer not null default 0,
    created_at integer not null
) strict;

create index if not exists idx_cached_answers_key on _cached_answers (key);

-- The turns that were answered from the cache: by which turn, as its run was called then, and how near the prompts were.
create table if not exists _answer_hits (
    turn_id integer primary key constraint answer_hits_turn references turns (id) on delete cascade,
    from_run text not null,
    from_turn integer not null,
    similarity real not null
) strict;

-- views

-- Turns whose answers are not to be given again. A part gives those that depend on more than their packets say, or whose
-- result was found wanting.
create view _unrepeatable_turns as
select id as turn_id
from turns
where false;

-- Turns that may be answered from the cache: where it is on, and nothing speaks against it.
create view _cacheable_turns as
select
    t.id as turn_id,
    json_array(q.actual, l.mode) as asked_of,
    l.prompt
from turns as t
join loops as l on l.id = t.loop_id
join _model_requests as q on q.turn_id = t.id and q.answer_cache
where not exists (select 1 from _unrepeatable_turns as u where u.turn_id = t.id);

-- The oldest time of an answer that is still given, in Unix milliseconds.
create view _cache_horizons as
select now() - 1000 * cast(value as real) as since
from settings
where name = 'cache_seconds';

-- Turns in the cache that are over and did more than to answer, or ended otherwise.
create view _unservable_answers as
select a.turn_id
from _cached_answers as a
join turns as t on t.id = a.turn_id
where (t.phase = 'judged' and t.status <> 200)
    or (t.phase = 'judged' and t.response is null)
    or t.finish_reason in ('length', 'incomplete', 'repetition', 'content_filter')
    or exists (
        select 1
        from commands as c
        where c.turn_id = t.id and (c.action not in ('update', 'think') or c.state not in ('queued', 'resolved'))
    )
    or exists (select 1 from turn_errors as e where e.turn_id = t.id)
    or exists (select 1 from _unrepeatable_turns as u where u.turn_id = t.id);

-- The answers that can be given.
create view _servable_answers as
select a.key, a.embedder, a.vector, a.created_at, t.run_id, t.sequence, l.prompt
from _cached_answers as a
join turns as t on t.id = a.turn_id and t.phase = 'judged'
join loops as l on l.id = t.loop_id
where a.created_at > (select h.since from _cache_horizons as h)
    and a.turn_id not in (select u.turn_id from _unservable_answers as u);

create view cached_answers as
-- The answers that may be given again, with how often each was and when (UTC) it was made: select * from cached_answers.
-- 'is_found_by' is meaning, or prompt for one that only the same prompt finds; one that is expired is given no more.
select
    r.alias as run,
    t.sequence as turn,
    l.prompt,
    l.answer,
    a.hits,
    case when a.vector is null then 'prompt' else 'meaning' end as is_found_by,
    strftime('%Y-%m-%d %H:%M:%S', a.created_at / 1000.0, 'unixepoch') as made_at,
    a.created_at <= (julianday('now') - 2440587.5) * 86400000 - 1000 * cast(s.value as real) as is_expired
from settings as s
cross join _cached_answers as a
join turns as t on t.id = a.turn_id and t.phase = 'judged'
join loops as l on l.id = t.loop_id
join runs as r on r.id = t.run_id
where s.name = 'cache_seconds' and a.turn_id not in (select u.turn_id from _unservable_answers as u)
order by a.created_at desc;

create view answer_hits as
-- The turns that were answered from the cache, with the turn that gave the answer, as its run was called then, and how
-- near the prompts were (1: the same): select * from answer_hits. They cost 0.
select r.alias as run, t.sequence as turn, h.from_run, h.from_turn, h.similarity
from _answer_hits as h
join turns as t on t.id = h.turn_id
join runs as r on r.id = t.run_id;

-- What is told of the answers that were given again.
create view _event_words__answer_cache as
select
    turn_id,
    cast('answer.cached' as text) as kind,
    cast('turn ' || from_turn || ' of run ' || from_run as text) as words
from _answer_hits;

-- A file from elsewhere brings answers along.
create view _acts__answer_cache as
select 4 as rank, 'cache' as kind, null as run, 'would give ' || count(*) || ' answers again that it brings along' as what
from _cached_answers
having count(*) > 0;

-- doors

-- Look for an answer to the prompt of a turn: insert into _look_for_answer (turn_id, key, embedder, vector). What is found
-- stands in _given_answers; where nothing is, the answer to come is kept by its turn.
create view _look_for_answer as
select turn_id, key, embedder, vector
from _cached_answers
where false;

-- The answer from the cache that was found for a turn.
create view _given_answers as
select h.turn_id, t.response, t.reasoning, t.finish_reason, t.native
from _answer_hits as h
join runs as r on r.alias = h.from_run
join turns as t on t.run_id = r.id and t.sequence = h.from_turn;

create view verb_forget_answers as
-- Empty the cache: insert into verb_forget_answers (run). 'run' is null, or the run whose answers alone are forgotten.
select alias as run
from runs
where false;

-- triggers

create trigger _look_for_answer__look
instead of insert on _look_for_answer
begin
    delete from _cached_answers
    where created_at <= (select h.since from _cache_horizons as h)
        or turn_id in (select all u.turn_id from _unservable_answers as u);
    insert into _answer_hits (turn_id, from_run, from_turn, similarity)
    select new.turn_id, r.alias, f.sequence, f.similarity
    from (
        select
            s.run_id, s.sequence, s.prompt, s.created_at,
            case
                when s.prompt = q.prompt then 1.0
                when s.embedder = new.embedder then vectors_cosine(s.vector, new.vector)
            end as similarity,
            q.prompt as asked
        from _cacheable_turns as q
        cross join _servable_answers as s on s.key = new.key
        where q.turn_id = new.turn_id
        -- a limit keeps SQLite from calling the function more than once
        limit 100000
    ) as f
    join runs as r on r.id = f.run_id
    where f.similarity >= (select cast(value as real) from settings where name = 'cache_similarity')
        and prompts_agree(f.prompt, f.asked)
    order by f.similarity desc, f.created_at desc
    limit 1;
    insert into events (at, run_id, turn_id, kind)
    select now(), t.run_id, t.id, 'answer.cached'
    from _answer_hits as h
    join turns as t on t.id = h.turn_id
    where h.turn_id = new.turn_id;
    update _cached_answers
    set hits = hits + 1
    where turn_id = (
            select t.id
            from _answer_hits as h
            join runs as r on r.alias = h.from_run
            join turns as t on t.run_id = r.id and t.sequence = h.from_turn
            where h.turn_id = new.turn_id
        );
    update model_calls
    set message = (
        select 'from the cache: turn ' || h.from_turn || ' of run ' || h.from_run || ', similarity '
            || round(h.similarity, 3)
        from _answer_hits as h
        where h.turn_id = new.turn_id
    )
    where turn_id = new.turn_id and state = 'open'
        and exists (select 1 from _answer_hits as h where h.turn_id = new.turn_id);
    insert into _cached_answers (turn_id, key, embedder, vector, created_at)
    select new.turn_id, new.key, new.embedder, new.vector, now()
    where not exists (select 1 from _answer_hits as h where h.turn_id = new.turn_id)
    on conflict (turn_id) do update set key = excluded.key, created_at = excluded.created_at;
    delete from _cached_answers
    where turn_id in (
            select all a.turn_id
            from _cached_answers as a
            order by a.created_at desc, a.turn_id desc
            limit -1 offset (select cast(value as integer) from settings where name = 'cache_answers')
        );
end;

create trigger verb_forget_answers__forget
instead of insert on verb_forget_answers
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where new.run is not null and new.run not in (select alias from runs);
    delete from _cached_answers
    where new.run is null
        or turn_id in (
            select t.id from turns as t join runs as r on r.id = t.run_id where r.alias = new.run
        );
end;
