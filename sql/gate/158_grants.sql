-- Grants: permissions that a person gave in advance, so that similar proposals need no decision.
-- A grant accepts proposals of one kind, for one run or for all runs of a project. It counts only where the user's
-- own store confirms it, so that a file from elsewhere brings no rights along. Proposals that need no person are
-- decided here, too.
-- spec: @grants @yolo_mode

-- tables

-- All grants, those that were revoked too.
create table if not exists grants (
    id integer primary key,
    project_id integer not null constraint grants_project references projects (id) on delete cascade,
    -- null: all runs of the project
    run_id integer constraint grants_run references runs (id) on delete cascade,
    -- the kind of the proposals that it accepts: file_write, file_delete, process or mcp
    kind text not null constraint grants_kind check (kind in ('file_write', 'file_delete', 'process', 'mcp')),
    -- a glob over the files, the whole command line, or a tool with its digest; null: every one, in one run only
    target text constraint grants_target check (target is not null or run_id is not null),
    -- the name of a person
    granted_by text not null,
    created_at integer not null,
    revoked_at integer,
    -- the prompt of that run until whose end it holds; null: until it is revoked
    loop_id integer constraint grants_loop references loops (id) on delete cascade
        constraint grants_loop_of_a_run check (loop_id is null or run_id is not null)
) strict;

create index if not exists idx_grants_project_id on grants (project_id, kind) where revoked_at is null;

-- views

-- What a grant allows, and in which folder, as the text by which the user's own store knows it.
create view _grant_rights as
select
    g.id as grant_id,
    json_array('grant', g.id, g.project_id, j.root, g.run_id, g.kind, g.target, g.created_at, g.loop_id) as right_text
from grants as g
cross join projects as j on j.id = g.project_id
where g.revoked_at is null;

-- The grants that hold.
create view _counting_grants as
select g.*
from grants as g
cross join _grant_rights as t on t.grant_id = g.id
where is_confirmed(t.right_text)
    and (g.loop_id is null or exists (select 1 from loops as l where l.id = g.loop_id and l.status in (100, 102)));

create view granted as
-- The grants that were given and not revoked: accept proposals like these without asking. 'run' is null for all runs of
-- the folder, 'target' for every target, 'prompt' the number of the prompt with whose end it ends. One counts only where
-- the user's own store confirms it.
select
    g.id as grant_id,
    r.alias as run,
    coalesce(j.root, j.name) as folder,
    g.kind,
    g.target,
    l.sequence as prompt,
    g.granted_by,
    strftime('%Y-%m-%d %H:%M:%S', g.created_at / 1000.0, 'unixepoch') as created_at
from grants as g
join projects as j on j.id = g.project_id
left join runs as r on r.id = g.run_id
left join loops as l on l.id = g.loop_id
where g.revoked_at is null
    and (l.id is null or l.status in (100, 102))
order by g.id;

-- The grant that accepts a proposal, the first of several; null where none does. What a symbolic link leads to is granted
-- too, or the link is not.
create view _granted_proposals as
select
    p.id as proposal_id,
    (
        select g.id
        from _counting_grants as g
        where g.project_id = r.project_id
            and g.kind = p.kind
            -- one for the run at the top of a tree holds below it
            and (
                g.run_id is null
                or g.run_id in (p.run_id, (select c.root_run_id from children as c where c.run_id = p.run_id))
            )
            and case
                when g.target is null then 1
                when p.kind = 'mcp' then g.target = p.target
                when p.kind = 'process' then trim(g.target, char(32, 9, 10, 13)) = trim(p.target, char(32, 9, 10, 13))
                else pattern_match(g.target, p.target)
                    and pattern_match(g.target, coalesce(json_extract(p.detail, '$.leads_to'), p.target))
            end
        order by g.id
        limit 1
    ) as grant_id
from proposals as p
cross join runs as r on r.id = p.run_id;

