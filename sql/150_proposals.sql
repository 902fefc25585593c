-- Proposals, resolutions and effects: how the world is changed by decision.
-- What a command would do to the world is proposed; a person, a client or yolo decides; what is accepted becomes an
-- effect, which the driver performs and reports. One command may make several proposals; it is settled when all are.
-- spec: @proposals @resolutions @effects @yolo_mode

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

create table if not exists resolutions (
    id integer primary key,
    run_id integer not null constraint resolutions_run references runs (id) on delete cascade,
    -- null: every open proposal of the run
    path text,
    -- null: every proposal under that path
    proposal_id integer,
    decision text not null constraint resolutions_decision check (decision in ('accept', 'reject', 'error')),
    -- an answer, or a text in place of the proposed one
    body text,
    reason text,
    decided_by text not null default 'client',
    created_at integer not null default 0
) strict;

create index if not exists idx_resolutions_run_id on resolutions (run_id);

create table if not exists effects (
    id integer primary key,
    run_id integer not null constraint effects_run references runs (id) on delete cascade,
    turn_id integer,
    command_id integer not null constraint effects_command references commands (id) on delete cascade,
    proposal_id integer constraint effects_proposal references proposals (id),
    kind text not null,
    detail text not null constraint effects_detail_json check (json_valid(detail)),
    state text not null default 'pending'
        constraint effects_state check (state in ('pending', 'started', 'done', 'interrupted', 'cancelled')),
    -- boot id, process id and start time of a started process, as JSON
    identity text,
    started_at integer,
    ended_at integer
) strict;

create index if not exists idx_effects_open on effects (run_id) where state in ('pending', 'started');
create index if not exists idx_effects_command_id on effects (command_id);

-- What the performer of an effect reports: the end of it.
create table if not exists effect_results (
    id integer primary key,
    effect_id integer not null constraint effect_results_effect references effects (id) on delete cascade,
    state text not null constraint effect_results_state check (state in ('resolved', 'failed', 'cancelled')),
    outcome text,
    message text,
    detail text not null default '{}' constraint effect_results_detail_json check (json_valid(detail)),
    lease text,
    constraint effect_results_once unique (effect_id)
) strict;

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

-- What the driver has to do in the world, with the text where there is one.
create view pending_effects as
select
    f.id as effect_id,
    f.run_id,
    f.turn_id,
    f.command_id,
    f.kind,
    f.detail,
    f.state,
    f.identity,
    c.body as text,
    j.root,
    m.action,
    min(
        cast(coalesce(
            json_extract(m.attributes, '$.timeout'), (select value from settings where name = 'process_timeout')
        ) as real),
        coalesce((select max(c.seconds_left, 1.0) from loop_seconds as c where c.loop_id = m.loop_id), 9e9)
    ) as timeout_s,
    (select cast(value as integer) from settings where name = 'process_output_bytes') as max_output
from effects as f
join commands as m on m.id = f.command_id
join runs as r on r.id = f.run_id
join projects as j on j.id = r.project_id
left join proposals as p on p.id = f.proposal_id
left join contents as c on c.id = p.content_id
where f.state in ('pending', 'started');

-- Effects that are done together or not at all, as long as none of them was begun: the driver looks at all of them first.
create view joint_effects as
select p.*
from pending_effects as p
join joint_commands as j on j.command_id = p.command_id
where not exists (select 1 from effects as o where o.command_id = p.command_id and o.state <> 'pending');

-- Say that an effect is about to touch the world: insert into effect_starts (effect_id, identity, lease).
create view effect_starts as
select id as effect_id, identity, null as lease
from effects
where state = 'started';

-- triggers

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

