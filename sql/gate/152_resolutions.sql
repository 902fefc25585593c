-- Resolutions: decisions on proposals, by a person, a client or yolo.
-- A resolution decides on one proposal, on those under a path, or on all that are open in a run, one after the other.
-- An accepted proposal is 'accepting' while vetoes are checked: a veto is a trigger that sets it to 'failed'.
-- spec: @resolutions @file_constraints

-- tables

-- All decisions. An insert carries the decision out.
create table if not exists resolutions (
    id integer primary key,
    run_id integer not null constraint resolutions_run references runs (id) on delete cascade,
    -- null: every open proposal of the run
    path text,
    -- null: every proposal under that path
    proposal_id integer,
    -- error: the command fails with the outcome error
    decision text not null constraint resolutions_decision check (decision in ('accept', 'reject', 'error')),
    -- the answer to a question, or a text in place of the proposed one
    body text,
    reason text,
    -- the name of a person, callback (on_proposal), yolo, or a tier of writers
    decided_by text not null default 'client',
    created_at integer not null default 0
) strict;

create index if not exists idx_resolutions_run_id on resolutions (run_id);

-- views

-- The open proposals that a resolution decides on.
create view _proposals_to_decide as
select s.id as resolution_id, p.id as proposal_id, p.kind
from resolutions as s
cross join proposals as p on p.run_id = s.run_id
where p.state = 'proposed'
    and (s.path is null or p.path = s.path)
    and (s.proposal_id is null or p.id = s.proposal_id);

-- The resolution that decided on each proposal: the first one that names it. One from before it was open is none.
create view _first_decisions as
select
    p.id as proposal_id,
    (
        select min(o.id)
        from resolutions as o
        where o.run_id = p.run_id
            and (o.proposal_id = p.id or (o.proposal_id is null and (o.path is null or o.path = p.path)))
            and (o.proposal_id is not null or o.created_at >= p.created_at)
    ) as resolution_id
from proposals as p
where p.decided_at is not null;

create view decisions as
-- The proposals that somebody has decided on: what was decided, by whom, when and why: select * from decisions where
-- run = 'demo'. 'decided_by' is the name of a person, callback (on_proposal), yolo, sandbox, or a tier of
-- writers. 'diff' is the change of a file as it was proposed, 'body' the answer to a question, or the text that somebody
-- put in the place of the proposed one.
select
    r.alias as run,
    t.sequence as turn,
    p.path,
    p.kind,
    p.target,
    s.decision,
    s.decided_by,
    s.reason,
    strftime('%Y-%m-%d %H:%M:%S', p.decided_at / 1000.0, 'unixepoch') as decided_at,
    p.command_id,
    p.id as proposal_id,
    json_extract(p.detail, '$.diff') as diff,
    s.body
from proposals as p
join runs as r on r.id = p.run_id
join _first_decisions as d on d.proposal_id = p.id
join resolutions as s on s.id = d.resolution_id
left join turns as t on t.id = p.turn_id;

-- Decide on a proposal, where there is a decision, and act on what has come of it: insert into _settle_proposal
-- (proposal_id, decision, body, reason), by _late_call. Its effect is created, or its command ends.
create view _settle_proposal as
select id as proposal_id, null as decision, null as body, reason
from proposals
where false;

-- triggers

-- Refuse a decision where nothing is proposed, a text for several files, or for a process or a removal alone, and the
-- acceptance of a question without an answer. Otherwise decide on each proposal.
create trigger resolutions__decide
after insert on resolutions
begin
    select case
            when count(d.proposal_id) = 0
                then fail(404, w.said_of || ': has no open proposal; ''engine proposals'' lists the open proposals')
            when new.decision <> 'accept' then null
            when new.body is null and sum(d.kind = 'question') > 0
                then fail(400, w.said_of || ': is a question; give an answer, or reject the question')
            when new.body is null then null
            when sum(d.kind = 'file_write') > 1
                then fail(
                    400, w.said_of || ': has proposals for several files; choose the file for this text by its proposal_id'
                )
            when sum(d.kind not in ('process', 'file_delete')) = 0
                then fail(400, w.said_of || ': its text cannot be replaced; accept the proposal unchanged, or '
                    || 'reject it with a reason')
        end
    from (
        select coalesce(
                new.path, 'run ' || coalesce((select alias from runs where id = new.run_id), quote(new.run_id))
            ) as said_of
    ) as w
    left join _proposals_to_decide as d on d.resolution_id = new.id;
    update resolutions
    set created_at = now()
    where id = new.id and new.created_at = 0;
    insert into _late_call (door, a, b, c, d)
    select '_settle_proposal', proposal_id, new.decision, new.body, new.reason
    from _proposals_to_decide
    where resolution_id = new.id;