-- The decision on each proposal that is neither a question nor a command line, and whose it is: that of a grant, of yolo or
-- of accept_edits on one of the model, and acceptance of what a client, a plugin or the system asks for. decided_by is null
-- where a person decides.
create view _plain_decisions as
select
    p.id as proposal_id,
    p.run_id,
    p.path,
    p.created_at,
    'accept' as decision,
    null as reason,
    coalesce(
        case when c.writer <> 'model' then c.writer end,
        'grant ' || (select g.grant_id from _granted_proposals as g where g.proposal_id = p.id),
        (select 'yolo' from _loop_flags as f where f.loop_id = c.loop_id and f.flag = 'yolo'),
        (
            select 'accept_edits'
            from _loop_flags as f
            where f.loop_id = c.loop_id and f.flag = 'accept_edits' and p.kind in ('file_write', 'file_delete')
        )
    ) as decided_by
from proposals as p
cross join commands as c on c.id = p.command_id
where p.kind not in ('question', 'process');

-- The same for command lines, by policies and sandboxes too. What a policy asks about is always a person's. What may be
-- hidden in a line is accepted by a grant for that line alone; yolo, which asks nobody, refuses it where a policy refuses
-- what may be hidden.
create view _line_decisions as
select
    p.id as proposal_id,
    p.run_id,
    p.path,
    p.created_at,
    case k.decision when 'refuse' then 'reject' else 'accept' end as decision,
    case
        when d.value > 0 then k.message
        else 'Refused: it is not known which programs this line starts, and ' || k.name || ' is refused here. Name each '
            || 'program in the line itself, without quotes, variables and patterns. ' || k.message
    end as reason,
    coalesce(
        case when c.writer <> 'model' then c.writer end,
        case when d.value > 0 then 'policy ' || k.name end,
        'grant ' || g.value,
        case when k.id is null then (select 'sandbox' from _confined_proposals as x where x.proposal_id = p.id) end,
        (
            select case when k.id is null then 'yolo' when k.decision = 'refuse' then 'policy ' || k.name end
            from _loop_flags as f
            where f.loop_id = c.loop_id and f.flag = 'yolo'
        )
    ) as decided_by
from proposals as p
cross join commands as c on c.id = p.command_id
-- each of these is looked up once: the policy, below 0 for what the line may hide, and the grant
cross join json_each(
    json_array(
        case
            when c.writer = 'model'
                then (select l.policy_id from _line_policies as l where l.line_id = p.id order by l.rank limit 1)
        end
    )
) as d
cross join json_each(json_array((select n.grant_id from _granted_proposals as n where n.proposal_id = p.id))) as g
-- a grant for the line itself accepts what it may hide
left join command_policies as k on k.id = case when d.value > 0 then d.value when g.value is null then -d.value end
where p.kind = 'process' and (coalesce(d.value, 0) <= 0 or k.decision <> 'ask');

-- Both.
create view _immediate_decisions as
select * from _plain_decisions
union all
select * from _line_decisions;

-- Decide on the command line of a proposal that was just made, if no person has to: insert into _decide_line (proposal_id),
-- by _late_call.
create view _decide_line as
select id as proposal_id
from proposals
where false;

-- Open proposals that yolo accepts: no question, and none that a policy asks about or, by now, refuses, or may.
create view _yolo_proposals as
select p.id as proposal_id
from proposals as p
left join command_policies as k
    on k.id = (select abs(l.policy_id) from _line_policies as l where l.line_id = p.id order by l.rank limit 1)
where p.state = 'proposed' and p.kind <> 'question' and coalesce(k.decision, 'accept') = 'accept';

-- triggers

create trigger _decide_line__decide
instead of insert on _decide_line
begin
    insert into resolutions (run_id, path, proposal_id, decision, reason, decided_by, created_at)
    select run_id, path, proposal_id, decision, reason, decided_by, created_at
    from (
        select *
        from _line_decisions
        where proposal_id = new.proposal_id
        -- one: who decides is looked up once
        limit 1
    )
    where decided_by is not null;
end;
