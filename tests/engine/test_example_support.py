"""The support service of tests/examples/support as a process: approvals in a page, kills, refunds, memory, typed answers.

1. A customer's text is no markup of a page; a refund waits for the staff, over a kill.
2. Killed again and again while an approved refund is carried out, the service pays it once.
3. The next message is answered with what was said before in view. A rejection is read by the model.

spec: @async_contract @context_db @answer_types
"""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from html import unescape
from pathlib import Path

import httpx
from audit import audit
from driving import script

EXAMPLE = Path(__file__).parent.parent / "examples" / "support" / "support.py"
SECONDS = 120
HIDDEN = re.compile(r'name=(run|path) value="([^"]*)"')


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@contextmanager
def service(folder: Path, model: str) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
    """The service as a process; it is killed at the end."""
    port = free_port()
    environment = {**os.environ, "ENGINE_MODEL": model, "PYTHONPATH": str(EXAMPLE.parents[3])}
    command = [sys.executable, str(EXAMPLE), str(port)]
    with (
        subprocess.Popen(
            command, cwd=folder, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        ) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, follow_redirects=True) as client,
    ):
        try:
            until(lambda: answers(client))
            yield client, process
        finally:
            process.kill()


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/staff").status_code == 200
    except httpx.TransportError:
        return False


def until(holds: object) -> None:
    ends = time.monotonic() + SECONDS
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < ends, "it did not come"
        time.sleep(0.02)


def waiting(client: httpx.Client) -> dict[str, str]:
    """The call that waits for the staff."""
    until(lambda: HIDDEN.search(client.get("/staff").text))
    return {name: unescape(value) for name, value in HIDDEN.findall(client.get("/staff").text)}


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "support.db")) as connection, connection:
        return connection.execute(query).fetchall()


def test_an_approved_refund_is_paid_once_over_kills(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        '<find_order order="A1"/>',
        '<refund order="A1"/>',
        '<update status="200">{"text": "Refunded <b>A1</b>.", "refunded_cents": 1200}</update>',
        '<refund order="A1"/>',
        '<update status="200">{"text": "It was refunded before."}</update>',
    )
    with service(tmp_path, model) as (client, _):
        rows(tmp_path, "insert into orders values ('A1', 'ada', 1200), ('B1', 'bob', 1)")
        page = client.post("/c/ada", data={"text": "Refund A1 <script>"}).text
        assert "Refund A1 &lt;script&gt;" in page
        assert waiting(client)["run"] == "ada"
    with service(tmp_path, model) as (client, process):
        client.post("/staff", data={**waiting(client), "accept": "1"})
        process.kill()
    for pause in (0.0, 0.05):
        with service(tmp_path, model):
            time.sleep(pause)
    with service(tmp_path, model) as (client, _):
        until(lambda: "Refunded &lt;b&gt;A1&lt;/b&gt;." in client.get("/c/ada").text)
        assert rows(tmp_path, "select * from refunds") == [("A1", 1200, "staff")]
        client.post("/c/ada", data={"text": "And again?"})
        client.post("/staff", data={**waiting(client), "accept": "0", "reason": "paid already"})
        until(lambda: "It was refunded before." in client.get("/c/ada").text)
    (last,) = rows(tmp_path, "select body from packet_texts where role = 'user' order by turn desc limit 1")
    assert all(said in str(last[0]) for said in ("Refund A1 <script>", "refunded 12.00 EUR", "paid already"))
    assert rows(tmp_path, "select count(*) from refunds") == [(1,)]
    outputs = rows(tmp_path, "select output ->> '$.refunded_cents' from loop_results order by loop")
    assert outputs == [(1200,), (0,)] or outputs == [(1200,), (None,)]
    audit(tmp_path / "support.db")