end;

-- Plugins check their vetoes when the proposal becomes 'accepting'; the constraint readonly is checked after them. A
-- proposal that nothing failed becomes accepted, a question is resolved.
-- Then its event is written. An accepted proposal gets its effect, a process also the entries for its output; of a move or
-- a patch all get theirs with the last acceptance. A failed proposal cancels the others. The command becomes accepted when
-- nothing is undecided, and ends when all are settled.
create trigger _settle_proposal__settle
instead of insert on _settle_proposal
begin
    -- a text in place of the proposed one
    insert into _store_content (path, body)
    select p.target, new.body
    from proposals as p
    where p.id = new.proposal_id and p.kind = 'file_write' and new.body is not null and new.decision = 'accept';
    update proposals
    set state = case new.decision when 'accept' then 'accepting' else 'failed' end,
        outcome = case new.decision when 'accept' then null when 'reject' then 'rejected' else 'error' end,
        -- the model is told what was changed in its text
        reason = case
            when kind = 'file_write' and new.body is not null and new.decision = 'accept'
                then coalesce(new.reason || char(10), '') || 'changed before it was accepted:' || char(10)
                    || edit_diff(target, (select body from contents where id = content_id), new.body)
            else new.reason
        end,
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
    where id = new.proposal_id and state = 'proposed' and new.decision is not null;
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
            where r.id = proposals.run_id
                and k.rule = 'readonly'
                -- a pattern that cannot be matched protects too
                and (
                    pattern_match(k.pattern, proposals.target)
                    or pattern_match(k.pattern, json_extract(proposals.detail, '$.leads_to'))
                    or pattern_error(k.pattern) is not null
                )
        );
    update proposals
    set state = case kind when 'question' then 'resolved' else 'accepted' end
    where id = new.proposal_id and state = 'accepting';
    -- what has come of it
    insert into events (at, run_id, turn_id, kind, detail)
    select now(), run_id, turn_id, 'proposal.' || state, json_object('path', path, 'outcome', outcome)
    from proposals
    where id = new.proposal_id and state <> 'cancelled';
    insert into effects (run_id, turn_id, command_id, proposal_id, kind, detail)
    select d.run_id, d.turn_id, d.command_id, d.proposal_id, d.kind, d.detail
    from proposals as p
    cross join _due_effects as d on d.command_id = p.command_id
    where p.id = new.proposal_id
        and p.state = 'accepted'
        and (d.proposal_id = p.id or exists (select 1 from _atomic_commands as j where j.command_id = p.command_id))
    order by d.proposal_id;
    -- the entries for the output of a process are empty and streaming
    insert into _write_entry (run_id, path, body, attributes, visibility, state, writer, turn)
    select
        c.run_id, c.path, '',
        json_object('command', json_extract(f.detail, '$.command'), 'channel', c.channel),
        'summarized', 'streaming', 'system',
        (select sequence from turns where id = c.turn_id)
    from proposals as p
    cross join effects as f on f.command_id = p.command_id and f.proposal_id = p.id
    cross join _effect_channels as c on c.effect_id = f.id
    where p.id = new.proposal_id and p.state = 'accepted'
    order by c.channel;
    update proposals
    set state = 'cancelled', outcome = 'aborted'
    where id in (
            select s.proposal_id
            from proposals as p
            cross join _stranded_proposals as s on s.command_id = p.command_id
            where p.id = new.proposal_id and p.state = 'failed'
        );
    update effects
    set state = 'cancelled', ended_at = now()
    where state = 'pending'
        and command_id = (select command_id from proposals where id = new.proposal_id and state = 'failed')
        and proposal_id in (select id from proposals where command_id = effects.command_id and state = 'cancelled');
    update commands
    set state = 'accepted'
    where id = (select command_id from proposals where id = new.proposal_id)
        and state = 'proposed'
        and exists (select 1 from proposals where command_id = commands.id and state = 'accepted')
        and not exists (select 1 from proposals where command_id = commands.id and state in ('proposed', 'accepting'));
    insert into _end_command (command_id, state, outcome, message)
    select e.command_id, e.state, e.outcome, e.message
    from proposals as p
    join _proposal_ends as e on e.command_id = p.command_id
    where p.id = new.proposal_id;
    -- a file was written or removed
    insert into _late_call (door, a)
    select '_keep_patch', f.id
    from effects as f
    join proposals as p on p.id = f.proposal_id and p.state = 'resolved' and p.kind in ('file_write', 'file_delete')
    where f.proposal_id = new.proposal_id and f.turn_id is not null;
end;
