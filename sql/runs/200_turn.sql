-- A turn, from begin to judged: _begin_turn (195), _submit_packet (340), the response, dispatch, _judge_turn (220).
-- A response is committed before it is parsed. Then the driver inserts into _dispatch, and again after each effect and
-- each decision: the commands of the turn are performed in order until one waits. Commands after a failed one are
-- aborted. When no command is left, the turn is judged.
-- spec: @turns_table @response_commands @dispatch @pause_and_resume @healing

-- views

create view _dispatch as
-- Continue the turn of a run whose response is stored: insert into _dispatch (run, lease). Its commands are performed
-- until one waits; when none is left, the turn is judged. After an error the driver performs one command at a time:
-- 'only' is the id of that command, 0 for none.
select r.alias as run, t.lease, null as only
from turns as t
join runs as r on r.id = t.run_id
where false;

-- One statement for the doors of a turn: insert into _call_door (door, run, lease, path, body, attributes). SQLite compiles
-- a statement with all triggers that it can reach. For the prompt of a run and for its dispatch these are nearly the same,
-- and to compile them takes longer than some turns. The driver goes through here, apps go to the doors themselves.
create view _call_door as
select null as door, null as run, null as lease, null as path, null as body, null as attributes
where false;

-- Record the commands, the prose and the warnings of a response: insert into _record_commands (turn_id, parsed).
-- 'parsed' is the JSON of response_parse.
create view _record_commands as
select id as turn_id, null as parsed
from turns
where false;

-- Tell the model what the parser repaired in a response, where it was cut off and where it repeats itself: insert into
-- _tell_parser (turn_id, parsed), once its commands are recorded.
create view _tell_parser as
select id as turn_id, null as parsed
from turns
where false;

-- Commands of a turn that fail before they begin. A part gives the turn, the command, the outcome and what is said.
create view _command_refusals as
select null as turn_id, null as command_id, null as outcome, null as message
where false;

-- triggers

create trigger _call_door__call_verb_set
instead of insert on _call_door
when new.door = 'verb_set'
begin
    insert into verb_set (run, path, body, attributes) values (new.run, new.path, new.body, new.attributes);
end;

create trigger _call_door__call_begin_turn
instead of insert on _call_door
when new.door = '_begin_turn'
begin
    insert into _begin_turn (run, lease) values (new.run, new.lease);
end;

create trigger _call_door__call_dispatch
instead of insert on _call_door
when new.door = '_dispatch'
begin
    insert into _dispatch (run, lease) values (new.run, new.lease);
end;

-- Storing a response moves its turn from asking to answered; dispatch does the rest. A response that comes after the
-- turn was judged is kept and changes no phase.
create trigger turns__take_response
after update of response on turns
when old.response is null and new.response is not null
begin
    -- RESPONSE_CHARACTERS in functions/limits.py
    select fail(
        413,
        'turn ' || new.sequence || ': the response is longer than 1,000,000 characters; store its beginning, with the '
            || 'finish_reason ''length'''
    )
    where length(new.response) > 1000000;
    update turns
    set phase = 'answered'
    where id = new.id and phase = 'asking';
    update model_calls
    set state = 'answered', ended_at = now()
    where turn_id = new.id and state = 'open';
    update runs
    set responses = responses + 1
    where id = new.run_id;
    insert into events (at, run_id, turn_id, kind)
    select now(), new.run_id, new.id, 'turn.answered'
    where old.phase = 'asking';
end;

