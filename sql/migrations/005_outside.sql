-- Version 5: how hard models think, titles and labels of runs.
-- spec: @rebuild @models_table @runs_table @model_calls

alter table models add column effort text constraint models_effort
    check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'));

alter table runs add column effort text constraint runs_effort
    check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'));

alter table model_calls add column effort text;

alter table runs add column title text;

alter table runs add column labels text constraint runs_labels_json check (labels is null or json_valid(labels));

alter table runs add column archived_at integer;
