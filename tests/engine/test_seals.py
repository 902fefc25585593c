"""Seals and what becomes of a run: renamed, forked, delegated, exported, moved, purged; signatures; the command.

spec: @seals @signed_seals
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from engine_cli import engine as command

import engine
from engine.history.seals import SealedRun
from engine.history.signatures import sign, signed_by

GO_ON, DONE = '<update status="102">on</update>', '<update status="200">Done.</update>'


def answers(folder: Path, *texts: str) -> str:
    script = folder / "answers.jsonl"
    script.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return f"scripted:{script}"


@pytest.fixture
def db(tmp_path: Path) -> engine.Database:
    db = engine.open(tmp_path / "t.db")
    db.run("go", run="demo", model=answers(tmp_path, GO_ON, GO_ON, DONE))
    return db


def seals(db: engine.Database, run: str) -> list[tuple[str, str]]:
    return [
        (record[13:77], digest)
        for record, digest in db.tuples("select record, digest from turn_records where run = ? order by turn", (run,))
    ]


def test_each_seal_begins_with_the_one_before(db: engine.Database) -> None:
    found = seals(db, "demo")
    assert [previous for previous, _ in found] == ["0" * 64, found[0][1], found[1][1]]
    assert db.verify("demo").runs == [SealedRun("demo", 3, found[-1][1])]
    db.close()


def test_a_renamed_run_keeps_its_seals(db: engine.Database) -> None:
    before = seals(db, "demo")
    db.rename("demo", "other")
    assert seals(db, "other") == before
    assert db.verify().faults == []
    db.close()


def test_a_fork_continues_the_chain_of_its_origin(db: engine.Database, tmp_path: Path) -> None:
    db.fork("demo", "fork", at=2)
    db.run("again", run="fork", model=answers(tmp_path, DONE, DONE, DONE))
    assert seals(db, "fork")[0][0] == seals(db, "demo")[0][1]
    assert db.verify().faults == []
    db.close()


def test_an_imported_run_keeps_its_seals(db: engine.Database, tmp_path: Path) -> None:
    db.export_run("demo", tmp_path / "demo.jsonl")
    with engine.open(tmp_path / "other.db") as other:
        other.run("first", run="here", model=answers(tmp_path, DONE))
        other.import_run(tmp_path / "demo.jsonl", trust=True)
        assert seals(other, "demo") == seals(db, "demo")
        assert other.verify().faults == []
    db.close()


def test_a_purge_leaves_the_last_seal(db: engine.Database) -> None:
    last = seals(db, "demo")[-1][1]
    db.purge("demo")
    assert db.tuples("select digest, turns from purged_seals") == [(last, 3)]
    assert db.verify().faults == []
    db.close()


def test_an_unknown_run_is_refused(db: engine.Database) -> None:
    with pytest.raises(engine.NotFound, match="no such run"):
        db.verify("nobody")
    db.close()


def test_the_progress_is_told(db: engine.Database) -> None:
    told: list[tuple[int, int]] = []
    db.verify(on_progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    db.close()


def keys(folder: Path, kind: str) -> tuple[Path, Path]:
    private = {
        "ed25519": ed25519.Ed25519PrivateKey.generate,
        "rsa": lambda: rsa.generate_private_key(65537, 2048),
        "ecdsa": lambda: ec.generate_private_key(ec.SECP256R1()),
    }[kind]()
    own, shown = folder / f"{kind}.key", folder / f"{kind}.pub"
    own.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    own.chmod(0o600)
    shown.write_bytes(private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n")
    return own, shown


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_a_signature_is_of_one_seal_and_one_key(tmp_path: Path, kind: str) -> None:
    own, shown = keys(tmp_path, kind)
    made = sign("ab" * 32, own)
    assert signed_by("ab" * 32, made, shown)
    assert not signed_by("ac" * 32, made, shown)
    (tmp_path / "else").mkdir()
    assert not signed_by("ab" * 32, made, keys(tmp_path / "else", kind)[1])


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_openssh_reads_the_signature(tmp_path: Path, kind: str) -> None:
    tool = shutil.which("ssh-keygen")
    if tool is None:
        pytest.skip("ssh-keygen is not installed")
    own, shown = keys(tmp_path, kind)
    (tmp_path / "made.sig").write_text(sign("ab" * 32, own))
    (tmp_path / "allowed").write_text(f"alice {shown.read_text()}")
    command = [
        tool,
        "-Y",
        "verify",
        "-n",
        "engine",
        "-I",
        "alice",
        "-f",
        tmp_path / "allowed",
        "-s",
        tmp_path / "made.sig",
    ]
    for text, code in (("ab" * 32, 0), ("ac" * 32, 255)):
        done = subprocess.run(command, input=f"{text}\n".encode(), capture_output=True, timeout=60, check=False)
        assert done.returncode == code, done.stderr


@pytest.mark.parametrize("text", ["", "x", "-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n"])
def test_what_is_no_signature_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(engine.ValidationError, match="OpenSSH"):
        signed_by("ab" * 32, text, keys(tmp_path, "ed25519")[1])


def test_other_keys_are_refused(tmp_path: Path) -> None:
    own, shown = keys(tmp_path, "ecdsa")
    with pytest.raises(engine.ValidationError, match="Ed25519 or RSA"):
        sign("ab" * 32, own)
    with pytest.raises(engine.ValidationError, match="no private SSH key"):
        sign("ab" * 32, shown)
    with pytest.raises(engine.NotFound, match="cannot be read"):
        sign("ab" * 32, tmp_path / "none")


def test_the_command_names_the_first_turn_that_differs(db: engine.Database, tmp_path: Path) -> None:
    db.close()
    folder, (own, shown) = tmp_path / "folder", keys(tmp_path, "ed25519")
    folder.mkdir()
    file = ["--db", str(tmp_path / "t.db")]
    told = command(folder, "verify", *file)
    assert (told.returncode, told.stdout.split("  ")[0]) == (0, "demo: 3 turns as sealed")
    (folder / "demo.sig").write_text(command(folder, "verify", "demo", "--sign", str(own), *file).stdout)
    check = ("verify", "demo", "--signature", "demo.sig", "--key", str(shown), "--json", *file)
    assert json.loads(command(folder, *check).stdout)["signed_until"] == 3
    with engine.open(tmp_path / "t.db") as forged:
        forged.execute("drop trigger turns__keep_response")
        forged.execute("update turns set response = 'No.' where sequence = 2")
    engine.open(tmp_path / "t.db").close()  # the guard is made anew
    told = command(folder, "verify", *file)
    assert (told.returncode, told.stderr) == (
        1,
        "demo, turn 2: the record of the turn was changed after it was sealed\n",
    )
    refused = command(folder, "verify", "demo", "--sign", str(own), *file)
    assert (refused.returncode, refused.stdout) == (1, "")
    # the audit would find it too
    (tmp_path / "t.db").unlink()
