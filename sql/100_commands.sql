-- Commands: the one door. Whatever anybody asks of the engine is a row here.
-- A command of the model is recorded with its turn and performed when the turn is dispatched; one of a client, a plugin or
-- the system is performed at once. A command is refused, performed, or waits for a decision or an effect; the model reads
-- how it went at log://turn_N/action/slug. To add a tool: a row in tools and a trigger on commands that go to 'performing'.
-- spec: @commands @dispatch_path @failure_reporting

-- tables

create table if not exists commands (
    id integer primary key,
    -- chosen by the caller; the same one again is the same command
    request_id text,
    run_id integer not null constraint commands_run references runs (id) on delete cascade,
    loop_id integer,
    turn_id integer constraint commands_turn references turns (id) on delete cascade,
    ordinal integer not null default 0,
    writer text not null constraint commands_writer references writer_tiers (name),
    action text not null,
    path text,
    destination text,
    body text,
    -- where a long body stands in the response, once its turn is judged and 'body' is given up; see command_bodies
    body_at integer,
    body_chars integer,
    attributes text not null default '{}' constraint commands_attributes_json check (json_valid(attributes)),
    state text not null default 'queued' constraint commands_state references states (name),
    outcome text,
    -- what came of it, for people and for the model
    message text,
    -- where the model reads it
    log_path text,
    -- 1: kept out of the model's view
    quiet integer not null default 0,
    created_at integer not null default 0
) strict;

create index if not exists idx_commands_turn_id_ordinal on commands (turn_id, ordinal);
create unique index if not exists idx_commands_request_id on commands (request_id) where request_id is not null;
create index if not exists idx_commands_unfinished on commands (turn_id)
where state in ('performing', 'proposed', 'accepting', 'accepted');
create index if not exists idx_commands_failed on commands (turn_id) where state in ('failed', 'cancelled');

-- The entries that a command works on, while it works.
create table if not exists command_targets (
    command_id integer not null,
    entry_id integer not null,
    path text not null,
    primary key (command_id, entry_id)
) strict, without rowid;

-- Commands that a plugin forbids: its trigger 'after insert on commands' adds a row, and the command is refused when its
-- turn comes.
create table if not exists vetoes (
    command_id integer primary key constraint vetoes_command references commands (id) on delete cascade,
    outcome text not null default 'permission' constraint vetoes_outcome references outcomes (name),
    message text not null
) strict;

-- views

-- Why a command may not be performed, judged when its turn comes; the least rank is told.
create view command_refusals as
select v.command_id, 5 as rank, v.outcome, v.message
from vetoes as v
union all
select c.id, 10, 'validation',
    'There is no tool <' || c.action || '>. Tools: ' || (
        select group_concat(name, ', ') from (select name from loop_tools where loop_id = c.loop_id order by ordinal)
    ) || '.'
from commands as c
where c.writer = 'model' and c.action not in (select name from tools)
union all
select c.id, 15, 'permission', 'The tool <' || c.action || '> is not open in this loop (mode ' || l.mode || ').'
from commands as c
join loops as l on l.id = c.loop_id
where c.writer = 'model'
    and c.action in (select name from tools)
    and c.action not in (select name from loop_tools where loop_id = c.loop_id)
union all
select c.id, 20, 'validation', 'Invalid path: ' || coalesce(path_error(c.path), path_error(c.destination))
from commands as c
where coalesce(path_error(c.path), path_error(c.destination)) is not null
    and c.action in ('get', 'set', 'rm', 'cp', 'mv')
union all
-- what only reads is never refused; what writes needs a scheme that is writable by its writer
select c.id, 30, 'permission',
    '403: writer "' || c.writer || '" not permitted for scheme "' || coalesce(path_scheme(w.path), 'file') || '"'
from commands as c
join (
    select id, path from commands where action in ('set', 'rm', 'mv')
    union all
    select id, destination from commands where action in ('cp', 'mv') and destination is not null
) as w on w.id = c.id
where w.path is not null
    and not path_is_pattern(w.path)
    and not exists (
        select 1
        from scheme_writers as sw
        where sw.writer = c.writer
            and sw.scheme = coalesce(
                (select name from schemes where name = coalesce(path_scheme(w.path), 'file')), '*'
            )
    )
    -- a state change on a proposed entry is a decision, open to every client
    and not (c.writer <> 'model' and json_extract(c.attributes, '$.state') is not null
        and exists (select 1 from proposals as p where p.run_id = c.run_id and p.path = w.path))
