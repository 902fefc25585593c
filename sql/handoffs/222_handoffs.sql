-- Handoffs: another persona continues a prompt, with its own model and tools, in the same run.
-- The option handoffs of a prompt names the personas. Its model may then call the tool handoff; an app calls
-- verb_hand_over. The loop ends at 204, and a new loop with the same prompt and the other persona follows. The log of
-- the run shows what was done before. loop_results shows both loops as one prompt.
-- needs: nothing
-- spec: @handoffs

-- tables

-- Which loop was handed over, to whom, and in which loop that goes on.
create table if not exists handoffs (
    loop_id integer primary key constraint handoffs_loop references loops (id) on delete cascade,
    -- where the work on the prompt began: the loop itself, or that of the first handoff
    first_loop_id integer not null constraint handoffs_first_loop references loops (id) on delete cascade,
    persona text not null,
    -- null: that of the loop
    model text,
    -- names of the app's tools with commas between; null: all
    tools text,
    note text not null default '',
    -- null: the app asked for it
    command_id integer constraint handoffs_command references commands (id) on delete cascade,
    -- null: its loop has not ended so far, or otherwise
    next_loop_id integer constraint handoffs_next_loop references loops (id) on delete cascade
) strict;

create index if not exists idx_handoffs_next_loop_id on handoffs (next_loop_id) where next_loop_id is not null;
create index if not exists idx_handoffs_first_loop_id on handoffs (first_loop_id, next_loop_id);

-- seeds

insert into tools (name, ordinal, gathers, advertised, modes, schema, meaning, doc) values
    (
        'handoff', 95, 0, 0, '["ask","act"]',
        json('{"type": "object", "properties": {
            "persona": {"type": "string", "description": "the persona that continues"},
            "body": {"type": "string", "description": "what it should know besides the log"}
        }, "required": ["persona"]}'),
        'hand the prompt over to another persona, which answers it',
        '## <handoff persona="...">what it should know</handoff> - let another persona answer the prompt
Example: <handoff persona="billing">The customer is logged in; the order is A1.</handoff>
* It sees <prompt> and <log> and answers in your place. YOU MUST NOT answer in the same turn.'
    )
on conflict (name) do update
    set ordinal = excluded.ordinal, modes = excluded.modes, schema = excluded.schema, meaning = excluded.meaning,
        doc = excluded.doc;

insert into packet_sections (name, profile, role, ordinal, source, template, live, cached, stamps) values
    ('handoffs', 'full', 'system', 14, '_packet_handoffs', 'handoffs', 0, 0, '_handoff_stamps')
on conflict (profile, role, name) do update set source = excluded.source, stamps = excluded.stamps;

-- views

-- The loops that each loop went on in by handoffs: the next one, and those after it.
create view _handoff_lines as
select h.loop_id as before_id, n.next_loop_id as loop_id
from handoffs as h
cross join handoffs as n indexed by idx_handoffs_first_loop_id
    on n.first_loop_id = h.first_loop_id and n.next_loop_id > h.loop_id;

-- The personas that a loop may be handed over to: those of its option, but for its own.
create view _offered_handoffs as
select
    l.id as loop_id,
    o.value ->> '$.persona' as persona,
    o.value ->> '$.when' as said,
    o.value ->> '$.model' as model,
    o.value ->> '$.tools' as tools
from loops as l
join runs as r on r.id = l.run_id
join json_each(l.config ->> '$.handoffs') as o
where l.config ->> '$.handoffs' is not null
    and o.value ->> '$.persona' <> coalesce(l.config ->> '$.persona', r.persona);

-- The tool is open in a loop that may be handed over.
create view _opened_tools__handoffs as
select l.id as loop_id, cast('handoff' as text) as name
from loops as l
where exists (select 1 from _offered_handoffs as o where o.loop_id = l.id);

create view _packet_handoffs as
select
    t.id as turn_id,
    'handoffs' as layer,
    '' as source,
    group_concat('* ' || o.persona || coalesce(': ' || nullif(o.said, ''), ''), char(10)) as text
from turns as t
join _offered_handoffs as o on o.loop_id = t.loop_id
group by t.id;

-- Null: the section is left out.
create view _handoff_stamps as
select t.id as turn_id, l.config ->> '$.handoffs' as stamp
from turns as t
join loops as l on l.id = t.loop_id;

-- A turn in which the model handed its prompt over ends its loop.
create view _loop_votes__handoffs as
select c.turn_id, 'handoff' as voter, 12 as rank, 204 as status, 'handed over to ' || h.persona as reason, null as answer
from handoffs as h
join commands as c on c.id = h.command_id and c.state = 'resolved';

