"""Datasette, the real one, on a file that runs have written: every table and view without an underscore has its page.

spec: @people_views @export
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from people import PEOPLES_VIEWS, file_of_real_runs
from timing import wait_until

import engine
from engine.exports.export import export_views

PATIENCE_S = 300
ADDRESS = re.compile(r"running on (http://127\.0\.0\.1:\d+) ")
PUBLIC = """
select name from sqlite_schema as s where type in ('table', 'view') and name not glob '_*' and name not glob 'sqlite_*'
and not exists (select 1 from sqlite_schema as t where t.type = 'trigger' and t.tbl_name = s.name and s.type = 'view')
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return file_of_real_runs(tmp_path_factory.mktemp("datasette"))


@pytest.fixture(scope="module")
def site(path: Path) -> Iterator[str]:
    """The address of the file's page on a server on loopback."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "datasette",
        "serve",
        path,
        "--host",
        "127.0.0.1",
        "--port",
        "0",
    ]
    with engine.open(path, read_only=True) as db:
        export_views(db, "datasette", path.parent / "about.json")
    command += ["-m", path.parent / "about.json"]
    # a slow machine is no error, and its counts and suggestions are not what is tested
    for setting in (("sql_time_limit_ms", "60000"), ("suggest_facets", "off")):
        command += ["--setting", *setting]
    log = path.parent / "datasette.log"
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as server:
        try:
            # it chooses a port that is free, and tells it when it listens
            wait_until(lambda: server.poll() is not None or ADDRESS.search(log.read_text()))
            found = ADDRESS.search(log.read_text())
            assert found, f"datasette did not start: {log.read_text()}"
            yield f"{found[1]}/{path.stem}"
        finally:
            server.terminate()


def page(address: str) -> str:
    """The page at `address`; raises `HTTPError` for another status than 200."""
    with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
        assert answer.status == 200
        return str(answer.read().decode())


def test_every_table_and_view_has_its_page(path: Path, site: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute(PUBLIC)]
    assert set(PEOPLES_VIEWS) <= set(names)
    wrong = []
    for name in names:
        try:
            text = page(f"{site}/{name}?_size=20")
        except urllib.error.HTTPError as error:
            wrong.append((name, error.code, re.findall(r"no such \w+: \w+|<h1>.*?</h1>", error.read().decode())))
            continue
        if f'"{name}"' not in text and name not in text:
            wrong.append((name, 200, ["another page"]))
    assert wrong == []


def test_what_is_internal_is_hidden_and_the_views_are_described(path: Path, site: str) -> None:
    """With the metadata of `engine export --datasette`."""
    told = json.loads(page(f"{site}.json"))
    hidden = {each["name"] for each in told["tables"] if each["hidden"]}
    shown = {each["name"] for each in told["tables"] if not each["hidden"]}
    assert {"_purges", "engine_meta", "content_search"} <= hidden
    assert {"runs", "turns"} <= shown
    assert [name for name in shown if name.startswith("_")] == []
    text = page(f"{site}/run_overview?_size=1")
    assert "One row a run, with its status" in text
    assert "is the cost with all runs below it" in text


def test_the_page_of_the_file_answers_queries(site: str) -> None:
    query = "select run, sum(cost) as cost from cost_by_day where run = 'demo' group by run"  # it may be midnight
    rows = json.loads(page(f"{site}.json?{urllib.parse.urlencode({'sql': query, '_shape': 'array'})}"))
    assert rows == [{"run": "demo", "cost": pytest.approx(0.004)}]
