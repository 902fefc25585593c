-- Proposals: the changes that a command would make, until somebody has decided on them.
-- A command may open several proposals. It waits while one of them is undecided, and is settled when all are settled.
-- The proposals of a move or of a patch are done together or not at all.
-- spec: @proposals @yolo_mode @command_policies @grants

-- tables

-- All proposals, those that are settled too.
create table if not exists proposals (
    id integer primary key,
    command_id integer not null constraint proposals_command references commands (id) on delete cascade,
    run_id integer not null constraint proposals_run references runs (id) on delete cascade,
    -- null: the command came from outside a turn
    turn_id integer,
    loop_id integer,
    -- its place among the proposals of its command, from 0
    ordinal integer not null,
    -- the log path of the command, by which decisions name the proposal
    path text not null,
    -- what would happen: file_write, file_delete, process, question, or a plugin's effect
    kind text not null,
    -- the action of the command
    action text not null,
    -- the file, the command line or the question
    target text,
    -- the new text of a file
    content_id integer constraint proposals_content references contents (id),
    -- what the effect needs and what a person is shown: a diff, a command line, a question and its answer
    detail text not null default '{}' constraint proposals_detail_json check (json_valid(detail)),
    state text not null constraint proposals_state references states (name),
    outcome text,
    -- what is told of how it ended
    reason text,
    created_at integer not null,
    decided_at integer
) strict;

create index if not exists idx_proposals_command_id on proposals (command_id);

create index if not exists idx_proposals_open on proposals (run_id) where state = 'proposed';

-- views

-- What of a project holds for a proposal of its own. A part gives the proposal and a JSON array of paths, or null.
create view _proposal_guidance as
select id as proposal_id, cast(null as text) as paths
from proposals
where false;

create view open_proposals as
-- The proposals that wait for a decision: 'engine accept' or 'reject' decides, or insert into resolutions.
-- 'background' is 1 for a command that would run on in the background, 'kept' for one that would outlive its task; 'tree'
-- names the runs down to one that was delegated to; 'instructions' is a JSON array of the AGENTS.md that hold for a file or
-- for what a command line names, the innermost first; 'options' is a JSON array of the answers that a question suggests.
select
    r.alias as run,
    t.sequence as turn,
    p.path,
    p.action,
    p.target,
    coalesce(p.detail ->> '$.diff', p.detail ->> '$.command', p.detail ->> '$.question', p.detail) as detail,
    strftime('%Y-%m-%d %H:%M:%S', p.created_at / 1000.0, 'unixepoch') as created_at,
    p.kind,
    p.id as proposal_id,
    p.kind = 'process' and p.detail ->> '$.background' is not null as background,
    (select t.tree from tree_runs as t where t.run_id = p.run_id and t.level > 0 limit 1) as tree,
    p.kind = 'process' and p.detail ->> '$.keep' is not null as kept,
    case
        when p.kind in ('file_write', 'file_delete', 'process')
            then (select i.paths from _proposal_guidance as i where i.proposal_id = p.id)
    end as instructions,
    case
        when p.kind = 'question' and p.detail ->> '$.options' is not null
            then (
                select nullif(json_group_array(o.option), '[]')
                from (
                    select trim(j.value, char(32, 9, 10, 13)) as option
                    from json_each('[' || replace(json_quote(p.detail ->> '$.options'), ';', '","') || ']') as j
                    where trim(j.value, char(32, 9, 10, 13)) <> ''
                    order by j.key
                ) as o
            )
    end as options
from proposals as p
join runs as r on r.id = p.run_id
left join turns as t on t.id = p.turn_id
where p.state = 'proposed';

create view _open_proposal as
-- Propose an effect for a command that is performing: insert into _open_proposal (command_id, kind, target, body,
-- detail). 'body' is the new text of a file. Nothing happens for a command that has failed.
select command_id, kind, target, null as body, detail
from proposals
where false;

-- Commands whose proposals are done together or not at all: moves and patches.
create view _atomic_commands as
select id as command_id
from commands
where action = 'mv' or json_extract(attributes, '$.together') = 1;

-- How a command ends when all of its proposals are settled. The message is that of the first one that failed, with what
-- was done before; else the answer to a question; else the command's own, with what was said of the files it wrote.
create view _proposal_ends as
select
    m.id as command_id,
    case when f.id is null then 'resolved' else 'failed' end as state,
    f.outcome,
    coalesce(
        coalesce(f.reason, f.outcome) || coalesce(
            char(10) || 'Done before it failed: ' || (
                select group_concat(d.target, ', ')
                from proposals as d
                join _atomic_commands as j on j.command_id = d.command_id
                where d.command_id = m.id and d.state = 'resolved'
            ), ''
        ),
        (
            select q.target || char(10) || '→ ' || json_extract(q.detail, '$.answer')
            from proposals as q
            where q.command_id = m.id and q.kind = 'question'
            order by q.ordinal desc
            limit 1
        ),
        (
            select
                coalesce(nullif(m.message, '') || char(10), '') || group_concat(e.target || ': ' || e.reason, char(10))
            from proposals as e
            where e.command_id = m.id and e.kind = 'file_write' and e.reason is not null
        ),
        m.message,
        ''
    ) as message