-- In which loop the work on a prompt goes on: the last one of its line.
create view _continuing_loops__handoffs as
select
    h.loop_id,
    (select max(n.next_loop_id) from handoffs as n where n.first_loop_id = h.first_loop_id) as last_id
from handoffs as h
where h.next_loop_id is not null;

create view _prior_loops__handoffs as
select next_loop_id as loop_id, loop_id as prior_loop_id
from handoffs
where next_loop_id is not null;

-- The loops that worked on the prompt of another one.
create view _working_loops__handoffs as
select before_id as loop_id, loop_id as working_loop_id
from _handoff_lines;

-- Note a call of the tool, or say why it fails: insert into _note_handoff (command_id), by _late_call.
create view _note_handoff as
select command_id
from handoffs
where false;

-- The prompt goes on in a loop of its own, with the persona, the model and the tools of whom it was handed to: insert into
-- _continue_handoff (loop_id), by _late_call.
create view _continue_handoff as
select loop_id
from handoffs
where false;

create view verb_hand_over as
-- Hand the open prompt of a run over: insert into verb_hand_over (run, persona, model, tools, body) values ('demo',
-- 'billing', null, null, 'The order is A1.'). 'model' and 'tools' are null for those that it has. Refused while a turn is
-- open.
select r.alias as run, h.persona, h.model, h.tools, h.note as body
from handoffs as h
join runs as r on false;

create view prompt_handoffs as
-- Which prompts were handed over: select * from prompt_handoffs where run = 'demo'. 'next_loop' is the prompt in which the
-- other persona goes on; 'decided_by' is model, client, or engine where another model goes on (prompt_fallbacks).
select
    r.alias as run,
    l.sequence as loop,
    coalesce(l.config ->> '$.persona', r.persona) as from_persona,
    h.persona as to_persona,
    n.sequence as next_loop,
    n.model,
    h.note,
    case
        when h.command_id is not null then 'model'
        when exists (select 1 from fallbacks as f join turns as t on t.id = f.turn_id where t.loop_id = l.id) then 'engine'
        else 'client'
    end as decided_by
from handoffs as h
join loops as l on l.id = h.loop_id
join loops as n on n.id = h.next_loop_id
join runs as r on r.id = l.run_id;

-- triggers

-- The option names personas that there are.
create trigger loops__guard_handoffs
before insert on loops
when new.config ->> '$.handoffs' is not null
begin
    select fail(400, 'handoffs: must be a JSON array of objects with a persona')
    where not json_valid(new.config ->> '$.handoffs')
        or json_type(new.config ->> '$.handoffs') <> 'array'
        or exists (
            select 1
            from json_each(new.config ->> '$.handoffs') as o
            where o.type <> 'object' or coalesce(o.value ->> '$.persona', '') = ''
        );
    select fail(
        404,
        'handoffs: persona ' || quote(o.value ->> '$.persona') || ' not found; the personas are '
        || (select group_concat(name, ', ') from personas)
    )
    from json_each(new.config ->> '$.handoffs') as o
    where o.value ->> '$.persona' not in (select name from personas);
end;

create trigger commands__hand_over
after update of state on commands
when new.action = 'handoff' and new.state = 'performing'
begin
    insert into _late_call (door, a) values ('_note_handoff', new.id);
end;

-- The call is noted; the turn's judgement ends the loop.
create trigger _note_handoff__note
instead of insert on _note_handoff
begin
    insert into _fail_command (command_id, fault)
    select
        c.id,
        case
            when c.attributes ->> '$.persona' is null then 'validation: name the persona: '
            else 'not_found: ' || quote(substr(c.attributes ->> '$.persona', 1, 60))
                || ' is not among those to hand over to: '
        end
        || coalesce((select group_concat(persona, ', ') from _offered_handoffs where loop_id = c.loop_id), 'none')
    from commands as c
    where c.id = new.command_id
        and coalesce(c.attributes ->> '$.persona', '') not in (
            select persona from _offered_handoffs where loop_id = c.loop_id
        );
    insert into _fail_command (command_id, fault)
    select c.id, 'conflict: this prompt was handed over ' || count(*) || ' times; answer it'
    from commands as c
    join handoffs as b on b.next_loop_id = c.loop_id
    join handoffs as a on a.first_loop_id = b.first_loop_id and a.next_loop_id is not null
    where c.id = new.command_id
    group by c.id
    having count(*) >= 8;
    insert into handoffs (loop_id, first_loop_id, persona, model, tools, note, command_id)
    select
        o.loop_id, coalesce((select b.first_loop_id from handoffs as b where b.next_loop_id = o.loop_id), o.loop_id),
        o.persona, o.model, o.tools, coalesce(c.body, ''), c.id
    from commands as c
    join _offered_handoffs as o on o.loop_id = c.loop_id and o.persona = c.attributes ->> '$.persona'
    where c.id = new.command_id and c.state = 'performing'
    limit 1
    on conflict (loop_id) do update
        set persona = excluded.persona, model = excluded.model, tools = excluded.tools, note = excluded.note,
            command_id = excluded.command_id;
    insert into _resolve_command (command_id, message)
    select
        command_id,
        'Handed over to ' || persona || '.' || coalesce(char(10) || nullif(trim(note), ''), '')
    from handoffs
    where command_id = new.command_id;
