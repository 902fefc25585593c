-- Storing bodies: each with its measures and its summary.
-- A body becomes a row of contents. A long one is summarized by its first characters, of which only the number is kept, or
-- by a text of its own. A plugin may summarize the bodies of a scheme itself.
-- spec: @contents @plugin_summaries

-- tables

-- The schemes whose bodies a plugin summarizes, short ones too; a rebuild with other plugins has others.
create table if not exists summarized_schemes (
    scheme text primary key
) strict, without rowid;

-- seeds

delete from summarized_schemes;

-- views

create view store_content as
-- Store a body: insert into store_content (path, body); its id is the highest of contents.
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
    insert into store_content (path, body) values (new.path, new.body);
end;

create trigger store_content__store
instead of insert on store_content
begin
    insert into contents (chars, summary_chars, lines, cut, summary, body, fence)
    select
        length(body),
        case typeof(short)
            when 'integer' then short + length(char(10) || '[… ' || (length(body) - short) || ' more characters]')
            else length(coalesce(short, body))
        end,
        text_lines(body),
        case when typeof(short) = 'integer' then short end,
        case when typeof(short) = 'text' then short end,
        body,
        case
            when short is not null or instr(body, ':::')
                then fence_suffix(body, case when typeof(short) = 'text' then short end)
        end
    from (
        select
            -- length() and substr() stop at a NUL, so there must be none
            case when instr(new.body, char(0)) then text_clean(new.body) else new.body end as body,
            -- a short body is its own summary
            case
                when length(new.body) > 500
                    or instr(new.body, char(0))
                    or (
                        exists (select 1 from summarized_schemes)
                        and coalesce(path_scheme(new.path), 'file') in (select scheme from summarized_schemes)
                    )
                    then body_short(new.path, new.body)
            end as short
        -- the limit keeps SQLite from calling a function more than once
        limit 1
    );
end;
