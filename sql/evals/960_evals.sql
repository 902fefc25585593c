-- Evaluations: cases are tried with models, checked, and compared with earlier results.
-- A trial is one case, given once to one model with one form of the prompt. It is created with the evaluation, and
-- one statement ends it and stores its checks. After a kill, trials that have not ended are made again. Rates and
-- verdicts are computed from the rows.
-- needs: nothing
-- spec: @evals @eval_verdicts

-- tables

create table if not exists evals (
    id integer primary key,
    -- what was evaluated: the name of the file of cases
    suite text not null,
    -- the folder of that file, from which code and files of a case are read
    folder text not null,
    -- an earlier evaluation of the suite, with which this one is compared
    baseline_id integer constraint evals_baseline references evals (id) on delete set null,
    -- the share of trials that has to pass
    fail_under real not null constraint evals_fail_under check (fail_under between 0 and 1),
    created_at integer not null
) strict;

create table if not exists eval_trials (
    id integer primary key,
    eval_id integer not null constraint eval_trials_eval references evals (id) on delete cascade,
    case_name text not null,
    -- '': the model that the task or the file chooses
    model text not null,
    -- the name of the form of its prompt; '': there is one
    variant text not null,
    repetition integer not null,
    -- the case, as JSON
    definition text not null constraint eval_trials_definition_json check (json_valid(definition)),
    -- set when it ends; the run as it was called then
    run text,
    answer text,
    error text,
    cost real,
    milliseconds integer,
    ended_at integer,
    constraint eval_trials_once unique (eval_id, case_name, model, variant, repetition)
) strict;

create table if not exists eval_checks (
    trial_id integer not null constraint eval_checks_trial references eval_trials (id) on delete cascade,
    ordinal integer not null,
    name text not null,
    passed integer not null constraint eval_checks_passed check (passed in (0, 1)),
    reason text,
    primary key (trial_id, ordinal)
) strict, without rowid;

-- views

create view eval_results as
-- The trials of evaluations, what each was answered and why it failed: select * from eval_results where eval = 1.
-- 'state' is passed, failed or open (it has not ended); 'reason' has those of the checks that failed.
select
    t.eval_id as eval,
    t.case_name as "case",
    t.model,
    t.variant,
    t.repetition,
    case
        when t.ended_at is null then 'open'
        when t.error is not null or exists (select 1 from eval_checks as c where c.trial_id = t.id and c.passed = 0)
            then 'failed'
        else 'passed'
    end as state,
    coalesce(
        t.error,
        (
            select group_concat(said, char(10))
            from (
                select c.name || coalesce(': ' || c.reason, '') as said
                from eval_checks as c
                where c.trial_id = t.id and c.passed = 0
                order by c.ordinal
            )
        )
    ) as reason,
    t.run,
    t.answer,
    t.cost,
    t.milliseconds,
    t.id as trial
from eval_trials as t
order by t.id;

-- How many trials passed: of each case with its model and form of prompt, and, where 'case' is null, of all cases together.
create view _eval_counts as
select
    eval, "case", model, variant,
    count(*) as trials,
    sum(state = 'passed') as passed,
    sum(cost) as cost,
    avg(milliseconds) / 1000.0 as seconds
from eval_results
where state <> 'open'
group by eval, "case", model, variant
union all
select
    eval, null, model, variant,
    count(*), sum(state = 'passed'), sum(cost), avg(milliseconds) / 1000.0
from eval_results
where state <> 'open'
group by eval, model, variant;