-- Record a response that is new, perform its commands, and judge the turn when none is left. The run is 202 while a
-- proposal is open.
create trigger _dispatch__dispatch
instead of insert on _dispatch
begin
    select fail(409, 'run ' || coalesce(new.run, 'NULL') || ': has no response to dispatch')
    where not exists (
        select 1
        from turns as t
        join runs as r on r.id = t.run_id
        where r.alias = new.run and t.phase <> 'judged' and t.phase in ('answered', 'dispatching')
    );
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _leases_in_force as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.token is not new.lease;
    -- a run that waited is active again when nothing of it is undecided
    update runs
    set status = 102
    where alias = new.run
        and status = 202
        and not exists (select 1 from proposals as p where p.run_id = runs.id and p.state = 'proposed');
    insert into _record_commands (turn_id, parsed)
    select
        t.id,
        response_parse(
            -- a response that repeats itself to its end was cut off at an arbitrary place: none of its commands is
            -- performed
            case when text_repetition(t.response) is null then t.response else '' end,
            (select json_group_array(word) from _tool_words),
            cast((select value from settings where name = 'max_commands') as integer),
            exists (select 1 from _cut_responses as x where x.turn_id = t.id)
        )
    from turns as t
    where t.run_id = (select id from runs where alias = new.run) and t.phase <> 'judged' and t.phase = 'answered';
    insert into _perform_command (command_id)
    select c.id
    from turns as t
    join runs as r on r.id = t.run_id and r.alias = new.run
    join commands as c on c.turn_id = t.id and c.state = 'queued' and c.id = coalesce(new.only, c.id)
    where t.phase <> 'judged' and t.phase = 'dispatching'
    order by c.ordinal;
    update runs
    set status = 202
    where alias = new.run
        and status = 102
        and exists (select 1 from proposals as p where p.run_id = runs.id and p.state = 'proposed');
    insert into _judge_turn (turn_id)
    select t.id
    from turns as t
    join runs as r on r.id = t.run_id and r.alias = new.run
    where t.phase <> 'judged'
        and t.phase = 'dispatching'
        and not exists (
            select 1
            from commands as c
            where c.turn_id = t.id and c.state in ('queued', 'performing', 'proposed', 'accepting', 'accepted')
        )
        and not exists (select 1 from _turn_holds as h where h.turn_id = t.id);
end;

-- The turn is being dispatched from here on. Each command becomes a row, in the order of the response. What the parser
-- repaired, a cut and a repetition become turn_errors, which tell the model.
create trigger _record_commands__record
instead of insert on _record_commands
begin
    update turns
    set phase = 'dispatching',
        prose = json_extract(new.parsed, '$.text'),
        warnings = nullif(json_extract(new.parsed, '$.warnings'), '[]'),
        reasoning = nullif(
            trim(coalesce(reasoning, '') || char(10) || coalesce(json_extract(new.parsed, '$.reasoning'), ''), char(10)), ''
        )
    where id = new.turn_id;
    insert into commands (
        run_id, loop_id, turn_id, ordinal, writer, action, path, destination, body, attributes, log_path, created_at
    )
    select
        t.run_id,
        t.loop_id,
        t.id,
        c.key,
        'model',
        c.value ->> '$.action',
        path_locate(c.value ->> '$.path', p.roots),
        path_locate(c.value ->> '$.destination', p.roots),
        c.value ->> '$.body',
        -- only an app sets a state and free attributes; what a model writes as XML attributes of these names is ignored
        json_remove(coalesce(c.value -> '$.attributes', '{}'), '$.state', '$.outcome', '$.attributes', '$.append'),
        log_path(
            t.sequence, c.value ->> '$.action',
            coalesce(
                case
                    -- an absolute path is named as the file that it is
                    when c.value ->> '$.path' glob '/*' or c.value ->> '$.path' glob 'file:/*'
                        then path_locate(c.value ->> '$.path', p.roots)
                    else c.value ->> '$.path'
                end,
                c.value ->> '$.body'
            )
        ),
        now()
    from turns as t
    join _run_roots as p on p.run_id = t.run_id
    -- an array is read in its order
    cross join json_each(new.parsed, '$.commands') as c
    where t.id = new.turn_id;
    -- a path that the turn already has gets the ordinal appended
    update commands
    set log_path = log_path || '_' || ordinal
    where turn_id = new.turn_id
        and exists (
            select 1
            from commands as o
            where o.turn_id = new.turn_id and o.ordinal < commands.ordinal and o.log_path = commands.log_path
        );
    -- of most responses nothing is told
    insert into _late_call (door, a, b)
    select '_tell_parser', t.id, new.parsed
    from turns as t
    where t.id = new.turn_id
        and (
            t.warnings is not null
            or t.finish_reason in ('length', 'content_filter', 'incomplete')
            or not exists (select 1 from commands as c where c.turn_id = t.id)
            or new.parsed ->> '$.rare'
        );
    insert or ignore into vetoes (command_id, outcome, message)
    select command_id, outcome, message
    from _command_refusals
    where turn_id = new.turn_id;
