-- Responses: what the model said becomes commands.
-- The response is committed before anything is made of it. It is parsed by a function that never raises; every command is
-- recorded, every repair of the parser is told to the model once, in the log.
-- spec: @record @healing

-- views

-- Record what was read in a response: insert into parsed_responses (turn_id, parsed), the JSON of response_parse.
create view parsed_responses as
select id as turn_id, null as parsed
from turns
where false;

-- Turns whose response was cut off: what of it was not closed before the cut may be mangled. Of one that ended without a
-- reason nobody knows whether its text is whole; a command that is open in it is not.
create view cut_responses as
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

-- triggers

-- A stored response waits for its dispatch.
create trigger turns__take_response
after update of response on turns
when old.response is null and new.response is not null and new.phase = 'asking'
begin
    update turns
    set phase = 'answered'
    where id = new.id;
    insert into events (at, run_id, turn_id, kind)
    values (now(), new.run_id, new.id, 'turn.answered');
end;

-- Record: the commands of the response in their order, and what the parser had to repair.
create trigger turns__record
after update of phase on turns
when new.phase = 'dispatching' and old.phase = 'answered'
begin
    insert into parsed_responses (turn_id, parsed)
    select
        new.id,
        response_parse(
            -- of a response that got stuck nothing is done: where it broke off is not where its author meant to stop
            case when text_repetition(new.response) is null then new.response else '' end,
            (
                select json_group_array(name)
                from (select name from tools order by ordinal)
            ),
            cast((select value from settings where name = 'max_commands') as integer),
            exists (select 1 from cut_responses where turn_id = new.id)
        );
    -- what was cut off is told where no command tells it, and where no update says that all is done
    insert into turn_errors (turn_id, status, message, slug)
    select
        new.id, 422,
        r.told || coalesce('. It ended in: ' || nullif(r.ending, ''), ' before it said anything') || char(10)
        || 'Only what was closed before that is done. Say the rest in fewer words, or in smaller steps.',
        'truncated'
    from cut_responses as r
    where r.turn_id = new.id
        and r.cuts_text
        and (new.reasoning is null or text_repetition(new.reasoning) is null)
        and not exists (
            select 1
            from commands as c
            left join vetoes as v on v.command_id = c.id
            where c.turn_id = new.id and (c.action = 'update' or v.outcome = 'truncated')
        );
    insert into turn_errors (turn_id, status, message, slug)
    select
        new.id, 422,
        'The response was stuck: after ' || text_repetition(new.response)
        || ' characters it said the same over and over, until it was cut off. Nothing of it was done. It ended in: '
        || substr(new.response, -80) || char(10) || 'Say it once, in other words or in smaller steps.',
        'repetition'
    where text_repetition(new.response) is not null;
    insert into turn_errors (turn_id, status, message, slug)
    select
        new.id, 422,
        'Your thoughts were stuck: after ' || text_repetition(new.reasoning)
        || ' characters they said the same over and over, until they were cut off. They ended in: '
        || substr(new.reasoning, -80) || char(10) || 'Think less, and act.',
        'repetition'
    where trim(new.response, char(32, 9, 10, 13)) = '' and text_repetition(new.reasoning) is not null;
end;

create trigger parsed_responses__record
instead of insert on parsed_responses
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
    join cut_responses as r on r.turn_id = new.turn_id
    where p.value ->> '$.truncated';
    insert into turn_errors (turn_id, status, message, soft)
    select new.turn_id, 422, w.value, 1
    from json_each(new.parsed, '$.warnings') as w
    order by w.key;
end;
