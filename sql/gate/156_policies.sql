-- Policies: rules that accept or refuse command lines, or ask a person.
-- A policy is a row that names programs. A line is read as a shell reads it (shell_read), and each program in it is
-- decided on by the nearest policy: of its run, then of its project, then of the engine. If one program is refused,
-- the line is refused. A line is accepted only if every program in it is accepted, and it has only plain words and
-- operators.
-- spec: @command_policies

-- tables

-- All policies. One that does not refuse counts only where the user's own store confirms it, so that a file from
-- elsewhere brings no rights along.
create table if not exists command_policies (
    id integer primary key,
    -- what it is told as
    name text not null constraint command_policies_name_not_empty check (trim(name) <> ''),
    -- shipped: comes with the engine
    level text not null constraint command_policies_level check (level in ('shipped', 'project', 'run')),
    project_id integer constraint command_policies_project references projects (id) on delete cascade,
    run_id integer constraint command_policies_run references runs (id) on delete cascade,
    -- a GLOB over the name of the program, without its folder. With a /, its path below the root, as the line writes it
    program text not null constraint command_policies_program_not_empty check (trim(program) <> ''),
    -- a GLOB over its arguments, joined by blanks. Where it does not accept, also over those from the subcommand on
    arguments text not null default '*',
    -- a GLOB over arguments to which it does not apply; null: none
    except_arguments text,
    -- bare: only without arguments and input; heredoc: only where the text of a heredoc is written to a file.
    -- interactive: only where its arguments have it wait for a person at a terminal
    condition text not null default 'always'
        constraint command_policies_condition check (condition in ('always', 'bare', 'heredoc', 'interactive')),
    -- ask: a person is asked, also under yolo
    decision text not null constraint command_policies_decision check (decision in ('refuse', 'ask', 'accept')),
    -- what the model is told; it says what to do instead
    message text,
    -- who added it
    added_by text not null default 'client',
    created_at integer not null default 0,
    constraint command_policies_owner check (
        (level = 'project') = (project_id is not null) and (level = 'run') = (run_id is not null)
    ),
    constraint command_policies_message check (decision <> 'refuse' or trim(coalesce(message, '')) <> '')
) strict;

create unique index if not exists idx_command_policies_shipped on command_policies (program, arguments, condition)
where level = 'shipped';

-- The line that 'engine allow policy explain' asks about, within a transaction that is rolled back.
create table if not exists _explained_lines (
    id integer primary key,
    run_id integer,
    project_id integer,
    line text not null
) strict;

-- seeds

delete from command_policies
where level = 'shipped';

insert into command_policies (level, name, program, condition, decision, message, added_by)
select 'shipped', 'heredoc', '*', 'heredoc', 'refuse',
    'Refused: write a file with <set path="FILE">TEXT</set>, not with a heredoc; the change is shown, checked and kept.',
    'engine';

insert into command_policies (level, name, program, except_arguments, condition, decision, message, added_by)
select
    'shipped', s.name, p.value, s.except_arguments, s.condition, 'refuse',
    'Refused: ' || replace(p.value, '[23]*', '') || ' ' || s.message, 'engine'
from (
    select
        'editor' as name,
        '["vi","vim","nvim","view","nano","pico","micro","joe","jed","mcedit","vimdiff"]' as programs,
        null as except_arguments,
        'always' as condition,
        'needs a terminal. Change a file with <set path="FILE">, show it with <get>.' as message
    union all
    select
        'pager', '["less","more","most"]', null, 'always',
        'needs a terminal. Print a part with head, tail or sed -n ''10,20p'', or read a file with <get>.'
    union all
    select 'monitor', '["top"]', '*-b*', 'always', 'never ends by itself. Use ps aux, or top -b -n 1.'
    union all
    select 'monitor', '["htop","btop","atop","glances"]', null, 'always', 'never ends by itself. Use ps aux.'
    union all
    select 'monitor', '["watch"]', null, 'always', 'never ends by itself. Run the command once.'
    union all
    select 'manual', '["man","info"]', null, 'always', 'needs a terminal. Use the option --help of the program.'
    union all
    select
        'session', '["ssh","telnet","ftp","sftp","mosh","tmux","screen"]', null, 'always',
        'opens a session of its own. Run what is needed here.'
    union all
    select 'password', '["passwd","su"]', null, 'always', 'asks for a password. Ask the person with <ask_user>.'
    union all
    select
        'interpreter', '["python","python[23]*","ipython","node","deno","bun","irb","ruby","perl","php","lua","R","ghci",'
        || '"scala","julia","bc"]',
        null, 'bare', 'without a program waits for input. Give it one: a file, -c, or a heredoc.'
) as s
cross join json_each(s.programs) as p;

