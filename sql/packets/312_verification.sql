-- Verification: models that may delegate, or whose result is checked, are asked to check their work.
-- The section of the system message has a row where the loop may delegate or has criteria. A loop without both pays
-- nothing.
-- spec: @verification

-- seeds

insert into packet_sections (name, profile, role, ordinal, source, template, live, cached, stamps) values
    ('verification', 'full', 'system', 15, '_packet_verification', 'verification', 0, 0, '_verification_stamps')
on conflict (profile, role, name) do update set source = excluded.source, stamps = excluded.stamps;

-- views

-- Whether the model of a turn may give a check to another run, and whether its own result is checked.
create view _verified_turns as
select
    t.id as turn_id,
    exists (select 1 from _loop_tools as o where o.loop_id = t.loop_id and o.name = 'subtask') as delegates,
    criteria_told(l.config) <> '' as is_checked
from turns as t
join loops as l on l.id = t.loop_id;

create view _packet_verification as
select
    turn_id,
    'verification' as layer,
    '' as source,
    'Check what you have made: run the tests, or compare the result with the task. '
    || case
        when delegates
            then 'If it matters, delegate the check to a <subtask>: tell it the criteria and where to look, not '
                || 'what you did or expect. '
        else ''
    end
    || 'Fix what fails, and check again.'
    || case
        when is_checked
            then ' The criteria behind <prompt> are checked after your 200; a result that fails them comes back with the '
                || 'reasons.'
        else ''
    end as text
from _verified_turns
where delegates or is_checked;

-- Null: the section is left out.
create view _verification_stamps as
select turn_id, case when delegates or is_checked then delegates || is_checked end as stamp
from _verified_turns;
