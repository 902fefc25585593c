-- Children: runs that do a part of another run's work.
-- _start_child makes a child run for a tool, a workflow or a judge. A child is a run like any other, with views, a
-- prompt and a lease of its own. It never has more rights than its parent. A parent and all runs below it are a tree.
-- An abort of a run also aborts the runs below it.
-- spec: @children @abort

-- tables

-- The runs that have a parent which gave them work, one row each. A fork is none of them.
create table if not exists children (
    run_id integer primary key constraint children_run references runs (id) on delete cascade,
    parent_run_id integer not null,
    -- the run at the top of the tree
    root_run_id integer not null,
    -- the loop of that run which all this is for; null: it had none
    root_loop_id integer,
    -- the runs above it from the top down, by id: '/1/', below its child 5 '/1/5/'
    lineage text not null,
    -- the loop of the parent that was active, or its latest one; null: it had none
    parent_loop_id integer,
    -- its loop that does the work
    loop_id integer not null,
    -- the parent's effect that waits for it; null: none does
    effect_id integer
) strict;

create index if not exists idx_children_root_run_id on children (root_run_id);

create index if not exists idx_children_parent_run_id on children (parent_run_id);

create index if not exists idx_children_effect_id on children (effect_id);

-- views

-- Make a child run with one queued prompt: insert into _start_child (parent_run_id, alias, role, prompt, attributes,
-- effect_id). A null alias: one is made from the parent's. 'attributes' is a JSON object of run options; what the parent may
-- not do, they do not open. 'tools' among them names the tools that it has, separated by commas: the others are closed.
-- 'effect_id' is the effect of the parent that waits for it, by which children has it.
create view _start_child as
select c.parent_run_id, r.alias, r.role, null as prompt, null as attributes, c.effect_id
from children as c
join runs as r on r.id = c.run_id
where false;

-- The options that a child has from its parent, whatever it was given: how its commands are confined and decided on.
create view _parent_options (name) as
values ('yolo'), ('accept_edits'), ('overwrite_unseen'), ('sandbox'), ('network'), ('max_seconds'), ('max_depth');

-- The loop of each run that its children are measured by: the active one, else the latest.
create view _giving_loops as
select
    r.id as run_id,
    (
        select l.id
        from loops as l
        where l.run_id = r.id
        order by l.status = 102 desc, l.sequence desc
        limit 1
    ) as loop_id
from runs as r;

-- The options that each run hands down: all of its flags that are on, the tools that are closed to it or chosen, its
-- sandbox, network and depth, and the seconds that it has left. JSON.
create view _handed_options as
select
    g.run_id,
    g.loop_id,
    l.mode,
    l.model,
    json_patch(
        (
            select json_group_object(f.flag, 1)
            from _loop_flags as f
            where f.loop_id = l.id
                -- another option may have the value 1 too; 'close:sh' closes the tool sh
                and (f.flag glob 'close:*' or f.flag in (select name from run_options where kind = 'flag'))
        ),
        json_object(
            'tools', l.config ->> '$.tools',
            'sandbox', l.config ->> '$.sandbox',
            'network', l.config ->> '$.network',
            'max_depth', l.config ->> '$.max_depth',
            'max_seconds', (select max(round(s.seconds_left, 1), 1.0) from _loop_seconds as s where s.loop_id = l.id)
        )
    ) as config
from _giving_loops as g
join loops as l on l.id = g.loop_id;

-- The name that the next child of each run gets: the first that is free of NAME-1, NAME-2, …
create view _child_aliases as
select
    r.id as run_id,
    (
        with recursive numbers (n) as (
            select 1 + (select count(*) from children as c where c.parent_run_id = r.id)
            union all
            select n + 1
            from numbers
            where exists (select 1 from runs as o where o.alias = r.alias || '-' || n)
        )
        select r.alias || '-' || max(n)
        from numbers
    ) as alias
from runs as r;

