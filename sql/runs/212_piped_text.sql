-- Piped text: a text that is piped to a prompt, as in `cat log.txt | engine run "why?"`.
-- A short text becomes a part of the prompt. A long one becomes an entry of its own, which the prompt names: the
-- model then reads it in pieces, and the ladder can summarize it.
-- spec: @piped_text

-- seeds

insert into schemes (
    name, category, default_scope, default_visibility, writable_by, model_visible, searchable, gated, meaning
) values
    ('stdin', 'data', 'run', 'visible', '["client"]', 1, 0, 0, 'a text that was piped to a prompt')
on conflict (name) do nothing;

-- views

-- Where the next text would be kept, under a number that the file has not used, and from how many tokens on it is.
create view _next_piped_text as
select
    'stdin://' || (
        select coalesce(max(cast(substr(path, 9) as integer)), 0) + 1
        from entries
        where path glob 'stdin://[0-9]*'
    ) as path,
    cast(s.value as integer) as most_tokens
from settings as s
where s.name = 'max_entry_tokens';
