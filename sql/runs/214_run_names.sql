-- Names of runs: names, titles and labels, and which runs are archived.
-- All other tables refer to a run by its number, so a new name changes only one column. A run without a title shows
-- the beginning of its first prompt (run_overview).
-- spec: @run_names

-- views

-- The runs whose names may be swapped, because lines were parted. A part gives their ids.
create view _parted_runs as
select null as run_id
where false;

-- The runs of each tree that are driven: of the run itself and of those below it.
create view _driven_trees as
select t.alias as top, r.alias as run, l.token
from _leases_in_force as l
join runs as r on r.id = l.run_id
left join children as c on c.run_id = r.id
join runs as t on t.id = r.id or instr(c.lineage, '/' || t.id || '/');

-- Refuse a run that is not there, one that is driven, also below it: insert into
-- _expect_at_rest (run, lease). What the lease itself drives is at rest.
create view _expect_at_rest as
select null as run, null as lease
where false;

create view verb_rename_run as
-- Give a run another name: insert into verb_rename_run (run, name). It is refused while the run, or one below it, is driven.
select alias as run, null as name
from runs
where false;

create view verb_describe_run as
-- Say what a run is called in lists: insert into verb_describe_run (run, title, add_labels, drop_labels, archived).
-- Null leaves a thing as it is; a title '' is that of the first prompt again; labels are JSON arrays; 'archived' is 1
-- or 0.
select alias as run, title, null as add_labels, null as drop_labels, null as archived
from runs
where false;

-- triggers

create trigger _expect_at_rest__expect
instead of insert on _expect_at_rest
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(409, 'run ' || run || ': a process works on it; wait, or stop it: engine abort ' || run)
    from _driven_trees
    where top = new.run and token is not new.lease;
end;

-- A driver knows its run by name, and so does what a kept command is ended by.
create trigger verb_rename_run__rename
instead of insert on verb_rename_run
when new.name is not new.run or not exists (select 1 from runs where alias = new.run)
begin
    insert into _expect_at_rest (run) values (new.run);
    select fail(
        400, 'run ' || new.run || ': use only letters, digits, ''_'', ''-'' and ''.'', at most 200, not '
        || quote(substr(new.name, 1, 200))
    )
    where new.name is null
        or length(new.name) not between 1 and 200
        or new.name glob '*[^a-zA-Z0-9_.-]*'
        or instr(new.name, char(0));
    select fail(409, 'run ' || new.run || ': cannot be renamed to ' || alias || ', because another run has this name')
    from runs
    where alias = new.name;
    select fail(
        409, 'run ' || new.run || ': cannot be renamed while its command runs in the background; stop the command with '
        || '''engine abort ' || new.run || ''''
    )
    from _kept_processes as k
    join runs as r on r.id = k.run_id
    where r.alias = new.run;
    insert into events (at, run_id, kind, detail)
    select now(), id, 'run.renamed', json_object('from', alias, 'to', new.name)
    from runs
    where alias = new.run;
    update runs
    set alias = new.name
    where alias = new.run;
end;

create trigger verb_describe_run__describe
instead of insert on verb_describe_run
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(400, 'run ' || new.run || ': a title must be one line of at most 200 characters')
    where length(new.title) > 200
        or new.title glob '*[' || char(1) || '-' || char(31) || char(127) || ']*'
        or instr(new.title, char(0));
    select fail(400, 'run ' || new.run || ': archived must be 0 or 1, not ' || quote(new.archived))
    where new.archived not in (0, 1);
    select fail(400, 'run ' || new.run || ': labels must be a JSON array, not ' || quote(substr(j.value, 1, 200)))
    from (select new.add_labels as value union all select new.drop_labels) as j
    where j.value is not null and case when json_valid(j.value) then json_type(j.value) else '' end <> 'array';
    select fail(
        400, 'run ' || new.run || ': a label is one line of 1 to 40 characters without a comma, not '
        || quote(substr(j.value, 1, 200))
    )
    from json_each(coalesce(new.add_labels, '[]')) as j
    where j.type <> 'text'
        or length(j.value) > 40
        or trim(j.value) = ''
        or j.value glob '*[' || char(1) || '-' || char(31) || char(127) || ',]*'
        or instr(j.value, char(0));
    update runs
    set title = case when new.title is null then title else nullif(trim(new.title), '') end,
        labels = (
            select nullif(json_group_array(label), '[]')
            from (
                select value as label from json_each(coalesce(runs.labels, '[]'))
                union
                select trim(value) from json_each(coalesce(new.add_labels, '[]'))
                except
                select trim(value) from json_each(coalesce(new.drop_labels, '[]'))
                order by 1
            )
        ),
        archived_at = case new.archived when 1 then coalesce(archived_at, now()) when 0 then null else archived_at end
    where alias = new.run;
    select fail(400, 'run ' || new.run || ': has ' || json_array_length(labels) || ' labels; at most 32 are allowed')
    from runs
    where alias = new.run and json_array_length(labels) > 32;
    insert into events (at, run_id, kind, detail)
    select
        now(), id, 'run.described',
        json_object('title', title, 'labels', json(coalesce(labels, '[]')), 'archived', archived_at is not null)
    from runs
    where alias = new.run;
end;
