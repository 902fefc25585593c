"""`engine verify`: checks that the record of runs is what was sealed, turn by turn; signs it, and checks a signature.

spec: @seals @signed_seals
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import RunFilter, run_or_latest
from engine.functions.counts import counted
from engine.terminal.exit_codes import FAILED
from engine.terminal.printing import one_line, print_json, print_text, say, visible

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.history.seals import SealFault, Verification


def verify(
    run: RunFilter = None,
    sign: Annotated[
        Path | None,
        typer.Option("--sign", metavar="KEY", help="Sign the run with this private SSH key, and print the signature."),
    ] = None,
    signature: Annotated[
        Path | None,
        typer.Option("--signature", metavar="FILE", help="Check this signature of the run; --key is needed, too."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="KEY", help="The public SSH key of the person who signed.")
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Check that nobody changed the record of runs afterwards.

    When a turn ends, the engine seals it. The seal is a SHA-256 over the packet, the response, the commands,
    decisions and effects, and over the seal of the turn before it. If a turn was changed afterwards, the command
    names it, and the exit code is 1. Somebody who can write to the database could also forge the seals. To detect
    that, keep the last seal in another place, or sign it.

    \b
    Examples:
      engine verify
      engine verify demo --json
      engine verify demo --sign ~/.ssh/id_ed25519 > demo.sig
      engine verify demo --signature demo.sig --key alice.pub
      ssh-keygen -Y verify -n engine -f allowed_signers -I alice -s demo.sig < seal.txt
    """
    from engine.errors import ValidationError

    if (signature is None) != (key is None):
        raise ValidationError("give --signature FILE and --key KEY together")
    if sign is not None and (signature is not None or as_json):
        raise ValidationError("--sign prints a signature only; leave out --json and --signature")
    with open_to_read(db) as database:
        signs = sign is not None or signature is not None
        alias = run_or_latest(database, run) if run is not None or signs else None
        found = _checked(database, alias)
        until = _signed_until(database, alias, signature, key) if signature and key and alias else None
    is_wrong = bool(found.faults) or (signature is not None and until is None)
    if as_json:
        print_json(_as_json(found, until, is_signed=signature is not None))
    elif sign is not None and not is_wrong:
        typer.echo(_signature(found, sign), nl=False)
    else:
        _print(found, until, key)
    if is_wrong:
        raise typer.Exit(FAILED)


def _checked(database: Database, run: str | None) -> Verification:
    from engine.terminal.counter_line import counter_line

    with counter_line("verifying turn") as tell:
        return database.verify(run, on_progress=lambda done, of: tell(done, of, ""))


def _signature(found: Verification, key: Path) -> str:
    import os

    from engine.errors import ValidationError
    from engine.history.signatures import sign

    digest = found.runs[0].digest
    if digest is None:
        raise ValidationError(f"run {found.runs[0].run!r}: no turn has ended yet, so there is nothing to sign")
    return sign(digest, key, os.environ.get("ENGINE_KEY_PASSPHRASE"))


def _signed_until(database: Database, run: str, signature: Path, key: Path) -> int | None:
    """The last turn whose seal the signature is of; None if it is of none of them, or by another key."""
    from engine.errors import NotFound
    from engine.history.signatures import signed_by

    try:
        text = signature.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise NotFound(f"{signature}: cannot be read: {error.strerror}") from None
    seals = "select turn, digest from turn_records where run = ? order by turn desc"
    return next((turn for turn, digest in database.tuples(seals, (run,)) if signed_by(digest, text, key)), None)


def _print(found: Verification, until: int | None, key: Path | None) -> None:
    for fault in found.faults:
        say(_told(fault), "red")
    if found.faults:
        return
    for run in found.runs:
        seal = f"  {run.digest}" if run.digest else ""
        print_text(f"{run.run}: {counted(run.turns, 'turn')} as sealed{seal}")
    if key is not None:
        told = f"signed up to turn {until}" if until is not None else "this signature is not of this run and key"
        say(f"{visible(str(key))}: {told}", None if until is not None else "red")


def _told(fault: SealFault) -> str:
    place = "the file" if fault.run is None else f"{fault.run}, turn {fault.turn}"
    return f"{place}: {one_line(fault.fault, 300)}"


def _as_json(found: Verification, until: int | None, *, is_signed: bool) -> dict[str, object]:
    told: dict[str, object] = {
        "sound": not found.faults,
        "runs": [run._asdict() for run in found.runs],
        "faults": [fault._asdict() for fault in found.faults],
    }
    return {**told, "signed_until": until} if is_signed else told
