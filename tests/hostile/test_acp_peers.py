"""Who is at the other end of `engine serve acp` may send anything, lie, go silent or go away.

1. Lines that are no messages, and messages that no client sends, are answered in a line; the connection goes on.
2. Floods and long lines take no more than their share.
3. A client that goes away, at any moment, leaves a run that can be resumed; so does a kill.
4. Paths that lead elsewhere, files of somebody else and texts that deceive the eye are what they are everywhere.

spec: @acp @acp_wire @acp_permissions
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, schema
from acp_client import Talk, Wire, chosen, run, talking, texts, wired
from audit import audit
from engine_cli import ENGINE, database, engine, environment, script
from timing import wait_until

HELLO = {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {"protocolVersion": 1}}


@pytest.fixture
def folder(workspace_dir: Path) -> Any:
    yield workspace_dir
    if database(workspace_dir).exists():
        audit(database(workspace_dir))


def rows(folder: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(database(folder))) as connection:
        return connection.execute(query).fetchall()


def asked(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


GARBAGE: list[tuple[Any, int]] = [
    (b"{", -32700),
    (b"hello", -32700),
    (b"\xff\xfe\x00", -32700),
    (b"[" * 100_000, -32700),
    (b"1" * 10_000, -32700),
    ([], -32600),
    ([HELLO], -32600),
    (5, -32600),
    ("initialize", -32600),
    ({"jsonrpc": "2.0", "id": 1.5, "method": "initialize"}, -32600),
    ({"jsonrpc": "2.0", "id": True, "method": "initialize"}, -32600),
    ({"jsonrpc": "2.0", "id": None, "method": "initialize"}, -32600),
    ({"jsonrpc": "2.0", "id": {"a": 1}, "method": "initialize"}, -32600),
    ({"jsonrpc": "2.0", "id": [1], "method": "initialize"}, -32600),
    ({"jsonrpc": "2.0", "id": 1, "method": 5}, -32600),
    ({"jsonrpc": "2.0", "id": 1, "method": None}, -32600),
    (b"x" * 10_000_001, -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * 50_000_000 + b'"}', -32600),
]
PASSED_OVER: list[Any] = [
    b"",
    b"   ",
    {},
    {"jsonrpc": "2.0"},
    {"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}},
    {"id": [1], "result": 1},
    {"id": {}, "error": 1},
    {"id": "x", "error": {"code": "y"}},
    {"id": 10**400, "result": None},
    {"method": "session/cancel"},
    {"method": "session/cancel", "params": {"sessionId": "gone"}},
    {"method": "session/cancel", "params": [1, 2]},
    {"method": "no/such", "params": {}},
    {"method": "$/cancel_request", "params": {"id": 1}},
    {"method": "_mine/own", "params": {"a": 1}},
]


def test_what_is_no_message_is_answered_or_passed_over_and_the_connection_goes_on(folder: Path) -> None:
    with wired(folder) as wire:
        for garbage, code in GARBAGE:
            wire.send(garbage)
            told = wire.read()
            assert (told["id"], told["error"]["code"]) == (None, code), str(garbage)[:80]
            assert "\n" not in told["error"]["message"]
            assert len(told["error"]["message"]) < 200
        wire.send(*PASSED_OVER)
        wire.send(HELLO)
        assert wire.read()["result"]["agentInfo"]["name"] == "engine"
        assert wire.hang_up() == 0
    assert not database(folder).exists()


WRONG: list[tuple[str, dict[str, Any], int]] = [
    ("no/such", {}, -32601),
    ("_mine/own", {}, -32601),
    ("session/delete", {"sessionId": "a"}, -32601),
    ("initialize", {}, -32602),
    ("session/new", {}, -32602),
    ("session/new", {"cwd": 5, "mcpServers": []}, -32602),
    ("session/new", {"cwd": "relative/path", "mcpServers": []}, -32602),
    ("session/new", {"cwd": "", "mcpServers": []}, -32602),
    ("session/new", {"cwd": "/no/such/folder", "mcpServers": []}, -32002),
    ("session/new", {"cwd": "/etc/passwd", "mcpServers": []}, -32602),
    ("session/new", {"cwd": "/tmp\0/x", "mcpServers": []}, -32602),
    ("session/new", {"cwd": "/\ud800", "mcpServers": []}, -32602),
    ("session/new", {"cwd": "/" + "x" * 100_000, "mcpServers": []}, -32602),
    ("session/load", {"cwd": "/tmp", "sessionId": {}, "mcpServers": []}, -32602),
    ("session/prompt", {"sessionId": "gone", "prompt": []}, -32002),
    ("session/prompt", {"sessionId": "gone\x1b[2J\u202e", "prompt": [{"type": "text", "text": "a"}]}, -32002),
    ("session/prompt", {"sessionId": 1, "prompt": "a"}, -32602),
    ("session/set_mode", {"sessionId": "gone", "modeId": "act"}, -32002),
    ("session/set_config_option", {"sessionId": "gone", "configId": "model", "value": "x"}, -32002),
    ("session/close", {"sessionId": "gone"}, -32002),
    ("session/load", {"cwd": "/tmp", "sessionId": "gone", "mcpServers": []}, -32002),
    ("session/fork", {"cwd": "/tmp", "sessionId": "gone", "mcpServers": []}, -32002),
    ("session/list", {"cwd": "relative"}, -32602),
    ("session/list", {"cursor": "-1"}, -32602),
    ("session/list", {"cursor": 10**30}, -32602),
    ("authenticate", {"methodId": "magic"}, -32002),
]


def test_requests_that_cannot_be_are_told_in_a_line_and_make_no_file(folder: Path, tmp_path: Path) -> None:
    with wired(folder, "--model", script(tmp_path / "s.jsonl", ["Yes."])) as wire:
        for number, (method, params, code) in enumerate(WRONG):
            error = wire.call(number, method, **params).get("error", {"code": method, "message": ""})
            assert error["code"] == code, (method, str(params)[:80], error)
            assert "\n" not in error["message"]
            assert len(error["message"]) < 2_100
        assert wire.hang_up() == 0
    assert not database(folder).exists()


def test_params_of_a_client_are_never_arguments_of_our_own(folder: Path, tmp_path: Path) -> None:
    with wired(folder, "--model", script(tmp_path / "s.jsonl", ["Yes."])) as wire:
        meta = {"self": 1, "cwd": "/etc", "client_info": 5, "session_id": "x"}
        made = wire.call(1, "session/new", cwd=str(folder), mcpServers=[], _meta=meta)
        session = made["result"]["sessionId"]
        prompt = [{"type": "text", "text": "Hi", "_meta": meta}]
        told = wire.call(2, "session/prompt", sessionId=session, prompt=prompt, _meta=meta)
        assert told["result"]["stopReason"] == "end_turn"
    assert rows(folder, "select root from projects where root is not null") == [(str(folder),)]


def test_an_id_that_is_in_use_is_refused_and_the_first_request_is_answered(folder: Path, tmp_path: Path) -> None:
    waits = "<env>until [ -e go_on ]; do sleep 0.05; done</env>"
    with wired(folder, "--model", script(tmp_path / "s.jsonl", [waits, "Yes."])) as wire:
        session = wire.call(1, "session/new", cwd=str(folder), mcpServers=[])["result"]["sessionId"]
        prompt = asked(2, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Hi"}])
        wire.send(prompt, prompt)
        assert "still open" in wire.answer(None)["error"]["message"]
        (folder / "go_on").touch()
        assert wire.answer(2)["result"]["stopReason"] == "end_turn"
    assert rows(folder, "select count(*) from loop_list") == [(1,)]


def test_a_flood_of_requests_is_refused_and_a_cancel_comes_through(folder: Path, tmp_path: Path) -> None:
    with wired(folder, "--model", script(tmp_path / "s.jsonl", ["Yes."]), stderr=subprocess.DEVNULL) as wire:
        session = wire.call("new", "session/new", cwd=str(folder), mcpServers=[])["result"]["sessionId"]
        block = [{"type": "text", "text": "Hi " * 1_000}]
        slow = {"text": "Yes.", "delay_s": 60}
        (tmp_path / "s.jsonl").write_text(json.dumps(slow) + "\n")
        flood = [asked(number, "session/prompt", sessionId=session, prompt=block) for number in range(2_000)]
        cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}
        writer = threading.Thread(target=wire.send, args=[*flood, cancel])
        writer.start()
        ends: dict[Any, Any] = {}
        while len(ends) < 2_000:
            message = wire.read()
            if "method" not in message:
                ends[message["id"]] = message
        writer.join()
        kinds = [each.get("result", {}).get("stopReason") or each["error"]["code"] for each in ends.values()]
        assert kinds.count("cancelled") <= 17
        assert kinds.count("cancelled") + kinds.count(-32602) + kinds.count(-32600) == 2_000
        assert resident_megabytes(wire.process.pid) < 400
        assert wire.call("after", "session/close", sessionId=session)["result"] == {}
    assert rows(folder, "select count(*) from loop_list where status < 200") == [(0,)]


def resident_megabytes(number: int) -> float:
    with open(f"/proc/{number}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) / 1_024 for line in file if line.startswith("VmRSS"))


def test_sessions_have_a_bound(folder: Path, tmp_path: Path) -> None:
    with wired(folder, "--model", script(tmp_path / "s.jsonl", ["Yes."])) as wire:
        made = [wire.call(number, "session/new", cwd=str(folder), mcpServers=[]) for number in range(65)]
        assert "64 sessions are open" in made.pop()["error"]["message"]
        assert len({each["result"]["sessionId"] for each in made}) == 64


def _descriptors(wire: Wire) -> int:
    return len(list(Path(f"/proc/{wire.process.pid}/fd").iterdir()))


def _server(number: int) -> dict[str, object]:
    return {"name": f"s{number}", "command": "/bin/true", "args": [], "env": []}


def test_a_request_that_is_refused_keeps_no_handle(folder: Path, tmp_path: Path) -> None:
    with wired(folder, "--model", script(tmp_path / "s.jsonl", ["Yes."])) as wire:
        here = str(folder)
        made = wire.call(1, "session/new", cwd=here, mcpServers=[])["result"]["sessionId"]
        kept = 0  # after the first: SQLite keeps what it may not close beside a lock
        for number in range(2, 62):
            kind = ("session/load", "session/resume", "session/fork")[number % 3]
            answer = wire.call(number, kind, cwd=here, sessionId="nobody", mcpServers=[_server(number)])
            assert "no such run" in answer["error"]["message"]
            kept = kept or _descriptors(wire)
            # what a thread that answers has open meanwhile goes; what is kept would be there for ever
            wait_until(lambda most=kept: _descriptors(wire) <= most)
        for number in range(62, 65):
            wire.call(number, "session/new", cwd=here, mcpServers=[])
        refused = [wire.call(100 + number, "session/new", cwd=here, mcpServers=[]) for number in range(61)][-1]
        assert "64 sessions are open" in refused["error"]["message"]
        full = _descriptors(wire)
        for number in range(200, 260):
            answer = wire.call(number, "session/new", cwd=here, mcpServers=[_server(number)])
            assert "64 sessions are open" in answer["error"]["message"]
        wait_until(lambda: _descriptors(wire) <= full)
        assert "error" not in wire.call(300, "session/close", sessionId=made)


def test_a_session_without_a_model_leaves_no_handle_and_no_file(folder: Path, tmp_path: Path) -> None:
    with wired(folder, "--model", "no-such-provider:x") as wire:
        counts = []
        for number in range(1, 13):
            place = tmp_path / f"p{number}"
            place.mkdir()
            answer = wire.call(number, "session/new", cwd=str(place), mcpServers=[_server(number)])
            assert "error" in answer
            counts.append(_descriptors(wire))
            assert not (place / ".engine" / "engine.db").exists()
        assert counts[-1] <= counts[0]


def test_a_client_that_reads_nothing_holds_up_its_run_and_can_hang_up(folder: Path, tmp_path: Path) -> None:
    loud = ["<sh>seq 1 200000</sh>", "x" * 400_000, "Done."]
    with wired(folder, "--yolo", "--model", script(tmp_path / "s.jsonl", loud)) as wire:
        session = wire.call(1, "session/new", cwd=str(folder), mcpServers=[])["result"]["sessionId"]
        wire.call(2, "session/set_mode", sessionId=session, modeId="yolo")
        wire.send(asked(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go"}]))
        wait_for(lambda: database(folder).exists() and rows(folder, "select 1 from turns where response is not null"))
        assert resident_megabytes(wire.process.pid) < 400
        assert wire.hang_up() == 0
    assert rows(folder, "select status from open_prompts")[0][0] in (102, 202) or rows(
        folder, "select count(*) from loop_list where status = 200"
    ) == [(1,)]


def test_a_client_that_never_reads_is_not_read_any_more(folder: Path, tmp_path: Path) -> None:
    with wired(folder, "--model", script(tmp_path / "s.jsonl", [])) as wire:
        wire.call("hello", "initialize", protocolVersion=1)
        wait_ms, garbage = 500, b"garbage\n" * 8_192
        assert wire.process.stdin is not None
        os.set_blocking(wire.process.stdin.fileno(), False)
        written, idle = 0, 0
        while idle < wait_ms and written < 100_000_000:
            try:
                written += os.write(wire.process.stdin.fileno(), garbage)
                idle = 0
            except BlockingIOError:
                idle += 10
                time.sleep(0.01)
        assert written < 5_000_000
        assert resident_megabytes(wire.process.pid) < 200


def wait_for(happened: Any) -> None:
    async def wait() -> None:
        while not happened():
            await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(wait(), 300))


STEPS = {
    "asked": [{"text": "Yes.", "delay_s": 3600}],
    "process": ["<env>[ -e go_on ] || sleep 3600</env>"],
    "proposal": ['<set path="rent.md">1900\n</set>'],
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("end", ["hang up", "terminate", "kill"])
def test_whoever_goes_away_leaves_a_run_that_a_new_process_goes_on_with(
    folder: Path, tmp_path: Path, step: str, end: str
) -> None:
    model, reached = script(tmp_path / "s.jsonl", STEPS[step]), {"asked": "turn_update", "proposal": "permission"}
    with wired(folder, "--yolo" if step == "process" else "--act", "--model", model, stderr=subprocess.DEVNULL) as wire:
        session = wire.call(1, "session/new", cwd=str(folder), mcpServers=[])["result"]["sessionId"]
        if step == "process":
            wire.call(2, "session/set_mode", sessionId=session, modeId="yolo")
        wire.send(asked(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go"}]))
        while not is_at(step, wire.read()):
            pass
        if end == "hang up":
            assert wire.hang_up() == 0
        else:
            wire.process.send_signal(signal.SIGTERM if end == "terminate" else signal.SIGKILL)
            assert wire.process.wait(300) == (0 if end == "terminate" else -9)
    assert reached is not None
    assert rows(folder, "select status from open_prompts") == [(202 if step == "proposal" else 102,)]
    if step == "proposal":
        assert rows(folder, "select target from open_proposals") == [("rent.md",)]
    (folder / "go_on").touch()
    (tmp_path / "s.jsonl").write_text(
        "".join(
            json.dumps(each) + "\n" for each in [*([] if step == "asked" else STEPS[step]), "It went on.", "And this."]
        )
    )

    async def go_on() -> None:
        async with talking(folder, "--yolo") as at:
            await at.connection.load_session(cwd=str(folder), session_id=session, mcp_servers=[])
            assert at.editor.said("user_message_chunk") == "Go"
            assert await at.prompt(session, "Still there?") == "end_turn"

    run(go_on())
    assert rows(folder, "select count(*) from open_prompts") == [(0,)]
    assert [each for (each,) in rows(folder, "select status from loop_list order by loop")] == [200, 200]
    assert (folder / "rent.md").exists() == (step == "proposal")


def is_at(step: str, message: dict[str, Any]) -> bool:
    """Whether a message says that the run has come to a step."""
    update = message.get("params", {}).get("update", {})
    match step:
        case "asked":
            return bool(update.get("sessionUpdate") == "usage_update")
        case "process":
            return bool(update.get("status") == "in_progress")
        case _:
            return message.get("method") == "session/request_permission"


def test_two_processes_on_one_run_are_told_apart(folder: Path, tmp_path: Path) -> None:
    waits = "<env>until [ -e go_on ]; do sleep 0.05; done</env>"
    model = script(tmp_path / "s.jsonl", [waits, "Slowly.", "Quickly."])

    async def talk() -> None:
        async with talking(folder, "--model", model) as one, talking(folder, "--model", model) as other:
            session = await one.new()
            first = asyncio.create_task(one.prompt(session, "Go"))
            await one.editor.until(lambda: bool(one.editor.of("usage_update")))
            await other.connection.load_session(cwd=str(folder), session_id=session, mcp_servers=[])
            with pytest.raises(RequestError, match="another process") as raised:
                await other.prompt(session, "Me too")
            assert raised.value.data == {"status": 409}
            (folder / "go_on").touch()
            assert await first == "end_turn"
            assert one.editor.said() == "Slowly."
            assert await other.prompt(session, "Now?") == "end_turn"
            assert other.editor.said().endswith("Quickly.")

    run(talk())
    assert [each for (each,) in rows(folder, "select status from loop_list order by loop")] == [200, 499, 200]


def test_a_session_is_loaded_only_in_the_folder_that_it_works_in(folder: Path, tmp_path: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder)
    engine(folder, "run", "--model", script(tmp_path / "c.jsonl", ["Hello."]), "--run", "demo", "Say hello")

    async def talk() -> None:
        async with talking(folder, "--model", script(tmp_path / "s.jsonl", [])) as at:
            for cwd, code in ((str(inner), -32602), (str(tmp_path), -32002)):
                with pytest.raises(RequestError) as raised:
                    await at.connection.load_session(cwd=cwd, session_id="demo", mcp_servers=[])
                assert raised.value.code == code, cwd
            for cwd in (str(link), f"{folder}/inner/.."):
                await at.connection.load_session(cwd=cwd, session_id="demo", mcp_servers=[])
            with pytest.raises(RequestError, match="works only in the folder"):
                await at.new(additional_directories=["/etc"])

    run(talk())


def test_a_file_of_somebody_else_that_would_act_is_refused(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "c.jsonl", ['<set path="rent.md">1900\n</set>'])
    said = engine(folder, "run", "--model", model, "--run", "demo", "Raise the rent")
    assert said.returncode == 6, said.stderr
    other = tmp_path / "other"
    (other / ".engine").mkdir(parents=True, mode=0o700)
    (other / ".engine" / "engine.db").write_bytes(database(folder).read_bytes())

    async def talk() -> None:
        async with talking(other, "--model", script(tmp_path / "s.jsonl", ["Yes."])) as at:
            with pytest.raises(RequestError, match="engine trust") as raised:
                await at.new()
            assert raised.value.data == {"status": 403}

    run(talk())


DECEIVING = "echo safe \u202e txet \x1b[2J\x07 # \u200b"


def test_what_a_person_decides_by_is_drawn(folder: Path, tmp_path: Path) -> None:
    answers = [
        f"\x1b]0;title\x07Hello \x9b31m.<sh>{DECEIVING}</sh>",
        '<set path="a\u202etxt.md">user\u202eadmin\n</set>',
        "Done.",
        "Done.",
    ]

    async def talk() -> None:
        async with talking(folder, "--model", script(tmp_path / "s.jsonl", answers), answer=later) as at:
            await at.prompt(await at.new(), "Go\x1b[2J")
            await at.prompt(at.editor.told[0][0], "And on")
            seen = [str(each) for each in at.editor.asked]
            assert not any(sign in "".join(seen) for sign in ("\x1b", "\x07", "\u200b"))
            command = at.editor.asked[0]
            assert "\\u{202e}" in command["title"]
            assert "\\u{202e}" in texts(command["content"])
            everything = json.dumps([update for _, update in at.editor.told], ensure_ascii=False)
            assert "\\\\u{1b}" in everything
            assert not any(sign in everything for sign in ("\x1b", "\x07", "\x9b"))
            change = at.editor.asked[1]
            assert "\\u{202e}" in change["title"]
            assert "user\\u{202e}admin" in texts(change["content"])

    decisions = iter(["allow_once", "allow_once"])

    def later(call: schema.ToolCallUpdate, options: Any) -> Any:
        return chosen(next(decisions))

    run(talk())


def test_nothing_but_the_protocol_is_on_stdout_and_no_secret_on_stderr(folder: Path, tmp_path: Path) -> None:
    noisy = folder / "noisy.py"
    noisy.write_text(
        "import os, sys\nfrom engine.adapters import named\n\n\ndef serve(serving):\n"
        "    print('from python', flush=True)\n    os.write(1, b'from below')\n    named('acp')(serving)\n"
    )
    key = "sk-verysecretkey1234567890"
    with wired(folder, stderr=subprocess.PIPE) as wire:
        wire.send(b"\x00garbage " + key.encode(), HELLO)
        assert wire.read()["error"]["code"] == -32700
        assert "result" in wire.answer("hello")
        assert wire.hang_up() == 0
        assert wire.process.stderr is not None
        assert key not in wire.process.stderr.read().decode()


def test_replies_that_never_come_do_not_keep_the_process(folder: Path, tmp_path: Path) -> None:
    async def never() -> Any:
        await asyncio.sleep(3_600)

    async def talk(at: Talk) -> None:
        session = await at.new()
        prompt = asyncio.create_task(at.prompt(session, "Go"))
        await at.editor.until(lambda: bool(at.editor.asked))
        at.process.stdin.close()
        await asyncio.wait_for(at.process.wait(), 60)
        prompt.cancel()

    async def all_of_it() -> None:
        answers = ['<set path="rent.md">1900\n</set>']
        model = script(tmp_path / "s.jsonl", answers)
        async with talking(folder, "--model", model, answer=lambda call, options: never()) as at:
            await talk(at)

    run(all_of_it())
    assert rows(folder, "select count(*) from open_proposals") == [(1,)]
    assert os.listdir(folder).count("rent.md") == 0


def test_a_client_that_has_said_all_still_gets_its_answers(folder: Path, tmp_path: Path) -> None:
    new = asked(2, "session/new", cwd=str(folder), mcpServers=[])
    given = "".join(json.dumps(each) + "\n" for each in (HELLO, new))
    (tmp_path / "in.txt").write_text(given)
    command = [*ENGINE, "serve", "acp", "--model", script(tmp_path / "s.jsonl", ["Yes."])]
    with (tmp_path / "in.txt").open() as file:
        done = subprocess.run(
            command, cwd=folder, env=environment(folder.parent), stdin=file, capture_output=True, text=True, check=True
        )
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == {"hello", 2}
    assert not database(folder).exists()


def test_prompts_that_wait_are_not_given_when_the_client_is_gone(folder: Path, tmp_path: Path) -> None:
    with wired(folder, "--model", script(tmp_path / "s.jsonl", [{"text": "Yes.", "delay_s": 60}])) as wire:
        session = wire.call(1, "session/new", cwd=str(folder), mcpServers=[])["result"]["sessionId"]
        block = [{"type": "text", "text": "Hi"}]
        wire.send(*(asked(number, "session/prompt", sessionId=session, prompt=block) for number in range(2, 6)))
        while not is_at("asked", wire.read()):
            pass
        assert wire.hang_up() == 0
    assert rows(folder, "select loop, status from loop_list") == [(1, 102)]


def test_nothing_is_told_of_a_session_before_its_id_is(folder: Path, tmp_path: Path) -> None:
    skill = folder / ".agents" / "skills" / "release" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: release\ndescription: How to release\n---\nTag it.\n")
    engine(folder, "run", "--model", script(tmp_path / "c.jsonl", ["Hello."]), "--run", "demo", "Say hello")
    with wired(folder, "--model", script(tmp_path / "s.jsonl", ["Yes."])) as wire:
        wire.send(asked(1, "session/new", cwd=str(folder), mcpServers=[]))
        told = [wire.read() for _ in range(2)]
        assert told[0]["id"] == 1
        assert told[1]["params"]["update"]["sessionUpdate"] == "available_commands_update"
