-- Version 4: many hands: runs that do a part of another run's work, criteria of acceptance, plans and other relations,
-- workflows, and behavioural threads.
-- spec: @rebuild @runs_table

alter table runs add column role text not null default 'main'
    constraint runs_role check (role in ('main', 'subtask', 'execute', 'judge', 'workflow', 'step'));

alter table runs add column depth integer not null default 0 constraint runs_depth check (depth >= 0);

-- delegation

-- acceptance

-- relations and plans

-- workflows

-- behavioural threads

-- knowledge

create table tool_narrowings (
    loop_id integer primary key constraint tool_narrowings_loop references loops (id) on delete cascade,
    -- 0: nothing was found for the prompt, so all are told
    is_narrowed integer not null constraint tool_narrowings_is_narrowed_flag check (is_narrowed in (0, 1)),
    -- how many tools were told besides the core at most
    most integer not null,
    -- what compared meanings; null: words alone were searched
    embedder text
) strict;

create table _tool_choices (
    loop_id integer not null
        constraint tool_choices_loop references tool_narrowings (loop_id) on delete cascade,
    name text not null,
    -- core: by the setting; used: the run called it before; found: the prompt needs it; null: it is left out
    why text constraint tool_choices_why check (why in ('core', 'used', 'found')),
    -- how well it was found, and by which rankers
    score real,
    found_by text,
    primary key (loop_id, name)
) strict, without rowid;

create table _cached_answers (
    turn_id integer primary key constraint cached_answers_turn references turns (id) on delete cascade,
    -- SHA-256 of its model and of its packet without the prompt
    key blob not null,
    -- what made the vector of its prompt, and that; null: it is found by the same prompt alone
    embedder text,
    vector blob,
    hits integer not null default 0,
    created_at integer not null
) strict;

create index idx_cached_answers_key on _cached_answers (key);

create table _answer_hits (
    turn_id integer primary key constraint answer_hits_turn references turns (id) on delete cascade,
    from_run text not null,
    from_turn integer not null,
    similarity real not null
) strict;

-- texts that were read before have one piece each: they are read anew
alter table search_texts add column line integer not null default 1;

insert into text_search (text_search) values ('delete-all');

delete from search_texts;

delete from text_vectors;

update _search_clock set at = -1, embedder = null;

-- the outside world