-- A decision: vetoes are asked while a proposal is 'accepting'; whoever has one fails it there.
create trigger resolutions__decide
after insert on resolutions
begin
    select fail(404, coalesce(new.path, 'run ' || (select alias from runs where id = new.run_id))
        || ': nothing is proposed there; see ''engine proposals''')
    where not exists (
        select 1
        from proposals as p
        where p.run_id = new.run_id
            and p.state = 'proposed'
            and (new.path is null or p.path = new.path)
            and (new.proposal_id is null or p.id = new.proposal_id)
    );
    select fail(400, coalesce(new.path, 'run ' || (select alias from runs where id = new.run_id))
        || ': several files are proposed there; say by proposal_id which of them the text is for')
    where new.decision = 'accept'
        and new.body is not null
        and (
            select count(*)
            from proposals as p
            where p.run_id = new.run_id
                and p.kind = 'file_write'
                and p.state = 'proposed'
                and (new.path is null or p.path = new.path)
                and (new.proposal_id is null or p.id = new.proposal_id)
        ) > 1;
    insert into decisions (proposal_id, decision, body, reason)
    select p.id, new.decision, new.body, new.reason
    from proposals as p
    where p.run_id = new.run_id
        and p.state = 'proposed'
        and (new.path is null or p.path = new.path)
        and (new.proposal_id is null or p.id = new.proposal_id);
end;

create view decisions as
select id as proposal_id, null as decision, null as body, reason
from proposals
where false;

create trigger decisions__take
instead of insert on decisions
begin
    -- a text in place of the proposed one
    insert into content_writes (path, body)
    select p.target, new.body
    from proposals as p
    where p.id = new.proposal_id and p.kind = 'file_write' and new.body is not null and new.decision = 'accept';
    update proposals
    set state = case new.decision when 'accept' then 'accepting' else 'failed' end,
        outcome = case new.decision when 'accept' then null when 'reject' then 'rejected' else 'error' end,
        reason = new.reason,
        content_id = case
            when kind = 'file_write' and new.body is not null and new.decision = 'accept'
                then (select max(id) from contents)
            else content_id
        end,
        detail = case
            when kind = 'question' and new.decision = 'accept' then json_set(detail, '$.answer', coalesce(new.body, ''))
            else detail
        end,
        decided_at = now()
    where id = new.proposal_id and state = 'proposed';
    update proposals
    set state = 'failed',
        outcome = 'readonly',
        reason = 'refused: ' || target || ' is readonly'
    where id = new.proposal_id
        and state = 'accepting'
        and kind in ('file_write', 'file_delete')
        and exists (
            select 1
            from runs as r
            join file_constraints as k on k.project_id = r.project_id
            where r.id = proposals.run_id and k.visibility = 'readonly' and pattern_match(k.pattern, proposals.target)
        );
    update proposals
    set state = case kind when 'question' then 'resolved' else 'accepted' end
    where id = new.proposal_id and state = 'accepting';
end;

