-- Doors of relations: set a node, remove a node, import nodes from JSON.
-- Each is a view that is inserted into. A node is found by its name in a scope: that of 'run', the one that 'scope'
-- names, else the whole file's. Clients write here; the model has no door, its plans are entries (454).
-- spec: @relation_doors @relation_json

-- views

create view verb_set_node as
-- Add a node or change one: insert into verb_set_node (run, scope, node, type, parents, status, description, context).
-- What is null stays as it is; 'parents' is a JSON array with the names of all nodes that it is to be below.
select
    null as run, null as scope, null as node, null as type, null as parents, null as status, null as description,
    null as context
where false;

create view verb_remove_node as
-- Remove a node: insert into verb_remove_node (run, scope, node, cascade). With 'cascade' 1 all that is below it goes
-- too, but what is also below a node that stays.
select null as run, null as scope, null as node, null as "cascade"
where false;

create view verb_import_nodes as
-- Take nodes over from JSON, all or none: insert into verb_import_nodes (run, scope, body). Those that are there are
-- replaced.
select null as run, null as scope, null as body
where false;

create view node_exports as
-- Each node as the JSON that verb_import_nodes takes.
select
    n.scope,
    n.name as node,
    json_object(
        'id', n.name,
        'type', n.type,
        'parents', json((
            select json_group_array(p.name)
            from edges as e
            cross join nodes as p on p.id = e.parent_id
            where e.child_id = n.id
        )),
        'context', json_patch(
            json_patch(n.context, json_object('description', n.description)), json_object('status', n.status)
        ),
        'created_at', n.created_at
    ) as body
from nodes as n;

-- Put nodes that relations_read has read into a scope: insert into _take_nodes (scope, nodes, merges). With 'merges' 1, what
-- is null stays as it is.
create view _take_nodes as
select null as scope, null as nodes, null as merges
where false;

-- Remove a stored node: insert into _remove_node (id, cascade).
create view _remove_node as
select null as id, null as "cascade"
where false;

-- triggers

create trigger verb_set_node__set
instead of insert on verb_set_node
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where new.run is not null and not exists (select 1 from runs where alias = new.run);
    select fail(400, 'node ' || quote(new.node) || ': context must be a JSON object, not ' || quote(new.context))
    where new.context is not null
        and case when json_valid(new.context) then json_type(new.context) else '' end <> 'object';
    select fail(400, 'node ' || quote(new.node) || ': parents must be a JSON array of names, not ' || quote(new.parents))
    where new.parents is not null
        and case when json_valid(new.parents) then json_type(new.parents) else '' end <> 'array';
    insert into _take_nodes (scope, nodes, merges)
    select
        coalesce('run:' || (select id from runs where alias = new.run), new.scope, 'global'),
        relations_read(json_array(json_object(
            'id', new.node, 'type', new.type, 'parents', json(new.parents), 'status', new.status,
            'description', new.description, 'context', json(new.context)
        ))),
        1;
end;

create trigger verb_import_nodes__import
instead of insert on verb_import_nodes
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where new.run is not null and not exists (select 1 from runs where alias = new.run);
    insert into _take_nodes (scope, nodes, merges)
    select
        coalesce('run:' || (select id from runs where alias = new.run), new.scope, 'global'),
        relations_read(coalesce(new.body, '')),
        0;
end;

