-- Storing bodies: each with its measures and its summary.
-- A body becomes a row of contents. The summary of a long body is its beginning (only the length is stored) or a text
-- of its own. A plugin may choose how the bodies of a scheme are shown, in full and as a summary.
-- spec: @contents @plugin_projections

-- views

create view _store_content as
-- Store a body: insert into _store_content (path, body); its id is the highest of contents.
select null as path, body
from contents
where false;

-- Store a body that is given and differs from the one before: insert into _store_change (path, body, old_body).
create view _store_change as
select null as path, body, null as old_body
from contents
where false;

-- Make the summary of a file that has been read from disk, if it is another text than its beginning: insert into
-- _summarize_file (entry_id). Most files of a project are never shown, so this waits until one is.
create view _summarize_file as
select id as entry_id
from entries
where false;

-- Give a content the summary that body_short has made; a number is none: insert into _keep_summary (content_id, summary).
create view _keep_summary as
select id as content_id, summary
from contents
where false;

-- triggers

create trigger _summarize_file__summarize
instead of insert on _summarize_file
begin
    insert into _keep_summary (content_id, summary)
    select c.id, body_short(e.path, c.body)
    from entries as e
    join contents as c on c.id = e.content_id and c.summary is null and c.cut is not null
    where e.id = new.entry_id and e.kind = 'file';
end;

-- The fence of a body holds for its summary, too.
create trigger _keep_summary__keep
instead of insert on _keep_summary
when typeof(new.summary) = 'text'
begin
    update contents
    set summary = new.summary, summary_chars = length(new.summary), cut = null
    where id = new.content_id and fence_suffix(body, new.summary) is fence;
end;

create trigger _store_change__store
instead of insert on _store_change
when new.body is not null and new.body is not new.old_body
begin
    insert into _store_content (path, body) values (new.path, new.body);
end;

create trigger _store_content__store
instead of insert on _store_content
begin
    insert into contents (chars, summary_chars, lines, cut, summary, shown, body, fence)
    select
        length(text),
        case typeof(short)
            when 'integer' then short + length(char(10) || '[… ' || (length(text) - short) || ' more characters]')
            else length(coalesce(short, text))
        end,
        text_lines(text),
        case when typeof(short) = 'integer' then short end,
        case when typeof(short) = 'text' then short end,
        nullif(text, body),
        body,
        case
            when short is not null or instr(text, ':::')
                then fence_suffix(text, case when typeof(short) = 'text' then short end)
        end
    from (
        select
            -- length() and substr() stop at a NUL, so there must be none
            case when instr(new.body, char(0)) then text_clean(new.body) else new.body end as body,
            body_shown(new.path, new.body) as text,
            body_short(new.path, new.body) as short
        -- the limit keeps SQLite from calling a function more than once
        limit 1
    );
end;