end;

-- A cut fails the command that was open, what else was cut or stuck and each warning is an error of the turn.
create trigger _tell_parser__tell
instead of insert on _tell_parser
begin
    -- a command that was open where the response was cut off fails when it is performed
    insert into vetoes (command_id, outcome, message)
    select
        c.id, 'truncated',
        r.told || ' inside this <' || c.action || '>, so it was not carried out. It ended in: '
        || substr(p.value ->> '$.source', -80) || char(10)
        || case c.action
            when 'set' then 'Write less at once: the beginning in one <set>, then each further part with <<APPEND … APPEND.'
            else 'Say it again in fewer words, or in smaller steps.'
        end
    from json_each(new.parsed, '$.commands') as p
    join commands as c on c.turn_id = new.turn_id and c.ordinal = p.key
    join _cut_responses as r on r.turn_id = new.turn_id
    where p.value ->> '$.truncated';
    -- a response with a call that could not be read is no end of its loop; see _turn_findings
    insert into turn_errors (turn_id, status, message, soft, detail)
    select
        new.turn_id, 422, w.value, 1,
        case when new.parsed ->> '$.unread' then json_object('source', 'parser', 'unread', new.parsed -> '$.unread') end
    from json_each(new.parsed, '$.warnings') as w
    order by w.key;
    -- an attribute that the schema of its tool does not know had no effect; a value that became the body had one
    insert into turn_errors (turn_id, status, message, soft)
    select
        new.turn_id, 422,
        '<' || u.name || '> has no attribute ' || group_concat(quote(substr(u.attribute, 1, 60)), ', ')
        || ': ignored. It takes: ' || (select group_concat(key, ', ') from json_each(u.schema, '$.properties')),
        1
    from (
        select distinct o.name, o.schema, a.key as attribute
        from json_each(new.parsed, '$.commands') as c
        cross join json_each(c.value, '$.attributes') as a
        join tools as o on o.name = c.value ->> '$.action'
        where a.value is not c.value ->> '$.body'
            and coalesce(o.schema -> '$.additionalProperties', 'false') = 'false'
            and not exists (select 1 from json_each(o.schema, '$.properties') as p where lower(p.key) = lower(a.key))
        limit 20
    ) as u
    group by u.name;
    -- the cut is told here, unless a command that was cut off tells it, or an update was complete before the cut
    insert into turn_errors (turn_id, status, message, slug)
    select
        t.id, 422,
        r.told || coalesce('. It ended in: ' || nullif(r.ending, ''), ' before it said anything') || char(10)
        || 'Only the commands closed before that ran. Say the rest in fewer words, or in smaller steps.',
        'truncated'
    from _cut_responses as r
    join turns as t on t.id = r.turn_id
    where r.turn_id = new.turn_id
        and r.cuts_text
        and (t.reasoning is null or text_repetition(t.reasoning) is null)
        and not exists (
            select 1
            from commands as c
            left join vetoes as v on v.command_id = c.id
            where c.turn_id = t.id and (c.action = 'update' or v.outcome = 'truncated')
        );
    insert into turn_errors (turn_id, status, message, slug)
    select
        id, 422,
        case
            when text_repetition(response) is not null
                then 'The response was stuck: after ' || text_repetition(response)
                || ' characters it repeated itself until it was cut off. Nothing was carried out. It ended in: '
                || substr(response, -80) || char(10) || 'Say it once, in other words or in smaller steps.'
            else 'Your thoughts were stuck: after ' || text_repetition(reasoning)
                || ' characters they repeated themselves until they were cut off. They ended in: '
                || substr(reasoning, -80) || char(10) || 'Think less, and act.'
        end,
        'repetition'
    from turns
    where id = new.turn_id
        and (
            text_repetition(response) is not null
            or (trim(response, char(32, 9, 10, 13)) = '' and text_repetition(reasoning) is not null)
        );
end;