from commands as m
left join proposals as f on f.id = (
    select id from proposals where command_id = m.id and state = 'failed' order by ordinal limit 1
)
where m.state in ('proposed', 'accepted')
    and not exists (
        select 1 from proposals as o where o.command_id = m.id and o.state in ('proposed', 'accepting', 'accepted')
    );

-- Accepted proposals that have no effect yet and may get one. For a move or a patch none of the command's proposals may
-- be undecided.
create view _due_effects as
select
    p.run_id,
    p.turn_id,
    p.command_id,
    p.id as proposal_id,
    p.kind,
    json_set(p.detail, '$.path', p.target, '$.diff', null) as detail
from proposals as p
where p.state = 'accepted'
    and not exists (select 1 from effects as f where f.command_id = p.command_id and f.proposal_id = p.id)
    and not exists (
        select 1
        from _atomic_commands as j
        cross join proposals as o on o.command_id = j.command_id and o.state in ('proposed', 'accepting')
        where j.command_id = p.command_id
    );

-- Proposals that are cancelled because another one of their command has failed: the undecided ones and, of a move or a
-- patch, those whose effect has not started. Half a move would lose a file, half a patch would break a program.
create view _stranded_proposals as
select p.id as proposal_id, p.command_id
from proposals as p
where exists (select 1 from proposals as o where o.command_id = p.command_id and o.state = 'failed')
    and (
        p.state = 'proposed'
        or (
            p.state = 'accepted'
            and exists (select 1 from _atomic_commands as j where j.command_id = p.command_id)
            and not exists (
                select 1 from effects as f where f.proposal_id = p.id and f.state in ('started', 'done', 'interrupted')
            )
        )
    );

-- triggers

-- Write an event for each proposal that is cancelled; _settle_proposal writes those of the others.
create trigger proposals__record_cancelling
after update of state on proposals
when new.state = 'cancelled'
begin
    insert into events (at, run_id, turn_id, kind, detail)
    values (now(), new.run_id, new.turn_id, 'proposal.cancelled', json_object('path', new.path, 'outcome', new.outcome));
end;

create trigger _open_proposal__guard
instead of insert on _open_proposal
when not exists (select 1 from commands where id = new.command_id)
begin
    select fail(404, 'command ' || quote(new.command_id) || ': not found; see the view command_results');
end;

-- The command becomes proposed. A decision that needs no person is taken at once.
create trigger _open_proposal__open
instead of insert on _open_proposal
when (select state from commands where id = new.command_id) <> 'failed'
begin
    insert into _store_content (path, body)
    select new.target, new.body
    where new.body is not null;
    insert into proposals (
        command_id, run_id, turn_id, loop_id, ordinal, path, kind, action, target, content_id, detail, state, created_at
    )
    select
        c.id, c.run_id, c.turn_id, c.loop_id,
        (select count(*) from proposals as o where o.command_id = c.id),
        coalesce(c.log_path, 'log://commands/' || c.id),
        new.kind, c.action, new.target,
        case when new.body is not null then (select max(id) from contents) end,
        -- known: the run has seen the text that this one was made of
        case when new.kind <> 'file_write' then new.detail else json_set(
            new.detail,
            '$.known',
            not exists (
                select 1
                from _guarded_texts as u
                where u.command_id = c.id
                    and u.seen is not 1
                    and u.path in (new.target, c.path, json_extract(new.detail, '$.moved_from'))
            )
        ) end,
        'proposed', now()
    from commands as c
    where c.id = new.command_id;
    update commands
    set state = 'proposed'
    where id = new.command_id and state = 'performing';
    insert into events (at, run_id, turn_id, kind, detail)
    select
        p.created_at, p.run_id, p.turn_id, 'proposal.opened',
        json_object('path', p.path, 'action', p.action, 'target', p.target)
    from proposals as p
    where p.id = (select max(id) from proposals);
    insert into resolutions (run_id, path, proposal_id, decision, reason, decided_by, created_at)
    select run_id, path, proposal_id, decision, reason, decided_by, created_at
    from (
        select *
        from _plain_decisions
        where proposal_id = (select max(id) from proposals)
        -- one: who decides is looked up once
        limit 1
    )
    where decided_by is not null;
    insert into _late_call (door, a)
    select '_decide_line', id
    from proposals
    where id = (select max(id) from proposals) and kind = 'process';
end;
