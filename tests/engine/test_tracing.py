"""Traces, as a collector gets them by OTLP over HTTP.

1. A run is sent live: prompt, turns, model calls, tools and waits, each in its place, by the conventions. 2. Afterwards the
file sends the same spans with the same ids, those of child runs in the same trace. 3. What was said is sent on request
only. 4. A collector that is gone holds up no run, and a run without a tracer imports nothing.

spec: @tracing @spans
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from delegating import Cast, gives
from driving import DONE, GO_ON, script
from engine_cli import engine as command_line
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import engine
from engine.tracing.live import Tracer

SECRET = "the launch code is 4711"
ECHO = f"<sh>echo hello</sh>{GO_ON}"


class Collector:
    """A collector on loopback: what it got, by the names of the spans."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                assert self.path == "/v1/traces"
                collector.bodies.append(body)
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self) -> list[Any]:
        """All spans that came, in their order."""
        found = []
        for body in self.bodies:
            request = ExportTraceServiceRequest.FromString(body)
            found += [span for each in request.resource_spans for scope in each.scope_spans for span in scope.spans]
        return found

    def told(self) -> dict[bytes, tuple[Any, ...]]:
        """By id, what a backend would keep of each span."""
        return {
            span.span_id: (
                span.trace_id,
                span.parent_span_id,
                span.name,
                span.kind,
                span.start_time_unix_nano,
                span.end_time_unix_nano,
                span.status.code,
                json.dumps(attributes(span), sort_keys=True),
            )
            for span in self.spans()
        }


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.server.shutdown()
    collector.server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    def value(given: Any) -> Any:
        kind = given.WhichOneof("value")
        found = getattr(given, kind)
        return [value(each) for each in found.values] if kind == "array_value" else found

    return {each.key: value(each.value) for each in span.attributes}


def by_name(spans: list[Any]) -> dict[str, Any]:
    return {span.name: span for span in spans}


def traced(collector: Collector, **options: Any) -> Tracer:
    return Tracer(OTLPSpanExporter(endpoint=f"{collector.url}/v1/traces"), **options)


def opened(folder: Path, tracer: Tracer | None = None) -> engine.Database:
    return engine.open(folder / "t.db", tracer=tracer)


def approve(proposal: engine.Proposal) -> bool:
    return True


# 1. live


def test_a_run_is_sent_while_it_is_driven(collector: Collector, workspace_dir: Path, tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4, "cost": 0.5}
    model = script(tmp_path, {"text": ECHO, "usage": usage}, {"text": DONE, "usage": usage})
    tracer = traced(collector)
    with opened(tmp_path, tracer) as db:
        db.run(SECRET, run="demo", model=model, root=workspace_dir, on_proposal=approve)
    tracer.close()
    spans = by_name(collector.spans())
    name = model.replace("scripted:", "")
    assert set(spans) == {
        "invoke_agent default",
        "turn 1",
        "turn 2",
        f"chat {name}",
        "execute_tool sh",
        "wait for decision",
    }
    prompt, turn, tool, wait = (
        spans[each] for each in ("invoke_agent default", "turn 1", "execute_tool sh", "wait for decision")
    )
    assert prompt.parent_span_id == b""
    assert turn.parent_span_id == prompt.span_id
    assert tool.parent_span_id == turn.span_id
    assert wait.parent_span_id == tool.span_id
    assert {span.trace_id for span in collector.spans()} == {prompt.trace_id}
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in collector.spans())
    chat = attributes(spans[f"chat {name}"])
    assert chat["gen_ai.operation.name"] == "chat"
    assert (chat["gen_ai.provider.name"], chat["gen_ai.request.model"]) == ("scripted", name)
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (10, 5)
    assert chat["gen_ai.usage.cache_read.input_tokens"] == 4
    assert chat["gen_ai.response.finish_reasons"] == ["stop"]
    assert chat["engine.cost"] == 0.5
    assert attributes(prompt)["gen_ai.usage.input_tokens"] == 20
    assert attributes(prompt)["gen_ai.conversation.id"] == attributes(turn)["gen_ai.conversation.id"] != ""
    assert attributes(tool)["gen_ai.tool.name"] == "sh"
    assert attributes(wait)["engine.decided_by"] == "callback"
    assert spans[f"chat {name}"].kind == 3


def test_failures_have_a_status_and_a_type(collector: Collector, tmp_path: Path) -> None:
    tracer = traced(collector)
    model = script(tmp_path, f'<get path="known://nothing"/>{GO_ON}', {"error": {"status": 401}})
    with opened(tmp_path, tracer) as db:
        db.run("Do", run="demo", model=model)
    tracer.close()
    failed = {span.name: attributes(span)["error.type"] for span in collector.spans() if span.status.code == 2}
    assert failed["execute_tool get"] == "not_found"
    assert failed["invoke_agent default"] == "failed"
    assert "401" in failed.values()


# 2. afterwards


