-- Reports on jobs: the part of an output that is shown, the part that is dropped, and the message about it.
-- needs: nothing
-- spec: @background_jobs @streaming_entries

-- views

-- The output of each channel of a job as far as it is kept: its beginning and its latest part.
create view _job_texts as
select
    c.effect_id,
    c.channel,
    j.run_id,
    c.entry_id,
    c.printed,
    c.shown,
    (
        select group_concat(k.text, '')
        from (
            select
                case
                    when c.dropped > 0
                        and x.position = (
                            select min(y.position)
                            from entry_chunks as y
                            where y.run_id = j.run_id and y.entry_id = c.entry_id and y.position >= s.value / 2
                        )
                        then char(10) || '[… ' || counted(c.dropped, 'character') || ' left out …]' || char(10)
                    else ''
                end || x.text as text
            from entry_chunks as x
            where x.run_id = j.run_id and x.entry_id = c.entry_id
            order by x.id
        ) as k
    ) as text
from jobs as j
cross join job_channels as c on c.effect_id = j.effect_id
cross join settings as s on s.name = 'process_output_bytes';

-- Pieces of a job's output that make room for later ones: of what comes behind the first half of the limit, all but the
-- latest half.
create view _surplus_pieces as
select t.effect_id, t.channel, t.id, t.chars
from (
    select
        c.effect_id,
        c.channel,
        x.id,
        length(x.text) as chars,
        sum(length(x.text)) over (partition by c.effect_id, c.channel order by x.id desc) as total
    from job_channels as c
    cross join jobs as j on j.effect_id = c.effect_id
    cross join settings as s on s.name = 'process_output_bytes'
    cross join entry_chunks as x
        on x.run_id = j.run_id and x.entry_id = c.entry_id and x.position >= s.value / 2
) as t
where t.total > (select max(cast(value as integer) / 2, 1000) from settings where name = 'process_output_bytes');

-- How each job stands, as its log entry tells it.
create view _job_reports as
select
    j.effect_id,
    case
        when j.ended_at is null then 'started ' || quote(p.target) || ' in the background'
            || iif(json_extract(j.detail, '$.keeper') is null, '', '; it continues after the task')
        when j.outcome = 'interrupted' then 'interrupted: the engine was stopped while this ran in the background: '
            || quote(p.target)
        when j.outcome = 'timeout' then 'stopped after the time-out: ' || quote(p.target)
        when j.outcome = 'cancelled' then 'ended ' || quote(p.target)
        else 'ran ' || quote(p.target) || ' in the background'
    end
    || coalesce(', exit=' || j.exit_code, '')
    || coalesce(' (' || json_extract(j.detail, '$.duration_s') || 's)', '')
    || coalesce('; ' || json_extract(j.detail, '$.note'), '')
    || coalesce(
        (
            select '. Left out in the middle of its output: ' || counted(sum(c.dropped), 'character')
            from job_channels as c
            where c.effect_id = j.effect_id
            having sum(c.dropped) > 0
        ), ''
    )
    || '. Output: ' || coalesce(
        (
            select group_concat(line, ', ')
            from (
                select
                    n.path || case
                        when j.ended_at is null then ''
                        when b.chars > 0 then ' (' || counted(token_estimate(b.chars, 2), 'token') || ')'
                        else ' (empty)'
                    end as line
                from _channel_entries as n
                cross join _entry_bodies as b on b.run_id = n.run_id and b.entry_id = n.entry_id
                where n.effect_id = j.effect_id
                order by n.channel
            )
        ), 'removed'
    ) as report
from jobs as j
join effects as f on f.id = j.effect_id
join proposals as p on p.id = f.proposal_id;
