"""How large the programs are that SQLite compiles the hot statements to, with all triggers that they can reach."""

from __future__ import annotations

import apsw

HOT = {
    "begin a turn": "insert into _begin_turn (run, lease) values ('demo', 'token')",
    "offer a packet": "insert into _offer_packet (turn_id, chars, lease) values (1, 100, 'token')",
    "submit a packet": "insert into _submit_packet (turn_id, chars, lease) values (1, 100, 'token')",
    "store a response": "update turns set response = 'said', native = 0, reasoning = null, prompt_tokens = 1, "
    "cached_tokens = 1, completion_tokens = 1, reasoning_tokens = 1, cost = 0.1, ms_model = 1, lease = 'token' where id = 1",
    "dispatch": "insert into _dispatch (run, lease) values ('demo', 'token')",
    "call a door as the driver": "insert into _call_door (door, run, lease) values ('_dispatch', 'demo', 'token')",
    "change the state of a command": "update commands set state = 'resolved', outcome = null, message = 'done' where id = 1",
    "decide on a proposal": "insert into resolutions (run_id, path, proposal_id, decision, body, decided_by) "
    "values (1, 'log://turn_1/set/a', 1, 'accept', null, 'client')",
    "report an effect": "insert into effect_results (effect_id, state, outcome, message, detail, lease) "
    "values (1, 'resolved', null, null, '{}', 'token')",
    "write as an app": "insert into verb_set (run, path, body, visibility) values ('demo', 'known://a', 'text', 'visible')",
}
"""The statements of a turn, as the driver and apps write them."""


def opcodes(connection: apsw.Connection, statement: str) -> int:
    """How many opcodes `statement` compiles to, those of its triggers included, each trigger once."""
    # a cached one is not compiled again when the schema has changed
    return len(connection.execute(f"explain {statement}", can_cache=False).fetchall())