union all
select c.id, 25, 'method_not_allowed', 'log:// is a record and cannot be rewritten; keep what you learned in known://.'
from commands as c
where c.writer in ('model', 'client')
    and (
        (c.action = 'set' and path_scheme(c.path) = 'log' and c.body is not null)
        or (c.action in ('cp', 'mv') and path_scheme(c.destination) = 'log')
    )
    -- the text of a decision is no text of the record
    and not (c.writer = 'client' and json_extract(c.attributes, '$.state') is not null
        and exists (select 1 from proposals as p where p.run_id = c.run_id and p.path = c.path))
union all
select c.id, 35, 'repeated',
    'Refused: this loop ran it ' || case s.value when '1' then 'once' when '2' then 'twice' else s.value || ' times' end
    || ' already, once more tells nothing new. Read what it printed, or run something else.'
from commands as c
cross join settings as s on s.name = 'max_repeated_commands' and cast(s.value as integer) > 0
where c.writer = 'model'
    and c.action in ('sh', 'env')
    and (
        select count(*)
        from turns as t
        cross join commands as o on o.turn_id = t.id
        where t.loop_id = c.loop_id
            and o.id < c.id
            and o.action in ('sh', 'env')
            and coalesce(o.outcome, '') not in ('aborted', 'rejected', 'cancelled', 'permission', 'validation')
            and trim((select b.body from command_bodies as b where b.command_id = o.id), char(32, 9, 10, 13))
            = trim(c.body, char(32, 9, 10, 13))
    ) >= cast(s.value as integer)
union all
select c.id, 40, 'permission', 'Rejected: ask mode changes no file (' || coalesce(c.destination, c.path, 'a patch') || ').'
from commands as c
join loops as l on l.id = c.loop_id
where c.writer = 'model'
    and l.mode = 'ask'
    and (
        (c.action = 'set' and path_scheme(c.path) is null and c.body is not null
            and json_extract(c.attributes, '$.manifest') is null)
        or (c.action in ('rm', 'mv') and path_scheme(c.path) is null
            and not (c.action = 'mv' and c.destination is null)
            and json_extract(c.attributes, '$.manifest') is null)
        or (c.action in ('cp', 'mv') and c.destination is not null and path_scheme(c.destination) is null
            and json_extract(c.attributes, '$.manifest') is null)
    );

create view command_bodies as
-- The body of every command, wherever it is kept.
select
    c.id as command_id,
    coalesce(c.body, substr(t.response, c.body_at, c.body_chars)) as body
from commands as c
left join turns as t on t.id = c.turn_id;

create view command_results as
-- What came of each command: select * from command_results where request_id = 'mine'.
select
    r.alias as run,
    c.id as command_id,
    c.request_id,
    t.sequence as turn,
    c.ordinal,
    c.writer,
    c.action,
    c.path,
    c.destination,
    c.state,
    c.outcome,
    coalesce(
        st.status,
        case when c.outcome like 'status:%' then cast(substr(c.outcome, 8) as integer) end,
        (select o.status from outcomes as o where o.name = substr(c.outcome, 1, instr(c.outcome || ':', ':') - 1)),
        500
    ) as status,
    c.message
from commands as c
join runs as r on r.id = c.run_id
join states as st on st.name = c.state
left join turns as t on t.id = c.turn_id;

-- Whether a command's path means many entries: it has the shape of a pattern and no entry is called just that.
create view command_patterns as
select
    c.id as command_id,
    coalesce(
        json_extract(c.attributes, '$.pattern'),
        path_is_pattern(c.path)
        and not exists (select 1 from run_paths as p where p.run_id = c.run_id and p.path = c.path),
        1
    ) as is_pattern,
    -- the text that a body must hold
    case
        when c.action in ('get', 'rm') and c.path is not null then nullif(c.body, '')
        else json_extract(c.attributes, '$.filter')
    end as filter
from commands as c;

-- Patterns that could not be used: what is wrong is told instead of "nothing there", and nothing is done by halves. A query
-- that is not valid may still be a plain text that was found.
create view pattern_faults as
select command_id, message
from (
    select
        s.command_id,
        coalesce(
            case when s.is_pattern then pattern_error(c.path) end,
            case
                when pattern_kind(s.filter) not in ('jsonpath', 'xpath')
                    or not exists (select 1 from command_targets as t where t.command_id = c.id)
                    then pattern_error(s.filter)
            end
        ) as message
    from command_patterns as s
    join commands as c on c.id = s.command_id
    where c.action in ('get', 'set', 'rm', 'cp', 'mv') and (s.is_pattern or s.filter is not null)
)
where message is not null;

-- A command's entries, one a line, with what each costs; for listings.
create view target_lines as
select
    t.command_id,
    t.path,
    '* ' || t.path || ' - ' || coalesce(
        (select u.short from unreadable_entries as u where c.id is null and u.entry_id = t.entry_id),
        token_estimate(c.chars, v.divisor) || ' tokens'
    ) as line
