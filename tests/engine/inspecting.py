"""What the tests of the inspector share: a server in a thread, and files with something to look at."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

import engine
from engine.inspector.pages import PAGES
from engine.inspector.serving import Inspector, config, listening

GO_ON = '<update status="102">on</update>'
WRITES = '<set path="notes.md">two\n</set>' + GO_ON
ASKS = "<ask_user>Which year?</ask_user>" + GO_ON
TOKEN = "a-token-for-tests-only"


@dataclass(frozen=True)
class Served:
    """A server: `url` without a slash at its end, `address` with the token."""

    inspector: Inspector
    url: str

    @property
    def address(self) -> str:
        return f"{self.url}/?token={TOKEN}"

    @property
    def client(self) -> httpx.Client:
        """Somebody who has opened the address."""
        cookies = httpx.get(self.address, trust_env=False, timeout=60).cookies
        return httpx.Client(base_url=self.url, cookies=cookies, follow_redirects=True, trust_env=False, timeout=60)


@contextmanager
def served(*paths: Path) -> Iterator[Served]:
    """A server of these databases, in a thread; it has stopped cleanly when this ends."""
    inspector = Inspector(paths, engine.open, TOKEN)
    with listening(0) as bound:
        port = bound.getsockname()[1]
        server = uvicorn.Server(config(inspector, TOKEN, port))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield Served(inspector, f"http://127.0.0.1:{port}")
        finally:
            server.should_exit = True
            thread.join()
            inspector.files.close()


def two_that_wait(folder: Path) -> Path:
    """A file with two runs that wait: for a decision on a file, and an answer."""
    from driving import DONE, script  # the gallery has no such module

    (folder / "work").mkdir()
    (folder / "work" / "notes.md").write_text("one\n")
    with engine.open(folder / "t.db") as db:
        for run, answer in (("asks", ASKS), ("waits", WRITES)):
            model = script(folder, answer, DONE)
            db.run("Change it", run=run, model=model, root=folder / "work", overwrite_unseen=True)
    return folder / "t.db"


def addresses(db: engine.Database, runs: Sequence[str]) -> list[str]:
    """Every kind of page, of these runs: with the last turn and some entries of each."""
    from urllib.parse import quote

    found = [f"/{name}" for name in PAGES if name in ("", "record", "costs", "proposals", "sql")]
    for run in runs:
        found += [f"/{name}?run={run}" for name in ("run", "entries", "tree", "acts", "why", "record")]
        for (turn,) in db.tuples("select max(turn) from past_turns where run = ? having max(turn) is not null", (run,)):
            found.append(f"/turn?run={run}&turn={turn}")
        for (path,) in db.tuples("select path from known_entries where run = ? order by path limit 4", (run,)):
            found.append(f"/entry?run={run}&path={quote(str(path), safe='')}")
    return found


def form_token(page: str) -> str:
    """The token of the forms of a page."""
    found = re.search(r'name="form_token" value="(\w+)"', page)
    assert found
    return found[1]
