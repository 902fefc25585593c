"""Other programs use runs by JSON-RPC over WebSocket, each test against `engine serve rpc` in a process of its own.

1. A prompt from its giving to its answer, and all that a client is told. 2. Every method. 3. Projects. 4. Runs of others,
kills and ends of the server.

spec: @rpc @rpc_methods @rpc_notifications @rpc_access
"""

from __future__ import annotations

import json
import os
import signal
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script
from engine_cli import database, engine_process
from rpc_client import Client, Server, over, served

import engine
from engine.rpc.methods import METHODS

READ = 'Let me look.<get path="notes.md"/>' + GO_ON
ANSWER = '<update status="200">The port is 8080.</update>'
SHELL = "<sh>echo hello</sh>" + GO_ON


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that tests which leave it as it is have in common."""
    folder = tmp_path_factory.mktemp("rpc") / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "notes.md").write_text("The port is 8080.\n", "utf-8")
    (folder / "sub" / "other.md").write_text("Other.\n", "utf-8")
    with served(folder) as server:
        yield server


@pytest.fixture
def client(shared: Server) -> Iterator[Client]:
    with shared.client() as found:
        yield found


def test_a_client_is_greeted(client: Client, shared: Server) -> None:
    hello = client.wait("engine/hello")
    assert hello == {"version": engine.__version__, "root": str(shared.folder)}
    assert client.call("ping") == {}


def test_a_prompt_is_driven_and_told(client: Client, tmp_path: Path) -> None:
    given = client.call("ask", prompt="Which port?", run="told", model=script(tmp_path, READ, ANSWER))
    assert (given["run"], given["loop"]) == ("told", 1)
    assert client.wait("run/progress", run="told", status="thinking")["turn"] == 1
    assert client.wait("ui/render", run="told")["text"] == "Let me look."
    read = client.wait("run/progress", run="told", status="processing")["event"]
    assert (read["action"], read["target"], read["status"]) == ("get", "notes.md", 200)
    state = client.wait("run/state", run="told", status=200)
    assert state["answer"] == "The port is 8080."
    assert [each["tool"] for each in state["history"]] == ["set", "get", "update", "update"]
    assert state["telemetry"]["turns"] == 2
    assert state == client.call("getRun", run="told")


def test_messages_files_and_handoffs_come_by_it(client: Client, tmp_path: Path) -> None:
    """spec: @messages @attachments @handoffs"""
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    assert client.call("importMessages", run="moved", messages=said) == {"run": "moved", "prompts": 1}
    assert client.call("getMessages", run="moved", form="anthropic") == said
    letter = b64encode(b"The lamp is broken.").decode()
    model = script(tmp_path, '<handoff persona="reviewer">see the letter</handoff>', "Broken it is.")
    client.call(
        "ask", prompt="Why?", run="moved", model=model, attachments=[letter], handoffs='[{"persona": "reviewer"}]'
    )
    assert client.wait("run/state", run="moved", status=200, answer="Broken it is.")
    packets = client.call("sql", query="select body from packet_texts where run = 'moved' and role = 'user'")
    assert all("The lamp is broken." in row["body"] for row in packets)
    assert "each must be a file in base64" in client.refusal("ask", prompt="Why?", attachments=["?"])[2]


def test_a_proposal_is_told_decided_and_performed(client: Client, shared: Server, tmp_path: Path) -> None:
    model = script(tmp_path, "<sh>echo hello > made.txt; echo said</sh>" + GO_ON, DONE)
    client.call("act", prompt="Make it", run="decided", model=model, sandbox="off")
    proposal = client.wait("run/proposal", run="decided")
    assert (proposal["action"], proposal["detail"]) == ("sh", "echo hello > made.txt; echo said")
    assert [each["run"] for each in client.call("getProposals", run="decided")] == ["decided"]
    assert client.call("run/resolve", run="decided", resolution={"action": "accept", "path": proposal["path"]})
    assert client.wait("ui/render", run="decided", channel=1)["text"] == "said\n"
    client.wait("run/state", run="decided", status=200)
    assert (shared.folder / "made.txt").read_text() == "hello\n"
    rows = client.call("sql", query="select decided_by from decisions where run = ?", bindings=["decided"])
    assert rows == [{"decided_by": "rpc"}]


def test_a_rejection_with_words_lets_the_model_try_again(client: Client, tmp_path: Path) -> None:
    model = script(tmp_path, SHELL, DONE)
    client.call("act", prompt="Make it", run="tried", model=model)
    client.wait("run/proposal", run="tried")
    client.call("run/resolve", run="tried", resolution={"action": "error", "output": "no shell"})
    assert client.wait("run/state", run="tried", status=200)["answer"] == "Done."
    client.call("act", prompt="Make it", run="ended", model=script(tmp_path, SHELL, DONE))
    client.wait("run/proposal", run="ended")
    client.call("run/resolve", run="ended", resolution={"action": "reject"})
    assert client.wait("run/state", run="ended", status=403)["telemetry"]["turns"] == 1


def test_a_decision_on_a_run_below_goes_on_with_the_one_above(client: Client, tmp_path: Path) -> None:
    client.call(
        "addModel", alias="helper", actual=script(tmp_path, SHELL, '<update status="200">It said hello.</update>')
    )
    leader = script(tmp_path, '<subtask model="helper">Say hello</subtask>', '<update status="200">Said.</update>')
    client.call("act", prompt="Have it said", run="above", model=leader, maxDepth=1, sandbox="off")
    below = client.wait("run/proposal", action="sh")["run"]
    assert below != "above"
    client.call("run/resolve", run=below, resolution={"action": "accept"})
    assert client.wait("run/state", run="above", status=200)["answer"] == "Said."
    client.call("removeModel", alias="helper")


def test_a_client_may_carry_out_a_command_itself(client: Client, tmp_path: Path) -> None:
    model = script(tmp_path, SHELL, SHELL.replace("hello", "again"), SHELL.replace("hello", "third"), DONE)
    client.call("act", prompt="Make it", run="carried", model=model)
    path = client.wait("run/proposal", run="carried")["path"]
    client.call("run/resolve", run="carried", resolution={"action": "accept"}, drive=False)
    client.call("stream", run="carried", path=path, channel=1, chunk="by the client\n")
    client.call("stream/completed", run="carried", path=path, duration=1.5)
    path = client.wait("run/proposal", run="carried")["path"]
    client.call("run/resolve", run="carried", resolution={"action": "accept"}, drive=False)
    client.call("stream/completed", run="carried", path=path, exit_code=3)
    path = client.wait("run/proposal", run="carried")["path"]
    client.call("run/resolve", run="carried", resolution={"action": "accept"}, drive=False)
    client.call("stream/aborted", run="carried", path=path, reason="changed my mind")
    client.wait("run/state", run="carried", status=200)
    query = "select body, status from run_log where run = 'carried' and action = 'sh' order by turn"
    first, second, third = client.call("sql", query=query)
    assert "exit=0 (1.5s)" in first["body"]
    assert second["status"] == 422 or "exit=3" in second["body"]
    assert "changed my mind" in third["body"]
    (entry,) = client.call("getEntries", run="carried", pattern="sh://**", body="by the client")
    assert entry["body"] == "by the client\n"
    code, status, message = client.refusal("stream", run="carried", path=path, channel=1, chunk="late")
    assert (code, status) == (-32000, 404)
    assert "no command waits" in message


def test_what_a_client_streams_is_stored_as_a_terminal_shows_it(client: Client, tmp_path: Path) -> None:
    client.call("act", prompt="Make it", run="frames", model=script(tmp_path, SHELL, DONE))
    path = client.wait("run/proposal", run="frames")["path"]
    client.call("run/resolve", run="frames", resolution={"action": "accept"}, drive=False)
    pieces = ["\x1b[31mred\x1b", "[0m\n", *(f"\rreceived {n}/50" for n in range(51)), "\ndone \x1b]0;title"]
    for piece in pieces:
        client.call("stream", run="frames", path=path, channel=1, chunk=piece)
    client.call("stream/completed", run="frames", path=path, exit_code=0)
    client.wait("run/state", run="frames", status=200)
    (entry,) = client.call("getEntries", run="frames", pattern="sh://**", body="red")
    assert entry["body"].splitlines() == ["red", "received 0/50", "received 50/50", "done "]


def test_a_command_is_cancelled(client: Client, tmp_path: Path) -> None:
    model = script(tmp_path, "<sh>echo begun; sleep 600</sh>" + GO_ON, DONE)
    client.call("act", prompt="Wait", run="cancelled", model=model, yolo=True, sandbox="off")
    client.wait("ui/render", run="cancelled", channel=1)
    path = "log://turn_1/sh/echo_begun%3B_sleep_600"
    client.call("stream/cancel", run="cancelled", path=path, reason="too long")
    assert client.wait("stream/cancelled", run="cancelled")["reason"] == "too long"
    client.wait("run/state", run="cancelled", status=200)


def test_a_run_is_made_configured_prompted_forked_and_aborted(client: Client, tmp_path: Path) -> None:
    model = script(tmp_path, DONE, READ, SHELL, DONE)
    assert client.call("startRun", run="made", model=model, temperature=0.5) == {"run": "made"}
    assert client.refusal("startRun", run="made", model=model)[1] == 409
    client.call("run/config", run="made", temperature=1)
    assert client.call("sql", query="select temperature from runs where alias = 'made'") == [{"temperature": 1.0}]
    client.call("run/inject", run="made", message="Begin", mode="act")
    client.wait("run/state", run="made", status=200)
    assert client.call("run/fork", run="made", name="twin") == {"run": "twin"}
    client.call("run/inject", run="made", message="Go on")
    client.wait("run/proposal", run="made")
    assert client.call("run/abort", run="made", reason="enough")["run"] == "made"
    (loop,) = client.call("sql", query="select status, reason from loop_results where run = 'made' and loop = 2")
    assert loop == {"status": 499, "reason": "enough"}
    assert client.call("run/rename", run="twin", name="sister") == {"run": "sister"}
    assert client.call("run/rename", run="sister", name="twin") == {"run": "twin"}
    listed = {each["run"]: each for each in client.call("getRuns")}
    assert {"made", "twin"} <= listed.keys()
    assert (listed["made"]["title"], listed["made"]["labels"]) == ("Begin", [])
    assert [each["run"] for each in client.call("getRuns", limit=1, offset=0)] == ["twin"]
    child = client.call("ask", prompt="And?", run="twin", fork=True, model=script(tmp_path, DONE))
    client.wait("run/state", run=child["run"], status=200)
    assert client.call("run/resume", run="twin")["resumed"] is False


def test_entries_and_files_are_read_and_written(client: Client, shared: Server) -> None:
    client.call("startRun", run="entries", model="local")
    changed = client.call(
        "set", run="entries", path="known://a", body="one two", attributes={"tags": "x", "visibility": "summarized"}
    )
    assert changed["changes"][0]["change"] == "added"
    client.call("cp", run="entries", path="known://a", to="known://b")
    client.call("mv", run="entries", path="known://b", to="known://c")
    client.call("rm", run="entries", path="known://a")
    client.call("get", run="entries", path="known://c")
    (entry,) = client.call("getEntries", run="entries", pattern="known://*", limit=5)
    assert (entry["path"], entry["body"], entry["visibility"]) == ("known://c", "one two", "visible")
    client.call("set", run="entries", path="written.txt", body="by a client\n")
    assert (shared.folder / "written.txt").read_text() == "by a client\n"
    assert client.call("store", path="logs", readonly=True) == {"pattern": "logs", "rule": "readonly"}
    assert client.call("get", path="*.log", persist=True) == {"pattern": "*.log", "rule": "add"}
    assert client.call("store", path="logs", clear=True)["rule"] is None
    assert client.refusal("store", path="../x", ignore=True)[1] == 400
    assert client.refusal("store", path="x", ignore=True, clear=True)[1] == 400


def test_models_are_added_listed_and_removed(client: Client, tmp_path: Path) -> None:
    actual = script(tmp_path, DONE)
    assert client.call("addModel", alias="mine", actual=actual, contextLength=9000)["actual"] == actual
    found = {each["alias"]: each for each in client.call("getModels")}
    assert (found["mine"]["actual"], found["mine"]["contextLength"]) == (actual, 9000)
    assert len(client.call("getModels", limit=1)) == 1
    client.call("removeModel", alias="mine")
    assert client.refusal("removeModel", alias="mine")[:2] == (-32000, 404)


def test_discover_tells_of_every_method_and_notification(client: Client) -> None:
    told = client.call("discover")
    methods = {each["name"]: each for each in told["methods"]}
    assert {method.name for method in METHODS} | {"ping", "init", "discover", "rpc.discover"} == set(methods)
    options = {param["name"] for param in methods["act"]["params"]}
    assert {"prompt", "model", "yolo", "noRepo", "contextLimit", "maxTurns", "sandbox"} <= options
    assert "run/state" in {each["name"] for each in told["x-notifications"]}
    assert told == client.call("rpc.discover")


def test_every_option_of_a_prompt_is_taken(client: Client, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "acceptAttempts": 1,
        "acceptEdits": False,
        "answerCache": False,
        "condenseRatio": 0.5,
        "contextLimit": 9000,
        "fallbackModels": '["scripted:none"]',
        "handoffs": '[{"persona": "default"}]',
        "maxCalls": 3,
        "maxCost": 0.5,
        "maxDepth": 0,
        "maxSeconds": 60,
        "maxTokens": 100_000,
        "maxTurns": 3,
        "modelOptions": {"top_p": 0.5, "stop": ["x"]},
        "narrowTools": 0,
        "outputAttempts": 2,
        "noInteraction": True,
        "noProcesses": True,
        "noProposals": True,
        "noRepo": True,
        "noWeb": True,
        "overwriteUnseen": True,
        "persona": "reviewer",
        "systemPrompt": "Be short.",
        "taskPrompt": "Now.",
        "temperature": 0,
        "tools": "get,set",
        "yolo": False,
    }
    told = client.call("discover")
    (known,) = [each["params"] for each in told["methods"] if each["name"] == "act"]
    left_out = {"accept", "acceptCommand", "acceptModel", "effort", "model", "network", "output", "sandbox"}
    assert {param["name"] for param in known} - {"prompt", "run", "fork", "at", "attachments"} - left_out == set(
        options
    )
    client.call("act", prompt="Go", run="options", model=script(tmp_path, DONE), **options)
    client.wait("run/state", run="options", status=200)


def test_a_batch_is_carried_out_in_its_order(client: Client) -> None:
    client.call("ping")
    client.send(
        [
            {"jsonrpc": "2.0", "id": 1, "method": "startRun", "params": {"run": "batch", "model": "local"}},
            {"jsonrpc": "2.0", "method": "set", "params": {"run": "batch", "path": "known://b", "body": "text"}},
            {"jsonrpc": "2.0", "id": 2, "method": "getEntries", "params": {"run": "batch", "pattern": "known://*"}},
            {"jsonrpc": "2.0", "id": 3, "method": "nope"},
        ]
    )
    while isinstance(answers := client.receive(), dict):
        pass
    assert [each["id"] for each in answers] == [1, 2, 3]
    assert answers[1]["result"][0]["body"] == "text"
    assert answers[2]["error"]["code"] == -32601


def test_each_client_is_told_of_the_runs_of_its_folder(shared: Server, tmp_path: Path) -> None:
    with shared.client() as here, shared.client() as below:
        assert below.call("init", projectRoot="sub", name="below")["projectRoot"] == str(shared.folder / "sub")
        here.call("ping")
        here.call("getRuns")
        below.call("ask", prompt="Go", run="lower", model=script(tmp_path, DONE), noRepo=True)
        below.wait("run/state", run="lower", status=200)
        here.call("ask", prompt="Go", run="upper", model=script(tmp_path, DONE), noRepo=True)
        here.wait("run/state", run="upper", status=200)
        here.call("ping")
        assert not [each for each in here.told if each.get("params", {}).get("run") == "lower"]
        assert [each["run"] for each in below.call("getRuns")] == ["lower"]


def test_a_run_of_another_process_is_told(shared: Server, client: Client, tmp_path: Path) -> None:
    client.call("getRuns")
    said = engine_process(shared.folder, "run", "--run", "elsewhere", "--model", script(tmp_path, DONE), "Go")
    assert said.returncode == 0, said.stderr
    assert client.wait("run/state", run="elsewhere", status=200)["answer"] == "Done."


def test_a_server_that_is_killed_leaves_a_run_that_goes_on(workspace_dir: Path, tmp_path: Path) -> None:
    model = script(tmp_path, "<sh>echo begun; sleep 600</sh>" + GO_ON, DONE)
    server = Server(workspace_dir)
    with server.client() as client:
        client.call("act", prompt="Wait", run="long", model=model, yolo=True, sandbox="off")
        client.wait("ui/render", run="long", channel=1)
        assert server.stop(signal.SIGKILL)[0] == -signal.SIGKILL
    with served(workspace_dir) as server, server.client() as client:
        assert client.call("getRun", run="long")["status"] == 102
        assert client.call("run/resume", run="long")["resumed"] is True
        state = client.wait("run/state", run="long", status=200)
        assert "interrupted" in json.dumps(state["history"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_and_leaves_the_run(
    workspace_dir: Path, tmp_path: Path, number: signal.Signals
) -> None:
    model = script(tmp_path, "<sh>echo begun; sleep 600</sh>" + GO_ON, DONE)
    server = Server(workspace_dir)
    with server.client() as client:
        client.call("act", prompt="Wait", run="long", model=model, yolo=True, sandbox="off")
        client.wait("ui/render", run="long", channel=1)
        assert server.stop(number) == (0, "")
    assert not (workspace_dir / ".engine" / "rpc.json").exists()
    with engine.open(database(workspace_dir), trust=True) as db:
        assert [row["run"] for row in db.rows("select run from resumable_runs")] == ["long"]


def test_a_unix_socket_is_private_and_taken_over_from_the_dead(workspace_dir: Path, tmp_path: Path) -> None:
    place = tmp_path / "s.sock"
    server = Server(workspace_dir, "--socket", str(place))
    assert str(place) in server.said
    assert os.stat(place).st_mode & 0o777 == 0o600
    with over(place) as client:
        assert client.call("ping") == {}
    second = engine_process(workspace_dir, "serve", "rpc", "--socket", str(place))
    assert (second.returncode, "already exists" in second.stderr) == (1, True)
    server.stop(signal.SIGKILL)
    with served(workspace_dir, "--socket", str(place)), over(place) as client:
        assert client.call("ping") == {}
    assert not place.exists()
    place.write_text("mine")
    assert engine_process(workspace_dir, "serve", "rpc", "--socket", str(place)).returncode == 1
    assert place.read_text() == "mine"
