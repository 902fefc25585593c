-- Messages: the conversation of a run in the forms of other libraries, in and out.
-- verb_import_messages adds the messages of a conversation to a run as finished turns, with their calls and results.
-- The packets of later prompts show them like any earlier turn. No imported call is carried out. run_messages shows a
-- run as messages, imported or not.
-- needs: nothing
-- spec: @messages

-- tables

-- The calls that came with imported messages, and the ids that they had there.
create table if not exists imported_calls (
    command_id integer primary key constraint imported_calls_command references commands (id) on delete cascade,
    given_as text not null
) strict;

-- views

create view verb_import_messages as
-- Add messages to a run, which is made if it is new: insert into verb_import_messages (run, form, messages) values ('demo',
-- 'openai', '[{"role": "user", "content": "Hi"}, …]'). 'form' is openai, anthropic or pydantic_ai; null: as the messages
-- look.
select null as run, null as form, null as messages
where false;

create view _import_conversation as
-- Add a conversation to a run: insert into _import_conversation (run, conversation), the JSON of messages_read.
select null as run, null as conversation
where false;

-- Add a prompt with its turns to a run: insert into _import_prompt (run_id, prompt, is_over).
create view _import_prompt as
select id as run_id, null as prompt, 0 as is_over
from runs
where false;

-- Add a turn to the active loop of a run: insert into _import_turn (run_id, loop_id, turn, ends). 'ends' is 1 for the last
-- one of a loop that is over.
create view _import_turn as
select run_id, loop_id, null as turn, 0 as ends
from turns
where false;

-- The commands of turns that are calls in a conversation; an update is what the model says, a thought is its own.
create view _message_calls as
select
    c.id as command_id,
    c.run_id,
    c.turn_id,
    c.ordinal,
    c.action,
    c.log_path,
    coalesce(i.given_as, 'call_' || c.id) as call_id,
    -- the arguments of a verb that was called here have columns of their own
    case
        when i.given_as is not null then c.attributes
        else json_patch(json_patch('{}', json_object('path', c.path, 'to', c.destination, 'body', b.body)), c.attributes)
    end as arguments,
    -- what an app's tool returned stands behind the line of its call
    case
        when c.message glob c.action || '(*' || char(10) || '*' then substr(c.message, instr(c.message, char(10)) + 1)
        else coalesce(c.message, '')
    end as returned,
    c.state <> 'resolved' as failed
from commands as c
join turns as t on t.id = c.turn_id and t.phase = 'judged'
join _command_bodies as b on b.command_id = c.id
left join imported_calls as i on i.command_id = c.id
where i.given_as is not null or c.action not in ('update', 'think');

-- What the model said in turns that are over: its updates, or the answer of its loop where it wrote plain text.
create view _message_texts as
select
    t.id as turn_id,
    coalesce(
        (
            select group_concat(message, char(10) || char(10))
            from (
                select c.message
                from commands as c
                where c.turn_id = t.id
                    and c.action = 'update'
                    and c.state = 'resolved'
                    and c.id not in (select command_id from imported_calls)
                order by c.ordinal
            )
        ),
        case when t.status = 200 and l.status = 200 then l.answer end,
        ''
    ) as body
from turns as t
join loops as l on l.id = t.loop_id
where t.phase = 'judged';

create view run_messages as
-- The conversation of a run: select * from run_messages where run = 'demo' order by turn, place. 'role' is system, user,
-- assistant or tool; 'calls' is a JSON array of id, name and arguments; 'id' says which call a tool returned 'body' for, and
-- 'failed' is 1 if the call failed. A turn that is not over yet is left out, as is text beside calls that is no update.
select
    r.alias as run, null as loop, 0 as turn, -1 as place, 'system' as role, r.system_prompt as body, null as calls,
    null as id, null as failed
from runs as r
where trim(r.system_prompt) <> ''
union all
select
    r.alias, l.sequence,
    coalesce((select min(t.sequence) from turns as t where t.loop_id = l.id), r.next_turn + l.sequence), 0, 'user',
    l.prompt, null, null, null
