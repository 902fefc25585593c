-- Version 5: how hard models think, titles and labels of runs.
-- spec: @rebuild @models_table @runs_table @model_calls

alter table models add column effort text constraint models_effort
    check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'));

alter table runs add column effort text constraint runs_effort
    check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'));

alter table model_calls add column effort text;
