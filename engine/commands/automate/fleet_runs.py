"""`engine fleet run` and `resume`: carry out many tasks, each with a database of its own.

spec: @fleet_run
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.completion import complete_model
from engine.cli.options import JsonOption
from engine.functions.counts import counted
from engine.terminal.exit_codes import FAILED, INTERRUPTED
from engine.terminal.printing import print_json, say, visible

if TYPE_CHECKING:
    from engine.fleet.manifest import Manifest, Row

ManifestArgument = Annotated[
    Path, typer.Argument(metavar="MANIFEST", readable=False, help="The manifest that 'engine fleet run' made.")
]
_Concurrency = Annotated[
    int | None,
    typer.Option("--concurrency", metavar="N", min=1, max=1_000, help="How many tasks run at once; default: 4."),
]
_Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, max=256, help="Worker processes; default: one for each core."),
]
_MaxCost = Annotated[
    float | None, typer.Option("--max-cost", metavar="USD", min=0, help="The most that all tasks together may cost.")
]
_Ray = Annotated[
    str | None, typer.Option("--ray", metavar="ADDRESS", help="Run the workers on Ray: an address, or local.")
]
_RATE = "KEY=REQUESTS[,TOKENS]"


def run(
    tasks: Annotated[Path, typer.Argument(metavar="TASKS", readable=False, help="A file of tasks as JSON lines.")],
    files: Annotated[
        str, typer.Option("--files", metavar="PATTERN", help="The database of a task, such as out/{id}.db.")
    ],
    roots: Annotated[
        str | None,
        typer.Option(
            "--root-template", metavar="PATTERN", help="The folder of a task, such as work/{id}; made if needed."
        ),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option("--manifest", metavar="FILE", readable=False, help="The manifest; default: TASKS with .fleet.db."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="NAME", help="The model of tasks that name none.", autocompletion=complete_model
        ),
    ] = None,
    concurrency: _Concurrency = None,
    workers: _Workers = None,
    max_cost: _MaxCost = None,
    call_cost: Annotated[
        float | None,
        typer.Option("--call-cost", metavar="USD", min=0, help="With --max-cost: what one model call costs at most."),
    ] = None,
    max_output: Annotated[
        int,
        typer.Option("--max-output", metavar="N", min=1, help="With --max-cost: tokens that one answer has at most."),
    ] = 8_192,
    rate: Annotated[
        list[str] | None,
        typer.Option("--rate", metavar=_RATE, help="Calls and tokens a minute for a provider. May be repeated."),
    ] = None,
    yolo: Annotated[bool, typer.Option("--yolo", help="Accept every proposal of every task.")] = False,
    ray: _Ray = None,
    as_json: JsonOption = False,
) -> None:
    """Carry out many tasks, each in a database of its own, with worker processes.

    A line of TASKS is an object with an id and a prompt, a workflow or an eval, and perhaps model, root, vars and
    options. The manifest is a SQLite file. It records who works on which task, all attempts, results and costs. After
    an interruption or a kill, 'engine fleet resume' continues. Failed tasks are tried again if that can help. The exit
    code is 1 if a task failed.

    \b
    Examples:
      engine fleet run tasks.jsonl --files 'out/{id}.db' --model openai/gpt-5-mini
      engine fleet run tasks.jsonl --files 'out/{id}.db' --root-template 'work/{id}' --yolo --concurrency 16
      engine fleet run tasks.jsonl --files 'out/{id}.db' --max-cost 20 --rate openai=500,200000
    """
    from engine.fleet.manifest import Manifest
    from engine.fleet.rates import read_rates
    from engine.fleet.tasks import expect_new, read_tasks
    from engine.models.availability import absolute_model

    options: dict[str, Any] = {"model": absolute_model(model)} if model else {}
    options |= {"yolo": True} if yolo else {}
    read = read_tasks(tasks, files, roots, options)
    expect_new(read)
    path = manifest or tasks.with_suffix(".fleet.db")
    settings = {
        "files": files,
        "roots": roots,
        "concurrency": concurrency or 4,
        "max_cost": max_cost,
        "call_cost": call_cost,
        "max_output": max_output,
        "options": "{}",
    }
    with Manifest.make(path, settings, read, read_rates(rate or ())) as made:
        say(f"{visible(str(path))}: {counted(len(read), 'task')}")
        _drive(made, concurrency or 4, workers, ray, as_json=as_json)


def resume(
    manifest: ManifestArgument,
    concurrency: _Concurrency = None,
    workers: _Workers = None,
    max_cost: _MaxCost = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Also retry failed tasks.")] = False,
    trust: Annotated[bool, typer.Option("--trust", help="Carry out a manifest from elsewhere.")] = False,
    ray: _Ray = None,
    as_json: JsonOption = False,
) -> None:
    """Continue a fleet that was stopped or killed, or that has spent its --max-cost.

    Interrupted runs continue, and finished tasks are not repeated. --max-cost sets another ceiling.

    \b
    Examples:
      engine fleet resume tasks.fleet.db
      engine fleet resume tasks.fleet.db --max-cost 40
      engine fleet resume tasks.fleet.db --retry-failed
    """
    from engine.fleet.running import prepared

    with prepared(manifest, trust=trust) as found:
        if max_cost is not None:
            found.execute("update fleet set max_cost = ?", (max_cost,))
        if concurrency is not None:
            found.execute("update fleet set concurrency = ?", (concurrency,))
        if retry_failed:
            found.call("_retry_failed", name=None)
        _drive(found, found.value("select concurrency from fleet"), workers, ray, as_json=as_json)


def _drive(manifest: Manifest, concurrency: int, workers: int | None, ray: str | None, *, as_json: bool) -> None:
    import os

    from engine.fleet.executors import executor
    from engine.fleet.running import Fleet
    from engine.terminal.interrupt import Interrupt

    from .fleet_table import live_table

    fleet = Fleet(manifest, executor(ray), concurrency, workers or os.cpu_count() or 1)
    with Interrupt() as interrupt, live_table(manifest) as show:
        interrupt.take(fleet)
        status = fleet.run(show)
    if as_json:
        print_json(status)
    say(_ended(manifest, status))
    if interrupt.struck:
        raise typer.Exit(INTERRUPTED)
    if status["failed"] or not status["is_over"]:
        raise typer.Exit(FAILED)


def _ended(manifest: Manifest, status: Row) -> str:
    path = visible(str(manifest.path))
    counts = ", ".join(f"{status[name]} {name}" for name in ("done", "failed", "cancelled") if status[name])
    cost = f", ${status['cost']:.4f}" if status["cost"] else ""
    if status["is_at_ceiling"] and not status["is_over"]:
        rest = (
            f"The next call might go above the ceiling of ${status['max_cost']:g}. Continue: engine fleet resume {path}"
        )
        return f"{counts or 'nothing done'}{cost}. {rest} --max-cost USD"
    if not status["is_over"]:
        return f"{counts or 'nothing done'}{cost}. Continue: engine fleet resume {path}"
    failed = f". Reasons: engine fleet logs {path} --failed" if status["failed"] else ""
    return f"{counts}{cost}. Results: engine fleet collect {path}{failed}"