def test_the_file_sends_the_same_trace_afterwards(collector: Collector, workspace_dir: Path, tmp_path: Path) -> None:
    tracer = traced(collector)
    with opened(tmp_path, tracer) as db:
        model = script(tmp_path, ECHO, DONE)
        db.run("Echo", run="demo", model=model, root=workspace_dir, on_proposal=approve)
    tracer.close()
    live = collector.told()
    collector.bodies.clear()
    done = command_line(tmp_path, "trace", "export", "demo", "--endpoint", collector.url, "--db", "t.db")
    assert (done.returncode, done.stderr) == (0, f"{len(live)} spans sent\n")
    assert collector.told() == live
    assert len(live) == 7


def test_child_runs_are_part_of_the_trace(collector: Collector, tmp_path: Path) -> None:
    tracer = traced(collector)
    with opened(tmp_path, tracer) as db:
        db.run("Split", run="demo", model=Cast({"demo": [gives("First", "Second")]}), max_depth=1)
    tracer.close()
    spans = collector.spans()
    assert len({span.trace_id for span in spans}) == 1
    tools = {span.span_id for span in spans if span.name == "execute_tool subtask"}
    prompts = [span for span in spans if span.name.startswith("invoke_agent")]
    assert {span.parent_span_id for span in prompts} == {b"", *tools}
    assert len(tools) == 2
    live = collector.told()
    collector.bodies.clear()
    command_line(tmp_path, "trace", "export", "demo", "--endpoint", collector.url, "--db", "t.db")
    assert collector.told() == live


def test_each_span_is_sent_once_however_often_a_run_goes_on(collector: Collector, tmp_path: Path) -> None:
    tracer = traced(collector)
    with opened(tmp_path, tracer) as db:
        for _ in range(3):
            db.run("Do", run="demo", model=script(tmp_path, DONE, DONE, DONE))
    tracer.close()
    ids = [span.span_id for span in collector.spans()]
    assert len(ids) == len(set(ids)) == 9


def test_a_list_needs_no_collector(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        db.run("Do", run="demo", model=script(tmp_path, DONE))
    told = command_line(tmp_path, "trace", "list", "--json", "--db", "t.db").stdout
    spans = [json.loads(line) for line in told.splitlines()]
    assert {span["kind"] for span in spans} == {"prompt", "turn", "model call"}
    assert all(len(span["trace_id"]) == 32 and len(span["span_id"]) == 16 for span in spans)
    shown = command_line(tmp_path, "trace", "--db", "t.db").stdout
    assert "invoke_agent default" in shown


# 3. what was said


@pytest.mark.parametrize("content", [False, True])
def test_what_was_said_is_sent_on_request_only(
    collector: Collector, workspace_dir: Path, tmp_path: Path, content: bool
) -> None:
    tracer = traced(collector, content=content)
    model = script(tmp_path, f"{SECRET} <sh>echo '{SECRET}'</sh>{GO_ON}", f'<update status="200">{SECRET}</update>')
    with opened(tmp_path, tracer) as db:
        run = db.run(SECRET, model=model, root=workspace_dir, yolo=True).run
    assert "4711" in run
    tracer.close()
    extra = ("--content",) if content else ()
    command_line(tmp_path, "trace", "export", *extra, "--endpoint", collector.url, "--db", "t.db")
    bodies = b"".join(collector.bodies)
    assert bodies
    assert (b"4711" in bodies) is content
    if content:
        prompt = attributes(by_name(collector.spans())["invoke_agent default"])
        (message,) = json.loads(prompt["gen_ai.input.messages"])
        assert prompt["engine.run"] == run
        assert message == {"role": "user", "parts": [{"type": "text", "content": SECRET}]}
        assert json.loads(prompt["gen_ai.output.messages"])[0]["parts"][0]["content"] == SECRET


# 4. without


def test_a_collector_that_is_gone_is_told_and_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        assert db.run("Do", run="demo", model=script(tmp_path, DONE)).status == 200
    env = {"OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    words = ("trace", "export", "--endpoint", "http://127.0.0.1:9", "--db", "t.db")
    done = command_line(tmp_path, *words, env=env)
    assert done.returncode == 1
    assert "did not accept the trace" in done.stderr
    refused = command_line(tmp_path, "trace", "export", "--endpoint", "nonsense", "--db", "t.db")
    assert (refused.returncode, "not the address" in refused.stderr) == (2, True)


def test_the_variable_asks_for_traces(collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_TRACE", "on")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    with opened(tmp_path) as db:
        db.run("Do", run="demo", model=script(tmp_path, DONE))
    assert len(collector.spans()) == 3


def test_a_run_without_a_tracer_imports_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, engine\n"
        f"with engine.open({str(tmp_path / 't.db')!r}) as db:\n"
        f"    db.run('Do', model={script(tmp_path, DONE)!r})\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'engine.tracing', 'google'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[]\n"
