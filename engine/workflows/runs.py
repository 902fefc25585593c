"""Workflows, in the Python API: start one, drive it, see how far its steps are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

from engine.arguments import expects
from engine.db.database import Row
from engine.handle import Handle

if TYPE_CHECKING:
    from os import PathLike

    from engine.contract import OnDriver, OnProposal, Options, Result, Run
    from engine.events import OnEvent

_CALLBACKS = dict.fromkeys(("on_event", "on_proposal", "on_driver"), "a function or None")


class WorkflowRuns(Handle):
    """An open engine file, with methods for runs of workflows. `engine.Database` is one."""

    @expects(run="a text or None", **_CALLBACKS)
    def run_workflow(
        self,
        workflow: str | PathLike[str],
        variables: Mapping[str, str] | None = None,
        *,
        run: str | None = None,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        on_driver: OnDriver | None = None,
        keep_output: str | PathLike[str] | None = None,
        **options: Unpack[Options],
    ) -> Result:
        """Run the steps of a workflow, each a run of its own, those that are ready at once; the last result is the answer.

        `workflow` is a file in YAML or JSON with comments, or the name of one that is found (`engine workflow list`).
        `variables` are its values by their names. `run` names the new run. The options and the callbacks are those of `run`
        and hold for all steps; the events of a step have the name of its run as `run`. Where a step fails, the status is 500
        and the reason names it; where one waits for a person, 202, and `resume` goes on. `accepted` is False where the
        result of a step was not accepted.

        Raises `NotFound` (404) for a workflow, model or folder that there is not, `ValidationError` (400) for all that is
        wrong with the text and for variables that are missing, and `Conflict` (409) for the name of a run that is there.
        """
        from engine.driving import results, runs
        from engine.processes.kept_output import opened as output_file

        from . import finding as workflows

        self.expect_no_transaction()
        with output_file(self, keep_output, run, options.get("root")) as kept:
            alias, loop, _ = workflows.start(self, workflow, variables, run, options)
            runs.drive(self, alias, on_event=on_event, on_proposal=on_proposal, on_driver=on_driver, kept=kept)
        return results.result(self, alias, loop)

    @expects(run="a text or None")
    def start_workflow(
        self,
        workflow: str | PathLike[str],
        variables: Mapping[str, str] | None = None,
        *,
        run: str | None = None,
        **options: Unpack[Options],
    ) -> Run:
        """Start a run of a workflow without driving it: `resume` does that. The arguments are those of `run_workflow`."""
        from engine.driving import results

        from . import finding as workflows

        alias, _, _ = workflows.start(self, workflow, variables, run, options)
        return results.run_row(self, alias)

    @expects(run="a text")
    def steps(self, run: str) -> list[Row]:
        """The steps of a run of a workflow in their order, rows of `step_list`; raises `NotFound` (404) for other runs."""
        from . import finding as workflows

        return workflows.steps(self, run)
