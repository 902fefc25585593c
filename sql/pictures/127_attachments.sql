-- Attachments: files that come with a prompt.
-- The driver reads a file and says what it is; _attach keeps it in the transaction of the prompt. A picture, a PDF or a
-- sound that the model takes as it is keeps its bytes and is shown like any picture (126). Any other file has a text.
-- spec: @attachments

-- views

create view _next_attachment as
-- Under which number the next file is attached: select number from _next_attachment.
select coalesce(max(id), 0) + 1 as number
from attachments;

create view _attach as
-- Keep a file for the latest prompt of a run: insert into _attach (run, path, text, facts, body). 'text' is what the model
-- reads of it, or null for a file that it takes as it is; that has its bytes as 'body', and 'facts': JSON with format, size,
-- sha256, picture (a line about it), and width and height, or tokens.
select alias as run, null as path, null as text, null as facts, null as body
from runs
where false;

create view prompt_attachments as
-- The files that were attached to prompts: select * from prompt_attachments where run = 'demo'. 'format' is null for one
-- that the model reads as text.
select r.alias as run, l.sequence as loop, e.path, p.format, length(p.body) as bytes, p.sha256
from attachments as a
join runs as r on r.id = a.run_id
join loops as l on l.id = a.loop_id
join entries as e on e.id = a.entry_id
left join pictures as p on p.id = a.picture_id
order by a.id;

-- triggers

create trigger _attach__attach
instead of insert on _attach
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(
        400, 'attachment ' || replace(new.path, rtrim(new.path, replace(new.path, '/', '')), '') || ': ' || f.fault
        || '; choose another model: select alias, images, media from model_sights'
    )
    from loops as l
    join _media_faults as f on f.loop_id = l.id and f.format = new.facts ->> '$.format'
    where new.text is null
        and f.fault is not null
        and l.id = (select max(o.id) from loops as o join runs as r on r.id = o.run_id where r.alias = new.run);
    insert into pictures (sha256, format, body)
    select new.facts ->> '$.sha256', new.facts ->> '$.format', new.body
    where new.text is null and new.facts ->> '$.sha256' not in (select sha256 from pictures);
    insert into _write_entry (run_id, path, body, attributes, visibility, state, writer, turn, loop_id)
    select
        r.id, new.path, coalesce(new.text, ''), case when new.text is null then new.facts end, 'visible', 'resolved',
        'client', r.next_turn, (select max(l.id) from loops as l where l.run_id = r.id)
    from runs as r
    where r.alias = new.run;
    insert into events (at, run_id, kind, entry_id, detail)
    select now(), r.id, 'prompt.attached', e.id, json_object('path', new.path, 'format', new.facts ->> '$.format')
    from runs as r
    join entries as e on e.scope = 'run:' || r.id and e.path = new.path
    where r.alias = new.run;
    insert into attachments (run_id, loop_id, entry_id, picture_id)
    select
        r.id, (select max(l.id) from loops as l where l.run_id = r.id), e.id,
        case when new.text is null then (select p.id from pictures as p where p.sha256 = new.facts ->> '$.sha256') end
    from runs as r
    join entries as e on e.scope = 'run:' || r.id and e.path = new.path
    where r.alias = new.run;
end;
