"""One page has the runs of all files of an inspector.

1. The latest first, with filters and figures of all. 2. Read a few at a time. 3. A broken file is a row.
4. The page is told of changes.

spec: @inspector_all_files
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import pytest
from every_run import every_run
from inspecting import served, two_that_wait

import engine
from engine.inspector import all_files
from engine.inspector.pages import home

LISTED = r'href="/run\?run=([^&"]+)&amp;db=(\d)"><span'


def test_the_runs_of_all_files_are_on_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = two_that_wait(tmp_path)
    (tmp_path / "<b>other").mkdir()
    other = every_run().put(tmp_path / "<b>other")
    broken = tmp_path / "broken.db"
    broken.write_bytes(other.read_bytes()[:6_000])
    monkeypatch.setattr(home, "PER_PAGE", 5)
    monkeypatch.setattr(all_files, "READ_S", 0.0)
    monkeypatch.setattr(all_files, "KEEP_OPEN", 1)
    with served(waiting, other, broken) as place, place.client as client:
        told = [client.get("/").text for _ in range(3)]
        assert [re.findall(r"(\d) files? still", text) for text in told] == [["2"], ["1"], []]
        page = told[-1]
        assert "&lt;b&gt;other/t.db" in page
        assert re.search(r"broken.db.{0,80}is damaged|broken.db: is damaged", page, re.DOTALL)
        # the runs of today come before those of the file with its own clock
        assert re.findall(LISTED, page)[:2] == [("waits", "0"), ("asks", "0")]
        assert page.count("<tr data-item>") == 5 + 3
        following = client.get("/?page=2").text
        assert ("waits", "0") not in re.findall(LISTED, following)
        found = [client.get("/?status=waiting&q=Change").text for _ in range(3)][-1]
        assert re.findall(LISTED, found) == [("waits", "0"), ("asks", "0")]
        assert [client.get(address).status_code for address in ("/?db=1", "/?db=2", "/run?db=1&run=demo")] == [
            200,
            500,
            200,
        ]
        broken.unlink()
        assert "no such file" in [client.get("/").text for _ in range(3)][-1]
        with client.stream("GET", "/events") as lines, engine.open(waiting) as db:
            before = re.findall(r"<b>(\d+)</b><span>wait for you", client.get("/").text)
            db.resolve("waits", accept=False)
            assert list(islice(lines.iter_lines(), 4))[2:] == ["event: changed", 'data: {"runs": null}']
        after = re.findall(r"<b>(\d+)</b><span>wait for you", [client.get("/").text for _ in range(2)][-1])
        assert int(after[0]) == int(before[0]) - 1
