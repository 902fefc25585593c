-- The life of a run: set run://alias starts, prompts, configures, forks and aborts it.
-- The body of such a set is a prompt and opens a loop; its attributes are options of the run and the loop; state
-- 'cancelled' aborts the active loop and leaves the queue.
-- spec: @runs_are_entries @fork @abort @personas

-- tables

-- The personas that a run can name; the body is a part of its system text.
create table if not exists personas (
    name text primary key,
    body text not null,
    -- engine: it comes with the engine, and a rebuild updates it; own: a person added it
    origin text not null default 'engine' constraint personas_origin check (origin in ('engine', 'own'))
) strict, without rowid;

-- views

-- Make a run unless there is one of that name: insert into _ensure_run (alias, attributes, role). With the attribute 'fork'
-- it starts with the views of its parent.
create view _ensure_run as
select alias, null as attributes, role
from runs
where false;

-- Give a new run the views of its parent: insert into _copy_views (run_id, parent_run_id, forked_at, clock). 'clock' is
-- that of the past turn from which it is forked; null: the present.
create view _copy_views as
select id as run_id, parent_run_id, forked_at, null as clock
from runs
where false;

-- Do what a 'set run://…' asks for: insert a row of commands. It prompts, configures or aborts the run.
create view _steer_run as
select id, run_id, attributes, body
from commands
where false;

-- Abort what a run is doing: insert into _abort_run (run_id, reason). Queued loops stay queued, those of a child excepted.
create view _abort_run as
select id as run_id, null as reason
from runs
where false;

-- triggers

