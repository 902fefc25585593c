-- Storing bodies: each with its measures and its summary.
-- A body becomes a row of contents. A long one is summarized by its first characters, of which only the number is kept, or
-- by a text of its own.
-- spec: @contents

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

-- Store a text without a NUL, with its summary as body_short gives it: insert into _store_text (body, short).
create view _store_text as
select body, null as short
from contents
where false;

-- triggers

create trigger _store_change__store
instead of insert on _store_change
when new.body is not null and new.body is not new.old_body
begin
    insert into store_content (path, body) values (new.path, new.body);
end;

-- length() and substr() stop at a NUL, so there must be none.
create trigger store_content__store
instead of insert on store_content
begin
    insert into _store_text (body, short)
    values (
        case when instr(new.body, char(0)) then text_clean(new.body) else new.body end,
        -- a short body is its own summary
        case when length(new.body) > 500 or instr(new.body, char(0)) then body_short(new.path, new.body) end
    );
end;

create trigger _store_text__store
instead of insert on _store_text
begin
    insert into contents (chars, summary_chars, lines, cut, summary, body, fence)
    values (
        length(new.body),
        case typeof(new.short)
            when 'integer'
                then new.short + length(char(10) || '[… ' || (length(new.body) - new.short) || ' more characters]')
            else length(coalesce(new.short, new.body))
        end,
        text_lines(new.body),
        case when typeof(new.short) = 'integer' then new.short end,
        case when typeof(new.short) = 'text' then new.short end,
        new.body,
        case
            when new.short is not null or instr(new.body, ':::')
                then fence_suffix(new.body, case when typeof(new.short) = 'text' then new.short end)
        end
    );
end;