from loops as l
join runs as r on r.id = l.run_id
-- a prompt that was handed over is said once
where not exists (
        select 1
        from _working_loops as w
        join loops as o on o.id = w.loop_id and o.run_id = l.run_id
        where w.working_loop_id = l.id
    )
union all
select
    r.alias, l.sequence, t.sequence, 1, 'assistant', m.body,
    (
        select json_group_array(json_object('id', call_id, 'name', action, 'arguments', json(arguments)))
        from (select * from _message_calls where turn_id = t.id order by ordinal)
    ),
    null, null
from turns as t
join _message_texts as m on m.turn_id = t.id
join loops as l on l.id = t.loop_id
join runs as r on r.id = t.run_id
where m.body <> '' or exists (select 1 from _message_calls as c where c.turn_id = t.id)
union all
select r.alias, l.sequence, t.sequence, 2 + c.ordinal, 'tool', c.returned, null, c.call_id, c.failed
from _message_calls as c
join turns as t on t.id = c.turn_id
join loops as l on l.id = t.loop_id
join runs as r on r.id = c.run_id;

create view _conversations as
-- The messages of each run as messages_write takes them: select messages_write(items, 'openai') from _conversations where
-- run = 'demo'.
select
    alias as run,
    (
        select json_group_array(
            json_object('role', role, 'body', body, 'calls', json(calls), 'id', id, 'failed', failed)
        )
        from (select * from run_messages where run = runs.alias order by turn, place)
    ) as items
from runs;

-- triggers

-- All or nothing. A run with a prompt that is not over, or that is driven, is refused.
create trigger verb_import_messages__import
instead of insert on verb_import_messages
begin
    select fail(400, 'verb_import_messages: run is missing; give the name of the run')
    where new.run is null;
    select fail(400, 'verb_import_messages: messages is empty; give at least one message')
    where new.messages is null;
    select fail(409, 'run ' || l.run || ': prompt ' || l.loop || ' has not ended; resume or abort the run first')
    from open_prompts as l
    where l.run = new.run
    limit 1;
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _leases_in_force as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run;
    insert into _import_conversation (run, conversation) values (new.run, messages_read(new.messages, new.form));
end;

create trigger _import_conversation__import
instead of insert on _import_conversation
begin
    select fail(400, 'run ' || quote(new.run) || ': there is no conversation to import; give a list of messages')
    where new.conversation is null;
    insert into verb_set (run, path, attributes)
    values (
        new.run, 'run://' || new.run, json_patch('{}', json_object('system_prompt', new.conversation ->> '$.system'))
    );
    -- the last prompt waits in line if nobody has answered it; if results of tools are the last that was said, its loop
    -- stays active, and whoever drives the run goes on with it
    insert into _import_prompt (run_id, prompt, is_over)
    select
        r.id, p.value,
        p.key < json_array_length(new.conversation, '$.prompts') - 1
        or coalesce(json_array_length(p.value, '$.turns[#-1].calls') = 0, 0)
    from runs as r
    cross join json_each(new.conversation, '$.prompts') as p
    where r.alias = new.run
    order by p.key;
    insert into events (at, run_id, kind, detail)
    select
        now(), id, 'messages.imported', json_object('prompts', json_array_length(new.conversation, '$.prompts'))
    from runs
    where alias = new.run;
end;