-- Nodes come with those that they are below before them, so most edges lead from a node that has nothing below it yet.
create trigger _take_nodes__take
instead of insert on _take_nodes
begin
    select fail(coalesce(new.nodes ->> '$.status', 400), new.nodes ->> '$.fault')
    where new.nodes ->> '$.fault' is not null;
    select fail(400, 'scope ' || quote(new.scope) || ': use global, project:N or run:N with an id of this file')
    where new.scope <> 'global'
        and new.scope not in (select 'run:' || id from runs union all select 'project:' || id from projects);
    select fail(
        400,
        'node ' || quote(n.value ->> 'id') || ': status must be one of '
            || (select group_concat(name, ', ') from node_statuses) || ', not ' || quote(substr(n.value ->> 'status', 1, 80))
    )
    from json_each(new.nodes, '$.nodes') as n
    where n.value ->> 'status' not in (select name from node_statuses);
    insert into nodes (scope, name, type, status, description, context, created_at)
    select
        new.scope, n.value ->> 'id', coalesce(n.value ->> 'type', 'node'), n.value ->> 'status',
        coalesce(n.value ->> 'description', ''), coalesce(n.value -> 'context', '{}'),
        coalesce(n.value ->> 'created_at', now())
    from json_each(new.nodes, '$.nodes') as n
    where true
    on conflict (scope, name) do update
        set type = case when new.merges and excluded.type = 'node' then type else excluded.type end,
            status = case when new.merges then coalesce(excluded.status, status) else excluded.status end,
            description = case
                when new.merges and new.nodes ->> '$.nodes[0].description' is null then description
                else excluded.description
            end,
            context = case when new.merges then json_patch(context, excluded.context) else excluded.context end;
    -- the plans of a run and their steps are nodes as well
    insert into nodes (scope, name, type, created_at)
    select distinct new.scope, p.node, p.type, now()
    from json_each(new.nodes, '$.nodes') as n
    cross join json_each(json_insert(
        case json_type(n.value, '$.parents') when 'array' then n.value -> 'parents' else '[]' end, '$[#]', n.value ->> 'id'
    )) as j
    cross join _plan_nodes as p on p.run_id = cast(substr(new.scope, 5) as integer) and p.step = j.value
    where new.scope glob 'run:*' and j.value glob 'plan://*'
    on conflict (scope, name) do update set type = excluded.type;
    select fail(
        404, 'node ' || quote(n.value ->> 'id') || ': its parent ' || quote(j.value) || ' does not exist; '
        || case
            when j.value glob 'plan://*' then 'plans and steps belong to a run; see ''engine plan'''
            else 'add it first'
        end
    )
    from json_each(new.nodes, '$.nodes') as n
    cross join json_each(n.value, '$.parents') as j on j.type = 'text'
    where not exists (select 1 from nodes as o where o.scope = new.scope and o.name = j.value)
        and not exists (
            select 1
            from _wider_scopes as w
            cross join nodes as o on o.scope = w.wider and o.name = j.value
            where w.scope = new.scope
        );
    update _graph_changes
    set changes = changes + 1;
    delete from edges
    where child_id in (
            select o.id
            from json_each(new.nodes, '$.nodes') as n
            cross join nodes as o on o.scope = new.scope and o.name = n.value ->> 'id'
            where json_type(n.value, '$.parents') = 'array'
        );
    insert into edges (child_id, parent_id)
    select distinct
        c.id,
        -- the one in its own scope, else in the nearest wider one
        coalesce(
            (select o.id from nodes as o where o.scope = new.scope and o.name = j.value),
            (
                select o.id
                from _wider_scopes as w
                cross join nodes as o on o.scope = w.wider and o.name = j.value
                where w.scope = new.scope
                order by w.distance
                limit 1
            )
        )
    from json_each(new.nodes, '$.nodes') as n
    cross join json_each(n.value, '$.parents') as j on j.type = 'text'
    cross join nodes as c on c.scope = new.scope and c.name = n.value ->> 'id';
    -- a step is below what its number says
    insert or ignore into edges (child_id, parent_id)
    select c.id, o.id
    from json_each(new.nodes, '$.nodes') as n
    cross join json_each(json_insert(
        case json_type(n.value, '$.parents') when 'array' then n.value -> 'parents' else '[]' end, '$[#]', n.value ->> 'id'
    )) as j
    cross join _plan_nodes as p on p.run_id = cast(substr(new.scope, 5) as integer) and p.step = j.value
    cross join nodes as c on c.scope = new.scope and c.name = p.node
    cross join nodes as o on o.scope = new.scope and o.name = p.parent
    where new.scope glob 'run:*' and j.value glob 'plan://*';
end;

create trigger verb_remove_node__remove
instead of insert on verb_remove_node
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where new.run is not null and not exists (select 1 from runs where alias = new.run);
    select fail(404, 'node ' || quote(new.node) || ': there is no such node; see ''engine relations list''')
    where not exists (
            select 1
            from nodes
            where scope = coalesce('run:' || (select id from runs where alias = new.run), new.scope, 'global')
                and name = new.node
        );
    update _graph_changes
    set changes = changes + 1;
    insert into _remove_node (id, "cascade")
    select id, new."cascade"
    from nodes
    where scope = coalesce('run:' || (select r.id from runs as r where r.alias = new.run), new.scope, 'global')
        and name = new.node;
end;

-- With all that is below it, less what has another parent that stays, and what is below that.
create trigger _remove_node__remove
instead of insert on _remove_node
begin
    delete from nodes
    where id in (
            select all b.id
            from _stored_below as b
            where b.top_id = new.id
                and (new."cascade" or b.id = new.id)
                and b.id not in (
                    with recursive kept (id) as (
                        select e.child_id
                        from _stored_below as o
                        cross join edges as e on e.child_id = o.id
                        where o.top_id = new.id
                            and o.id <> new.id
                            and e.parent_id not in (select all i.id from _stored_below as i where i.top_id = new.id)
                        union
                        select e.child_id
                        from kept as k
                        cross join edges as e on e.parent_id = k.id
                    )
                    select all id from kept
                )
        );
end;
