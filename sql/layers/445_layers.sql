-- Layers: the parts of the system message, and where each part comes from.
-- The order is fixed: the engine's own text with the tools, the persona, the skills, the project's instructions, the
-- text of the run, the text of the prompt. An empty layer is left out. The layers after the persona are checked on
-- each turn. If none has changed, the message stays the same, byte for byte.
-- spec: @prompt_layers

-- views

-- What whoever drives a run adds to its system message: for all of its prompts, and for one. Each has a quarter of the
-- packet, counted as half a token a character.
create view _added_prompts as
select t.id as turn_id, 3 as place, 'session' as layer, r.alias as source, r.system_prompt as text, b.ceiling / 2 as room
from turns as t
join runs as r on r.id = t.run_id and trim(r.system_prompt) <> ''
join _loop_ceilings as b on b.loop_id = t.loop_id
union all
select t.id, 4, 'task', 'loop ' || l.sequence, l.config ->> '$.task_prompt', b.ceiling / 2
from turns as t
join loops as l on l.id = t.loop_id and trim(l.config ->> '$.task_prompt') <> ''
join _loop_ceilings as b on b.loop_id = t.loop_id
union all
select
    t.id, 5, 'demo', 'setting demo',
    'Others look at this screen. In your answers, questions and updates, do not name people, organizations or places of '
    || 'this project: say what they are (the client, the second office) or use an initial. Commands, paths and what you '
    || 'write to files and entries keep the true names.',
    1000
from turns as t
where exists (select 1 from settings as s where s.name = 'demo' and s.value = '1');

-- The pieces of each turn's system message behind the persona. A part gives the pieces of another layer: the turn, the
-- place of the layer, its name, what the text is of, the text, a fence around all of the layer or null, a note and a list
-- of references behind it.
create view _layer_pieces as
select
    turn_id, place, layer, source, substr(text, 1, room) as text, null as fence,
    case when length(text) > room then 'Cut after ' || room || ' of ' || length(text) || ' characters.' end as note,
    null as refers_to
from _added_prompts;

-- Those pieces in order, one row a text. 'fence' is around all rows of a layer, null where each has its own; 'note' is what
-- is said behind the last of them.
create view _packet_layers as
select turn_id, layer, source, text, fence, note, refers_to
from _layer_pieces
order by place, source;

-- What changes when layers of a project do. A part gives the project and a mark.
create view _layer_marks as
select id as project_id, cast(null as text) as mark
from projects
where false;

-- What the layers of a turn are made of: while it is the same, so are they. Null: there are none.
create view _layer_stamps as
select
    t.id as turn_id,
    nullif(json_array(
        (
            select group_concat(mark)
            -- a limit keeps each part to one project
            from (select m.mark from _layer_marks as m where m.project_id = r.project_id limit 100000)
        ),
        r.system_prompt,
        l.config ->> '$.task_prompt',
        (select nullif(s.value, '0') from settings as s where s.name = 'demo')
    ), '[null,null,null,null]') as stamp
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id;

create view prompt_layers as
-- The pieces of each system message as it was sent, in order: which layer each belongs to and which row of it, such as
-- the name of a tool or the path of a file. Joined, the texts are the message.
select
    r.alias as run,
    t.sequence as turn,
    -- by run and turn too: a query of one turn then reads the packet of that turn alone
    row_number() over (partition by r.alias, t.sequence, p.id order by s.key, j.key, k.id) as ordinal,
    k.layer,
    k.source,
    length(c.text) as chars,
    c.text as body
from packets as p
join turns as t on t.id = p.turn_id
join runs as r on r.id = t.run_id
cross join json_each(p.parts) as s
cross join chunk_lists as l on l.id = s.value
cross join json_each(l.chunks) as j
cross join chunks as k
    on k.id between case j.type when 'array' then j.value ->> 0 else j.value end
    and case j.type when 'array' then j.value ->> 1 else j.value end
cross join _chunk_texts as c on c.id = k.id
where p.role = 'system';
