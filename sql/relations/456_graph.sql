-- The graph: the stored nodes, and the plans and steps that each run sees.
-- A plan is a node of its run under its path, a step one under that path with '#' and its number. They are read from
-- the text, so the graph shows what is there now. A stored node with the path of a plan or a step is that one: others
-- are below it.
-- spec: @relation_graph @plans

-- views

create view graph_nodes as
-- Every node: its scope (run:N, project:N, global), name, type, status, description and context.
select n.scope, n.name as node, n.type, n.status, n.description, n.context
from nodes as n
where not (
        n.name glob 'plan://*'
        and n.scope glob 'run:*'
        and exists (
            select 1 from _plan_nodes as p where p.run_id = cast(substr(n.scope, 5) as integer) and p.step = n.name
        )
    )
union all
select 'run:' || p.run_id, p.path, 'plan', p.status, coalesce(p.title, ''), '{}'
from runs as r
cross join _plan_states as p on p.run_id = r.id
union all
select 'run:' || s.run_id, s.path || '#' || s.number, 'step', s.status, s.text, json_object('line', s.line)
from runs as r
cross join _plan_steps as s on s.run_id = r.id;

create view node_parents as
-- What each node is directly below.
select c.scope, c.name as node, p.scope as parent_scope, p.name as parent
from nodes as c
cross join edges as e on e.child_id = c.id
cross join nodes as p on p.id = e.parent_id
-- a step that is stored is told once
union
select 'run:' || s.run_id, s.path || '#' || s.number, 'run:' || s.run_id, s.path || coalesce('#' || s.parent, '')
from runs as r
cross join _plan_steps as s on s.run_id = r.id;

create view node_children as
-- What is directly below each node.
select p.scope, p.name as node, c.scope as child_scope, c.name as child
from nodes as p
cross join edges as e on e.parent_id = p.id
cross join nodes as c on c.id = e.child_id
union
select 'run:' || s.run_id, s.path || coalesce('#' || s.parent, ''), 'run:' || s.run_id, s.path || '#' || s.number
from runs as r
cross join _plan_steps as s on s.run_id = r.id;

create view node_ancestors as
-- All that each node is below, each once: ask for one node, select * from node_ancestors where node = 'a'.
select n.scope, n.name as node, a.scope as ancestor_scope, a.name as ancestor
from nodes as n
cross join json_each((
    with recursive above (id) as (
        select parent_id
        from edges
        where child_id = n.id
        union
        select e.parent_id
        from above as a
        cross join edges as e on e.child_id = a.id
    )
    select json_group_array(id) from above
)) as j
cross join nodes as a on a.id = j.value
union
-- a step: the steps that it belongs to, its plan, and what that is below
select 'run:' || s.run_id, s.path || '#' || s.number, 'run:' || s.run_id, o.path || '#' || o.number
from runs as r
cross join _plan_steps as s on s.run_id = r.id
cross join _plan_steps as o on o.run_id = s.run_id and o.entry_id = s.entry_id and s.number like o.number || '.%'
union
select 'run:' || s.run_id, s.path || '#' || s.number, 'run:' || s.run_id, s.path
from runs as r
cross join _plan_steps as s on s.run_id = r.id
union
select 'run:' || s.run_id, s.path || '#' || s.number, a.scope, a.name
from runs as r
cross join _plan_steps as s on s.run_id = r.id
cross join nodes as n on n.scope = 'run:' || s.run_id and n.name = s.path
cross join json_each((
    with recursive above (id) as (
        select parent_id
        from edges
        where child_id = n.id
        union
        select e.parent_id
        from above as a
        cross join edges as e on e.child_id = a.id
    )
    select json_group_array(id) from above
)) as j
cross join nodes as a on a.id = j.value;

create view node_descendants as
-- All that is below each node, each once: ask for one node, select * from node_descendants where node = 'a'.
select b.scope, b.name as node, d.scope as descendant_scope, d.name as descendant
from _stored_below as b
cross join nodes as d on d.id = b.id
where b.id <> b.top_id
union
-- the steps of the plans that are below it
select b.scope, b.name, d.scope, s.path || '#' || s.number
from _stored_below as b
cross join nodes as d on d.id = b.id and d.name glob 'plan://*' and d.id <> b.top_id
cross join _plan_steps as s on s.run_id = cast(substr(d.scope, 5) as integer) and s.path = d.name
union
-- those of a plan and of a step
select 'run:' || s.run_id, s.path, 'run:' || s.run_id, s.path || '#' || s.number
from runs as r
cross join _plan_steps as s on s.run_id = r.id
union
select 'run:' || s.run_id, o.path || '#' || o.number, 'run:' || s.run_id, s.path || '#' || s.number
from runs as r
cross join _plan_steps as s on s.run_id = r.id
cross join _plan_steps as o on o.run_id = s.run_id and o.entry_id = s.entry_id and s.number like o.number || '.%';

create view root_nodes as
-- The nodes that are below nothing.
select g.*
from graph_nodes as g
where g.type <> 'step'
    and not exists (
        select 1
        from nodes as n
        cross join edges as e on e.child_id = n.id
        where n.scope = g.scope and n.name = g.node
    );

create view leaf_nodes as
-- The nodes that have nothing below them.
select g.*
from graph_nodes as g
where not exists (
        select 1
        from nodes as n
        cross join edges as e on e.parent_id = n.id
        where n.scope = g.scope and n.name = g.node
    )
    and not (
        g.type in ('plan', 'step')
        and exists (select 1 from node_children as c where c.scope = g.scope and c.node = g.node)
    );

create view node_counts as
-- How many nodes of each type and status each scope has.
select scope, type, status, count(*) as nodes
from graph_nodes
group by scope, type, status;
