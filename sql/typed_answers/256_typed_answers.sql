-- Typed answers: an answer as JSON that matches the schema of its prompt.
-- A prompt may have a JSON Schema (output), which the model reads after the prompt. When the loop would end, the
-- answer is compared with the schema. If it matches, it becomes loops.output. Otherwise the model reads each fault
-- and tries again, until no attempts are left; then the loop ends at 406 without an output.
-- needs: nothing
-- spec: @typed_answers @answer_attempts

-- views

-- What an update takes in a loop with a schema, for models that call tools natively and for grammars.
create view _loop_tool_schemas__typed_answers as
select l.id as loop_id, cast(t.name as text) as name, cast(answer_tool(t.schema, l.config ->> '$.output') as text) as schema
from loops as l
cross join tools as t on t.name = 'update'
where l.config ->> '$.output' is not null;

-- The answers that would end loops with a schema: the last update of a turn, else its prose. An answer that is given over
-- and over counts too.
create view _answers_to_hold as
select c.turn_id, c.message as answer, cast(c.attributes ->> '$.status' as integer) as status
from commands as c
where c.action = 'update'
    and c.state = 'resolved'
    and c.attributes ->> '$.status' in (200, 204)
    and not exists (
        select 1 from commands as o where o.turn_id = c.turn_id and o.action = 'update' and o.ordinal > c.ordinal
    )
    and not exists (select 1 from _turn_faults as f where f.turn_id = c.turn_id)
union all
select turn_id, '', status
from votes
where voter = 'healing';

-- What each loop with a schema has had of answers that did not fit, and how many it may have.
create view _answer_attempts as
select
    l.id as loop_id,
    (
        select count(*)
        from turns as t
        join votes as v on v.turn_id = t.id and v.voter = 'output' and v.status not in (200, 204)
        where t.loop_id = l.id
    ) as refused,
    coalesce(
        cast(l.config ->> '$.output_attempts' as integer),
        (select cast(value as integer) from settings where name = 'output_attempts')
    ) as attempts
from loops as l;

-- Hold the answer of a turn against the schema of its loop: insert into _hold_answer (turn_id).
create view _hold_answer as
select id as turn_id
from turns
where false;

-- Cast the vote on an answer that was read: insert into _vote_on_answer (turn_id, loop_id, reading, status, answer).
-- 'reading' is the JSON of answer_read.
create view _vote_on_answer as
select t.id as turn_id, t.loop_id, null as reading, t.status, null as answer
from turns as t
where false;

-- Why a loop ends with a turn whatever its answer is; null: it does not.
create view _answer_limits as
select
    t.id as turn_id,
    coalesce(
        (
            select 'stopped at the limit of ' || counted(w.step, 'turn') || goal_told(w.prompt)
            from _turn_steps as w
            where w.turn_id = t.id and w.step >= w.steps
        ),
        (
            select 'stopped at the limit of ' || counted(c.max_seconds, 'second') || goal_told(c.prompt)
            from _loop_seconds as c
            where c.loop_id = t.loop_id and c.seconds_left <= 0
        )
    ) as ended
from turns as t;

create view refused_answers as
-- Answers that did not have the form that was asked for, a row a fault: select * from refused_answers where run = 'demo'.
-- 'place' is where it stands ($ is the whole answer), 'fault' what is wrong there; 'attempt' counts the answers of a prompt.
select
    r.alias as run,
    l.sequence as loop,
    t.sequence as turn,
    e.detail ->> '$.attempt' as attempt,
    f.value ->> '$.place' as place,
    f.value ->> '$.said' as fault
from turn_errors as e
join turns as t on t.id = e.turn_id
join loops as l on l.id = t.loop_id
join runs as r on r.id = t.run_id
join json_each(e.detail, '$.faults') as f
where e.slug = 'output' and e.detail ->> '$.source' = 'output'
order by t.id, f.key;

-- An answer that was refused is not to be given again.
create view _unrepeatable_turns__typed_answers as
select turn_id
from votes
where voter = 'output' and status not in (200, 204);

-- Outputs that do not fit the schema of their prompt.
create view _invariant_outputs_fit as
select id as loop_id
from loops
where output is not null and answer_read(config ->> '$.output', output, null) ->> '$.output' is not output;

-- triggers

-- The answer is read when the votes are cast. Few loops have a schema, so the rest is compiled when one comes.
create trigger turns__hold_answer
after update of phase on turns
when new.phase = 'voting' and old.phase <> 'voting'
begin
    insert into _late_call (door, a)
    select '_hold_answer', new.id
    from loops as l
    where l.id = new.loop_id and l.config ->> '$.output' is not null;
end;

create trigger _hold_answer__hold
instead of insert on _hold_answer
begin
    insert into _vote_on_answer (turn_id, loop_id, reading, status, answer)
    select
        t.id, l.id, answer_read(l.config ->> '$.output', g.answer, t.prose), g.status,
        coalesce(nullif(g.answer, ''), t.prose)
    from turns as t
    join _answers_to_hold as g on g.turn_id = t.id
    join loops as l on l.id = t.loop_id
    where t.id = new.turn_id;
end;

-- The vote on the answer is above that of its update: it ends the loop with the answer as JSON, or goes on while attempts,
-- turns and seconds are left. What is wrong is told to the model, in this turn's log.
create trigger _vote_on_answer__vote
instead of insert on _vote_on_answer
begin
    insert into turn_errors (turn_id, status, message, slug, soft, detail)
    select
        new.turn_id, 406,
        'The answer does not fit, attempt ' || (a.refused + 1) || ' of ' || a.attempts || ':'
        || (
            select group_concat(char(10) || '- ' || (f.value ->> '$.place') || ' ' || (f.value ->> '$.said'), '')
            from json_each(new.reading, '$.faults') as f
        )
        || case
            when a.refused + 1 >= a.attempts then ''
            else char(10) || 'Give the whole answer again in <update status="200">, as JSON that fits the schema.'
        end,
        'output', 1, json_object('source', 'output', 'attempt', a.refused + 1, 'faults', new.reading -> '$.faults')
    from _answer_attempts as a
    where a.loop_id = new.loop_id and new.reading -> '$.faults' is not null;
    -- it counts where the loop ends well with it
    update loops
    set output = new.reading ->> '$.output'
    where id = new.loop_id;
    insert into votes (turn_id, voter, vote, rank, status, reason, answer)
    select new.turn_id, 'output', 'stop', 11, new.status, null, new.reading ->> '$.output'
    where new.reading -> '$.faults' is null
    union all
    select
        new.turn_id, 'output',
        case when a.refused + 1 >= a.attempts or w.ended is not null then 'stop' else 'go_on' end,
        11,
        case
            when a.refused + 1 >= a.attempts then 406
            when w.ended is not null then 499
            else 102
        end,
        case
            when a.refused + 1 >= a.attempts
                then 'the answer did not fit after ' || counted(a.refused + 1, 'attempt') || ': '
            else w.ended || ', and the answer did not fit: '
        end
        || substr((new.reading ->> '$.faults[0].place') || ' ' || (new.reading ->> '$.faults[0].said'), 1, 400),
        case when a.refused + 1 >= a.attempts or w.ended is not null then new.answer end
    from _answer_attempts as a
    join _answer_limits as w on w.turn_id = new.turn_id
    where a.loop_id = new.loop_id and new.reading -> '$.faults' is not null;
end;
