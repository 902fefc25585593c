-- Pictures: files that are sent to the model as they are: pictures, PDFs and sounds.
-- A file that is a picture has no text; a get makes its entry visible. A PDF and a sound come with a prompt (127).
-- Before a packet is rendered, _choose_pictures lists the pictures in view: those that are sent, and why others are
-- not. The packet's own text names each of them with its SHA-256, so what was sent stands in the kept packet. The
-- bytes are kept once for the whole file, and only of pictures that were sent or brought. A run without a picture in
-- view never comes here.
-- needs: nothing
-- spec: @pictures

-- tables

-- The bytes of pictures that were sent, each once.
create table if not exists pictures (
    id integer primary key,
    -- in hexadecimal digits, of the body
    sha256 text not null constraint pictures_sha256_unique unique,
    -- PNG, JPEG, GIF, WebP, PDF, WAV or MP3
    format text not null,
    body blob not null
) strict;

-- The pictures in view of each turn, and what the packet carries of them.
create table if not exists turn_pictures (
    turn_id integer not null constraint turn_pictures_turn references turns (id) on delete cascade,
    entry_id integer not null constraint turn_pictures_entry references entries (id),
    -- its number in the packet
    ordinal integer not null,
    path text not null,
    sha256 text not null,
    -- format, size in pixels and in bytes
    line text not null,
    -- what it takes of the model's window; 0 where it is not sent
    tokens integer not null,
    -- the same in characters, at the rate of the loop
    chars integer not null,
    -- null: it is not sent, 'fault' says why
    picture_id integer constraint turn_pictures_picture references pictures (id),
    fault text,
    primary key (turn_id, entry_id)
) strict, without rowid;

-- Which models take files of other formats as they are, by the names of the models. A row more says it of another model.
create table if not exists media_models (
    -- matched with the whole name in small letters, such as openai/gpt-5
    pattern text not null,
    format text not null constraint media_models_format check (format in ('PDF', 'WAV', 'MP3')),
    primary key (pattern, format)
) strict, without rowid;

-- The files that were attached to prompts. A file that the model reads as text has no bytes here.
create table if not exists attachments (
    id integer primary key,
    run_id integer not null constraint attachments_run references runs (id) on delete cascade,
    -- the prompt that it came with
    loop_id integer not null constraint attachments_loop references loops (id) on delete cascade,
    entry_id integer not null constraint attachments_entry references entries (id),
    picture_id integer constraint attachments_picture references pictures (id)
) strict;

create index if not exists idx_attachments_run_id on attachments (run_id);

-- seeds

insert into schemes (
    name, category, default_scope, default_visibility, writable_by, model_visible, searchable, gated, meaning
) values
    ('attachment', 'data', 'run', 'visible', '["client"]', 1, 0, 0, 'a file that was attached to a prompt')
on conflict (name) do nothing;

insert or ignore into media_models (pattern, format)
select p.column1, f.column1
from (values
    ('anthropic/claude-*'), ('openrouter/anthropic/claude-*'), ('openrouter/google/gemini-*'),
    ('openai/gpt-4o*'), ('openai/gpt-4.1*'), ('openai/gpt-[5-9]*'), ('openai/o[134]*'),
    ('openrouter/openai/gpt-4o*'), ('openrouter/openai/gpt-4.1*'), ('openrouter/openai/gpt-[5-9]*')
) as p
join (values ('PDF')) as f
union all
select p.column1, f.column1
from (values
    ('openai/gpt-4o-audio*'), ('openai/gpt-audio*'), ('google/gemini-*'),
    ('openrouter/openai/gpt-4o-audio*'), ('openrouter/openai/gpt-audio*'), ('openrouter/google/gemini-*')
) as p
join (values ('WAV'), ('MP3')) as f;

insert into packet_sections (name, profile, role, ordinal, source, template, live, cached, stamps) values
    ('pictures', 'full', 'user', 140, '_packet_pictures', 'pictures', 0, 0, '_picture_stamps')
on conflict (profile, role, name) do update set source = excluded.source, stamps = excluded.stamps;

-- views

-- The turns whose packet is sent with pictures beside it.
create view _attached_turns__pictures as
select turn_id
from turn_pictures;

-- An answer about pictures is not given again: they are not in what packets are compared by.
create view _unrepeatable_turns__pictures as
select turn_id
from turn_pictures;

create view _choose_pictures as
-- List the pictures in view of a turn that is being assembled anew: insert into _choose_pictures (turn_id).
select id as turn_id
from turns
where false;

create view packet_pictures as
-- The pictures that were in view of each turn, in the order of the packet. 'fault' says why one was not sent.
select
    r.alias as run,
    t.sequence as turn,
    p.ordinal,
    p.path,
    p.line,
    p.sha256,
    p.tokens,
    p.picture_id is not null as is_sent,
    p.fault
from turn_pictures as p
join turns as t on t.id = p.turn_id
join runs as r on r.id = t.run_id;

