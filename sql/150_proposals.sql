-- Proposals: what a command would do to the world, until somebody decided on it.
-- One command may make several; while one is open it waits, and it is settled when all are. Where a plan stands together, a
-- move or a patch, all is done or nothing.
-- spec: @proposals @yolo_mode

-- tables

create table if not exists proposals (
    id integer primary key,
    command_id integer not null constraint proposals_command references commands (id) on delete cascade,
    run_id integer not null constraint proposals_run references runs (id) on delete cascade,
    turn_id integer,
    loop_id integer,
    ordinal integer not null,
    -- the log entry by which it is addressed
    path text not null,
    -- what would happen: file_write, file_delete, process, question, or a plugin's effect
    kind text not null,
    action text not null,
    -- the file, the command line or the question
    target text,
    -- the new text of a file
    content_id integer constraint proposals_content references contents (id),
    detail text not null default '{}' constraint proposals_detail_json check (json_valid(detail)),
    state text not null constraint proposals_state references states (name),
    outcome text,
    reason text,
    created_at integer not null,
    decided_at integer
) strict;

create index if not exists idx_proposals_command_id on proposals (command_id);
create index if not exists idx_proposals_open on proposals (run_id) where state = 'proposed';

-- views

create view open_proposals as
-- What waits for a decision: accept or reject it with 'engine resolve', or insert into resolutions.
select
    r.alias as run,
    t.sequence as turn,
    p.path,
    p.action,
    p.target,
    coalesce(p.detail ->> '$.diff', p.detail ->> '$.command', p.detail ->> '$.question', p.detail) as detail,
    strftime('%Y-%m-%d %H:%M:%S', p.created_at / 1000.0, 'unixepoch') as since,
    p.kind,
    p.id as proposal_id
from proposals as p
join runs as r on r.id = p.run_id
left join turns as t on t.id = p.turn_id
where p.state = 'proposed';

-- Commands whose proposals stand together: all are done or none.
create view joint_commands as
select id as command_id
from commands
where action = 'mv' or json_extract(attributes, '$.together') = 1;

-- Open a proposal for a command: insert into proposal_openings (command_id, kind, target, content_id, detail).
create view proposal_openings as
select command_id, kind, target, content_id, detail
from proposals
where false;

-- What to tell of a command when the last of its proposals is settled: where one failed, the first that did and what was
-- done before it; else what was answered.
create view proposal_ends as
select
    m.id as command_id,
    case when f.id is null then 'resolved' else 'failed' end as state,
    f.outcome,
    coalesce(
        coalesce(f.reason, f.outcome) || coalesce(
            char(10) || 'Done before it failed: ' || (
                select group_concat(d.target, ', ')
                from proposals as d
                join joint_commands as j on j.command_id = d.command_id
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

-- A proposal failed: insert into proposal_failures (command_id).
create view proposal_failures as
select command_id
from proposals
where state = 'failed';

-- triggers

create trigger proposal_openings__open
instead of insert on proposal_openings
begin
    insert into proposals (
        command_id, run_id, turn_id, loop_id, ordinal, path, kind, action, target, content_id, detail, state, created_at
    )
    select
        c.id, c.run_id, c.turn_id, c.loop_id,
        (select count(*) from proposals as o where o.command_id = c.id),
        coalesce(c.log_path, 'log://commands/' || c.id),
        new.kind, c.action, new.target, new.content_id, new.detail, 'proposed', now()
    from commands as c
    where c.id = new.command_id;
end;

-- A command that failed at one of its proposals proposes no more.
create trigger proposals__end_with_the_command
before insert on proposals
when (select state from commands where id = new.command_id) = 'failed'
begin
    select raise(ignore);
end;

-- An open proposal makes its command wait, unless the one who asked may decide for himself.
create trigger proposals__wait_or_accept
after insert on proposals
begin
    update commands
    set state = 'proposed'
    where id = new.command_id and state = 'performing';
    insert into events (at, run_id, turn_id, kind, detail)
    values (new.created_at, new.run_id, new.turn_id, 'proposal.opened',
        json_object('path', new.path, 'action', new.action, 'target', new.target));
    insert into resolutions (run_id, path, proposal_id, decision, decided_by, created_at)
    select new.run_id, new.path, new.id, 'accept', case c.writer when 'model' then 'yolo' else c.writer end, now()
    from commands as c
    where c.id = new.command_id
        and new.kind <> 'question'
        and (
            c.writer <> 'model'
            or exists (select 1 from loop_flags as f where f.loop_id = c.loop_id and f.flag = 'yolo')
        );
end;

-- What was accepted is to be done; what was refused or done settles its command.
create trigger proposals__follow_the_decision
after update of state on proposals
when new.state <> old.state and new.state in ('accepted', 'failed', 'cancelled', 'resolved')
begin
    insert into effects (run_id, turn_id, command_id, proposal_id, kind, detail)
    select run_id, turn_id, command_id, proposal_id, kind, detail
    from due_effects
    where command_id = new.command_id
        and new.state = 'accepted'
        and (proposal_id = new.id or exists (select 1 from joint_commands as j where j.command_id = new.command_id))
    order by ordinal;
    insert into events (at, run_id, turn_id, kind, detail)
    values (now(), new.run_id, new.turn_id, 'proposal.' || new.state, json_object('path', new.path, 'outcome', new.outcome));
    insert into proposal_failures (command_id)
    select new.command_id
    where new.state = 'failed';
    update commands
    set state = e.state, outcome = e.outcome, message = e.message
    from proposal_ends as e
    where e.command_id = new.command_id and commands.id = new.command_id;
    update commands
    set state = 'accepted'
    where id = new.command_id
        and state = 'proposed'
        and not exists (
            select 1 from proposals where command_id = new.command_id and state in ('proposed', 'accepting')
        );
end;

-- What was not yet decided of a command that failed in part is off. Half a move would lose a file, half a patch would break
-- a program: of what stands together none is done when one cannot be.
create trigger proposal_failures__cancel
instead of insert on proposal_failures
begin
    update proposals
    set state = 'cancelled', outcome = 'aborted'
    where command_id = new.command_id and state = 'proposed';
    update effects
    set state = 'cancelled', ended_at = now()
    where command_id = new.command_id
        and state = 'pending'
        and exists (select 1 from joint_commands as j where j.command_id = new.command_id);
    update proposals
    set state = 'cancelled', outcome = 'aborted'
    where command_id = new.command_id
        and state = 'accepted'
        and exists (select 1 from joint_commands as j where j.command_id = new.command_id)
        and not exists (
            select 1 from effects as f where f.proposal_id = proposals.id and f.state in ('pending', 'started')
        );
end;