create trigger _import_prompt__import
instead of insert on _import_prompt
begin
    insert into loops (run_id, sequence, mode, model, prompt, created_at)
    select id, next_loop, 'act', model, new.prompt ->> '$.text', now()
    from runs
    where id = new.run_id;
    update runs
    set next_loop = next_loop + 1
    where id = new.run_id;
    insert into _move_loop (loop_id, status)
    select max(id), 102
    from loops
    where run_id = new.run_id
    having json_array_length(new.prompt, '$.turns') > 0;
    insert into _import_turn (run_id, loop_id, turn, ends)
    select
        new.run_id, (select max(id) from loops where run_id = new.run_id), t.value,
        new.is_over and t.key = json_array_length(new.prompt, '$.turns') - 1
    from json_each(new.prompt, '$.turns') as t
    order by t.key;
    update loops
    set answer = nullif(new.prompt ->> '$.turns[#-1].text', '')
    where run_id = new.run_id and status = 102;
    insert into _move_loop (loop_id, status)
    select id, 200
    from loops
    where run_id = new.run_id and status = 102 and new.is_over;
end;

-- The steps of a turn in short: begun, with the prompt as an entry; seen; its commands with their log; judged and sealed. It
-- cost nothing here.
create trigger _import_turn__import
instead of insert on _import_turn
begin
    insert into turns (run_id, loop_id, sequence, phase, response, reasoning, native, cost, created_at)
    select
        id, new.loop_id, next_turn, 'dispatching',
        render_response(
            new.turn ->> '$.text', new.turn -> '$.calls', (select json_group_array(word) from _tool_words)
        ),
        new.turn ->> '$.thoughts', json_array_length(new.turn, '$.calls') > 0, 0, now()
    from runs
    where id = new.run_id;
    update runs
    set next_turn = next_turn + 1
    where id = new.run_id;
    insert into _write_entry (run_id, path, body, attributes, state, writer, turn, loop_id)
    select t.run_id, 'prompt://' || t.sequence, l.prompt, json_object('mode', l.mode), 'resolved', 'plugin', t.sequence, l.id
    from turns as t
    join loops as l on l.id = t.loop_id
    where t.id = (select max(id) from turns)
        and not exists (select 1 from turns as o where o.loop_id = t.loop_id and o.id <> t.id);
    insert into events (at, run_id, turn_id, kind, detail)
    select created_at, run_id, id, 'turn.begun', json_object('turn', sequence)
    from turns
    where id = (select max(id) from turns);
    update turns
    set seen_at = (select max(id) from events)
    where id = (select max(id) from turns);
    insert into commands (
        run_id, loop_id, turn_id, ordinal, writer, action, body, attributes, state, message, created_at
    )
    select
        t.run_id, t.loop_id, t.id, 0, 'model', 'update', new.turn ->> '$.text',
        json_object('status', iif(new.ends, 200, 102)), 'resolved', new.turn ->> '$.text', t.created_at
    from turns as t
    where t.id = (select max(id) from turns) and trim(new.turn ->> '$.text') <> '';
    insert into commands (
        run_id, loop_id, turn_id, ordinal, writer, action, attributes, state, outcome, message, created_at
    )
    select
        t.run_id, t.loop_id, t.id, 1 + c.key, 'model', c.value ->> '$.name', c.value -> '$.arguments',
        iif(c.value ->> '$.failed', 'failed', 'resolved'), iif(c.value ->> '$.failed', 'error', null),
        c.value ->> '$.told', t.created_at
    from turns as t
    cross join json_each(new.turn, '$.calls') as c
    where t.id = (select max(id) from turns)
    order by c.key;
    insert into imported_calls (command_id, given_as)
    select c.id, k.value ->> '$.id'
    from json_each(new.turn, '$.calls') as k
    join commands as c on c.turn_id = (select max(id) from turns) and c.ordinal = 1 + k.key;
    insert into _log_command (command_id)
    select id
    from commands
    where turn_id = (select max(id) from turns)
    order by ordinal;
    update turns
    set phase = 'judged', status = iif(new.ends, 200, 102), ended_at = created_at
    where id = (select max(id) from turns);
    insert into events (at, run_id, turn_id, kind, detail)
    select
        now(), run_id, id, 'turn.judged',
        iif(new.ends, json_object('vote', 'stop', 'status', 200, 'voter', 'import'), null)
    from turns
    where id = (select max(id) from turns);
end;