create view model_sights as
-- Whether each model sees pictures ('images', yes or no): as its row says, else as its name does. A compact packet carries
-- none. 'media' are the formats besides that it takes as they are: PDF, WAV, MP3.
select
    m.alias,
    (
        select group_concat(format, ', ')
        from (
            select distinct x.format
            from media_models as x
            where m.profile = 'full' and lower(m.actual) glob x.pattern
            order by x.format desc
        )
    ) as media,
    case
        when m.profile = 'full'
            and coalesce(
                m.images,
                -- a name with a path behind ':' is that of a file
                m.actual not glob '*:*/*' and exists (select 1 from _seeing_models where lower(m.actual) glob pattern)
            )
            then 'yes'
        else 'no'
    end as images
from models as m;

-- Whether the model of a loop sees pictures.
create view _sights as
select
    loop_id,
    actual,
    chars_per_token,
    profile,
    profile = 'full'
    and coalesce(
        images, actual not glob '*:*/*' and exists (select 1 from _seeing_models where lower(actual) glob pattern)
    ) as sees
from (
    select
        l.id as loop_id,
        l.chars_per_token,
        coalesce(m.actual, l.model, r.model) as actual,
        coalesce(m.profile, 'full') as profile,
        m.images
    from loops as l
    join runs as r on r.id = l.run_id
    left join models as m on m.alias = coalesce(l.model, r.model)
);

-- What the model of a loop does not take as it is: a row for each format, with the fault, or null.
create view _media_faults as
select
    s.loop_id,
    f.column1 as format,
    case
        when f.column1 in ('PDF', 'WAV', 'MP3')
            then case
                when s.profile <> 'full'
                    or not exists (
                        select 1 from media_models as m where m.format = f.column1 and lower(s.actual) glob m.pattern
                    )
                    then 'the model takes no ' || f.column1
            end
        when not s.sees then 'the model takes no pictures'
    end as fault
from _sights as s
join (values ('PNG'), ('JPEG'), ('GIF'), ('WebP'), ('PDF'), ('WAV'), ('MP3')) as f;

-- The pictures whose bytes are kept and that a run has in view: what tools returned (134), and what was attached to prompts.
create view _kept_pictures as
select
    r.id as run_id,
    e.id as entry_id,
    e.path,
    v.since as shown,
    m.attributes ->> '$.size' as size,
    m.attributes ->> '$.sha256' as sha256,
    m.attributes ->> '$.format' as format,
    m.attributes ->> '$.width' as width,
    m.attributes ->> '$.height' as height,
    m.attributes ->> '$.tokens' as tokens,
    m.attributes ->> '$.picture' as line
from runs as r
cross join run_views as v indexed by idx_run_views_in_context on v.run_id = r.id
cross join entries as e on e.id = v.entry_id and e.kind in ('mcp', 'attachment')
cross join _metadata as m on m.id = v.metadata_id
where v.visibility <> 'archived'
    and v.visibility = 'visible'
    and (m.attributes ->> '$.width' > 0 or m.attributes ->> '$.tokens' > 0);

-- Before a packet is read, the pictures in it are chosen.
create view _preparations__pictures as
select t.id as turn_id, 2 as place, 'packet' as what
from turns as t
where exists (select 1 from _kept_pictures as p where p.run_id = t.run_id);

-- Pictures in view of a turn that is being assembled, with their limits. 'fault': why this one cannot be sent, whatever the
-- others are.
create view _visible_pictures as
select
    turn_id, project_id, root, entry_id, path, shown, size, sha256, format, width, height, tokens, line, actual,
    chars_per_token,
    case
        when media_fault is not null then media_fault
        when size > (select cast(value as integer) from settings where name = 'picture_max_bytes')
            then 'more than ' || (select value from settings where name = 'picture_max_bytes') || ' bytes'
        when max(width, height) > (select cast(value as integer) from settings where name = 'picture_max_side')
            then 'a side of more than ' || (select value from settings where name = 'picture_max_side') || ' pixels'
    end as fault
from (
    select
        t.id as turn_id,
        r.project_id,
        p.root,
        e.id as entry_id,
        e.path,
        max(v.since, coalesce(e.since, 0)) as shown,
        f.size,
        f.sha256,
        f.picture ->> '$.format' as format,
        f.picture ->> '$.width' as width,
        f.picture ->> '$.height' as height,
        null as tokens,
        null as line,
        s.actual,
        s.chars_per_token,
        (
            select x.fault from _media_faults as x where x.loop_id = t.loop_id and x.format = f.picture ->> '$.format'
        ) as media_fault
    from turns as t
    join _sights as s on s.loop_id = t.loop_id
    join runs as r on r.id = t.run_id
    join projects as p on p.id = r.project_id
    cross join run_views as v indexed by idx_run_views_in_context on v.run_id = t.run_id
    cross join entries as e on e.id = v.entry_id and e.kind = 'file'
    cross join file_stats as f on f.project_id = r.project_id and f.path = e.path
    where t.phase = 'assembling'
        -- both: the first is that of the index
        and v.visibility <> 'archived'
        and v.visibility = 'visible'
        and f.kind = 'binary'
        and f.picture ->> '$.width' > 0
    union all
    select
        t.id, r.project_id, null, p.entry_id, p.path, p.shown, p.size, p.sha256, p.format, p.width, p.height, p.tokens,
        p.line, s.actual, s.chars_per_token,
        (select x.fault from _media_faults as x where x.loop_id = t.loop_id and x.format = p.format)
    from turns as t
    join _sights as s on s.loop_id = t.loop_id
    join runs as r on r.id = t.run_id
    join _kept_pictures as p on p.run_id = t.run_id
    where t.phase = 'assembling'
);