end;

-- A loop that was handed over and ends goes on in another one.
create trigger loops__go_on
after update of status on loops
when new.status = 204 and old.status = 102
begin
    insert into _late_call (door, a)
    select '_continue_handoff', loop_id
    from handoffs
    where loop_id = new.id and next_loop_id is null;
end;

create trigger _continue_handoff__continue
instead of insert on _continue_handoff
begin
    insert into loops (run_id, sequence, mode, model, prompt, config, created_at)
    select
        l.run_id, r.next_loop, l.mode, coalesce(h.model, l.model),
        -- what a model notes stands in the log
        l.prompt
        || coalesce(char(10, 10) || 'Note: ' || case when h.command_id is null then nullif(trim(h.note), '') end, ''),
        json_patch(
            json_patch(l.config, json_object('persona', h.persona, 'tools', h.tools)),
            -- those of another model may not be taken by this one
            case when h.model is null then '{}' else '{"model_options": null}' end
        ), now()
    from handoffs as h
    join loops as l on l.id = h.loop_id
    join runs as r on r.id = l.run_id
    where h.loop_id = new.loop_id;
    update handoffs
    set next_loop_id = (select max(n.id) from loops as l join loops as n on n.run_id = l.run_id where l.id = new.loop_id)
    where loop_id = new.loop_id;
    update runs
    set next_loop = next_loop + 1
    where id = (select run_id from loops where id = new.loop_id);
    insert into events (at, run_id, kind, detail)
    select
        now(), l.run_id, 'prompt.handed_over',
        json_object('loop', l.sequence, 'persona', h.persona, 'next', n.sequence, 'model', n.model)
    from handoffs as h
    join loops as l on l.id = h.loop_id
    join loops as n on n.id = h.next_loop_id
    where h.loop_id = new.loop_id;
end;

-- The active prompt, else the next one in line.
create trigger verb_hand_over__hand_over
instead of insert on verb_hand_over
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(
        404,
        'persona ' || quote(new.persona) || ': not found; the personas are '
        || (select group_concat(name, ', ') from personas)
    )
    where coalesce(new.persona, '') not in (select name from personas);
    select fail(409, 'run ' || new.run || ': has no open prompt to hand over; give it a prompt first')
    where not exists (select 1 from open_prompts as o where o.run = new.run);
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _leases_in_force as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run;
    select fail(
        409,
        'run ' || new.run || ': turn ' || t.sequence || ' is still open; decide on its proposals, or resume the run first'
    )
    from turns as t
    join runs as r on r.id = t.run_id
    where r.alias = new.run and t.phase <> 'judged';
    insert into _move_loop (loop_id, status)
    select q.id, 102
    from loops as q
    join runs as r on r.id = q.run_id
    where r.alias = new.run
        and q.status = 100
        and not exists (select 1 from loops as l where l.run_id = r.id and l.status = 102)
    order by q.sequence
    limit 1;
    insert into handoffs (loop_id, first_loop_id, persona, model, tools, note)
    select
        l.id, coalesce((select b.first_loop_id from handoffs as b where b.next_loop_id = l.id), l.id), new.persona,
        new.model, new.tools, coalesce(new.body, '')
    from loops as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.status = 102
    on conflict (loop_id) do update
        set persona = excluded.persona, model = excluded.model, tools = excluded.tools, note = excluded.note,
            command_id = null;
    insert into _move_loop (loop_id, status, reason)
    select l.id, 204, 'handed over to ' || new.persona
    from loops as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.status = 102;
end;
