-- The life of a run, told in entries: set run://alias starts, prompts, configures, forks and cancels.
-- A body is a prompt and opens a loop; attributes configure; state 'cancelled' aborts the active loop, what is queued stays.
-- spec: @runs_are_entries @fork @abort @personas

-- tables

create table if not exists personas (
    name text primary key,
    body text not null
) strict, without rowid;

-- views

-- Make sure that a run is there: insert into run_openings (alias, attributes). A fork takes its parent's views along.
create view run_openings as
select alias, null as attributes
from runs;

-- Take a parent's views along: insert into run_forks (run_id, parent_run_id, forked_at, clock). The clock is that of the
-- past turn that is forked, null for the present.
create view run_forks as
select id as run_id, parent_run_id, forked_at, null as clock
from runs
where false;

-- Stop what a run is doing: insert into run_aborts (run_id, reason).
create view run_aborts as
select id as run_id, null as reason
from runs
where false;

-- Commands being performed; an insert performs one.
create view performing_set_run as
select *
from commands
where state = 'performing' and action = 'set' and path_scheme(path) = 'run';

-- triggers

create trigger run_openings__open
instead of insert on run_openings
when not exists (select 1 from runs where alias = new.alias)
begin
    insert into option_checks (run, attributes) values (new.alias, new.attributes);
    select fail(404, 'run ' || quote(json_extract(new.attributes, '$.fork')) || ': there is no such run to fork')
    where json_extract(new.attributes, '$.fork') is not null
        and not exists (select 1 from runs where alias = json_extract(new.attributes, '$.fork'));
    select fail(400, 'run ' || new.alias || ': at is a turn of the run that is forked; name that one with fork')
    where json_extract(new.attributes, '$.at') is not null and json_extract(new.attributes, '$.fork') is null;
    select fail(404, 'run ' || r.alias || ': has no turn ' || json_extract(new.attributes, '$.at') || '; its last is '
        || (r.next_turn - 1))
    from runs as r
    where r.alias = json_extract(new.attributes, '$.fork')
        and json_extract(new.attributes, '$.at') is not null
        and not exists (
            select 1
            from past_turns as t
            where t.run_id = r.id and t.turn = json_extract(new.attributes, '$.at') and t.seen_at is not null
        );
    insert into projects (name, root, created_at)
    select
        coalesce(json_extract(new.attributes, '$.project'), json_extract(new.attributes, '$.root'), 'default'),
        json_extract(new.attributes, '$.root'),
        now()
    where json_extract(new.attributes, '$.fork') is null
        and not exists (
            select 1
            from projects
            where root is json_extract(new.attributes, '$.root')
                and (json_extract(new.attributes, '$.project') is null or name = json_extract(new.attributes, '$.project'))
        )
    on conflict do nothing;
    insert into runs (
        project_id, parent_run_id, forked_at, alias, model, persona, temperature, context_limit, next_turn, created_at,
        updated_at
    )
    select
        coalesce(
            p.project_id,
            (select id from projects where name = json_extract(new.attributes, '$.project')),
            (select id from projects where root is json_extract(new.attributes, '$.root') order by id limit 1)
        ),
        p.id,
        case when p.id is not null then coalesce(json_extract(new.attributes, '$.at'), p.next_turn) end,
        new.alias,
        coalesce(json_extract(new.attributes, '$.model'), p.model),
        coalesce(
            json_extract(new.attributes, '$.persona'), p.persona,
            (select value from settings where name = 'persona'), 'default'
        ),
        coalesce(json_extract(new.attributes, '$.temperature'), p.temperature),
        coalesce(json_extract(new.attributes, '$.context_limit'), p.context_limit),
        coalesce(json_extract(new.attributes, '$.at'), p.next_turn, 1),
        now(),
        now()
    from (select 1)
    -- a turn that the run which is named inherited is forked from the run that took it
    left join runs as p
        on p.id = coalesce(
            (
                select t.source_id
                from past_turns as t
                where t.run = json_extract(new.attributes, '$.fork') and t.turn = json_extract(new.attributes, '$.at')
            ),
            (select id from runs where alias = json_extract(new.attributes, '$.fork'))
        );
    insert into run_forks (run_id, parent_run_id, forked_at, clock)
    select
        r.id, r.parent_run_id, r.forked_at,
        (
            select t.seen_at
            from turns as t
            where t.run_id = p.id and t.sequence = r.forked_at and r.forked_at <> p.next_turn
        )
    from runs as r
    join runs as p on p.id = r.parent_run_id
    where r.alias = new.alias;
end;

