"""`engine trace`: what took how long in a run, and its spans for an OpenTelemetry collector.

spec: @tracing
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.functions.counts import counted
from engine.terminal.printing import print_json_text, print_table, say

if TYPE_CHECKING:
    from engine.tracing.rows import Span

app = typer.Typer(rich_markup_mode=None)

_MOST_AT_ONCE = 500


@app.callback(invoke_without_command=True)
def trace(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Show how long each step of a run took, and send it to an OpenTelemetry collector.

    To send traces while runs work, set ENGINE_TRACE=on. Set OTEL_EXPORTER_OTLP_ENDPOINT to the address of the
    collector, and OTEL_EXPORTER_OTLP_HEADERS to its headers. ENGINE_TRACE=content also sends prompts, answers and
    arguments.

    \b
    Examples:
      engine trace
      engine trace list demo
      engine trace export demo --endpoint http://localhost:4318
    """
    if is_alone(context, as_json, db):
        list_(as_json=as_json, db=db)


@app.command("list")
def list_(run: RunArgument = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the steps of a run with their duration: prompts, turns, model calls, tool calls and waits. Steps that have
    not ended are left out.

    \b
    Examples:
      engine trace list
      engine trace list demo --json
    """
    spans = _spans(run, db, content=False)
    if as_json:
        for span in spans:
            print_json_text(json.dumps(_told(span), ensure_ascii=False))
        return
    rows = [
        {"span": span.name, "seconds": f"{(span.ended_at - span.started_at) / 1000:.3f}", "error": span.error or ""}
        for span in sorted(spans, key=lambda span: (span.started_at, -span.ended_at))
    ]
    print_table(rows, ("seconds", "error", "span"), "nothing has ended in this run yet")


@app.command("export")
def export(
    run: RunArgument = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            "--endpoint", metavar="URL", help="The address of the collector; default: $OTEL_EXPORTER_OTLP_ENDPOINT."
        ),
    ] = None,
    content: Annotated[bool, typer.Option("--content", help="Also send prompts, answers and arguments.")] = False,
    db: DbOption = None,
) -> None:
    """Send the trace of a run and its child runs to an OpenTelemetry collector, by OTLP over HTTP.

    You can send a trace twice: its spans keep their ids, so the collector stores one trace. The command needs the
    extra otel.

    \b
    Examples:
      engine trace export
      engine trace export demo --endpoint http://localhost:4318 --content
    """
    import logging

    from engine.errors import EngineError
    from engine.tracing.sending import exporter_to, readable, resource

    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())  # what failed is said below
    exporter, of = exporter_to(endpoint), resource()
    spans = _spans(run, db, content=content)
    for at in range(0, len(spans), _MOST_AT_ONCE):
        if exporter.export(readable(spans[at : at + _MOST_AT_ONCE], of)).name != "SUCCESS":
            where = endpoint or "the collector of OTEL_EXPORTER_OTLP_ENDPOINT"
            raise EngineError(f"{where} did not accept the trace; check that a collector listens there", 502)
    exporter.shutdown()
    say(f"{counted(len(spans), 'span')} sent" if spans else "nothing has ended in this run yet")


def _spans(run: str | None, db: DbOption, *, content: bool) -> list[Span]:
    from engine.tracing.rows import ended_spans

    with open_to_read(db) as database:
        return list(ended_spans(database, run_or_latest(database, run), tree=True, texts=content))


def _told(span: Span) -> dict[str, object]:
    told = asdict(span)
    del told["key"]
    return told


__all__ = ["app"]
