"""Runs that use MCP servers, real ones.

1. What models are told, and what a call brings; 2. who decides; 3. resources; 4. the life of a server; 5. what is recorded;
6. what changes.

spec: @mcp_servers @mcp_tools @mcp_resources @mcp_records @python_tools @effects
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from driving import DONE, GO_ON, script
from mcp_servers import LOG, SERVERS, TOLD, alive, driven, hostile, office, over_http
from sandboxed import require_sandbox

import engine
from engine.mcp import Server, connect
from engine.models.protocol import Completion, Request
from engine.packets.store import digest

# 1. what models are told, and what a call brings


def test_the_tools_of_a_server_are_told_and_called(tmp_path: Path) -> None:
    log = driven(
        tmp_path,
        [office(allow=["*"])],
        '<office__book room="A" hours="2"/>',
        '<office__book>{"room": "B"}</office__book>',
        "<office__price>A</office__price><office__plan/>",
        '<office__book hours="many" room="A"/>',
        "<office__book/>",
        "<office__plan/>",
        "<office__fail>it rains</office__fail>",
    )
    assert [row[:2] for row in log] == [
        ("office__book", 200),
        ("office__book", 200),
        ("office__price", 200),
        ("office__plan", 200),
        ("office__book", 400),
        ("office__book", 400),
        ("office__plan", 200),
        ("office__fail", 500),
    ]
    bodies = [row[2] for row in log]
    assert bodies[0] == 'office__book(room="A", hours=2)\nroom A is booked for 2 h'
    assert '"price": 12.5' in bodies[2]
    assert "\nthe plan\n[picture: image/png, 69 bytes]\n[picture: mcp://office/pictures/" in bodies[3]
    assert "hours must be a whole number" in bodies[4]
    assert "room is missing" in bodies[5]
    assert bodies[7].endswith("\nError executing tool fail")
    with engine.open(tmp_path / "t.db") as db:
        told = db.value(TOLD, (1,))
        assert "\n| Book a room.\n| Rooms are A, B and C.\n* room: a text, required." in told
        schema = json.loads(db.value("select schema from tools where name = 'office__book'"))
        assert schema["properties"]["hours"] == {"type": "integer"}


def test_a_function_of_the_app_keeps_its_name(tmp_path: Path) -> None:
    def office__book(room: str) -> str:
        """The app's own."""
        return f"own {room}"

    model = script(tmp_path, f"<office__book>A</office__book>{GO_ON}", DONE)
    with engine.open(tmp_path / "t.db", tools=[office__book], mcp=[office()]) as db:
        assert db.run("Go", run="demo", model=model).status == 200
        assert str(db.rows(LOG)[0]["body"]).endswith("own A")


def test_a_driver_without_the_server_offers_nothing_of_it(tmp_path: Path) -> None:
    driven(tmp_path, [office(allow=["*"])], "<office__price>A</office__price>")
    model = script(tmp_path, f"<office__price>A</office__price>{GO_ON}", DONE)
    with engine.open(tmp_path / "t.db") as db:
        db.run("Go", run="other", model=model)
        assert db.value("select status from run_log where run = 'other' and action = 'office__price'") == 403


def test_a_server_over_http_is_used_like_a_program(tmp_path: Path) -> None:
    with over_http() as url:
        log = driven(
            tmp_path,
            [Server("office", url=url, allow=["*", "resource:*"])],
            "<office__price>A</office__price>",
            '<get path="mcp://office/office://rules" visibility="visible"/>',
        )
    assert [row[:2] for row in log] == [("office__price", 200), ("get", 200)]


