"""`engine eval`: gives cases to models, checks their answers, and compares them with earlier ones.

spec: @evals @eval_verdicts
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.databases import database_or_fresh, open_to_write
from engine.cli.options import DbOption, JsonOption
from engine.functions.counts import counted
from engine.terminal.printing import one_line, print_json, print_table, say, visible

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row
    from engine.evals.suites import Suite

FAILED, REGRESSED = 1, 3
_CODES = {"passed": 0, "failed": FAILED, "regressed": REGRESSED, "open": FAILED}
_SCORES = """
    select
        coalesce("case", 'all cases') as "case", model, variant, passed || '/' || trials as passed,
        printf('%d%%', round(100 * rate)) as rate,
        printf('%d-%d%%', round(100 * low), round(100 * high)) as "95%",
        case when before is null then change else printf('%d%%', round(100 * before)) end as before,
        case when is_regression then 'REGRESSED' else coalesce(change, '') end as change,
        case when cost is null then '' else printf('$%.4f', cost) end as cost,
        printf('%.1f s', seconds) as seconds
    from eval_scores
    where eval = ?
    order by eval_scores."case" is null, "case", model, variant
"""


def evaluate(
    cases: Annotated[
        Path | None, typer.Argument(metavar="[CASES]", readable=False, help="The file of cases: YAML or JSON lines.")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", metavar="NAME", help="A model to try. May be repeated.")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option("--repeat", metavar="N", min=1, help="Try each case N times; default: 1.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", metavar="NAME", help="The model that judges the answers.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, max=100, help="Run at most N trials at the same time.")
    ] = 4,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="EVAL", help="Compare with this earlier evaluation: its number, or latest."),
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            "--fail-under", metavar="SHARE", min=0, max=1, help="The share of trials that must pass, from 0 to 1."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the evaluation that was interrupted.")] = False,
    show: Annotated[
        int | None, typer.Option("--show", metavar="EVAL", help="Show the results of an earlier evaluation.")
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Try cases with models, check the answers, and compare them with earlier results.

    Without CASES it lists earlier evaluations. The results are stored in the database. An interrupted evaluation
    continues with --resume; finished trials are not repeated. The file of cases can name Python functions, which run
    with your rights. The exit code is 0 if the evaluation passed and 1 if too few trials passed. It is 3 if a result
    is significantly worse than in the baseline.

    \b
    Examples:
      engine eval cases.yaml --model openai/gpt-5-mini --model local --repeat 5
      engine eval cases.yaml --baseline latest
      engine eval --resume
      engine eval --show 3
    """
    if show is not None or (cases is None and not resume):
        with database_or_fresh(db) as database:
            if show is None:
                _list(database, as_json=as_json)
            else:
                _print(database, show, as_json=as_json)
        return
    from engine.evals.running import Evaluation, begin, unfinished
    from engine.evals.suites import read_suite

    suite = None if resume else _with_options(read_suite(cases or Path()), model, repeat, judge)
    with open_to_write(db) as database:
        if suite is not None:
            number = begin(database, suite, baseline=baseline, fail_under=fail_under)
        else:
            number = unfinished(database, cases.stem if cases else None)
        left = database.value("select trials - ended from eval_verdicts where eval = ?", (number,))
        say(f"evaluation {number}: {counted(left, 'trial')}, {min(concurrency, left)} at once")
        try:
            verdict = Evaluation(database, number, None if as_json else _tell).carry_out(concurrency)
        except KeyboardInterrupt:
            say("interrupted; to continue: engine eval --resume", "yellow")
            raise
        _print(database, number, as_json=as_json)
    if code := _CODES[verdict["verdict"]]:
        raise typer.Exit(code)


def _with_options(suite: Suite, models: list[str] | None, repeat: int | None, judge: str | None) -> Suite:
    suite.models = models or suite.models
    suite.repeat = repeat or suite.repeat
    suite.judge = judge or suite.judge
    return suite


def _tell(row: Row) -> None:
    """A line for a trial that failed."""
    if row["state"] == "failed":
        where = " ".join(str(row[name]) for name in ("case", "model", "variant") if row[name])
        say(f"failed: {visible(where)} #{row['repetition']}: {one_line(row['reason'])}")


def _print(database: Database, number: int, *, as_json: bool) -> None:
    from engine.errors import NotFound

    verdict = database.row("select * from eval_verdicts where eval = ?", (number,)) if database.has("evals") else None
    if verdict is None:
        raise NotFound(f"evaluation {number}: not found; 'engine eval' lists them")
    if as_json:
        scores = database.rows("select * from eval_scores where eval = ?", (number,))
        results = database.rows("select * from eval_results where eval = ?", (number,))
        print_json({**verdict, "scores": scores, "results": results})
        return
    rows = database.rows(_SCORES, (number,))
    empty = {name for name in ("model", "variant", "before", "change", "cost") if not any(row[name] for row in rows)}
    print_table(rows, _without(rows[0] if rows else (), empty), "no trial has ended", spared=("seconds", "cost"))
    before = f", compared with evaluation {verdict['baseline']}" if verdict["baseline"] else ""
    say(f"evaluation {number} {verdict['verdict']}: {verdict['passed']} of {verdict['trials']} passed{before}")


def _without(names: Iterable[Any], empty: set[str]) -> list[str]:
    return [name for name in names if name not in empty]


def _list(database: Database, *, as_json: bool) -> None:
    rows = database.rows("select * from eval_verdicts order by eval desc") if database.has("evals") else []
    if as_json:
        print_json(rows)
        return
    columns = ("eval", "suite", "verdict", "passed", "trials", "baseline", "cost", "created_at")
    print_table(rows, columns, "no evaluation yet; begin one: engine eval cases.yaml", spared=("created_at", "cost"))