from command_targets as t
join commands as m on m.id = t.command_id
left join loops as v on v.id = m.loop_id
join run_views as w on w.run_id = m.run_id and w.entry_id = t.entry_id
join entries as e on e.id = t.entry_id
left join contents as c on c.id = coalesce(w.content_id, e.content_id)
order by t.command_id, t.path;

-- The same as one text, with their number.
create view target_listings as
select
    m.id as command_id,
    (select count(*) from command_targets as t where t.command_id = m.id) || ' matched' || coalesce(
        char(10) || (select group_concat(line, char(10)) from (select line from target_lines where command_id = m.id)), ''
    ) as listing
from commands as m;

-- Find the entries that a command is about: insert into target_finds (command_id).
create view target_finds as
select command_id
from command_targets;

-- Perform a command at once: insert into performances (command_id, action, path). A large body stands behind a view, because
-- SQLite sets up the whole of a trigger's program before it looks at its condition.
create view performances as
select id as command_id, action, path
from commands
where false;

-- Refuse a command: insert into refused_commands (command_id, outcome, message).
create view refused_commands as
select id as command_id, outcome, message
from commands
where false;

-- Perform one recorded command: insert into command_steps (command_id, turn_id).
create view command_steps as
select id as command_id, turn_id
from commands
where state = 'queued';

-- triggers

-- Where the model will read it: log://turn_N/action/slug, numbered when taken.
create trigger commands__name_the_log
after insert on commands
when new.turn_id is not null and new.log_path is null
begin
    update commands
    set log_path = (
        select
            p.path || case
                when exists (select 1 from commands as o where o.turn_id = new.turn_id and o.log_path = p.path)
                    then '_' || new.ordinal
                else ''
            end
        from (
            select log_path(t.sequence, new.action, coalesce(new.path, new.body)) as path
            from turns as t
            where t.id = new.turn_id
        ) as p
    )
    where id = new.id;
end;

-- A command that comes from outside a turn is performed at once, or refused with nothing left behind.
create trigger commands__perform_now
after insert on commands
when new.turn_id is null and new.state = 'queued'
begin
    insert into performances (command_id, action, path) values (new.id, new.action, new.path);
end;

create trigger performances__perform
instead of insert on performances
begin
    select fail(
        (select status from outcomes where name = r.outcome),
        new.action || ' ' || coalesce(new.path, '') || ': ' || r.message
    )
    from command_refusals as r
    where r.command_id = new.command_id
    order by r.rank
    limit 1;
    insert into target_finds (command_id) values (new.command_id);
    select fail(400, new.action || ' ' || coalesce(new.path, '') || ': ' || f.message)
    from pattern_faults as f
    where f.command_id = new.command_id;
    update commands
    set state = 'performing'
    where id = new.command_id and state = 'queued';
    update commands
    set state = 'failed', outcome = 'validation', message = 'no rule performs it'
    where id = new.command_id and state = 'performing';
end;

-- What an app asked for wrongly is an error that leaves nothing; every other end is read from command_results.
create trigger commands__raise_to_the_app
after update of state on commands
when new.turn_id is null
    and new.state = 'failed'
    and old.state = 'performing'
    and new.outcome in ('validation', 'permission', 'method_not_allowed')
begin
    select fail(
        (select status from outcomes where name = new.outcome),
        new.action || ' ' || coalesce(new.path, '') || ': ' || new.message
    );
end;