-- A fork pins what its parent had pinned: no body is copied, and neither side's write is seen by the other. Its views are
-- the parent's as they are or, from a past turn, as they were when the packet of that turn was assembled. They keep the
-- clock of their beginning and their place, so that the fork's packet is the parent's. A file that is gone since has no head
-- to follow. What the parent has under way nobody finishes.
create trigger run_forks__copy_views
instead of insert on run_forks
begin
    insert into events (at, run_id, kind, detail)
    select now(), new.run_id, 'run.forked', json_object('parent', alias, 'at', new.forked_at)
    from runs
    where id = new.parent_run_id;
    insert into run_views (
        run_id, entry_id, content_id, label_id, visibility, state, outcome, writer, loop_id, turn, touched, write_count,
        since, placed
    )
    select
        new.run_id, v.entry_id, v.content_id, v.label_id, v.visibility,
        case when v.open then 'cancelled' else v.state end,
        case when v.open then 'interrupted' else v.outcome end,
        v.writer, null, v.turn,
        case
            when v.touched < new.forked_at then v.touched
            else coalesce(
                (
                    select max(p.turn)
                    from run_view_touches as p
                    where p.run_id = v.run_id and p.entry_id = v.entry_id and p.turn < new.forked_at
                ), v.turn
            )
        end,
        v.write_count,
        case when v.open then (select max(id) from events) else v.since end,
        v.placed
    from (
        select *, state in ('streaming', 'proposed') as open
        from run_views
        where run_id = new.parent_run_id and since <= coalesce(new.clock, since)
        union all
        select
            h.run_id, h.entry_id, h.content_id, h.label_id, h.visibility, h.state, h.outcome, 'system', null,
            coalesce(h.placed, case when h.visibility <> 'archived' then h.began end), h.turn, coalesce(h.touched, h.turn),
            1, h.began, h.state in ('streaming', 'proposed')
        from run_scopes as l
        cross join entries as e on e.scope = l.scope
        cross join run_view_versions as h
            on h.run_id = new.parent_run_id and h.entry_id = e.id and h.began <= new.clock and h.ended > new.clock
        where new.clock is not null
            and l.run_id = new.parent_run_id
            and (e.attributes is null or json_extract(e.attributes, '$.kind') is not 'missing')
    ) as v
    order by 2;
    insert into view_labels (run_id, entry_id)
    select run_id, entry_id
    from run_views
    where run_id = new.run_id and state = 'cancelled' and outcome = 'interrupted';
end;

create trigger run_aborts__abort
instead of insert on run_aborts
begin
    update leases
    set aborted = 1
    where run_id = new.run_id;
    update commands
    set state = 'cancelled', outcome = 'cancelled', message = coalesce(message, 'Cancelled: the loop was aborted.')
    where run_id = new.run_id and state in ('queued', 'performing', 'proposed', 'accepting', 'accepted');
    update proposals
    set state = 'cancelled', outcome = 'cancelled', decided_at = now()
    where run_id = new.run_id and state in ('proposed', 'accepting', 'accepted');
    insert into effect_results (effect_id, state, outcome, message, lease)
    select f.id, 'cancelled', 'cancelled', 'the loop was aborted', (select token from leases where run_id = f.run_id)
    from effects as f
    where f.run_id = new.run_id and f.state in ('pending', 'started');
    update turns
    set phase = 'judged', status = 499, ended_at = now()
    where run_id = new.run_id and phase <> 'judged';
    update loops
    set status = 499, reason = coalesce(new.reason, 'aborted')
    where run_id = new.run_id and status = 102;
    update runs
    set status = 499
    where id = new.run_id and status <> 499;
end;

create trigger commands__perform_set_run
after update of state on commands
when new.state = 'performing' and new.action = 'set' and path_scheme(new.path) = 'run'
begin
    insert into performing_set_run
    select *
    from commands
    where id = new.id;
end;

create trigger performing_set_run__perform
instead of insert on performing_set_run
begin
    insert into option_checks (run, attributes)
    select alias, coalesce(json_extract(new.attributes, '$.attributes'), '{}')
    from runs
    where id = new.run_id;
    select fail(400, 'run://' || (select alias from runs where id = new.run_id) || ': mode is ask or act')
    where json_extract(new.attributes, '$.attributes.mode') not in (select name from modes);
    select fail(
        404,
        'persona ' || quote(json_extract(new.attributes, '$.attributes.persona'))
        || ': there is none of that name; there are ' || (select group_concat(name, ', ') from personas)
    )
    where json_extract(new.attributes, '$.attributes.persona') is not null
        and json_extract(new.attributes, '$.attributes.persona') not in (select name from personas);
    update runs
    set model = coalesce(json_extract(new.attributes, '$.attributes.model'), model),
        temperature = coalesce(json_extract(new.attributes, '$.attributes.temperature'), temperature),
        context_limit = coalesce(json_extract(new.attributes, '$.attributes.context_limit'), context_limit),
        persona = coalesce(json_extract(new.attributes, '$.attributes.persona'), persona),
        updated_at = now()
    where id = new.run_id and json_extract(new.attributes, '$.attributes') is not null;
    insert into run_aborts (run_id, reason)
    select new.run_id, json_extract(new.attributes, '$.outcome')
    where json_extract(new.attributes, '$.state') = 'cancelled';
    insert into loops (run_id, sequence, mode, model, prompt, config, created_at)
    select
        r.id,
        r.next_loop,
        coalesce(json_extract(new.attributes, '$.attributes.mode'), 'act'),
        coalesce(json_extract(new.attributes, '$.attributes.model'), r.model),
        new.body,
        (
            select coalesce(json_group_object(f.key, f.value), '{}')
            from json_each(coalesce(json_extract(new.attributes, '$.attributes'), '{}')) as f
            where f.key in (select name from run_options where scope = 'loop')
        ),
        now()
    from runs as r
    where r.id = new.run_id and new.body is not null;
    update runs
    set next_loop = next_loop + 1
    where id = new.run_id and new.body is not null;
    update commands
    set state = 'resolved', message = ''
    where id = new.id and state = 'performing';
end;
