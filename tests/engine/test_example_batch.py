"""The batch of tests/examples/batch as processes: 500 documents, stopped by a ceiling, killed in the middle, read once each.

spec: @async_contract @attachments @answer_types
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from audit import audit
from driving import script

EXAMPLE = Path(__file__).parent.parent / "examples" / "batch" / "batch.py"
DOCUMENTS = 500
ANSWER = '<update status="200">{"topic": "invoice", "urgent": true, "amount": 12.5}</update>'


def begin(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    model = {"ENGINE_MODEL": script(folder, ANSWER), "PYTHONPATH": str(EXAMPLE.parents[3])}
    command = [sys.executable, str(EXAMPLE), "letters", *arguments]
    return subprocess.Popen(command, cwd=folder, env={**os.environ, **model}, stdout=subprocess.PIPE, text=True)


def finished(folder: Path, *arguments: str) -> str:
    with begin(folder, *arguments) as process:
        said, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    return said


def ended(folder: Path) -> int:
    try:
        with closing(sqlite3.connect(folder / "batch.db", timeout=60)) as connection:
            return int(connection.execute("select count(*) from loop_results where status = 200").fetchone()[0])
    except sqlite3.OperationalError:  # the file is not there yet
        return 0


def test_500_documents_are_read_once_each_over_a_kill(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    for number in range(DOCUMENTS):
        (tmp_path / "letters" / f"letter{number}.txt").write_text(f"Please pay invoice {number}.\n")
    assert f"0 of {DOCUMENTS} read" in finished(tmp_path, "--spend", "0")
    with begin(tmp_path) as process:
        while ended(tmp_path) < 20:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    before = ended(tmp_path)
    assert 20 <= before < DOCUMENTS
    said = finished(tmp_path)
    assert f"{DOCUMENTS} of {DOCUMENTS} read, 0 failed" in said
    assert said.splitlines()[-1].split("\t")[:4] == ["invoice", str(DOCUMENTS), str(DOCUMENTS), "12.5"]
    with closing(sqlite3.connect(tmp_path / "batch.db")) as connection:
        prompts, attached = connection.execute(
            "select (select count(*) from loops), (select count(distinct run) from prompt_attachments)"
        ).fetchone()
    assert (prompts, attached) == (DOCUMENTS, DOCUMENTS)
    audit(tmp_path / "batch.db")
