-- Responses: what the model said becomes commands.
-- A response is read by a function that never raises. Each command is recorded; each repair of the parser, and what was
-- cut off or stuck, is told to the model once, in the log.
-- spec: @record @healing

-- views

-- Turns whose response was cut off: what of it was not closed before the cut may be mangled. Of one that ended without a
-- reason nobody knows whether its text is whole; a command that is open in it is not.
create view _cut_responses as
select
    id as turn_id,
    case finish_reason
        when 'length' then 'Your answer was cut off at the output limit'
        when 'content_filter' then 'Your answer was stopped by the filter of the provider'
        else 'Your answer broke off before its end'
    end as told,
    finish_reason <> 'incomplete' as cuts_text,
    substr(response, -80) as ending
from turns
where finish_reason in ('length', 'content_filter', 'incomplete') and text_repetition(response) is null;

-- Record the commands of a response: insert into _record_commands (turn_id, parsed), the JSON of response_parse.
create view _record_commands as
select id as turn_id, null as parsed
from turns
where false;

-- triggers

-- The commands of a response in their order, and what the parser had to repair.
create trigger _record_commands__record
instead of insert on _record_commands
begin
    update turns
    set prose = json_extract(new.parsed, '$.text'),
        warnings = nullif(json_extract(new.parsed, '$.warnings'), '[]'),
        reasoning = nullif(
            trim(coalesce(reasoning, '') || char(10) || coalesce(json_extract(new.parsed, '$.reasoning'), ''), char(10)), ''
        )
    where id = new.turn_id;
    insert into commands (
        run_id, loop_id, turn_id, ordinal, writer, action, path, destination, body, attributes, log_path, created_at
    )
    select
        run_id, loop_id, turn_id, ordinal, 'model', action, path, destination, body, attributes,
        log_path || case when row_number() over (partition by log_path order by ordinal) > 1 then '_' || ordinal else '' end,
        now()
    from (
        select
            t.run_id,
            t.loop_id,
            t.id as turn_id,
            c.key as ordinal,
            c.value ->> '$.action' as action,
            path_normalize(c.value ->> '$.path') as path,
            path_normalize(c.value ->> '$.destination') as destination,
            c.value ->> '$.body' as body,
            -- a state and free attributes are an app's to set; a model that writes them as XML attributes is not heard
            json_remove(
                coalesce(c.value -> '$.attributes', '{}'), '$.state', '$.outcome', '$.attributes', '$.append'
            ) as attributes,
            log_path(t.sequence, c.value ->> '$.action', coalesce(c.value ->> '$.path', c.value ->> '$.body')) as log_path
        from turns as t
        join json_each(new.parsed, '$.commands') as c
        where t.id = new.turn_id
    )
    order by ordinal;
    -- a command that was open where the response was cut off is refused when its turn comes
    insert into vetoes (command_id, outcome, message)
    select
        c.id, 'truncated',
        r.told || ' inside this <' || c.action || '>, so nothing of it was done. It ended in: '
        || substr(p.value ->> '$.source', -80) || char(10)
        || case c.action
            when 'set' then 'Write less at once: the beginning in one <set>, then each further part with <<APPEND … APPEND.'
            else 'Say it again in fewer words, or in smaller steps.'
        end
    from json_each(new.parsed, '$.commands') as p
    join commands as c on c.turn_id = new.turn_id and c.ordinal = p.key
    join _cut_responses as r on r.turn_id = new.turn_id
    where p.value ->> '$.truncated';
    insert into turn_errors (turn_id, status, message, soft)
    select new.turn_id, 422, w.value, 1
    from json_each(new.parsed, '$.warnings') as w
    order by w.key;
    -- what was cut off is told where no command tells it, and where no update says that all is done
    insert into turn_errors (turn_id, status, message, slug)
    select
        t.id, 422,
        r.told || coalesce('. It ended in: ' || nullif(r.ending, ''), ' before it said anything') || char(10)
        || 'Only what was closed before that is done. Say the rest in fewer words, or in smaller steps.',
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
        'The response was stuck: after ' || text_repetition(response)
        || ' characters it said the same over and over, until it was cut off. Nothing of it was done. It ended in: '
        || substr(response, -80) || char(10) || 'Say it once, in other words or in smaller steps.',
        'repetition'
    from turns
    where id = new.turn_id and text_repetition(response) is not null;
    insert into turn_errors (turn_id, status, message, slug)
    select
        id, 422,
        'Your thoughts were stuck: after ' || text_repetition(reasoning)
        || ' characters they said the same over and over, until they were cut off. They ended in: '
        || substr(reasoning, -80) || char(10) || 'Think less, and act.',
        'repetition'
    from turns
    where id = new.turn_id
        and trim(response, char(32, 9, 10, 13)) = ''
        and text_repetition(reasoning) is not null;
end;
