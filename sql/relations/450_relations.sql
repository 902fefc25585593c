-- Relations: a graph of nodes, each with any number of parents: plans, steps, files, runs, or nodes of an app.
-- A node has a name that is unique in its scope: a run's (run:N), a project's (project:N) or the whole file's
-- (global). An edge puts a node below another one of its own scope, or of a scope that its run or project sees. There
-- is no way from a node down to itself: whatever writes an edge that would close a cycle is refused, with the cycle
-- named.
-- needs: nothing
-- spec: @relations @relation_cycles

-- tables

-- How far the work is that a node stands for.
create table if not exists node_statuses (
    name text primary key,
    -- 1: nothing is left to do
    is_settled integer not null constraint node_statuses_settled_flag check (is_settled in (0, 1)),
    meaning text not null
) strict, without rowid;

create table if not exists nodes (
    id integer primary key,
    scope text not null constraint nodes_scope
        check (scope = 'global' or scope glob 'run:[1-9]*' or scope glob 'project:[1-9]*'),
    name text not null constraint nodes_name_length check (length(name) between 1 and 500),
    -- plan, step, file, run, or a word of the app's own
    type text not null constraint nodes_type_length check (length(type) between 1 and 100),
    status text constraint nodes_status references node_statuses (name),
    description text not null default '',
    -- whatever else is known of it
    context text not null default '{}' constraint nodes_context_object
        check (case when json_valid(context) then json_type(context) else '' end = 'object'),
    created_at integer not null,
    constraint nodes_name_once_per_scope unique (scope, name)
) strict;

create table if not exists edges (
    child_id integer not null constraint edges_child references nodes (id) on delete cascade,
    parent_id integer not null constraint edges_parent references nodes (id) on delete cascade,
    primary key (child_id, parent_id)
) strict, without rowid;

create index if not exists idx_edges_parent_id on edges (parent_id, child_id);

-- How often the doors have changed the graph: while that is the same, nothing is read anew.
create table if not exists _graph_changes (
    id integer primary key constraint graph_changes_one_row check (id = 1),
    changes integer not null
) strict;

-- seeds

insert into _graph_changes (id, changes) values (1, 0)
on conflict (id) do nothing;

insert into node_statuses (name, is_settled, meaning) values
    ('pending', 0, 'not begun'),
    ('in_progress', 0, 'being worked on'),
    ('done', 1, 'finished'),
    ('failed', 1, 'given up or failed'),
    ('skipped', 1, 'left out')
on conflict (name) do update set is_settled = excluded.is_settled, meaning = excluded.meaning;

-- views

-- The scopes, besides its own, whose nodes a node may be below, and which is nearer.
create view _wider_scopes as
select 'run:' || run_id as scope, scope as wider, case kind when 'project' then 1 else 2 end as distance
from run_scopes
where kind in ('project', 'global')
union all
select 'project:' || id, 'global', 2
from projects;

-- What is stored below each stored node, itself included.
create view _stored_below as
select n.id as top_id, n.scope, n.name, j.value as id
from nodes as n
cross join json_each((
    with recursive below (id) as (
        select n.id
        union
        select e.child_id
        from below as b
        cross join edges as e on e.parent_id = b.id
    )
    select json_group_array(id) from below
)) as j;

-- Refuse an edge that closes a cycle: insert into _refuse_cycle (child_id, parent_id).
create view _refuse_cycle as
select child_id, parent_id
from edges
where false;

-- triggers

-- A new edge closes a cycle where its child is among what is above its parent. A child without children is above nothing.
create trigger edges__refuse_cycle
after insert on edges
when new.child_id = new.parent_id or exists (select 1 from edges where parent_id = new.child_id)
begin
    insert into _refuse_cycle (child_id, parent_id) values (new.child_id, new.parent_id);
end;

-- 'after', so that the edge as it was is no part of a way.
create trigger edges__refuse_changed_cycle
after update on edges
begin
    insert into _refuse_cycle (child_id, parent_id) values (new.child_id, new.parent_id);
    select fail(
        400,
        'edge: ' || quote(c.name) || ' in ' || c.scope || ' cannot be below ' || quote(p.name) || ' in ' || p.scope
    )
    from nodes as c
    join nodes as p on p.id = new.parent_id
    where c.id = new.child_id
        and p.scope <> c.scope
        and p.scope not in (select w.wider from _wider_scopes as w where w.scope = c.scope);
end;

-- A node may be below one that its run or project sees, not the other way round.
create trigger edges__refuse_narrower_scope
before insert on edges
begin
    select fail(
        400,
        'edge: ' || quote(c.name) || ' in ' || c.scope || ' cannot be below ' || quote(p.name) || ' in ' || p.scope
    )
    from nodes as c
    join nodes as p on p.id = new.parent_id
    where c.id = new.child_id
        and p.scope <> c.scope
        and p.scope not in (select w.wider from _wider_scopes as w where w.scope = c.scope);
end;

create trigger nodes__keep_place
before update of id, scope on nodes
when new.id is not old.id or new.scope is not old.scope
begin
    select fail(
        405, 'node ' || quote(old.name) || ': its scope cannot change; remove the node and add it in the other scope'
    );
end;

-- The way is told from the child on, which is above the parent, twelve nodes of it at most.
create trigger _refuse_cycle__refuse
instead of insert on _refuse_cycle
begin
    select fail(
        409,
        'node ' || quote(c.name) || ': cannot be below ' || quote(p.name) || ', which is below it: '
        || (
            with recursive above (id, via) as materialized (
                select new.parent_id, null
                union
                select e.parent_id, e.child_id
                from above as a
                cross join edges as e on e.child_id = a.id
                where a.id <> new.child_id
            ),
            way (id, place) as (
                select new.child_id, 1
                union all
                select (select a.via from above as a where a.id = w.id limit 1), w.place + 1
                from way as w
                where w.id <> new.parent_id and w.place < 12
            )
            select group_concat(name, ' > ') || case when count(*) = 12 then ' > …' else '' end
            from (select n.name from way as w cross join nodes as n on n.id = w.id order by w.place)
        ) || ' > ' || c.name
    )
    from nodes as c
    join nodes as p on p.id = new.parent_id
    where c.id = new.child_id
        and new.child_id in (
            with recursive above (id) as (
                select new.parent_id
                union
                select e.parent_id
                from above as a
                cross join edges as e on e.child_id = a.id
            )
            select id from above
        );
end;

create trigger _forget_run__relations
instead of insert on _forget_run
begin
    delete from nodes
    where scope = 'run:' || new.run_id;
end;