-- Pictures that a packet is about to carry and whose bytes are not kept yet: the driver reads them.
create view _unread_pictures as
select turn_id, project_id, root, path, size, sha256, format
from _visible_pictures
where fault is null and root is not null and sha256 not in (select sha256 from pictures);

-- What a packet carries of the pictures in view: of those that can be sent the ones brought last, as many as the limits
-- allow.
create view _chosen_pictures as
select
    turn_id, entry_id, path, shown, size, sha256, format, width, height, tokens, line, actual, chars_per_token, picture_id,
    case
        when fault is not null then fault
        when place > cast((select value from settings where name = 'packet_max_pictures') as integer)
            then 'more than ' || counted(
                (select cast(value as integer) from settings where name = 'packet_max_pictures'), 'picture'
            ) || ' in view'
        when bytes > cast((select value from settings where name = 'packet_picture_bytes') as integer)
            then 'the pictures in view have more than '
                || (select value from settings where name = 'packet_picture_bytes') || ' bytes'
    end as fault
from (
    select
        *,
        sum(fault is null) over latest as place,
        sum(case when fault is null then size else 0 end) over latest as bytes
    from (
        select
            v.turn_id, v.entry_id, v.path, v.shown, v.size, v.sha256, v.format, v.width, v.height, v.tokens, v.line,
            v.actual, v.chars_per_token,
            p.id as picture_id,
            coalesce(v.fault, case when p.id is null then 'it has changed meanwhile' end) as fault
        from _visible_pictures as v
        left join pictures as p on p.sha256 = v.sha256
    )
    window latest as (partition by turn_id order by shown desc, entry_id desc rows unbounded preceding)
);

create view _packet_pictures as
-- The pictures in view: a line for each, and what it takes in characters, which the renderer adds to the packet's length.
select
    p.turn_id,
    p.ordinal,
    coalesce(e.shown_path, p.path) as path,
    p.line,
    p.sha256,
    p.fault,
    p.chars as beside_chars
from turn_pictures as p
join entries as e on e.id = p.entry_id
order by p.ordinal;

-- What these are made of; null where there is none.
create view _picture_stamps as
select
    id as turn_id,
    (
        select group_concat(json_array(p.ordinal, p.entry_id, p.path, p.line, p.sha256, p.fault, p.chars))
        from turn_pictures as p
        where p.turn_id = turns.id
    ) as stamp
from turns;

-- triggers

create trigger _choose_pictures__choose
instead of insert on _choose_pictures
begin
    select fail(404, 'turn ' || quote(new.turn_id) || ': not found; see the view _next_steps')
    where not exists (select 1 from turns where id = new.turn_id);
    delete from turn_pictures
    where turn_id = new.turn_id and exists (select 1 from turns where id = new.turn_id and phase = 'assembling');
    insert into turn_pictures (
        turn_id, entry_id, ordinal, path, sha256, line, tokens, chars, picture_id, fault
    )
    select
        turn_id, entry_id,
        -- those that are sent stand first, by the number that they have beside the packet
        row_number() over (order by fault is not null, shown, entry_id),
        path, sha256,
        coalesce(line, picture_line(json_object('format', format, 'width', width, 'height', height), size)),
        costs,
        cast(ceil(costs * chars_per_token) as integer),
        case when fault is null then picture_id end,
        fault
    from (
        select
            *,
            case when fault is null then coalesce(tokens, picture_tokens(actual, width, height)) else 0 end as costs
        from _chosen_pictures
        where turn_id = new.turn_id
    );
    update run_views
    set picture_chars = p.chars
    from turn_pictures as p
    where p.turn_id = new.turn_id
        and run_views.run_id = (select run_id from turns where id = new.turn_id)
        and run_views.entry_id = p.entry_id
        and run_views.picture_chars is not p.chars;
end;

create trigger _prepare_packet__choose_pictures
instead of insert on _prepare_packet
when exists (select 1 from _kept_pictures where run_id = (select run_id from turns where id = new.turn_id))
begin
    insert into _choose_pictures (turn_id) values (new.turn_id);
end;

-- The bytes of pictures that no packet has any more, and that no prompt brought.
create trigger _forget_unused__pictures
instead of insert on _forget_unused
begin
    delete from pictures
    where id not in (
            select picture_id from turn_pictures where picture_id is not null
            union all
            select picture_id from attachments where picture_id is not null
        );
end;