-- Give a new run the scopes that it looks paths up in, and its first event: insert into _register_run (run_id).
create view _register_run as
select id as run_id
from runs
where false;

-- Refuse what a child cannot be made of: insert into _check_child (parent_run_id, role, attributes).
create view _check_child as
select c.parent_run_id, r.role, null as attributes
from children as c
join runs as r on r.id = c.run_id
where false;

-- The children that something can be done for now: those that have not ended, and neither wait for a person nor for
-- children of their own that all do.
create view _driven_children as
select c.run_id, c.lineage
from children as c
join loops as l on l.id = c.loop_id and l.status in (100, 102)
where case
    when exists (select 1 from effects as f where f.run_id = c.run_id and f.state in ('pending', 'started'))
        then exists (
            select 1
            from effects as f
            where f.run_id = c.run_id
                and f.state in ('pending', 'started')
                and not exists (
                    select 1
                    from children as k
                    join loops as o on o.id = k.loop_id and o.status in (100, 102)
                    where k.effect_id = f.id
                )
                and not exists (
                    select 1 from process_claims as w where w.proposal_id = f.proposal_id and w.claimant is not null
                )
        )
    else not exists (select 1 from proposals as p where p.run_id = c.run_id and p.state = 'proposed')
end;

-- Effects that wait for children, of which all that have not ended wait for a person, and effects that a client carries
-- out.
create view _waiting_effects as
select f.id as effect_id, f.run_id
from effects as f
where f.state = 'started'
    and exists (
        select 1
        from children as c
        join loops as l on l.id = c.loop_id and l.status in (100, 102)
        where c.effect_id = f.id
    )
    and not exists (
        select 1
        from children as c
        join _driven_children as d on d.run_id = c.run_id or instr(d.lineage, '/' || c.run_id || '/')
        where c.effect_id = f.id
    )
union all
select f.id, f.run_id
from process_claims as k
cross join proposals as p on p.id = k.proposal_id
cross join effects as f
    on f.command_id = p.command_id and f.proposal_id = p.id and f.state in ('pending', 'started')
where k.claimant is not null;

-- triggers

