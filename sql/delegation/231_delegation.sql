-- Delegation: subtask and execute, tools whose effect is a child run.
-- They need no decision. Delegations that stand next to each other in an answer are accepted together. The driver
-- starts each in _start_delegation, which makes the child in the same commit, or refuses. engine.driving.children
-- drives the children. _finish_delegation (232) stores the result.
-- needs: nothing
-- spec: @delegation @model_tiers @delegation_limits

-- views

-- What is wrong with work that is given away is told when it begins, so that its siblings are spared (236).
create view _own_readers__delegation as
select 'subtask' as name
union all
select 'execute';

-- The runs whose model has the tools subtask and execute while they are driven: one of their open prompts may delegate that
-- deep, and the model reads the whole packet.
create view _delegating_runs as
select distinct r.alias as run
from loops as l
join runs as r on r.id = l.run_id
left join models as m on m.alias = coalesce(l.model, r.model)
where l.status in (100, 102)
    and r.role in ('main', 'subtask', 'step')
    and r.depth < coalesce(
        l.config ->> '$.max_depth',
        (select cast(value as integer) from settings where name = 'max_depth')
    )
    and coalesce(m.profile, 'full') = 'full';

-- Children that may begin no turn any more, because their tree has had what it may have.
create view _spent_children as
select r.alias as run, c.loop_id, s.reason || goal_told(l.prompt) as reason
from children as c
cross join runs as r on r.id = c.run_id
cross join loops as l on l.id = c.loop_id and l.status in (100, 102)
cross join _spent_trees as s on s.root_loop_id = c.root_loop_id;

-- End the work of such a child: insert into _stop_spent_child (run).
create view _stop_spent_child as
select run
from _spent_children
where false;

-- The effects of each run that give work away and are not over, each with its child, which is null before it has started.
create view _open_delegations as
select f.run_id, f.id as effect_id, r.alias as child, coalesce(l.status not in (100, 102), 0) as ended
from effects as f
left join children as c on c.effect_id = f.id
left join runs as r on r.id = c.run_id
left join loops as l on l.id = c.loop_id
where f.kind = 'delegate' and f.state in ('pending', 'started')
order by f.id;

create view _start_delegation as
-- Give the work of an effect to a child run: insert into _start_delegation (effect_id, lease, fault). Where it is
-- refused the effect has failed. 'fault' is why its model cannot be asked here, else null. A second time changes
-- nothing.
select id as effect_id, null as lease, null as fault
from effects
where false;

create view _offer_delegation as
-- Open the tools subtask and execute in a run for as long as it has this driver: insert into _offer_delegation (run, lease).
select r.alias as run, l.token as lease
from leases as l
join runs as r on r.id = l.run_id
where false;

create view _wait_for_children as
-- Say that a run waits because its children do: insert into _wait_for_children (run_id).
select id as run_id
from runs
where false;

-- triggers

-- The driver of a child asks before each of its turns.
create trigger _stop_spent_child__stop
instead of insert on _stop_spent_child
begin
    insert into _move_loop (loop_id, status, reason)
    select loop_id, 499, 'stopped: ' || reason
    from _spent_children
    where run = new.run;
end;

create trigger _start_delegation__guard
instead of insert on _start_delegation
when not exists (select 1 from effects where id = new.effect_id)
begin
    select fail(404, 'effect ' || quote(new.effect_id) || ': not found; see the view _pending_effects');
end;

-- Whether the work can be given away is seen here, not when the command is accepted, so that one that cannot spares its
-- neighbours, and a turn that delegates nothing pays nothing.
create trigger _start_delegation__start
instead of insert on _start_delegation
when exists (select 1 from effects where id = new.effect_id and state in ('pending', 'started'))
    and not exists (select 1 from children where effect_id = new.effect_id)
begin
    insert into _start_effect (effect_id, identity, lease) values (new.effect_id, null, new.lease);
    insert into _finish_effect (effect_id, state, outcome, message, lease)
    select
        new.effect_id, 'failed', substr(refusal, 1, instr(refusal, ': ') - 1), substr(refusal, instr(refusal, ': ') + 2),
        new.lease
    from (
        select coalesce(refusal, 'not_found: ' || new.fault || '. Leave the model out.') as refusal
        from _delegation_refusals
        where effect_id = new.effect_id
    )
    where refusal is not null;
    insert into _start_child (parent_run_id, role, prompt, attributes, effect_id)
    select
        d.run_id,
        d.action,
        d.objective,
        json_patch(
            (
                select json_group_object(a.key, a.value)
                from json_each(d.attributes) as a
                where (a.key glob 'accept*' or a.key = 'output') and a.key in (select name from run_options)
            ),
            json_object(
                -- an executor that is dearer is none; where a tier is not known its row, which is a person's, decides
                'model', case
                    when d.action = 'subtask' or coalesce(d.tier, 2) >= coalesce(d.own_tier, 2) then d.model
                    else (
                        select coalesce(l.model, r.model)
                        from loops as l
                        join runs as r on r.id = l.run_id
                        where l.id = d.loop_id
                    )
                end
            )
        ),
        d.effect_id
    from _delegations_ahead as d
    cross join effects as f on f.id = d.effect_id and f.state = 'started'
    where d.effect_id = new.effect_id;
    insert into _share_known (run_id)
    select run_id
    from children
    where effect_id = new.effect_id;
end;

-- Refused without the token of the run's lease.
create trigger _offer_delegation__offer
instead of insert on _offer_delegation
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    where not exists (
        select 1
        from leases as l
        join runs as r on r.id = l.run_id
        where r.alias = new.run and l.token = new.lease
    );
    update leases
    set tools = json_set(coalesce(tools, '{}'), '$.subtask', 1, '$.execute', 1)
    where token = new.lease and new.run in (select run from _delegating_runs);
end;

create trigger _wait_for_children__wait
instead of insert on _wait_for_children
begin
    select fail(404, 'run ' || quote(new.run_id) || ': not found; see the table runs')
    where not exists (select 1 from runs where id = new.run_id);
    update runs
    set status = 202
    where id = new.run_id and status = 102 and exists (select 1 from _waiting_effects where run_id = new.run_id);
end;
