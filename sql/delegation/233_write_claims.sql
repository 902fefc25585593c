-- Write claims: if several children work at the same time, the first child that writes a file owns it.
-- The claim is made when the driver begins to write, and holds until all of these runs have ended. A run below one of
-- them writes in its name. Steps of a workflow have no turn of a parent: theirs stand under the turn that writes, and
-- hold for the steps that worked while theirs did. What shell commands write is not seen.
-- spec: @write_claims

-- tables

-- Which run of a group of siblings has written a file first; the group is the turn of their parent.
create table if not exists write_claims (
    turn_id integer not null constraint write_claims_turn references turns (id) on delete cascade,
    path text not null,
    run_id integer not null constraint write_claims_run references runs (id) on delete cascade,
    primary key (turn_id, path)
) strict, without rowid;

-- views

-- The effects of children that write or remove a file, with each group of siblings that they write in: 'owner_id' is the run
-- of the group in whose name.
create view _claims_ahead as
select
    f.id as effect_id,
    p.turn_id,
    o.run_id as owner_id,
    t.value as path
from effects as f
join children as c on c.run_id = f.run_id
join children as o
    on o.root_run_id = c.root_run_id and (o.run_id = c.run_id or instr(c.lineage, '/' || o.run_id || '/'))
join effects as p on p.id = o.effect_id and p.state = 'started'
join json_each(json_array(f.detail ->> '$.path', f.detail ->> '$.leads_to')) as t
where f.kind in ('file_write', 'file_delete') and t.value is not null;

-- Effects that would write what a sibling has written, and what is said of that.
create view _claim_refusals as
select
    a.effect_id,
    a.path || ': run ' || r.alias || ' works at the same time and has written it; do not change this file, or end '
        || 'and let your'
    || ' caller change it later.' as refusal
from _claims_ahead as a
join write_claims as w on w.turn_id = a.turn_id and w.path = a.path and w.run_id <> a.owner_id
join runs as r on r.id = w.run_id;

create view _claim_files as
-- Claim the files of an effect for its run: insert into _claim_files (effect_id). What others have claimed stays theirs.
select id as effect_id
from effects
where false;

-- triggers

create trigger _claim_files__claim
instead of insert on _claim_files
begin
    select fail(404, 'effect ' || quote(new.effect_id) || ': not found; see the view _pending_effects')
    where not exists (select 1 from effects where id = new.effect_id);
    insert or ignore into write_claims (turn_id, path, run_id)
    select turn_id, path, owner_id
    from _claims_ahead
    where effect_id = new.effect_id;
end;
