-- Turns know how their response ended, so that one that was cut off does nothing that the cut could have mangled.
-- spec: @rebuild

alter table turns add column finish_reason text;
