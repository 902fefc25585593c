-- MCP: the tools, resources and prompts of servers, and the results of their calls.
-- The process that drives a run connects to the servers. A tool of a server is a function tool (132) whose calls go
-- to the server. The resources and prompts of servers are stored here, so that they can be searched without the
-- server. Texts of a server are data and decide nothing.
-- needs: function_tools, web
-- spec: @mcp_servers @mcp_tools @mcp_resources @mcp_records

-- tables

-- What servers listed when they were last connected.
create table if not exists mcp_items (
    server text not null,
    kind text not null constraint mcp_items_kind check (kind in ('resource', 'template', 'prompt')),
    -- the URI of a resource, the pattern of a template, the name of a prompt
    name text not null,
    title text not null,
    description text not null,
    -- JSON: mime_type and size, or the arguments of a prompt
    detail text not null constraint mcp_items_detail_json check (json_valid(detail)),
    primary key (server, kind, name)
) strict, without rowid;

-- views

-- A resource that the run has, and that need not be read again, needs no decision.
create view _answered_calls__mcp as
select command_id
from _command_pages
where is_fresh and not is_stub;

create view mcp_calls as
-- The calls of tools of MCP servers: select * from mcp_calls where run = 'demo'. 'state' is that of the command,
-- 'decided_by' who let it be called; null: the user's configuration did, or it waits.
select
    r.alias as run,
    t.sequence as turn,
    f.detail ->> '$.server' as server,
    f.detail ->> '$.called' as tool,
    f.detail -> '$.arguments' as arguments,
    c.state,
    c.outcome,
    (select d.decided_by from decisions as d where d.proposal_id = f.proposal_id) as decided_by,
    strftime('%Y-%m-%d %H:%M:%S', f.started_at / 1000.0, 'unixepoch') as started_at,
    (f.ended_at - f.started_at) / 1000.0 as seconds,
    c.log_path as path,
    f.id as effect_id
from effects as f
join commands as c on c.id = f.command_id
join runs as r on r.id = f.run_id
left join turns as t on t.id = f.turn_id
where f.kind = 'mcp';

create view mcp_log as
-- What MCP servers said while runs were driven, and what became of their connections: select * from mcp_log where run =
-- 'demo'. 'level' is connected, failed, or that of a line of a server's log; stderr is what its program printed.
select
    r.alias as run,
    ev.detail ->> '$.server' as server,
    ev.detail ->> '$.level' as level,
    ev.detail ->> '$.text' as body,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch') as created_at,
    ev.id as event_id
from events as ev
join runs as r on r.id = ev.run_id
where ev.kind in ('mcp.server', 'mcp.log');

-- Keep what a server lists: insert into _keep_mcp_items (server, items), a JSON array of kind, name, title, description and
-- detail.
create view _keep_mcp_items as
select server, null as items
from mcp_items
where false;

-- Tell what became of a server, or what it said: insert into _tell_server (run, lease, server, level, text).
create view _tell_server as
select r.alias as run, l.token as lease, null as server, null as level, null as text
from leases as l
join runs as r on r.id = l.run_id
where false;

-- What servers offer besides tools can be found.
create view _known_texts__mcp as
select
    'mcp' as kind, 'global' as scope, 'mcp://' || m.server || '/' || m.name as name, null as entry_id, null as content_id,
    m.kind || ' of the MCP server ' || m.server || ': ' || m.title || char(10) || m.description as text
from mcp_items as m;

-- triggers

create trigger _keep_mcp_items__keep
instead of insert on _keep_mcp_items
begin
    delete from mcp_items
    where server = new.server
        and (kind, name) not in (select value ->> '$.kind', value ->> '$.name' from json_each(new.items));
    insert into mcp_items (server, kind, name, title, description, detail)
    select
        new.server, value ->> '$.kind', value ->> '$.name', value ->> '$.title', value ->> '$.description',
        value -> '$.detail'
    from json_each(new.items)
    where true
    on conflict (server, kind, name) do update
        set title = excluded.title, description = excluded.description, detail = excluded.detail
        where (title, description, detail) is not (excluded.title, excluded.description, excluded.detail);
end;

-- Nothing is told without the token of the run's lease.
create trigger _tell_server__tell
instead of insert on _tell_server
begin
    insert into events (at, run_id, kind, detail)
    select
        now(), r.id, case when new.level in ('connected', 'failed') then 'mcp.server' else 'mcp.log' end,
        json_object('server', new.server, 'level', new.level, 'text', new.text)
    from leases as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.token = new.lease;
end;