create trigger target_finds__fill
instead of insert on target_finds
begin
    insert into command_targets (command_id, entry_id, path)
    select c.id, p.entry_id, p.path
    from commands as c
    join command_patterns as s on s.command_id = c.id
    join run_paths as p on p.run_id = c.run_id and p.path = c.path
    where c.id = new.command_id
        and c.action in ('get', 'set', 'rm', 'cp', 'mv')
        and not s.is_pattern
        and (
            s.filter is null
            or pattern_search(
                s.filter, (select b.body from entry_bodies as b where b.run_id = c.run_id and b.entry_id = p.entry_id)
            ) > 0
        );
    insert into command_targets (command_id, entry_id, path)
    select c.id, e.id, e.path
    from commands as c
    join command_patterns as s on s.command_id = c.id and s.is_pattern
    cross join run_scopes as l on l.run_id = c.run_id
    cross join entries as e
        on e.scope = l.scope
        and e.path >= coalesce(pattern_prefix(c.path), '')
        and e.path < coalesce(pattern_prefix(c.path), '') || char(1114111)
    cross join run_views as v on v.run_id = c.run_id and v.entry_id = e.id
    join schemes as k on k.name = e.kind and k.model_visible
    left join contents as b on b.id = coalesce(v.content_id, e.content_id)
    where c.id = new.command_id
        and c.action in ('get', 'set', 'rm', 'cp', 'mv')
        and (c.path is not null or json_extract(c.attributes, '$.tags') is not null)
        and (c.path is null or (path_scheme(c.path) is e.scheme and pattern_match(c.path, e.path)))
        and (s.filter is null or pattern_search(s.filter, b.body) > 0)
        and (
            c.action <> 'get'
            or json_extract(c.attributes, '$.tags') is null
            or tags_match(
                json_extract(c.attributes, '$.tags'),
                json_extract(coalesce((select attributes from labels where id = v.label_id), e.attributes), '$.tags')
            )
        );
    insert into refused_commands (command_id, outcome, message)
    select command_id, 'validation', message
    from pattern_faults
    where command_id = new.command_id;
    -- a manifest lists and changes nothing, whatever the action
    update commands
    set state = 'resolved',
        message = 'MANIFEST ' || action || ' path="' || coalesce(path, '**') || '"'
            || coalesce((select ' filter="' || filter || '"' from command_patterns where command_id = commands.id), '')
            || ': '
            || (select listing from target_listings where command_id = commands.id)
    where id = new.command_id and state = 'queued' and json_extract(attributes, '$.manifest') is not null;
end;

create trigger refused_commands__refuse
instead of insert on refused_commands
begin
    update commands
    set state = 'failed', outcome = new.outcome, message = new.message
    where id = new.command_id;
end;

-- One command of a turn: aborted after a failure, refused, or performed. An update is heard in any case.
create trigger command_steps__perform
instead of insert on command_steps
when not exists (
        select 1
        from commands
        where turn_id = new.turn_id and state in ('performing', 'proposed', 'accepting', 'accepted')
    )
begin
    update commands
    set state = 'failed',
        outcome = 'aborted',
        message = 'Aborted: the <' || (
            select f.action
            from commands as f
            where f.turn_id = new.turn_id and f.state in ('failed', 'cancelled')
            order by f.ordinal
            limit 1
        ) || '> before it failed.'
    where id = new.command_id
        and state = 'queued'
        and action <> 'update'
        and exists (
            select 1 from commands as f where f.turn_id = new.turn_id and f.state in ('failed', 'cancelled')
        );
    insert into refused_commands (command_id, outcome, message)
    select r.command_id, r.outcome, r.message
    from command_refusals as r
    where r.command_id = (select id from commands where id = new.command_id and state = 'queued')
    order by r.rank
    limit 1;
    insert into target_finds (command_id)
    select id
    from commands
    where id = new.command_id and state = 'queued' and action in ('get', 'set', 'rm', 'cp', 'mv');
    update commands
    set state = 'performing'
    where id = new.command_id and state = 'queued';
    -- a tool whose plugin is gone
    update commands
    set state = 'failed', outcome = 'error', message = 'No rule performs <' || action || '>.'
    where id = new.command_id and state = 'performing';
end;

-- What came of a command is written where the model reads it. A proposal is there too, and hidden while it is open.
create trigger commands__write_the_log
after update of state on commands
when new.state in ('proposed', 'resolved', 'failed', 'cancelled')
    and new.state <> old.state
    and new.turn_id is not null
    and new.log_path is not null
begin
    insert into entry_writes (run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id)
    select
        new.run_id,
        new.log_path,
        coalesce(new.message, ''),
        json_patch(
            json_object('action', new.action, 'target', coalesce(new.path, substr(new.body, 1, 120))),
            json_object(
                'tags', json_extract(new.attributes, '$.tags'),
                'to', new.destination,
                'status', case new.action when 'update' then json_extract(new.attributes, '$.status') end
            )
        ),
        case when new.quiet then 'archived' else 'visible' end,
        new.state,
        new.outcome,
        'system',
        t.sequence,
        new.loop_id
    from turns as t
    where t.id = new.turn_id;
    delete from command_targets
    where command_id = new.id;
end;

-- A command from outside a turn has no log; what it worked on is forgotten all the same.
create trigger commands__forget_targets
after update of state on commands
when new.turn_id is null and new.state in ('resolved', 'failed', 'cancelled') and new.state <> old.state
begin
    delete from command_targets
    where command_id = new.id;
end;

-- A request that was made before is the same command: nothing is done again.
create trigger commands__forget_repeats
before insert on commands
when new.request_id is not null and exists (select 1 from commands where request_id = new.request_id)
begin
    select raise(ignore);
end;
