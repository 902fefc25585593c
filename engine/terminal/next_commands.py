"""Says which command goes on with a run, decides on what it waits for, or gives it another prompt."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from engine.functions.counts import counted

from .hints import db_flag
from .printing import say, shown_path
from .proposals import option_lines, show_proposal

if TYPE_CHECKING:
    from engine.api.database import Database


QUEUED = "select count(*) from open_prompts where run = ? and status = 100"
"""The prompts that an abort has left."""


_STOPPED = """
    select s.stopped_by, s.more
    from stopped_prompts as s
    join runs as r on r.alias = s.run and r.role = 'main'
    where s.run = :run and s.loop = coalesce(:loop, r.next_loop - 1) and s.loop = r.next_loop - 1
    union all
    select 'rejection', null
    from loop_list as o
    join runs as r on r.alias = o.run and r.role = 'main'
    where o.run = :run and o.loop = coalesce(:loop, r.next_loop - 1) and o.loop = r.next_loop - 1 and o.status = 403
"""


def say_nothing_to_resume(db: Database, run: str | None, given: Path | None) -> None:
    """Say that there is nothing to resume, and which command goes on with `run`, or with any run."""
    if run is None:
        say(f"nothing to resume; to give a run another prompt: engine run{db_flag(given)} --run NAME PROMPT")
        return
    say(f"run {run}: nothing to resume, because its latest prompt has ended")
    if not say_how_to_continue(db, run, None, given):
        say(f'Continue: engine run{db_flag(given)} --run {run} "what to do next"', "yellow")


def say_how_to_continue(db: Database, run: str, loop: int | None, given: Path | None) -> bool:
    """Name the command that goes on with a prompt that a limit or a rejection has stopped; False: nothing has."""
    stopped = db.row(_STOPPED, {"run": run, "loop": loop})
    if stopped is None:
        return False
    match stopped["stopped_by"]:
        case "turns":
            how = f"resume{db_flag(given)} {run} --max-turns {stopped['more']}"
        case "clock":
            how = f"resume{db_flag(given)} {run} --max-seconds {stopped['more']:g}"
        case "max_cost" | "max_tokens" | "max_calls" as limit if stopped["more"]:
            how = f"resume{db_flag(given)} {run} --{limit.replace('_', '-')} {stopped['more']:.15g}"
        case str(limit) if stopped["more"] and limit not in ("strikes", "rejection"):
            how = f"config{db_flag(given)} {limit}={stopped['more']:.15g} && engine resume{db_flag(given)} {run}"
        case _:
            how = f'run{db_flag(given)} --run {run} "what to do differently"'
    say(f"Continue: engine {how}", "yellow")
    return True


def say_how_to_go_on(db: Database, run: str, given: Path | None) -> None:
    """Name the command that goes on with an interrupted run, and say what it begins with."""
    step = db.value("select step from _next_steps where run = ?", (run,))
    begins = {
        "ask": " before the answer arrived; the model will be asked again",
        "wait": "; the question of the run is still open",
    }
    behind = db.value(QUEUED, (run,))
    line = f"; {counted(behind, 'prompt is', 'prompts are')} queued" if behind else ""
    say(f"interrupted{begins.get(step, '')}{line}; to continue: engine resume{db_flag(given)} {run}", "yellow")


def say_how_to_resolve(db: Database, run: str, given: Path | None) -> None:
    """Show the open proposals of a run, with the commands that decide on them."""
    proposals = db.proposals(run)
    paths = [proposal["path"] for proposal in proposals]
    flag = db_flag(given)
    if not proposals:
        say(f"no proposal is open; to continue: engine resume{flag} {run}")
        return
    say(f"{run} waits for {len(proposals)} decision{'s' if len(proposals) > 1 else ''}:")
    for proposal in proposals:
        say()
        show_proposal(proposal)
        for each in option_lines(proposal):
            say(f"  {each}")
        # of a path that two runs of the tree have, the run is named
        named = run if paths.count(proposal["path"]) == 1 else proposal["run"]
        where = f"{flag} {named} {shlex.quote(shown_path(proposal['path']))}"
        answer = " --answer TEXT" if proposal["kind"] == "question" else ""
        say(f"  engine accept{where}{answer} --continue\n  engine reject{where} --reason WHY --continue")
