"""Claims of clients on commands that they carry out themselves, in the place of the driver of the run.

spec: @process_claims
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.system import identity

if TYPE_CHECKING:
    from engine.db.database import Store

_CLAIMED = """
    select 1
    from runs as r
    join _process_paths as p on p.run_id = r.id
    join _claimed_processes as c on c.effect_id = p.effect_id
    where r.alias = ? and p.path = ?
"""


def columns(claimant: str) -> dict[str, str]:
    """What a decision says besides, by which a client carries out the commands that it accepts."""
    return {"claimant": claimant, "holder": identity.this_process().to_json()}


def claim(db: Store, run: str, path: str, claimant: str) -> None:
    """Carry out the command at `path` from now on; raises `Conflict` (409) where somebody else does."""
    db.insert("_claim_process", run=run, path=path, **columns(claimant))


def is_claimed(db: Store, run: str, path: str) -> bool:
    """Whether a client carries out the command at `path`."""
    return bool(db.value(_CLAIMED, (run, path)))


def release(db: Store, claimant: str, run: str | None = None) -> None:
    """Give back what a client has claimed, in all runs or in `run`; what it has begun is left as it is."""
    db.insert("_release_claims", claimant=claimant, run=run)


def has_any(db: Store, claimant: str) -> bool:
    """Whether a client has claimed a command that has not ended."""
    return bool(db.value("select 1 from _claimed_processes where claimant = ?", (claimant,)))


def release_those_of_the_dead(db: Store) -> None:
    """Give back what clients of servers have claimed that are provably dead, and have not begun."""
    for row in db.rows("select distinct claimant, holder from _claimed_processes where state = 'pending'"):
        holder = identity.read_identity(row["holder"])
        if holder and identity.state(holder) == "dead":
            release(db, row["claimant"])
