-- Stopped prompts: prompts that a limit has stopped, and how to continue them.
-- A loop that has ended does not change. To continue its prompt, the same prompt is given again in the same run, with
-- more turns or seconds. The model sees what it has done before.
-- spec: @stopped_prompts

-- views

create view stopped_prompts as
-- The prompts that a limit has stopped: select * from stopped_prompts where run = 'demo'. 'stopped_by' is turns, clock,
-- strikes, or the option or setting that limits what is spent, such as max_cost; 'used' is how many turns, seconds, dollars,
-- tokens or calls it had. 'more' is a number to go on with: engine resume demo --max-turns 16.
select
    r.alias as run,
    l.sequence as loop,
    v.voter as stopped_by,
    case v.voter
        when 'clock' then (select s.max_seconds from _loop_max_seconds as s where s.loop_id = l.id)
        else (select count(*) from turns as o where o.loop_id = l.id)
    end as used,
    case v.voter
        when 'clock' then (select 2 * s.max_seconds from _loop_max_seconds as s where s.loop_id = l.id)
        else (select 2 * s.steps from _turn_steps as s where s.turn_id = t.id)
    end as more,
    l.reason,
    l.prompt
from loops as l
join runs as r on r.id = l.run_id
join turns as t on t.id = (select max(o.id) from turns as o where o.loop_id = l.id)
join _turn_verdicts as v on v.turn_id = t.id and v.vote = 'stop' and v.voter in ('turns', 'clock', 'strikes')
where l.status = 499;

create view verb_extend_prompt as
-- Go on with the latest prompt of a run, which a limit has stopped: insert into verb_extend_prompt (run, max_turns,
-- max_seconds, max_cost, max_tokens, max_calls). It is given once more, with its options and these limits; null: as before.
select
    null as run, null as max_turns, null as max_seconds, null as max_cost, null as max_tokens, null as max_calls
where false;

-- triggers

create trigger verb_extend_prompt__extend
instead of insert on verb_extend_prompt
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(
        409,
        'run ' || new.run || ': no limit stopped its latest prompt'
        || case
            when exists (select 1 from open_prompts as o where o.run = new.run)
                then '; resume the run without a new limit'
            else '; give it a new prompt'
        end
    )
    from runs as r
    where r.alias = new.run
        and not exists (select 1 from stopped_prompts as s where s.run = r.alias and s.loop = r.next_loop - 1);
    insert into verb_set (run, path, body, attributes)
    select
        s.run,
        'run://' || s.run,
        s.prompt,
        json_patch(
            (
                select json_group_object(f.key, f.value)
                from json_each(l.config) as f
                where f.key in (select name from run_options where scope = 'loop')
            ),
            json_patch(
                json_object('mode', l.mode),
                json_object(
                    'max_turns', coalesce(new.max_turns, l.config ->> '$.max_turns'),
                    'max_seconds', coalesce(new.max_seconds, l.config ->> '$.max_seconds'),
                    'max_cost', coalesce(new.max_cost, l.config ->> '$.max_cost'),
                    'max_tokens', coalesce(new.max_tokens, l.config ->> '$.max_tokens'),
                    'max_calls', coalesce(new.max_calls, l.config ->> '$.max_calls')
                )
            )
        )
    from runs as r
    join stopped_prompts as s on s.run = r.alias and s.loop = r.next_loop - 1
    join loops as l on l.run_id = r.id and l.sequence = s.loop
    where r.alias = new.run;
end;