-- Their shares, with the interval that holds the true one in 95 of 100 cases (Wilson's). The root is Newton's.
create view _eval_rates as
select
    eval, "case", model, variant, trials, passed, cost, seconds, rate,
    (rate + 1.9208 / trials - 1.96 * root) / (1 + 3.8416 / trials) as low,
    (rate + 1.9208 / trials + 1.96 * root) / (1 + 3.8416 / trials) as high
from (
    select
        c.*,
        1.0 * c.passed / c.trials as rate,
        (
            with recursive newton (step, x) as (
                select 0, 0.5
                union all
                select
                    step + 1,
                    (
                        x + (
                            1.0 * c.passed / c.trials * (1 - 1.0 * c.passed / c.trials) / c.trials
                            + 0.9604 / c.trials / c.trials
                        ) / x
                    ) / 2
                from newton
                where step < 16
            )
            select x from newton where step = 16
        ) as root
    from _eval_counts as c
);

create view eval_scores as
-- The share of trials that passed, by case, model and form of prompt: select * from eval_scores where eval = 1. A row
-- whose 'case' is null is about all cases. 'low' and 'high' hold the true share in 95 of 100 evaluations. 'before' is the
-- share in the baseline, 'change' is better, worse, same or new, and 'is_regression' is 1 if it is worse and chance does
-- not explain that.
select
    r.eval, r."case", r.model, r.variant, r.trials, r.passed,
    round(r.rate, 4) as rate,
    round(max(r.low, 0), 4) as low,
    round(min(r.high, 1), 4) as high,
    round(b.rate, 4) as before,
    case
        when e.baseline_id is null then null
        when b.eval is null then 'new'
        when r.rate < b.rate then 'worse'
        when r.rate > b.rate then 'better'
        else 'same'
    end as change,
    case
        when e.baseline_id is null then null
        -- run once each, there is nothing to weigh
        when r."case" is not null and b.trials = 1 and r.trials = 1 then r.passed < b.passed
        else coalesce(
            r.rate < b.rate
            and (b.rate - r.rate) * (b.rate - r.rate)
            > (b.rate - b.low) * (b.rate - b.low) + (r.high - r.rate) * (r.high - r.rate), 0
        )
    end as is_regression,
    r.cost,
    round(r.seconds, 3) as seconds
from _eval_rates as r
join evals as e on e.id = r.eval
left join _eval_rates as b
    on b.eval = e.baseline_id and b."case" is r."case" and b.model = r.model and b.variant = r.variant;

create view eval_verdicts as
-- The evaluations, with how each ended: select * from eval_verdicts. 'verdict' is open (trials are left), regressed (worse
-- than the baseline), failed (fewer passed than 'fail_under') or passed. 'created_at' is a time in UTC.
select
    eval, suite, baseline, fail_under, trials, ended, passed,
    case
        when ended < trials then 'open'
        when exists (select 1 from eval_scores as s where s.eval = e.eval and s.is_regression) then 'regressed'
        when passed < fail_under * trials - 0.000001 then 'failed'
        else 'passed'
    end as verdict,
    cost,
    created_at
from (
    select
        v.id as eval,
        v.suite,
        v.baseline_id as baseline,
        v.fail_under,
        count(r.trial) as trials,
        coalesce(sum(r.state <> 'open'), 0) as ended,
        coalesce(sum(r.state = 'passed'), 0) as passed,
        sum(r.cost) as cost,
        strftime('%Y-%m-%d %H:%M:%S', v.created_at / 1000.0, 'unixepoch') as created_at
    from evals as v
    left join eval_results as r on r.eval = v.id
    group by v.id
) as e;

-- doors

create view _begin_eval as
-- Begin an evaluation with its trials: insert into _begin_eval (suite, folder, baseline, fail_under, trials). 'trials' is a
-- JSON array of [case, model, variant, repetition, definition]; 'baseline' the number of an evaluation, 'latest' or null.
select suite, folder, null as baseline, fail_under, null as trials
from evals
where false;

create view _end_trial as
-- End a trial: insert into _end_trial (trial, run, answer, error, cost, milliseconds, checks). 'checks' is a JSON array of
-- [name, passed, reason]. One that has ended stays as it ended.
select id as trial, run, answer, error, cost, milliseconds, null as checks
from eval_trials
where false;

-- triggers

create trigger _begin_eval__begin
instead of insert on _begin_eval
begin
    select fail(400, 'evaluation: it has no suite; give the name of its file of cases')
    where coalesce(new.suite, '') = '';
    select fail(400, 'evaluation of ' || new.suite || ': there is no case; give at least one')
    where coalesce(json_array_length(new.trials), 0) = 0;
    insert into evals (suite, folder, baseline_id, fail_under, created_at)
    select
        new.suite,
        new.folder,
        (
            select max(e.id)
            from evals as e
            where e.suite = new.suite
                and (new.baseline = 'latest' or new.baseline = cast(e.id as text))
                and not exists (select 1 from eval_trials as t where t.eval_id = e.id and t.ended_at is null)
        ),
        new.fail_under,
        now();
    select fail(
        404, 'evaluation ' || new.baseline || ' of ' || new.suite || ': not found or not finished; see ''engine eval'''
    )
    from evals
    where id = (select max(id) from evals) and new.baseline is not null and baseline_id is null;
    insert into eval_trials (eval_id, case_name, model, variant, repetition, definition)
    select
        (select max(id) from evals),
        value ->> '$[0]', value ->> '$[1]', value ->> '$[2]', value ->> '$[3]', value -> '$[4]'
    from json_each(new.trials)
    order by key;
end;

create trigger _end_trial__end
instead of insert on _end_trial
begin
    select fail(404, 'trial ' || coalesce(quote(new.trial), 'null') || ': there is no such trial; see eval_trials')
    where not exists (select 1 from eval_trials where id = new.trial);
    insert into eval_checks (trial_id, ordinal, name, passed, reason)
    select new.trial, c.key, c.value ->> '$[0]', c.value ->> '$[1]', c.value ->> '$[2]'
    from eval_trials as t
    join json_each(new.checks) as c
    where t.id = new.trial and t.ended_at is null;
    update eval_trials
    set run = new.run, answer = new.answer, error = new.error, cost = new.cost, milliseconds = new.milliseconds,
        ended_at = now()
    where id = new.trial and ended_at is null;
end;
