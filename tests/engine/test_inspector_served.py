"""The server of `engine web`, by requests without a browser.

1. Nobody comes in without the token, or under another name. 2. Only its own pages write. 3. Decisions and prompts are those
that were asked for. 4. Pages answer for every run, small however long it is, and wrong arguments are told. 5. Nothing is
read while nobody listens. 6. The command. 7. Static pages.

spec: @inspector @inspector_pages @inspector_access @inspector_writes @inspector_live @inspector_export
"""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import apsw
import httpx
import pytest
from driving import DONE
from engine_cli import ENGINE, SECONDS, environment
from engine_cli import engine as cli
from every_run import every_run
from inspecting import TOKEN, Served, addresses, form_token, served, two_that_wait
from timing import wait_until

import engine
from engine.errors import Conflict, EngineError
from engine.inspector import serving
from engine.inspector.export import export_run
from engine.inspector.guard import HEADERS
from engine.inspector.pages import home, run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of the file with runs in every state; these tests only read it."""
    with served(every_run().put(tmp_path_factory.mktemp("every"))) as found:
        yield found


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    return two_that_wait(tmp_path)


def opened(path: Path) -> engine.Database:
    return engine.open(path, read_only=True)


@contextmanager
def closing_by_kill(process: subprocess.Popen[str]) -> Iterator[None]:
    """Ends the process where a test has failed."""
    try:
        yield
    finally:
        process.kill()


def open_ids(path: Path) -> dict[str, int]:
    with opened(path) as db:
        return {str(kind): int(number) for kind, number in db.tuples("select kind, proposal_id from open_proposals")}


@pytest.mark.parametrize(
    "path", ["/", "/run?run=demo", "/static/inspector.js", "/events?db=0", "/text?content=1", "/no"]
)
def test_nobody_comes_in_without_the_token_or_under_another_name(place: Served, path: str) -> None:
    with httpx.Client(base_url=place.url, trust_env=False) as stranger:
        refused = stranger.get(path)
        assert (refused.status_code, "demo" in refused.text) == (403, False)
        assert {name: refused.headers[name] for name in HEADERS} == HEADERS
        joiner = "&" if "?" in path else "?"
        assert stranger.get(f"{path}{joiner}token=another").status_code == 403
        assert stranger.get(f"{path}{joiner}token={TOKEN}", headers={"host": "evil.example"}).status_code == 421
        assert not stranger.cookies
    port = place.url.rpartition(":")[2]
    with place.client as client:
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.nip.io:{port}", ""):
            assert client.get("/", headers={"host": host}).status_code in (400, 421)
        assert client.get("/", headers={"host": f"LOCALHOST:{port}"}).status_code == 200


def test_the_cookie_does_not_tell_the_token_and_no_page_reads_it(place: Served) -> None:
    answer = httpx.get(place.address, trust_env=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    away = httpx.get(f"{place.url}//evil.example/?token={TOKEN}", trust_env=False)
    assert away.headers["location"] == "/evil.example/"
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_only_its_own_pages_write(waiting: Path) -> None:
    with served(waiting) as place, place.client as client:
        page = client.get("/proposals").text
        form = {"form_token": form_token(page), "run": "waits", "prompt": "Do it", "db": "0"}
        own = {"origin": place.url}
        for headers, given in (
            ({}, form),
            ({"origin": "https://evil.example"}, form),
            ({"origin": "null"}, form),
            ({**own, "sec-fetch-site": "cross-site"}, form),
            (own, {**form, "form_token": "x"}),
            (own, {**form, "form_token": TOKEN}),
            (own, {name: form[name] for name in ("run", "prompt")}),
        ):
            assert client.post("/prompt", data=given, headers=headers).status_code == 403
        assert client.post("/prompt", json=form, headers=own).status_code == 403
        assert client.get("/prompt", params=form).status_code == 405
        with httpx.Client(base_url=place.url, trust_env=False) as stranger:
            assert stranger.post("/prompt", data=form, headers=own).status_code == 403
        too_long = {**form, "prompt": "x" * 2_000_001}
        assert client.post("/prompt", data=too_long, headers=own).status_code == 403
        with opened(waiting) as db:
            assert db.value("select count(*) from loops") == 2
        assert client.post("/prompt", data=form, headers=own).status_code == 200
        assert client.post("/prompt", data={**form, "prompt": " \n"}, headers=own).status_code == 400
        assert client.post("/prompt", data={**form, "run": "nobody"}, headers=own).status_code == 404
    with opened(waiting) as db:
        assert db.tuples("select prompt, status from loop_list where run = 'waits'") == [
            ("Change it", 202),
            ("Do it", 100),
        ]


def test_a_decision_is_that_of_the_text_that_was_shown(waiting: Path) -> None:
    ids = open_ids(waiting)
    with served(waiting) as place, place.client as client:
        page = client.get("/proposals").text
        digests = dict(
            re.findall(r'name="proposal" value="(\d+)"><input type="hidden" name="digest" value="(\w+)"', page)
        )

        def decide(kind: str, **given: str) -> httpx.Response:
            number = str(ids[kind])
            run = "asks" if kind == "question" else "waits"
            form = {"form_token": form_token(page), "run": run, "proposal": number, "digest": digests[number], **given}
            return client.post("/decide", data=form, headers={"origin": place.url})

        assert decide("file_write", decision="accept", digest="0").status_code == 409
        assert decide("file_write", decision="perhaps").status_code == 400
        assert decide("file_write", decision="accept", run="other").status_code == 409
        assert decide("file_write", decision="accept", proposal="1; drop").status_code == 400
        assert decide("question", decision="accept").status_code == 400
        assert len(open_ids(waiting)) == 2
        answer = decide("file_write", decision="accept", edited="1", body="three\r\n")
        assert "Accepted. No process drives the run: engine resume waits" in answer.text
        assert decide("file_write", decision="accept").status_code == 409
        assert decide("question", decision="reject", reason="Ask <b>nobody</b>").status_code == 200
        assert "Nothing waits for you" in client.get("/proposals").text
    with engine.open(waiting) as db:
        told = db.tuples("select decision, reason, body, decided_by like '% (web)' from decisions order by decision")
        assert told == [("accept", None, "three\n", 1), ("reject", "Ask <b>nobody</b>", None, 1)]
        assert db.resume("waits").status == 200
    assert (waiting.parent / "work" / "notes.md").read_text() == "three\n"


def test_a_file_from_elsewhere_is_looked_at_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(every_run().database)
    with served(path) as place, place.client as client:
        form = {"form_token": form_token(client.get("/proposals").text), "run": "demo", "prompt": "Do it"}
        refused = client.post("/prompt", data=form, headers={"origin": place.url})
    assert refused.status_code == 403
    assert path.read_bytes() == every_run().database


def test_every_page_answers_for_every_run(place: Served) -> None:
    with opened(place.inspector.files[0].path) as db:
        runs = [str(alias) for (alias,) in db.tuples("select alias from runs")]
        found = [*addresses(db, ["demo", "empty", "past"]), *(f"/run?run={alias}" for alias in runs)]
    assert len(found) > 50
    with place.client as client:
        told = {address: client.get(address).status_code for address in found}
    assert {address: status for address, status in told.items() if status != 200} == {}


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/run?run=nobody", 404), ("/run", 404), ("/turn?run=demo&turn=999", 404), ("/turn?run=demo&turn=x", 400),
        ("/entry?run=demo&path=nothing", 404), ("/?db=7", 404), ("/?db=-1", 400), ("/?page=%00", 400), ("/no/where", 404),
        ("/?q=%25%27%22%5c&status=x&model=%ff", 200), ("/sql?q=delete+from+runs", 200), ("/text?content=999999", 200),
        ("/static/..%2f..%2f__init__.py", 404), ("/events?db=9", 404),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told(place: Served, address: str, status: int) -> None:
    with place.client as client:
        assert client.get(address).status_code == status


def test_a_prompt_has_the_options_that_the_form_names(waiting: Path) -> None:
    with opened(waiting) as db:
        root = str(db.value("select root from projects where root is not null"))
    with served(waiting) as place, place.client as client:
        page = client.get("/").text
        assert '<option value="reviewer">' in page
        own = {"form_token": form_token(page)}

        def send(**given: str) -> httpx.Response:
            return client.post("/prompt", data={**own, **given}, headers={"origin": place.url})

        model = str((waiting.parent / "answers.jsonl").resolve())
        Path(model).write_text(f'"{DONE.replace(chr(34), chr(92) + chr(34))}"\n')
        asked = {
            "prompt": "Look",
            "new": "1",
            "model": f"scripted:{model}",
            "mode": "ask",
            "max_turns": "3",
            "yolo": "1",
        }
        for wrong, status in (
            ({"run": "waits"}, 409), ({"max_turns": "x"}, 400), ({"mode": "any"}, 400), ({"persona": "nobody"}, 404),
            ({"root": "/"}, 404), ({"model": "none/such"}, 404), ({"run": "a b\n"}, 400), ({"new": "", "run": "x"}, 404),
        ):  # fmt: skip
            assert send(**{**asked, **wrong}).status_code == status, wrong
        shown = send(**asked, run="fresh", root=root, persona="reviewer", no_such="1")
        assert "engine resume fresh" in shown.text
        assert "The prompt waits in line" in send(run="waits", prompt="And then?", max_depth="1", no_web="1").text
    with engine.open(waiting) as db:
        [(options, persona)] = db.tuples(
            "select l.config, r.persona from loops as l join runs as r on r.id = l.run_id where r.alias = 'fresh'"
        )
        assert json.loads(options) == {"max_turns": 3, "yolo": True}
        assert persona == "reviewer"
        assert db.value("select mode from loop_list where run = 'fresh'") == "ask"
        assert db.resume("fresh").status == 200


def test_a_page_is_small_however_many_there_are(place: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "PER_PAGE", 3)
    monkeypatch.setattr(home, "PER_PAGE", 4)
    with place.client as client:
        latest, first = client.get("/run?run=history").text, client.get("/run?run=history&page=1").text
        runs = [client.get(f"/?page={number}").text for number in (1, 2)]
    assert re.findall(r'id="turn-(\d+)"', first) == ["1", "2", "3"]
    assert re.findall(r'id="turn-(\d+)"', latest) == ["10"]
    assert [text.count("<tr data-item>") for text in runs] == [4, 4]
    assert runs[0] != runs[1]


def test_a_statement_that_would_write_or_has_no_end_is_refused(place: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.inspector.pages import query

    monkeypatch.setattr(query, "SECONDS", 0.2)
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    with place.client as client:
        for statement, told in (
            ("delete from runs", "only reading is allowed here"),
            ("attach 'x' as y", "only reading is allowed here"),
            ("select 1; select 2", "one statement at a time"),
            (endless, "the query took longer than 0.2 s"),
        ):
            assert told in client.get("/sql", params={"q": statement}).text
        assert "500 rows, cut there" in client.get("/sql", params={"q": f"{endless.replace('count(*)', 'i')}"}).text


def test_rows_can_be_kept_and_are_no_formula(place: Served) -> None:
    asked = {"q": "select '=1+1' as a, x'00ff' as b, null as c, -2 as d, 'é,\"\n' as e"}
    with place.client as client:
        table, rows = client.get("/rows", params=asked), client.get("/rows", params={**asked, "form": "json"})
        refused = client.get("/rows", params={"q": "delete from runs"})
    assert list(csv.reader(io.StringIO(table.text))) == [[*"abcde"], ["'=1+1", "x'00ff'", "", "-2", 'é,"\n']]
    assert rows.json() == [{"a": "=1+1", "b": "x'00ff'", "c": None, "d": -2, "e": 'é,"\n'}]
    assert table.headers["content-disposition"] == "attachment; filename=rows.csv"
    assert refused.status_code == 403


def test_a_turn_names_what_was_demoted_for_its_packet(place: Served) -> None:
    with place.client as client:
        page = client.get("/turn?run=tight&turn=2").text
    assert "demoted so that the packet fits" in page
    assert "packet too long" in page


def test_no_page_waits_for_a_statement(place: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.inspector.pages import query

    monkeypatch.setattr(query, "SECONDS", 2.0)
    ended: list[str] = []

    def ask(name: str, address: str) -> None:
        with place.client as client:
            assert client.get(address).status_code == 200
        ended.append(name)

    endless = "with+recursive+n(i)+as+(select+1+union+all+select+i%2B1+from+n)+select+count(*)+from+n"
    statement = threading.Thread(target=ask, args=("statement", f"/sql?q={endless}"))
    statement.start()
    time.sleep(0.5)  # it is under way
    ask("page", "/run?run=demo")
    statement.join()
    assert ended == ["page", "statement"]


def test_three_turns_that_somebody_has_changed_are_named(tmp_path: Path) -> None:
    path = every_run().put(tmp_path)
    with closing(apsw.Connection(str(path))) as forged:
        forged.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        forged.execute("update turns set response = response || ' ' where run_id = 1 and sequence in (2, 5, 8)")
    with served(path) as place, place.client as client:
        found, sound = client.get("/record?run=demo").text, client.get("/record?run=history").text
        everything = client.get("/record").text
    assert re.findall(r">demo, turn (\d+)<", found) == ["2", "5", "8"]
    assert re.findall(r">demo, turn (\d+)<", everything) == ["2", "5", "8"]
    assert "Nobody has changed the record" in sound


def test_a_file_is_asked_while_somebody_listens_and_read_once_it_has_changed(waiting: Path) -> None:
    with served(waiting) as place, place.client as client:
        watcher = place.inspector.watchers[0]
        with opened(waiting) as db:
            after = db.value("select max(id) from events")
            address = f"/events?db=0&after={after}"
        with client.stream("GET", address) as one, client.stream("GET", address) as two:
            lines = [one.iter_lines(), two.iter_lines()]
            assert [next(each) for each in lines] == ["retry: 2000"] * 2
            wait_until(lambda: watcher.looks == 1)
            with engine.open(waiting) as db:
                db.resolve("waits", accept=False)
            told = [[next(each) for _ in range(3)] for each in lines]
            assert told == [["", "event: changed", 'data: {"runs": ["waits"]}']] * 2
            assert watcher.looks == 2
            with client.stream("GET", address) as late:  # its page was drawn before
                assert list(islice(late.iter_lines(), 4))[2:] == ["event: changed", 'data: {"runs": null}']
        wait_until(lambda: not watcher.is_watching)


def test_the_command_says_its_address_first_and_ends_by_a_signal(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    every_run().put(folder)
    process = subprocess.Popen(
        [*ENGINE, "web", "t.db", "--no-browser"], cwd=folder, env=environment(tmp_path), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with process, closing_by_kill(process):
        assert process.stdout
        address = process.stdout.readline().strip()
        with httpx.Client(follow_redirects=True, trust_env=False, timeout=SECONDS) as client:
            assert "Look after the project." in client.get(address).text
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert [path.name for path in folder.glob("t.db-*")] == []


def test_what_the_command_cannot_do_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    assert cli(folder, "web", "nothing.db").stderr == "engine: nothing.db: no such file or folder\n"
    every_run().put(folder)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = cli(folder, "web", "t.db", "--port", str(taken.getsockname()[1]))
        assert "choose another with --port" in ended.stderr
    (folder / "out").mkdir()
    (folder / "out" / "mine.txt").write_text("mine")
    ended = cli(folder, "web", "--db", "t.db", "--export", "out", "demo")
    assert "contains other files, such as 'mine.txt'" in ended.stderr
    assert [path.name for path in (folder / "out").iterdir()] == ["mine.txt"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EngineError, match="needs the extra inspector"):
        serving.expect_extra()


def test_static_pages_lead_to_each_other_alone(place: Served, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    with opened(place.inspector.files[0].path) as db:
        written = export_run(db, "demo", folder)
        assert export_run(db, "demo", folder) == written
        names = {path.name for path in folder.iterdir()}
        assert len(names) == written + 3
        with pytest.raises(Conflict):
            export_run(db, "history", folder)
        (tmp_path / "mine").write_text("mine")
        laid = tmp_path / "laid"
        laid.mkdir()
        (laid / "index.html").symlink_to(tmp_path / "mine")
        with pytest.raises(Conflict, match=r"'index\.html' is a link or a folder"):
            export_run(db, "demo", laid)
        assert (tmp_path / "mine").read_text() == "mine"
    assert {"index.html", "turn-3.html", "tree.html"} <= names
    texts = [path.read_text("utf-8") for path in folder.glob("*.html")]
    leads = {lead.partition("#")[0] for text in texts for lead in re.findall(r'(?:href|src)="([^"]*)"', text)} - {""}
    assert leads <= names
    assert [text for text in texts if '<form method="post"' in text or "data-events" in text] == []
