"""The shop's agent of tests/examples/tested_agent as processes: recorded over HTTP, replayed without, evaluated, compared.

spec: @testing @recordings @evals
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from audit import audit

EXAMPLE = Path(__file__).parent.parent / "examples" / "tested_agent"
LATE = '{"text": "I am sorry that your kettle came late. You get 13.00 back.", "refunded": 13.0}'
IN_TIME = '{"text": "It came in time.", "refunded": 0}'


def reply(text: str) -> str:
    """What the model of the shop answers to a packet."""
    if "Does the result fulfil the criteria?" in text:
        return "PASS It says sorry and names 13.00."
    order = "8" if "Order 8" in text else "7"
    if '"action":"look_up"' not in text:
        return f'<look_up order="{order}"/>'
    if order == "7" and "refunded 13.00" not in text:
        return '<refund order="7" amount="13.0"/>'
    return f'<update status="200">{LATE if order == "7" else IN_TIME}</update>'


class Provider(BaseHTTPRequestHandler):
    """A provider with OpenAI's API."""

    answered = 0

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).answered += 1
        message = {"role": "assistant", "content": reply(asked["messages"][-1]["content"])}
        told = {
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 900, "completion_tokens": 20, "cost": 0.0003},
        }
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[dict[str, str]]:
    """The environment in which the model of the shop is asked."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
            "OPENAI_API_KEY": "sk-of-the-shop-1234567",
        }
        server.shutdown()
        thread.join()


def run(folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "ENGINE_MODEL"))}
    environment |= {"PYTHONPATH": str(EXAMPLE.parents[2]), **more}
    line = [sys.executable, "-m", *command]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_agent_is_recorded_replayed_and_evaluated(tmp_path: Path, provider: dict[str, str]) -> None:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "shop"))
    (folder / "pytest.ini").write_text("[pytest]\n")
    quietly = ("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    assert "is not recorded" in run(folder, *quietly).stdout
    recorded = run(folder, *quietly, "--engine-update", **provider)
    assert "4 passed" in recorded.stdout, recorded.stdout
    (recording,) = (folder / "recordings").iterdir()
    assert "sk-of-the-shop" not in recording.read_text()
    asked = Provider.answered
    assert "4 passed" in run(folder, *quietly).stdout
    assert Provider.answered == asked, "nobody is asked again"

    shop = folder / "shop.py"
    shop.write_text(shop.read_text().replace("Refund a third", "Refund a tenth"))
    changed = run(folder, *quietly).stdout
    assert "1 failed, 3 passed" in changed
    assert "+You answer customers of a shop. Refund a tenth" in changed

    evaluation = ("engine", "eval", "cases.yaml", "--db", "shop.db", "--model", "openai/gpt-5-mini")
    first = run(folder, *evaluation, "--repeat", "3", **provider)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "evaluation 1 passed: 6 of 6 passed" in first.stderr
    shop.write_text(shop.read_text().replace(" 8: {", " 18: {"))
    worse = run(folder, *evaluation, "--repeat", "3", "--baseline", "latest", **provider)
    assert worse.returncode == 3, worse.stdout + worse.stderr
    assert "REGRESSED" in next(line for line in worse.stdout.splitlines() if line.startswith("in time"))
    assert "same" in next(line for line in worse.stdout.splitlines() if line.startswith("late"))
    audit(folder / "shop.db")


def test_the_example_is_short() -> None:
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in EXAMPLE.iterdir() if path.is_file())
    assert lines < 150