def test_models_that_call_natively_are_given_the_schema(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db", mcp=[office()]) as db:
        db.run("Go", run="demo", model=script(tmp_path, DONE))
        found = db.value("select schema from _turn_tools where name = 'office__slow'") or db.value(
            "select schema from tools where name = 'office__slow'"
        )
        assert json.loads(found)["required"] == ["seconds"]


class Seeing:
    """A model of an app that sees pictures, and keeps what it is asked."""

    name = "sees"

    def __init__(self, *answers: str) -> None:
        self.answers = iter(answers)
        self.asked: list[Request] = []

    def complete(self, request: Request, *_: Any) -> Completion:
        """The next answer."""
        self.asked.append(request)
        return Completion(next(self.answers))


def test_a_picture_of_a_result_is_shown_to_a_model_that_sees(tmp_path: Path) -> None:
    model = Seeing(f"<office__plan/>{GO_ON}", f"<think>I see</think>{GO_ON}", DONE)
    with engine.open(tmp_path / "t.db", mcp=[office(allow=["*"])]) as db:
        db.insert("models", alias="object:sees", actual="object:sees", images=1, created_at=0)
        result = db.run("Go", run="demo", model=model, root=tmp_path)
        assert result.status == 200, result
        assert [len(request.pictures) for request in model.asked] == [0, 1, 1]
        assert model.asked[1].pictures[0].media_type == "image/png"
        assert "office/pictures/" in str(db.rows(LOG)[0]["body"])
        row = db.row("select line, is_sent from packet_pictures where run = 'demo' and turn = 2")
        assert row == {"line": "PNG picture, 1 × 1 pixels, 69 bytes", "is_sent": 1}
        assert db.value("select count(*) from pictures") == 1
        texts = db.tuples("select body, sha256 from packet_texts where run = 'demo'")
        assert [digest(text).hex() for text, _ in texts] == [sha256 for _, sha256 in texts]
    audit(tmp_path / "t.db")


# 2. who decides


def test_each_call_waits_for_a_decision_unless_the_user_allows_it(tmp_path: Path) -> None:
    asked: list[engine.Proposal] = []

    def decide(proposal: engine.Proposal) -> bool:
        asked.append(proposal)
        return True

    # the server says that 'price' only reads: that loosens nothing
    log = driven(
        tmp_path,
        [office(allow=["plan"])],
        "<office__plan/>",
        '<office__book room="A" hours="3"/>',
        "<office__price>A</office__price>",
        on_proposal=decide,
    )
    assert [row[1] for row in log] == [200, 200, 200]
    assert [(each["kind"], each["action"], each["detail"]) for each in asked] == [
        ("mcp", "office__book", 'office/book\n{\n  "room": "A",\n  "hours": 3\n}'),
        ("mcp", "office__price", 'office/price\n{\n  "room": "A"\n}'),
    ]
    assert all(str(each["target"]).startswith(f"office/{each['action'][8:]}#") for each in asked)


def test_a_rejected_call_is_not_made(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    model = script(tmp_path, f'<office__book room="A"/>{GO_ON}', DONE)
    with engine.open(tmp_path / "t.db", mcp=[office(env={"OFFICE_NOTES": str(notes)})]) as db:
        assert db.run("Go", run="demo", model=model, on_proposal=lambda _: False).reason == "rejected"
    assert not notes.exists()


def test_yolo_accepts_and_no_proposals_closes(tmp_path: Path) -> None:
    assert driven(tmp_path, [office()], '<office__book room="A"/>', yolo=True)[0][1] == 200
    (tmp_path / "closed").mkdir()
    log = driven(
        tmp_path / "closed",
        [office(allow=["price"])],
        '<office__book room="A"/>',
        "<office__price>A</office__price>",
        '<get path="mcp://office/office://rules"/>',
        no_proposals=True,
    )
    assert [row[1] for row in log] == [403, 200, 403]


def test_ask_mode_has_what_the_user_says_only_reads(tmp_path: Path) -> None:
    log = driven(
        tmp_path,
        [office(allow=["*"], reads=["price"])],
        "<office__price>A</office__price>",
        '<office__book room="A"/>',
        mode="ask",
    )
    assert [row[1] for row in log] == [200, 403]


def test_a_grant_is_for_a_tool_as_it_is_defined(tmp_path: Path) -> None:
    from engine.effects.gate import give_grant

    asked: list[str] = []

    def decide(proposal: engine.Proposal) -> bool:
        asked.append(str(proposal["target"]))
        if len(asked) == 1:
            give_grant(db, proposal["run"], "mcp", proposal["target"], whole_project=True)
        return True

    answers = [f"<hostile__plain/>{GO_ON}"] * 3
    with engine.open(tmp_path / "t.db", mcp=[hostile("changes", allow=[])]) as db:
        model = script(tmp_path, *answers, DONE)
        assert db.run("Go", run="demo", model=model, root=tmp_path, on_proposal=decide).status == 200
        # the first call changed the description: the grant is for the tool of before
        assert len(asked) >= 2
        assert asked[0] != asked[1]
        given = db.rows("select kind, target from granted")
        assert given == [{"kind": "mcp", "target": asked[0]}]


def test_what_changed_since_it_was_proposed_is_not_called(tmp_path: Path) -> None:
    model = script(tmp_path, f"<hostile__plain/><hostile__other/>{GO_ON}", DONE)
    with engine.open(tmp_path / "t.db", mcp=[hostile("", allow=[])]) as db:
        assert db.run("Go", run="demo", model=model, root=tmp_path).status == 202
        db.resolve("demo", accept=True)
    # another program under the same name, whose tool is another one
    with engine.open(tmp_path / "t.db", mcp=[Server("hostile", office().command, tools=["none"])]) as db:
        db.resume("demo")
        assert "is not connected" in str(db.value(f"{LOG} and action = 'hostile__plain'") and db.rows(LOG)[0]["body"])


def test_an_allowed_tool_that_changes_is_asked_about(tmp_path: Path) -> None:
    asked: list[str] = []

    def decide(proposal: engine.Proposal) -> bool:
        asked.append(str(proposal["target"]))
        return True

    log = driven(
        tmp_path,
        [hostile("changes")],
        "<hostile__plain/>",
        "<hostile__plain/>",
        "<hostile__plain/>",
        on_proposal=decide,
    )
    assert [row[1] for row in log] == [200, 200, 200]
    assert asked
    assert all(each.startswith("hostile/plain#") for each in asked)


# 3. resources


def test_a_resource_becomes_an_entry(tmp_path: Path) -> None:
    notes, asked = tmp_path / "notes", []

    def decide(proposal: engine.Proposal) -> bool:
        asked.append((proposal["kind"], proposal["target"], proposal["detail"]))
        return True

    log = driven(
        tmp_path,
        [office(allow=["resource:office://room/*"], env={"OFFICE_NOTES": str(notes)})],
        "<office__resources/>",
        "<office__resources>smok</office__resources>",
        '<get path="mcp://office/office://rules"/>',
        '<get path="mcp://office/office://rules"/>',
        '<get path="mcp://office/office://room/blue"/>',
        '<get path="mcp://office/office://nothing"/>',
        '<get path="mcp://elsewhere/office://rules"/>',
        '<set path="mcp://office/office://rules">mine</set>',
        on_proposal=decide,
    )
    assert [row[1] for row in log] == [200, 200, 200, 200, 200, 502, 404, 403]
    assert log[0][2].splitlines()[1:] == [
        "mcp://office/office://rules - What everybody keeps to.",
        "mcp://office/office://room/{name} - A room by its name.",
    ]
    assert "None of its resources" in log[1][2]
    assert asked[0] == ("fetch", "mcp://office/office://rules", "office reads\noffice://rules")
    assert len(asked) == 2, "a fresh entry and an allowed resource need no decision"
    assert notes.read_text("utf-8").splitlines() == ["read rules", "read room blue"]
    with engine.open(tmp_path / "t.db") as db:
        entry = db.row(
            "select body, visibility from known_entries where run = 'demo' and path = 'mcp://office/office://rules'"
        )
        assert entry == {"body": "No smoking.\nThe key lies at the desk.", "visibility": "visible"}
        found = db.rows("select kind, name, title from mcp_items order by kind, name")
        assert [tuple(row.values()) for row in found] == [
            ("prompt", "review", "review"),
            ("resource", "office://rules", "House rules"),
            ("template", "office://room/{name}", "room"),
        ]


def test_what_servers_list_is_found_by_words(tmp_path: Path) -> None:
    from engine.discovery.finding import discover

    driven(tmp_path, [office()], "<think>nothing</think>")
    with engine.open(tmp_path / "t.db") as db:
        found = discover(db, "house rules", kinds=("mcp",), by_meaning=False)
        assert [row["name"] for row in found] == ["mcp://office/office://rules"]
        found = discover(db, "book a room", kinds=("tool",), by_meaning=False)
        assert found[0]["name"] == "office__book"


# 4. the life of a server


def test_servers_that_fail_hinder_nobody(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    servers = [
        office(allow=["*"]),
        Server("gone", ["no-such-program-here"]),
        hostile("exits"),
        Server("refused", url="http://127.0.0.1:9/mcp", connect_timeout=5),
    ]
    log = driven(tmp_path, servers, "<office__price>A</office__price>", on_event=events.append)
    assert log[0][:2] == ("office__price", 200)
    told = {event["action"]: event["body"] for event in events if event["type"] == "server" and event["status"] == 502}
    assert "the program 'no-such-program-here' was not found" in told["gone"]
    assert "exit code 4" in told["hostile"]
    assert "no configuration in /etc/hostile" in told["hostile"]
    assert told["refused"].startswith("MCP server refused: ")
    assert all("\n" not in body for body in told.values())


def test_without_the_extra_one_line_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "mcp" or name.startswith("mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    events: list[Any] = []
    log = driven(tmp_path, [office()], '<get path="mcp://office/office://rules"/>', yolo=True, on_event=events.append)
    assert log[0][1] == 404
    told = [event["body"] for event in events if event["type"] == "server"]
    assert len(told) == 1
    assert "pip install" in told[0]
    assert "[mcp]" in told[0]
    with pytest.raises(engine.NotFound, match="extra 'mcp'"), connect(office()):
        pass


def test_a_server_that_dies_in_mid_call_is_started_again_by_the_next(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    log = driven(
        tmp_path,
        [office(allow=["*"], env={"OFFICE_NOTES": str(notes)})],
        "<office__die/>",
        '<office__book room="A"/>',
    )
    assert [row[1] for row in log] == [502, 200]
    assert log[0][2].endswith("MCP server office: it ended with exit code 3")


def test_programs_end_with_the_handle(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    with engine.open(tmp_path / "t.db", mcp=[office(env={"A": "1"}, cwd=tmp_path, name="office")]) as db:
        db.run("Go", run="demo", model=script(tmp_path, DONE))
        db.run("Go", run="again", model=script(tmp_path, DONE))
        assert db.app_tools is not None
        assert db.app_tools.servers is not None
    lingering = Server("hostile", [sys.executable, str(SERVERS / "hostile.py"), "lingers", mark])
    with engine.open(tmp_path / "t.db", mcp=[lingering]) as db:
        db.run("Go", run="third", model=script(tmp_path, DONE))
        assert alive(mark)
    assert not alive(mark)


KILLED = """
import sys
import engine
from engine.mcp import Server
server = Server("office", [sys.executable, {office!r}, "stdio", {mark!r}], allow=["*"], env={{"OFFICE_NOTES": {notes!r}}})
with engine.open({db!r}, mcp=[server]) as db:
    if sys.argv[1:]:
        db.resume("demo")
    else:
        db.run("Go", run="demo", model={model!r})
"""


def test_a_kill_ends_the_program_and_the_call_is_not_made_again(tmp_path: Path) -> None:
    mark, notes, path = str(tmp_path / "mark"), tmp_path / "notes", tmp_path / "t.db"
    model = script(tmp_path, f"<office__slow>60</office__slow>{GO_ON}", DONE)
    program = KILLED.format(office=str(SERVERS / "office.py"), mark=mark, notes=str(notes), db=str(path), model=model)
    with subprocess.Popen([sys.executable, "-c", program]) as first:
        _until(lambda: notes.exists())
        first.send_signal(signal.SIGKILL)
    _until(lambda: not alive(mark))
    subprocess.run([sys.executable, "-c", program, "resume"], check=True, timeout=120)
    assert notes.read_text("utf-8").splitlines().count("slow began") == 1
    with engine.open(path) as db:
        row = db.row(f"{LOG} and action = 'office__slow'")
        assert row is not None
        assert "whether it finished is unknown" in row["body"]
    audit(path)


def test_stopping_and_time_outs_cancel_the_request(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    server = office(allow=["*"], timeout=1.5, env={"OFFICE_NOTES": str(notes)})
    log = driven(tmp_path, [server], "<office__slow>60</office__slow>")
    assert log[0][1] == 504
    assert log[0][2].startswith("office__slow(seconds=60)\n"), "a number is sent as it was written"
    assert "1.5 s" in log[0][2]
    _until(lambda: "slow cancelled" in notes.read_text("utf-8"))
    notes.unlink()
    (tmp_path / "stopped").mkdir()
    model = script(tmp_path / "stopped", f"<office__slow>60</office__slow>{GO_ON}", DONE)
    with engine.open(tmp_path / "stopped" / "t.db", mcp=[office(allow=["*"], env={"OFFICE_NOTES": str(notes)})]) as db:

        def watch(driver: Any) -> None:
            def stop() -> None:
                _until(lambda: notes.exists())
                driver.stop()

            threading.Thread(target=stop).start()

        assert db.run("Go", run="demo", model=model, on_driver=watch).status == 102
        _until(lambda: "slow cancelled" in notes.read_text("utf-8"))


def test_an_abort_from_elsewhere_cancels_the_request(tmp_path: Path) -> None:
    notes, path = tmp_path / "notes", tmp_path / "t.db"
    model = script(tmp_path, f"<office__slow>60</office__slow>{GO_ON}", DONE)
    with engine.open(path, mcp=[office(allow=["*"], env={"OFFICE_NOTES": str(notes)})]) as db:

        def abort() -> None:
            _until(lambda: notes.exists())
            with engine.open(path) as other:
                other.abort("demo")

        thread = threading.Thread(target=abort)
        thread.start()
        assert db.run("Go", run="demo", model=model).status == 499
        thread.join()
        _until(lambda: "slow cancelled" in notes.read_text("utf-8"))
        assert db.value("select outcome from mcp_calls") in ("aborted", "cancelled", "interrupted")
    audit(path)


def test_runs_of_asyncio_share_the_servers(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    server = office(allow=["*"], env={"OFFICE_NOTES": str(notes)})

    async def go() -> list[int]:
        async with await engine.open_async(tmp_path / "t.db", mcp=[server]) as db:
            model = script(tmp_path, f"<office__price>A</office__price>{GO_ON}", DONE)
            results = await asyncio.gather(*(db.run_async("Go", run=f"run_{n}", model=model) for n in range(3)))
            return [result.status for result in results]

    assert asyncio.run(go()) == [200, 200, 200]
    assert notes.read_text("utf-8").splitlines() == ["price A"] * 3
    audit(tmp_path / "t.db")


def test_a_program_gets_no_secrets_but_those_that_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFICE_API_KEY", "sk-abcdefgh12345678")
    monkeypatch.setenv("OFFICE_PLAIN", "plain")
    log = driven(
        tmp_path,
        [office(allow=["*"], env={"GIVEN_TOKEN": "given-1234567890"})],
        "<office__environment>OFFICE_API_KEY</office__environment>",
        "<office__environment>OFFICE_PLAIN</office__environment>",
        "<office__environment>GIVEN_TOKEN</office__environment>",
    )
    assert [row[2].splitlines()[-1] for row in log][:2] == ["not set", "plain"]


def test_a_server_in_a_sandbox_reaches_the_project_alone(tmp_path: Path) -> None:
    require_sandbox()
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / ".env").write_text("A_KEY=secret", encoding="utf-8")
    program = root / "server.py"
    program.write_text((SERVERS / "hostile.py").read_text("utf-8"), encoding="utf-8")
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
        words = ["python3", str(program), "probe", str(root / ".env"), str(outside / "x"), str(port)]
        found = []
        for sandbox in (True, False):
            server = Server("own", words, sandbox=sandbox, allow=["*"])
            with engine.open(tmp_path / "t.db", mcp=[server]) as db:
                model = script(tmp_path, f"<own__plain/>{GO_ON}", DONE)
                assert db.run("Go", run=f"run_{sandbox}", model=model, root=root).status == 200
                body = db.value("select body from run_log where run = ? and action = 'own__plain'", (f"run_{sandbox}",))
                found.append(json.loads(str(body).split("\n", 1)[1]))
    assert found[0] == {"secret": "refused", "outside": "refused", "inside": "done", "network": "refused"}
    assert set(found[1].values()) == {"done"}
    with engine.open(tmp_path / "t.db", mcp=[Server("own", ["python3", "x"], sandbox=True)]) as db:
        # without a folder there is nothing to confine it to
        assert db.run("Go", run="none", model=script(tmp_path, DONE)).status == 200
        assert "its run has no folder" in db.value("select body from mcp_log where run = 'none' and level = 'failed'")


# 5. what is recorded


def test_calls_and_logs_can_be_asked_for_in_sql(tmp_path: Path) -> None:
    driven(tmp_path, [office(allow=["say"])], "<office__say>hello</office__say>", '<office__book room="A"/>', yolo=True)
    with engine.open(tmp_path / "t.db") as db:
        calls = db.rows("select server, tool, arguments, state, decided_by from mcp_calls")
        assert [tuple(row.values()) for row in calls] == [
            ("office", "say", '{"text":"hello"}', "resolved", None),
            ("office", "book", '{"room":"A"}', "resolved", "yolo"),
        ]
        log = {(row["level"], row["body"]) for row in db.rows("select level, body from mcp_log")}
        assert ("info", "hello") in log
        assert ("stderr", "printed hello") in log
        assert ("connected", "MCP server office: 11 tools, 1 resource, 1 prompt") in log


# 6. what changes


def test_a_list_that_changes_is_heard_between_turns(tmp_path: Path) -> None:
    calls = [
        "<office__learn>shout</office__learn>",
        "<office__slow>0</office__slow>",
        "<office__shout>psst</office__shout>",
    ]
    model = script(tmp_path, *(call + GO_ON for call in calls), DONE)
    with engine.open(tmp_path / "t.db", mcp=[office(allow=["*"])]) as db:
        assert db.app_tools is not None
        assert db.app_tools.servers is not None
        clients = db.app_tools.servers.clients

        def wait_for_the_list(event: dict[str, Any]) -> None:
            if event["type"] == "turn" and event["turn"] == 2:
                _until(lambda: clients.has_changed or db.value("select 1 from tools where name = 'office__shout'"))

        assert db.run("Learn it", run="demo", model=model, on_event=wait_for_the_list).status == 200
        said = db.value("select body from run_log where run = 'demo' and action = 'office__shout' and status = 200")
    assert said.endswith("\nPSST")


def test_many_tools_are_narrowed_by_themselves(tmp_path: Path) -> None:
    model = script(tmp_path, f"<hostile__tool_700/>{GO_ON}", DONE)
    with engine.open(tmp_path / "t.db", mcp=[hostile("many")]) as db:
        assert db.run("Use tool_17", run="demo", model=model).status == 200
        assert db.value(f"{LOG}") == "hostile__tool_700"
        assert db.value("select most from tool_choices limit 1") == 20
        told = db.value(TOLD, (1,))
        assert told.count("a tool of the MCP server hostile") <= 20
        assert len(told) < 40_000
        log = db.value("select body from mcp_log where level = 'connected'")
        assert log == "MCP server hostile: 2,000 tools; left out: more than 2,000 tools"
        assert db.run("Use tool_17", run="all", model=script(tmp_path, DONE), narrow_tools=0).status in (200, 413)


def _until(true: Any) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