-- Of those that hold for one program the first counts.
insert into command_policies (level, name, program, arguments, condition, decision, message, added_by)
select
    'shipped', 'interactive', json_extract(s.value, '$[0]'), json_extract(s.value, '$[1]'), 'interactive', 'refuse',
    'Refused: ' || json_extract(s.value, '$[2]'), 'engine'
from json_each(
    '[
    ["git", "commit*", "this git commit opens an editor, or asks. Give the message with -m, or use --no-edit."],
    ["git", "tag*", "this git tag opens an editor. Give the message with -m."],
    ["git", "notes*", "this git notes opens an editor. Give the message with -m."],
    ["git", "rebase*", "git rebase opens an editor. Leave -i out; go on by git -c core.editor=true rebase --continue."],
    ["git", "* --continue*", "it opens an editor. Use git -c core.editor=true, or commit with -m."],
    ["git", "add*", "git add waits for answers with that option. Name the files."],
    ["git", "config*", "git config opens an editor with that option. Use git config NAME VALUE."],
    ["git", "*", "this git command waits for answers, or opens an editor or a window. Name what is meant by arguments."],
    ["crontab", "*", "crontab -e opens an editor. Write a file and load it with crontab FILE."],
    ["visudo", "*", "visudo opens an editor. Ask the person with <ask_user>."],
    ["sudo", "*", "this opens a shell or an editor of its own. Put sudo in front of the command that is needed."],
    ["doas", "*", "this opens a shell of its own. Put doas in front of the command that is needed."],
    ["docker*", "*", "there is no terminal: leave -t and --tty out, and give the command to run."],
    ["podman", "*", "there is no terminal: leave -t and --tty out, and give the command to run."],
    ["nerdctl", "*", "there is no terminal: leave -t and --tty out, and give the command to run."],
    ["kubectl", "*", "there is no terminal: leave -t out and give the command to run; change objects with apply or patch."],
    ["psql", "*", "psql waits for statements. Give them with -c, or a file with -f."],
    ["mysql", "*", "mysql waits for statements. Give them with -e."],
    ["mariadb", "*", "mariadb waits for statements. Give them with -e."],
    ["sqlite3", "*", "sqlite3 waits for statements. Give them behind the name of the file."],
    ["mongosh", "*", "mongosh waits for statements. Give them with --eval."],
    ["redis-cli", "*", "redis-cli waits for commands. Give one as its arguments."],
    ["gdb", "*", "gdb waits for commands. Use gdb -batch -ex COMMAND."],
    ["lldb", "*", "lldb waits for commands. Use lldb -b -o COMMAND."],
    ["npm", "*", "npm init asks. Use npm init -y."],
    ["systemctl", "*", "systemctl edit opens an editor. Write the file, or use --stdin."],
    ["*", "*", "it waits for a person at a terminal. Give it what it is to do by its arguments or its input."]
    ]'
) as s;

-- views

-- What a policy allows, and in which folder, as the text by which the user's own store knows it.
create view _policy_rights as
select
    k.id as policy_id,
    json_array(
        'policy', k.id, k.level, j.id, j.root, k.run_id, k.program, k.arguments, k.except_arguments, k.condition, k.decision,
        k.created_at
    ) as right_text
from command_policies as k
left join runs as r on r.id = k.run_id
left join projects as j on j.id = coalesce(k.project_id, r.project_id)
where k.decision <> 'refuse';

create view policies as
-- The policies for command lines, nearest level first, with the run or folder that each is of. One that does not
-- refuse counts only where the user's own store confirms it.
select
    k.id as policy_id,
    k.level,
    coalesce(r.alias, j.root, j.name) as "of",
    k.name,
    k.decision,
    k.program || case k.arguments when '*' then '' else ' ' || k.arguments end as command,
    k.except_arguments,
    k.condition,
    k.message,
    k.added_by,
    strftime('%Y-%m-%d %H:%M:%S', nullif(k.created_at, 0) / 1000.0, 'unixepoch') as created_at
from command_policies as k
left join runs as r on r.id = k.run_id
left join projects as j on j.id = k.project_id
order by case k.level when 'run' then 1 when 'project' then 2 else 3 end, k.id;

-- The command lines that policies decide on: those of open proposals, and, with a negative id, those to be explained.
create view _command_lines as
select p.id as line_id, p.run_id, r.project_id, shell_read(json_extract(p.detail, '$.command')) as reading
from proposals as p
cross join runs as r on r.id = p.run_id
where p.kind = 'process' and p.state = 'proposed'
union all
select -id, run_id, project_id, shell_read(line)
from _explained_lines;

