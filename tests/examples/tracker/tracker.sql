-- The tables of the tracker, in the engine's file: tickets, and what was said of them.

create table if not exists tickets (
    id integer primary key,
    title text not null constraint tickets_title_not_empty check (trim(title) <> ''),
    text text not null,
    reporter text not null,
    -- the run that works on it; null: it waits for one
    run text constraint tickets_run_unique unique
) strict;

create table if not exists comments (
    id integer primary key,
    ticket integer not null constraint comments_ticket references tickets (id),
    author text not null,
    text text not null
) strict;

create view ticket_board as
-- One row a ticket, with what its run has come to. It reads views for people only, so that stock tools answer it.
select
    t.id,
    t.title,
    case
        when t.run is null then 'new'
        when exists (select 1 from open_proposals as p where p.run = t.run) then 'to decide'
        when exists (select 1 from open_prompts as p where p.run = t.run) then 'in work'
        else 'done'
    end as state,
    o.turns,
    o.cost,
    (select group_concat(f.path, ' ') from file_changes as f where f.run = t.run) as files,
    (select c.text from comments as c where c.ticket = t.id order by c.id desc limit 1) as comment
from tickets as t
left join run_overview as o on o.run = t.run;

-- When a prompt has ended, what the agent says of it is a comment. It stands on a table of the engine: it is committed
-- together with the end of the prompt, or not at all.
create trigger tickets__comment
after update of status on loops when new.status >= 200
begin
    insert into comments (ticket, author, text)
    select t.id, 'agent', coalesce(new.answer, new.reason, 'ended at ' || new.status)
    from tickets as t
    join runs as r on r.alias = t.run
    where r.id = new.run_id;
end;
