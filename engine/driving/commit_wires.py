"""Hangs into the connection of a driver what begins git commits, where the setting `commit` asks for some.

spec: @commits
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.db.database import Store

# each edit: the command that wrote files is done
_AN_EDIT = """
create temp trigger if not exists commands__commit_an_edit
after update of state on main.commands
when new.state = 'resolved'
    and old.state <> 'resolved'
    and new.writer = 'model'
    and new.turn_id is not null
    and (select value from settings where name = 'commit') = 'edit'
begin
    insert into _late_call (door, a, b, c)
    select '_begin_commit', new.run_id, new.loop_id, new.turn_id
    where exists (
            select 1
            from proposals as p
            where p.command_id = new.id and p.kind in ('file_write', 'file_delete') and p.state = 'resolved'
        );
end
"""
# each prompt that ended as done; that of a run below is a part of the prompt above
_A_PROMPT = """
create temp trigger if not exists loops__commit_a_prompt
after update of status on main.loops
when new.status in (200, 204)
    and old.status = 102
    and (select value from settings where name = 'commit') = 'prompt'
begin
    insert into _late_call (door, a, b, c)
    select '_begin_commit', new.run_id, new.id, null
    where not exists (select 1 from children as k where k.run_id = new.run_id and k.loop_id = new.id);
end
"""


def hang_commits(db: Store) -> None:
    """Have what this connection drives committed as the setting says, from now on."""
    if db.has("commits") and db.value("select value from settings where name = 'commit'"):
        db.add_wires(_AN_EDIT, _A_PROMPT)