-- Each program of a command line, in order from 0, and each that it may hide (null: any), with the policy that decides on
-- it: of those on the nearest level one that refuses before one that asks, and that before one that accepts. For what is
-- hidden those of persons count that do not accept.
create view _line_programs as
select
    l.line_id,
    s.key as hidden,
    j.key as ordinal,
    j.value as found,
    json_extract(l.reading, '$.plain') as plain,
    (
        select k.id
        from command_policies as k
        where (
                (k.level = 'shipped' and not s.key)
                or k.project_id = l.project_id
                -- one of the run at the top of a tree holds below it
                or k.run_id in (l.run_id, (select c.root_run_id from children as c where c.run_id = l.run_id))
            )
            and case
                when s.key or instr(k.program, '/') = 0
                    then coalesce(json_extract(j.value, '$.program') glob k.program, 1)
                        and (k.decision <> 'accept' or not s.key)
                -- in another folder the same words are another program
                else json_extract(j.value, '$.path') = k.program
                    and (k.decision <> 'accept' or json_extract(l.reading, '$.stays'))
            end
            and (
                coalesce(json_extract(j.value, '$.arguments') glob k.arguments, 1)
                -- 'git -C folder push' is a push, and what stands before may be anything
                or (k.decision <> 'accept' and json_extract(j.value, '$.behind') glob k.arguments)
            )
            and coalesce(json_extract(j.value, '$.arguments') not glob k.except_arguments, 1)
            and (
                s.key
                or k.condition = 'always'
                or (k.condition = 'bare' and json_extract(j.value, '$.bare'))
                or (k.condition = 'interactive' and json_extract(j.value, '$.waits'))
                or (k.condition = 'heredoc' and json_extract(l.reading, '$.writes[0]') is not null)
            )
            -- a program of the same name in a folder of the project is another one
            and (k.decision <> 'accept' or instr(k.program, '/') or json_extract(j.value, '$.path') is null)
            and (
                k.decision = 'refuse'
                or is_confirmed((select t.right_text from _policy_rights as t where t.policy_id = k.id))
            )
        order by
            case k.level when 'run' then 1 when 'project' then 2 else 3 end,
            case k.decision when 'refuse' then 1 when 'ask' then 2 else 3 end,
            k.id
        limit 1
    ) as policy_id
from _command_lines as l
cross join json_each('["programs", "maybe"]') as s
cross join json_each(l.reading, '$.' || s.value) as j;

-- The policies that may decide on a command line, the one that does on the lowest rank: null where none does, and below 0
-- where it may hold for what the line hides. A program that no policy decides on keeps the others from being accepted, and
-- so does one that may be hidden.
create view _line_policies as
select
    p.line_id,
    case when p.hidden then -k.id when k.decision <> 'accept' or p.plain then k.id end as policy_id,
    1000 * case k.decision
        when 'refuse' then 1 + 2 * p.hidden
        when 'ask' then 2 + 2 * p.hidden
        when 'accept' then 6
        else 5
    end + p.ordinal as rank
from _line_programs as p
left join command_policies as k on k.id = p.policy_id
where k.id is not null or not p.hidden;

-- What policies say of each program of the lines to be explained.
create view _explained_programs as
select
    -p.line_id as explained_id,
    p.ordinal,
    coalesce(json_extract(p.found, '$.path'), json_extract(p.found, '$.program')) as program,
    json_extract(p.found, '$.arguments') as arguments,
    k.id as policy_id,
    k.level,
    k.name,
    k.decision,
    k.message
from _line_programs as p
left join command_policies as k on k.id = p.policy_id
where p.line_id < 0 and not p.hidden;

-- What becomes of the lines to be explained. Null: no policy decides; a grant, yolo or a person does.
create view _explained_decisions as
select
    x.id as explained_id,
    json_extract(l.reading, '$.readable') as readable,
    json_extract(l.reading, '$.plain') as plain,
    k.id as policy_id,
    k.level,
    k.name,
    k.decision,
    k.message,
    g.id as grant_id,
    -- the policy may hold for what the line hides
    coalesce(d.value < 0, 0) as hidden
from _explained_lines as x
cross join _command_lines as l on l.line_id = -x.id
cross join json_each(
    json_array((select d.policy_id from _line_policies as d where d.line_id = -x.id order by d.rank limit 1))
) as d
left join command_policies as k on k.id = abs(d.value)
left join _counting_grants as g on g.kind = 'process'
    and g.project_id = x.project_id
    and (g.run_id is null or g.run_id = x.run_id)
    and coalesce(trim(g.target, char(32, 9, 10, 13)) = trim(x.line, char(32, 9, 10, 13)), 1)
group by x.id;
