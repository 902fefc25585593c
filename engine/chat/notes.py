"""What a person gives to a run besides prompts: places behind an @, output of a command of his own, facts.

None of it asks a model. Before a run has begun it is kept until the first prompt has made one.

spec: @chat_keys
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.functions.paths import path_scheme
from engine.terminal.printing import say, shown_path, visible

from .places import NAMED

if TYPE_CHECKING:
    from .app import Chat
    from .session import Session

_MOST_CHARACTERS = 200_000
"""Characters of an output that are kept; of a longer one the beginning and the end."""
_NEXT = "select path from _next_piped_text"
_UNLISTED = """
    select r.id as run_id, r.alias as run, null as turn_id, r.project_id, p.root
    from runs as r
    join projects as p on p.id = r.project_id and p.root is not null
    where r.alias = :run and not exists (select 1 from known_entries as e where e.run = :run and e.scheme = 'file')
"""
_SLUG = re.compile(r"[^a-z0-9]+")


def join_places(session: Session, text: str) -> list[str]:
    """Make the files and entries visible that a prompt names; returns what could not be."""
    from engine.driving.requests import carry_out, located, look

    run = str(session.run)
    wrong = []
    for typed in dict.fromkeys(found.rstrip(".") for found in NAMED.findall(text)):
        try:
            place = located(session.db, run, typed)
            look(session.db, run, [place])
            if path_scheme(place) is None:
                _list_files(session, run)
            carry_out(session.db, run, [{"verb": "get", "path": place}])
        except EngineError as error:
            wrong.append(f"@{visible(typed)}: {error.message}")
    return wrong


def _list_files(session: Session, run: str) -> None:
    """Let a run that has not begun see the files of its folder, as its first turn would."""
    from engine.driving.lease import Lease
    from engine.effects.files import scan

    for folder in session.db.rows(_UNLISTED, {"run": run}):
        with session.db.driven(), ExitStack() as held:
            lease = Lease(session.db, run)
            held.callback(lease.release)
            lease.claim()
            scan(session.db, folder)


def run_shell(chat: Chat, line: str) -> None:
    """Run a command line of the person's own at the terminal, and keep what it prints for the run."""
    chat.in_terminal(lambda: _run(chat.session, line))


def note_fact(chat: Chat, text: str) -> None:
    """Keep a fact for the run."""
    slug = _SLUG.sub("_", text.lower())[:60].strip("_") or "note"
    keep(chat.session, f"known://{slug}", text)
    when = "with your first prompt" if chat.session.is_new else "now"
    chat.note(f"noted known://{slug}; the model reads it {when}")


def keep(session: Session, path: str, text: str) -> None:
    """Write an entry of the run, or keep it until there is one."""
    if session.is_new:
        session.pending.append((path, text))
        return
    from engine.driving.requests import carry_out

    place = str(session.db.value(_NEXT)) if path == "stdin://" else path
    carry_out(session.db, str(session.run), [{"verb": "set", "path": place, "body": text, "visibility": "visible"}])


def keep_pending(session: Session) -> None:
    """Write what was kept before there was a run."""
    pending, session.pending = session.pending, []
    for path, text in pending:
        keep(session, path, text)


def _run(session: Session, line: str) -> None:
    say(f"$ {visible(line)}", "cyan")
    process = subprocess.Popen(
        ["/bin/sh", "-c", line],  # the person has typed it
        cwd=session.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None, "it is a pipe"
    pieces = []
    try:
        for piece in process.stdout:
            pieces.append(piece)
            sys.stderr.write(visible(piece.rstrip("\n")) + "\n")
            sys.stderr.flush()
        code = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        code = process.wait()
    text = "".join(pieces)
    if len(text) > _MOST_CHARACTERS:
        half = _MOST_CHARACTERS // 2
        text = f"{text[:half]}\n…\n{text[-half:]}"
    keep(session, "stdin://", f"$ {line}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}exit {code}\n")
    say(
        f"exit {code}; the output joins your next prompt" if session.is_new else f"exit {code}; the model reads it",
        dim=True,
    )


__all__ = ["join_places", "keep", "keep_pending", "note_fact", "run_shell", "shown_path"]
