-- The end of one prompt, whether it is queued, active or has already ended.
-- An abort (210) ends the active prompt of a run. These doors end a certain prompt, even if it has not started yet.
-- spec: @abort

-- views

create view verb_end_prompt as
-- End one prompt of a run: insert into verb_end_prompt (run, loop, reason). In line, it will never begin; active, it is
-- aborted; one that has ended stays as it ended. The other prompts stay in line.
select null as run, null as loop, null as reason
where false;

-- triggers

-- Abort the run where it works on this prompt, or is a child that has not begun and has no other; else take the prompt
-- out of the line.
create trigger verb_end_prompt__end
instead of insert on verb_end_prompt
begin
    select fail(404, 'run ' || quote(new.run) || ': has no prompt ' || quote(new.loop) || '; see the view loop_list')
    where not exists (
        select 1
        from loops as l
        join runs as r on r.id = l.run_id
        where r.alias = new.run and l.sequence = new.loop
    );
    insert into verb_set (run, path, state, outcome)
    select r.alias, 'run://' || r.alias, 'cancelled', coalesce(new.reason, 'aborted')
    from runs as r
    join loops as l on l.run_id = r.id
    where r.alias = new.run
        and l.sequence = new.loop
        and (
            l.status = 102
            or (
                l.status = 100
                and r.status = 100
                and exists (select 1 from children as c where c.run_id = r.id)
                and not exists (select 1 from loops as o where o.run_id = r.id and o.status = 100 and o.id <> l.id)
            )
        );
    update loops
    set status = 499, reason = coalesce(new.reason, 'aborted'), ended_at = now()
    where run_id = (select id from runs where alias = new.run) and sequence = new.loop and status = 100;
    update runs
    set status = 499, updated_at = now()
    where alias = new.run and status = 100 and not exists (select 1 from open_prompts as o where o.run = new.run);
end;