-- Check the options; then make the project where it is new, the run, its scopes and the views that it inherits.
create trigger _ensure_run__ensure
instead of insert on _ensure_run
when not exists (select 1 from runs where alias = new.alias)
begin
    insert into _check_options (run, attributes) values (new.alias, new.attributes);
    select fail(404, 'run ' || quote(json_extract(new.attributes, '$.fork'))
        || ': there is no such run, so it cannot be forked; see ''engine runs''')
    where json_extract(new.attributes, '$.fork') is not null
        and not exists (select 1 from runs where alias = json_extract(new.attributes, '$.fork'));
    select fail(400, 'run ' || new.alias || ': the option at needs the option fork, which names the run to copy')
    where json_extract(new.attributes, '$.at') is not null and json_extract(new.attributes, '$.fork') is null;
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
                and name = coalesce(json_extract(new.attributes, '$.project'), name)
        )
    on conflict do nothing;
    insert into runs (
        project_id, parent_run_id, forked_at, alias, model, persona, temperature, context_limit, next_turn, created_at,
        updated_at, system_prompt, role, depth, effort
    )
    select
        coalesce(
            p.project_id,
            (select id from projects where name = json_extract(new.attributes, '$.project')),
            (select id from projects where root is json_extract(new.attributes, '$.root') order by id limit 1),
            -- a fork of a turn that is not there is refused below
            (select project_id from runs where alias = json_extract(new.attributes, '$.fork'))
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
        now(),
        coalesce(json_extract(new.attributes, '$.system_prompt'), p.system_prompt),
        new.role,
        -- a run that stands for another one of its tree stands at its place
        case when new.role = 'main' then 0 else coalesce(p.depth, 0) end,
        coalesce(json_extract(new.attributes, '$.effort'), p.effort)
    from (select 1)
    -- fork from the ancestor that owns the turn, where the named run inherited it
    left join runs as p
        on p.id = case
            when json_extract(new.attributes, '$.at') is null
                then (select id from runs where alias = json_extract(new.attributes, '$.fork'))
            else (
                select t.source_id
                from past_turns as t
                where t.run = json_extract(new.attributes, '$.fork')
                    and t.turn = json_extract(new.attributes, '$.at')
                    and t.seen_at is not null
            )
        end;
    select fail(404, 'run ' || p.alias || ': has no turn ' || json_extract(new.attributes, '$.at')
        || '; its last turn is ' || (p.next_turn - 1))
    from runs as p
    join runs as r on r.alias = new.alias and r.parent_run_id is null
    where p.alias = json_extract(new.attributes, '$.fork');
    insert into _register_run (run_id)
    select id
    from runs
    where alias = new.alias;
    insert into _late_call (door, a, b, c, d)
    select
        '_copy_views', r.id, r.parent_run_id, r.forked_at,
        (
            select t.seen_at
            from turns as t
            where t.run_id = p.id and t.sequence = r.forked_at and r.forked_at <> p.next_turn
        )
    from runs as r
    join runs as p on p.id = r.parent_run_id
    where r.alias = new.alias;
end;

-- A fork also looks paths up in the scopes of its parent. It pins the contents that its parent had pinned: no body is
-- copied, and neither run sees what the other writes.
-- The views are those of the present or, for a past turn, those of the clock when the packet of that turn was accepted.
-- They keep their clock and their place, so that the packet of the fork is that of the parent. A file that was deleted
-- since is left out, because it has no head to follow. What is streaming or proposed in the parent is cancelled in the
-- fork, because nobody would finish it.
create trigger _copy_views__copy
instead of insert on _copy_views
begin
    insert into run_scopes (run_id, scope, kind)
    select new.run_id, scope, 'inherited'
    from run_scopes
    where run_id = new.parent_run_id and kind in ('run', 'inherited');
    insert into events (at, run_id, kind, detail)
    select now(), new.run_id, 'run.forked', json_object('parent', alias, 'at', new.forked_at)
    from runs
    where id = new.parent_run_id;
    insert into run_views (
        run_id, entry_id, content_id, metadata_id, visibility, state, outcome, writer, loop_id, turn, last_used_turn,
        write_count, since, context_order, picture_chars
    )
    select
        new.run_id, v.entry_id, v.content_id, v.metadata_id, v.visibility,
        case when v.open then 'cancelled' else v.state end,
        case when v.open then 'interrupted' else v.outcome end,
        v.writer, null, v.turn,
        case
            when v.last_used_turn < new.forked_at then v.last_used_turn
            else coalesce(
                (
                    select max(p.turn)
                    from run_view_uses as p
                    where p.run_id = v.run_id and p.entry_id = v.entry_id and p.turn < new.forked_at
                ), v.turn
            )
        end,
        v.write_count,
        case when v.open then (select max(id) from events) else v.since end,
        v.context_order,
        v.picture_chars
    from (
        select *, state in ('streaming', 'proposed') as open
        from run_views
        where run_id = new.parent_run_id and since <= coalesce(new.clock, since)
        union all
        select
            h.run_id, h.entry_id, h.content_id, h.metadata_id, h.visibility, h.state, h.outcome, 'system', null,
            coalesce(h.context_order, case when h.visibility <> 'archived' then h.began end), h.turn,
            coalesce(h.last_used_turn, h.turn), 1, h.began, null,
            h.state in ('streaming', 'proposed')
        from run_scopes as l
        cross join entries as e on e.scope = l.scope
        cross join run_view_versions as h
            on h.run_id = new.parent_run_id and h.entry_id = e.id and h.began <= new.clock and h.ended > new.clock
        where new.clock is not null
            and l.run_id = new.parent_run_id
            and (e.attributes is null or json_extract(e.attributes, '$.kind') is not 'missing')
    ) as v
    order by 2;
    insert into _make_metadata (run_id, entry_id)
    select run_id, entry_id
    from run_views
    where run_id = new.run_id and state = 'cancelled' and outcome = 'interrupted';
    -- a rule that was removed from the view of the parent stays out of that of the fork, by the same rows
    insert into run_view_versions (
        run_id, entry_id, began, ended, content_id, metadata_id, visibility, state, outcome, context_order, turn,
        last_used_turn
    )
    select
        new.run_id, h.entry_id, h.began, h.ended, h.content_id, h.metadata_id, h.visibility, h.state, h.outcome,
        h.context_order, h.turn, h.last_used_turn
    from run_scopes as l
    cross join entries as e on e.scope = l.scope and e.path > 'rule://' and e.path < 'rule:/0'
    cross join run_view_versions as h
        on h.run_id = new.parent_run_id and h.entry_id = e.id and h.ended <= coalesce(new.clock, h.ended)
    where l.run_id = new.parent_run_id
        and not exists (select 1 from run_views as v where v.run_id = new.run_id and v.entry_id = e.id);
end;

-- Cancel the open proposals, commands and effects of the run, then end its open turn and its active loop at 499.
create trigger _abort_run__abort
instead of insert on _abort_run
begin
    update leases
    set aborted = 1
    where run_id = new.run_id;
    update proposals
    set state = 'cancelled', outcome = 'cancelled', decided_at = coalesce(decided_at, now())
    where run_id = new.run_id
        and state in ('proposed', 'accepting', 'accepted')
        and not exists (
            select 1 from _processes_under_way as u where u.run_id = new.run_id and u.proposal_id = proposals.id
        );
    insert into _end_command (command_id, state, outcome, message)
    select
        id, 'cancelled', 'cancelled',
        coalesce(
            message, 'Cancelled: the loop was aborted' || coalesce(' (' || nullif(new.reason, 'aborted') || ')', '') || '.'
        )
    from commands
    where run_id = new.run_id
        and state in ('queued', 'performing', 'proposed', 'accepting', 'accepted')
        -- the record of a process under way is written with its end
        and not exists (
            select 1 from _processes_under_way as u where u.run_id = new.run_id and u.command_id = commands.id
        );
    insert into effect_results (effect_id, state, outcome, message, detail, lease)
    select
        f.id, 'cancelled', 'cancelled',
        case when f.kind <> 'process' or f.started_at is null then 'the loop was aborted' end,
        -- without a null
        json_patch(
            '{}',
            json_object(
                'reason', nullif(new.reason, 'aborted'), 'duration_s', round((now() - f.started_at) / 1000.0, 2)
            )
        ),
        (select token from _effect_leases where effect_id = f.id)
    from effects as f
    where f.run_id = new.run_id and f.state in ('pending', 'started');
    update turns
    set phase = 'judged', status = 499, ended_at = now()
    where run_id = new.run_id and phase <> 'judged';
    insert into _move_loop (loop_id, status, reason)
    select id, 499, coalesce(new.reason, 'aborted')
    from loops
    -- a child that has not begun never will
    where run_id = new.run_id
        and status < 103 and status >= 102 - 2 * exists (select 1 from children where run_id = new.run_id);
    update runs
    set status = 499
    where id = new.run_id;
end;

-- Check the options, configure the run, abort it where the state says so, and queue a loop where there is a body.
create trigger _steer_run__steer
instead of insert on _steer_run
begin
    insert into _check_options (run, attributes)
    select alias, json_extract(new.attributes, '$.attributes')
    from runs
    where id = new.run_id;
    select fail(
        409, 'run ' || r.alias || ': works in ' || case when p.root is null then 'no folder' else quote(p.root) end
        || ', and the folder of a run cannot change; start a new run in the other folder'
    )
    from runs as r
    join projects as p on p.id = r.project_id
    where r.id = new.run_id
        and json_extract(new.attributes, '$.attributes.root') <> coalesce(p.root, 0);
    select fail(
        400, 'run ' || r.alias || ': ' || o.name || ' needs a folder, but this run has no folder; start a run with a root'
    )
    from runs as r
    join projects as p on p.id = r.project_id
    join run_options as o on o.needs_folder
    where r.id = new.run_id
        and p.root is null
        and nullif(trim(json_extract(new.attributes, '$.attributes.' || o.name)), '') is not null;
    select fail(
        404,
        'persona ' || quote(json_extract(new.attributes, '$.attributes.persona'))
        || ': not found; the personas are ' || (select group_concat(name, ', ') from personas)
    )
    where json_extract(new.attributes, '$.attributes.persona') not in (select name from personas);
    update runs
    set model = coalesce(json_extract(new.attributes, '$.attributes.model'), model),
        temperature = coalesce(json_extract(new.attributes, '$.attributes.temperature'), temperature),
        effort = coalesce(json_extract(new.attributes, '$.attributes.effort'), effort),
        context_limit = coalesce(json_extract(new.attributes, '$.attributes.context_limit'), context_limit),
        persona = coalesce(json_extract(new.attributes, '$.attributes.persona'), persona),
        system_prompt = coalesce(json_extract(new.attributes, '$.attributes.system_prompt'), system_prompt),
        next_loop = next_loop + (new.body is not null),
        archived_at = case when new.body is null then archived_at end,
        updated_at = now()
    where id = new.run_id;
    insert into _late_call (door, a, b)
    select '_abort_run', r.id, json_extract(new.attributes, '$.outcome')
    from runs as r
    -- what has not ended below it in its tree ends with it
    where json_extract(new.attributes, '$.state') = 'cancelled'
        and (
            r.id = new.run_id
            or (
                r.status < 203 and r.status <> 200
                and instr((select c.lineage from children as c where c.run_id = r.id), '/' || new.run_id || '/')
            )
        );
    insert into process_cancels (effect_id, asked_by, reason, created_at)
    select effect_id, 'an abort', json_extract(new.attributes, '$.outcome'), now()
    from _kept_processes_unasked
    where json_extract(new.attributes, '$.state') = 'cancelled' and instr(lineage, '/' || new.run_id || '/');
    insert into loops (run_id, sequence, mode, model, prompt, config, created_at)
    select
        r.id,
        r.next_loop - 1,
        coalesce(json_extract(new.attributes, '$.attributes.mode'), 'act'),
        r.model,
        new.body,
        (
            select json_group_object(f.key, f.value)
            from json_each(new.attributes, '$.attributes') as f
            where f.key in (select name from run_options where scope = 'loop')
        ),
        now()
    from runs as r
    where r.id = new.run_id and new.body is not null;
    insert into _resolve_command (command_id, message) values (new.id, '');
end;