-- What was accepted is to be done; what was refused settles its command.
create trigger proposals__follow_the_decision
after update of state on proposals
when new.state <> old.state and new.state in ('accepted', 'failed', 'cancelled', 'resolved')
begin
    insert into effects (run_id, turn_id, command_id, proposal_id, kind, detail)
    select new.run_id, new.turn_id, new.command_id, new.id, new.kind,
        json_set(new.detail, '$.path', new.target, '$.diff', null)
    where new.state = 'accepted'
        and not exists (select 1 from joint_commands as j where j.command_id = new.command_id);
    -- what stands together is done when the last of it is accepted
    insert into effects (run_id, turn_id, command_id, proposal_id, kind, detail)
    select p.run_id, p.turn_id, p.command_id, p.id, p.kind, json_set(p.detail, '$.path', p.target, '$.diff', null)
    from joint_commands as j
    join proposals as p on p.command_id = j.command_id and p.state = 'accepted'
    where j.command_id = new.command_id
        and new.state = 'accepted'
        and not exists (
            select 1 from proposals as o where o.command_id = new.command_id and o.state in ('proposed', 'accepting')
        )
        and not exists (select 1 from effects as f where f.proposal_id = p.id)
    order by p.ordinal;
    insert into events (at, run_id, turn_id, kind, detail)
    values (now(), new.run_id, new.turn_id, 'proposal.' || new.state, json_object('path', new.path, 'outcome', new.outcome));
    -- what was not yet decided of a command that failed in part is off
    update proposals
    set state = 'cancelled', outcome = 'aborted'
    where command_id = new.command_id and new.state = 'failed' and state = 'proposed';
    -- half a move would lose a file, half a patch would break a program: none is done when one cannot be
    update effects
    set state = 'cancelled', ended_at = now()
    where command_id = new.command_id
        and new.state = 'failed'
        and state = 'pending'
        and exists (select 1 from joint_commands as j where j.command_id = new.command_id);
    update proposals
    set state = 'cancelled', outcome = 'aborted'
    where command_id = new.command_id
        and new.state = 'failed'
        and state = 'accepted'
        and exists (select 1 from joint_commands as j where j.command_id = new.command_id)
        and not exists (
            select 1 from effects as f where f.proposal_id = proposals.id and f.state in ('pending', 'started')
        );
    update commands
    set state = case
            when exists (select 1 from proposals where command_id = new.command_id and state = 'failed') then 'failed'
            else 'resolved'
        end,
        outcome = (
            select outcome from proposals where command_id = new.command_id and state = 'failed' order by ordinal limit 1
        ),
        message = coalesce(
            (
                select coalesce(reason, outcome) || coalesce(
                        char(10) || 'Done before it failed: ' || (
                            select group_concat(d.target, ', ')
                            from proposals as d
                            join joint_commands as j on j.command_id = d.command_id
                            where d.command_id = new.command_id and d.state = 'resolved'
                        ), ''
                    )
                from proposals
                where command_id = new.command_id and state = 'failed'
                order by ordinal
                limit 1
            ),
            case when new.kind = 'question' then new.target || char(10) || '→ ' || json_extract(new.detail, '$.answer') end,
            message,
            ''
        )
    where id = new.command_id
        and state in ('proposed', 'accepted')
        and not exists (
            select 1
            from proposals
            where command_id = new.command_id and state in ('proposed', 'accepting', 'accepted')
        );
    update commands
    set state = 'accepted'
    where id = new.command_id
        and state = 'proposed'
        and not exists (
            select 1 from proposals where command_id = new.command_id and state in ('proposed', 'accepting')
        );
end;

create trigger effect_starts__start
instead of insert on effect_starts
begin
    select fail(409, 'effect ' || new.effect_id || ': another process drives its run')
    from effects as f
    join leases as l on l.run_id = f.run_id
    where f.id = new.effect_id and l.token is not new.lease and l.expires_at > now();
    update effects
    set state = 'started', identity = new.identity, started_at = now()
    where id = new.effect_id and state in ('pending', 'started');
end;

create trigger effect_results__guard_lease
before insert on effect_results
when exists (
        select 1
        from effects as f
        join leases as l on l.run_id = f.run_id
        where f.id = new.effect_id and l.token is not new.lease and l.expires_at > now()
    )
begin
    select fail(409, 'effect ' || new.effect_id || ': another process drives its run');
end;

create trigger effect_results__guard_state
before insert on effect_results
when not exists (select 1 from effects where id = new.effect_id and state in ('pending', 'started'))
begin
    select fail(409, 'effect ' || new.effect_id || ': is over already');
end;

-- The end of an effect settles its proposal; a file's entry becomes what the file is now.
create trigger effect_results__settle
after insert on effect_results
begin
    update effects
    set state = case
            when new.outcome = 'interrupted' then 'interrupted'
            when new.state = 'cancelled' then 'cancelled'
            else 'done'
        end,
        ended_at = now()
    where id = new.effect_id;
    insert into file_ends (effect_id)
    select id
    from effects
    where id = new.effect_id and kind in ('file_write', 'file_delete') and new.state = 'resolved';
    insert into process_ends (effect_id)
    select id
    from effects
    where id = new.effect_id and kind = 'process';
    update commands
    set message = coalesce(new.message, message)
    where id = (select command_id from effects where id = new.effect_id);
    update proposals
    set state = new.state, outcome = new.outcome, reason = coalesce(new.message, reason)
    where id = (select proposal_id from effects where id = new.effect_id);
    -- an effect that nobody had to decide on settles its command itself
    update commands
    set state = new.state, outcome = new.outcome, message = coalesce(message, '')
    where id = (select command_id from effects where id = new.effect_id and proposal_id is null)
        and state = 'accepted'
        and not exists (
            select 1 from effects as o where o.command_id = commands.id and o.state in ('pending', 'started')
        );
end;
