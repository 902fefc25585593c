-- Trees: a run together with its child runs, for people.
-- spec: @trees

-- views

create view tree_runs as
-- Each run with itself and the runs below it: select * from tree_runs where top = 'demo'. 'tree' names the runs from the top
-- of the tree down, 'level' is 0 for the run itself.
select r.alias as top, r.alias as run, 0 as level, r.alias as tree, r.id as run_id
from runs as r
where not exists (select 1 from children as c where c.run_id = r.id)
union all
select
    t.alias,
    r.alias,
    r.depth - t.depth,
    (
        select group_concat(name, ' > ')
        from (
            select a.alias as name
            from runs as a
            where a.id = c.root_run_id or a.id = c.run_id or instr(c.lineage, '/' || a.id || '/')
            order by a.depth
        )
    ),
    r.id
from children as c
join runs as r on r.id = c.run_id
join runs as t on t.id = c.run_id or instr(c.lineage, '/' || t.id || '/');

-- What each run has cost with all runs below it, in US dollars; null: a price is unknown.
create view _tree_costs as
select
    r.id as run_id,
    (
        select case when count(k.cost) = count(*) then sum(k.cost) end
        from _run_costs as k
        where k.run_id = r.id
            or k.run_id in (
                select d.run_id
                from children as d
                where d.root_run_id = coalesce((select c.root_run_id from children as c where c.run_id = r.id), r.id)
                    and instr(d.lineage, '/' || r.id || '/')
            )
    ) as cost
from runs as r;

-- Each turn, with itself and the turns of the runs that it has given work to.
create view _turns_below as
select id as turn_id, id as below_id
from turns
union all
select f.turn_id, t.id
from children as o
join effects as f on f.id = o.effect_id
join children as d
    on d.root_run_id = o.root_run_id and (d.run_id = o.run_id or instr(d.lineage, '/' || o.run_id || '/'))
join turns as t on t.run_id = d.run_id;

-- The run to drive once a proposal of a run is decided: the run at the top of its tree where that waits for what the run
-- does and has no driver, else the run itself.
create view _runs_to_drive as
select
    r.alias as run,
    coalesce(
        (
            select t.alias
            from children as c
            join loops as own on own.id = c.loop_id and own.status in (100, 102, 202)
            join loops as first on first.id = c.root_loop_id and first.status in (102, 202)
            join runs as t on t.id = c.root_run_id
            where c.run_id = r.id and t.id not in (select l.run_id from _leases_in_force as l)
        ), r.alias
    ) as driven
from runs as r;

create view verb_resolve_tree as
-- Decide on the open proposals of a run and of those below it: insert into verb_resolve_tree (run, path, decision,
-- body, reason, decided_by, claimant, holder). 'path' as in resolutions; one under which several runs propose something
-- is a 409. With 'claimant' and 'holder' a client carries out the commands that it accepts, as in _claim_process.
select r.alias as run, s.path, s.decision, s.body, s.reason, s.decided_by, null as claimant, null as holder
from resolutions as s
join runs as r on r.id = s.run_id
where false;

-- triggers

create trigger verb_resolve_tree__resolve
instead of insert on verb_resolve_tree
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(
        409, new.path || ': ' || group_concat(run, ' and ') || ' have proposals at this path; name one of these runs'
    )
    from (
        select distinct p.run
        from tree_runs as t
        join open_proposals as p on p.run = t.run
        where t.top = new.run and p.path = new.path
    )
    having count(*) > 1;
    insert into process_claims (proposal_id, claimant, holder, claimed_at)
    select p.id, new.claimant, new.holder, now()
    from tree_runs as t
    join open_proposals as o on o.run = t.run and o.path = coalesce(new.path, o.path)
    join proposals as p on p.id = o.proposal_id and p.kind = 'process'
    where t.top = new.run and new.claimant is not null and new.decision = 'accept';
    insert into resolutions (run_id, path, decision, body, reason, decided_by, created_at)
    select r.id, new.path, new.decision, new.body, new.reason, coalesce(new.decided_by, 'client'), now()
    from runs as r
    where r.id in (
            select t.run_id
            from tree_runs as t
            join open_proposals as p on p.run = t.run and p.path = coalesce(new.path, p.path)
            where t.top = new.run
        )
        -- where nothing is proposed the run itself says so
        or (
            r.alias = new.run
            and not exists (
                select 1
                from tree_runs as t
                join open_proposals as p on p.run = t.run and p.path = coalesce(new.path, p.path)
                where t.top = new.run
            )
        )
    order by r.id;
end;