-- Refuse a role or an option that a child cannot have; then make the run, its scopes and its loop.
create trigger _start_child__start
instead of insert on _start_child
begin
    insert into _check_child (parent_run_id, role, attributes)
    values (new.parent_run_id, new.role, json_remove(coalesce(new.attributes, '{}'), '$.tools'));
    insert into runs (
        project_id, parent_run_id, alias, model, persona, temperature, context_limit, system_prompt, role, depth, next_loop,
        created_at, updated_at, effort
    )
    select
        p.project_id,
        p.id,
        coalesce(new.alias, (select n.alias from _child_aliases as n where n.run_id = p.id)),
        coalesce(new.attributes ->> '$.model', h.model, p.model),
        coalesce(new.attributes ->> '$.persona', p.persona),
        coalesce(new.attributes ->> '$.temperature', p.temperature),
        -- that of a person for the same model, not for another one
        coalesce(
            new.attributes ->> '$.context_limit',
            case when coalesce(new.attributes ->> '$.model', h.model, p.model, '') = coalesce(h.model, p.model, '')
                    then p.context_limit
            end
        ),
        coalesce(new.attributes ->> '$.system_prompt', p.system_prompt),
        new.role,
        p.depth + 1,
        2,
        now(),
        now(),
        coalesce(new.attributes ->> '$.effort', p.effort)
    from runs as p
    left join _handed_options as h on h.run_id = p.id
    where p.id = new.parent_run_id;
    insert into _register_run (run_id) values ((select max(id) from runs));
    insert into loops (run_id, sequence, mode, model, prompt, config, created_at)
    select
        r.id,
        1,
        case
            when new.role = 'judge' then 'judge'
            when h.mode = 'ask' then 'ask'
            else coalesce(new.attributes ->> '$.mode', 'act')
        end,
        r.model,
        new.prompt,
        json_patch(
            (
                select json_group_object(f.key, f.value)
                from json_each(coalesce(new.attributes, '{}')) as f
                where f.key in (select name from run_options where scope = 'loop')
                    -- a parent without a loop hands nothing down that could be exceeded
                    and (h.loop_id is null or f.key not in (select name from _parent_options))
            ),
            json_patch(
                json_patch(
                    coalesce(h.config, '{}'),
                    (
                        select json_group_object('close:' || t.name, 1)
                        from tools as t
                        where t.name <> 'update'
                            and instr(',' || (new.attributes ->> '$.tools') || ',', ',' || t.name || ',') = 0
                    )
                ),
                json_object(
                    -- settings of the parent's model hold for the same model, but not for a judge
                    'model_options',
                    coalesce(
                        new.attributes ->> '$.model_options',
                        (
                            select o.config ->> '$.model_options'
                            from loops as o
                            where o.id = h.loop_id and o.model is r.model and new.role <> 'judge'
                        )
                    ),
                    'max_seconds',
                    case
                        when new.attributes ->> '$.max_seconds' > 0
                            then min(
                                new.attributes ->> '$.max_seconds',
                                coalesce(h.config ->> '$.max_seconds', new.attributes ->> '$.max_seconds')
                            )
                        else h.config ->> '$.max_seconds'
                    end
                )
            )
        ),
        r.created_at
    from runs as r
    left join _handed_options as h on h.run_id = r.parent_run_id
    where r.id = (select max(id) from runs);
    insert into children (
        run_id, parent_run_id, root_run_id, root_loop_id, lineage, parent_loop_id, loop_id, effect_id
    )
    select
        l.run_id,
        new.parent_run_id,
        coalesce(p.root_run_id, new.parent_run_id),
        case when p.run_id is null then g.loop_id else p.root_loop_id end,
        coalesce(p.lineage, '/') || new.parent_run_id || '/',
        g.loop_id,
        l.id,
        new.effect_id
    from loops as l
    cross join _giving_loops as g on g.run_id = new.parent_run_id
    left join children as p on p.run_id = new.parent_run_id
    where l.id = (select max(id) from loops);
end;

create trigger _register_run__register
instead of insert on _register_run
begin
    insert into run_scopes (run_id, scope, kind)
    values (new.run_id, 'run:' || new.run_id, 'run'),
        (new.run_id, (select 'project:' || project_id from runs where id = new.run_id), 'project'),
        (new.run_id, 'global', 'global');
    insert into events (at, run_id, kind, detail)
    select created_at, id, 'run.created', json_object('alias', alias, 'parent', parent_run_id, 'role', role)
    from runs
    where id = new.run_id;
end;

-- Options are those of any run, without those that say where it works.
create trigger _check_child__check
instead of insert on _check_child
begin
    select fail(404, 'child run: there is no run with the id ' || coalesce(new.parent_run_id, 'null'))
    where not exists (select 1 from runs where id = new.parent_run_id);
    select fail(
        400, 'child of run ' || r.alias || ': role must be subtask, execute, judge, workflow or step, not '
            || quote(new.role)
    )
    from runs as r
    where r.id = new.parent_run_id and coalesce(new.role, '') not in ('subtask', 'execute', 'judge', 'workflow', 'step');
    insert into _check_options (run, attributes)
    select alias, new.attributes
    from runs
    where id = new.parent_run_id;
    select fail(400, 'child of run ' || r.alias || ': works in its parent''s folder; leave out ' || g.key)
    from runs as r
    join json_each(new.attributes) as g on g.key in ('root', 'project', 'fork', 'at')
    where r.id = new.parent_run_id;
    select fail(
        404,
        'persona ' || quote(new.attributes ->> '$.persona') || ': not found; the personas are '
        || (select group_concat(name, ', ') from personas)
    )
    where new.attributes ->> '$.persona' not in (select name from personas);
end;
