"""The Python API: start, drive, follow, abort, fork and purge runs; decide on proposals; query.

spec: @python_contract
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from engine.api.shared_handle import SharedHandle
from engine.arguments import expects
from engine.contract import NO_OUTPUT
from engine.db.database import Bindings, Row
from engine.handle import Provided
from engine.history.past import Past
from engine.history.seals import Seals
from engine.history.why import Reasons
from engine.replay.replays import Replays
from engine.tools.toolsets import own_tools
from engine.transfer.conversations import Conversations
from engine.transfer.run_files import RunFiles
from engine.workflows.runs import WorkflowRuns

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from engine.across.analysis import Analysis, Files
    from engine.api.streams import Stream
    from engine.contract import OnDriver, OnProposal, Options, Proposal, Result, Run, T
    from engine.events import Event, OnEvent
    from engine.models.protocol import Model
    from engine.tools.handoffs import Handoff
    from engine.tools.toolsets import Toolset

_T = TypeVar("_T")
_TEXT = "a text or None"
_CALLBACKS = dict.fromkeys(("on_event", "on_proposal", "on_driver"), "a function or None")


def _all_tools(options: Options) -> object:
    """The tools that the driver of a prompt needs: its own, and those of whom it may be handed over to."""
    if options.get("handoffs") is None:
        return options.get("tools")
    from engine.tools.handoffs import tools_of

    return tools_of(options.get("tools"), options["handoffs"])


class Database(Past, WorkflowRuns, RunFiles, Conversations, Seals, Reasons, Replays, SharedHandle):
    """An open engine file, with methods for its runs. `engine.open` makes it."""

    @expects(prompt="a text", run=_TEXT, **_CALLBACKS)
    def run(
        self,
        prompt: str,
        *,
        run: str | None = None,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        on_driver: OnDriver | None = None,
        keep_output: str | PathLike[str] | None = None,
        context: object = None,
        output: TypeForm[T] = NO_OUTPUT,
        **options: Unpack[Options],
    ) -> Result[T]:
        """Give `prompt` to a run, a new one unless `run` names one, and drive it until it ends or waits.

        `on_event` gets each `engine.Event`. `on_proposal` gets each open `engine.Proposal` and returns True to accept it,
        False to reject it, a text to answer with, or None to leave it open. `on_driver` gets the driver, whose `stop()`
        ends the driving from another thread: the status is 102 or 202 then, and `resume` goes on. `keep_output` is a file
        outside of the run's folder that gets every byte that shell commands print; of what it prints a run itself keeps
        the beginning and the end. `output` is the form of the answer: a type, such as a class of pydantic, a dataclass, a
        TypedDict, `list[str]` or a union, or a JSON Schema (in `engine.json_schema(…)` for type checkers). `Result.output`
        is the object then. An answer that does not fit goes back to the model with what is wrong; after the last attempt the
        status is 406.

        `context` is the app's object for its tools (`engine.Context.app`), by default that of `open`.

        Options; what is left out, or None, is left to the run, then to the setting, then to the default:

            model            a name, such as openai/NAME, or an object with the method `complete` of
                             `engine.models.protocol`; or a list of these: the next one goes on if one fails
            root             the folder that the run works in; without it no file is touched and no process runs
            project          the name of the project (default: that of the folder)
            mode             "act" (default), or "ask", which refuses what would change a file
            persona          the name of its persona, chosen when it starts
            system_prompt    what its system message says besides the persona, for this and later prompts; "" ends that
            task_prompt      what it says for this prompt alone
            temperature      sampling temperature, 0 to 2 (default: that of the run, the alias, then the setting); None: none
                             is sent, so that the model's own counts
            model_options    settings of the model for this prompt, a dict: top_p, top_k, max_output (tokens of an answer),
                             stop (a text or texts), seed, service_tier, and extra_body with a provider's own fields. A None
                             takes a setting of the alias away. What the provider does not take is a `ValidationError`
            effort           how hard the model thinks: none, minimal, low, medium, high, xhigh or max, for this and later
                             prompts (default: that of the alias, then the setting)
            context_limit    context window in tokens, at least 256 (default: that of the model)
            max_turns        turns after which the prompt ends at 499, at least 1 (default: setting max_loop_turns)
            max_seconds      seconds after which it ends at 499; 0: no limit (default: setting max_loop_seconds)
            max_cost         US dollars that it may cost, the runs below it included, before it ends at 499 (default: the
                             setting max_loop_cost). No call is made that could exceed it; the limits of a day and the file
                             (settings max_day_cost, max_file_cost) hold too
            max_tokens       the same in tokens of packets and answers (default: setting max_loop_tokens)
            max_calls        the same in calls of models (default: setting max_loop_calls)
            condense_ratio   share of the context at which old results are shown in short; 0: never (default: the setting)
            tools            the app's tools for this prompt: functions, toolsets, and names of tools and toolsets that
                             `open` was given; what is left out is hidden (default: all)
            narrow_tools     tools besides the core that the model is told of; 0: all (default: the setting)
            answer_cache     give an answer of before to nearly the same prompt (default: the setting)
            yolo             accept every proposal except questions (default: False)
            accept_edits     accept changes and removals of files (default: False)
            no_repo          the files of the project are not shown or read (default: False)
            no_web           tools that search or fetch are closed (default: False)
            no_interaction   tools that ask a person are closed (default: False)
            no_proposals     tools that need a decision are closed (default: False)
            no_processes     tools that run a command are closed (default: False)
            overwrite_unseen  files whose text the run has not seen may be overwritten (default: False)
            max_depth        levels of runs that its model may delegate to; 0: none (default: the setting)
            sandbox          of shell commands: "auto", "require" (run none without), "off", or the name of one
                             (default: $ENGINE_SANDBOX, then the setting)
            network          what shell commands in a sandbox reach: "all", or domains separated by commas (default: nothing)
            accept           what the result has to fulfil: a judge says whether it does, else the run tries again
            accept_command   a command line that has to exit with 0; it is decided on like any other, and comes first
            accept_attempts  results that are checked, at least 1; the last one is kept (default: setting accept_attempts)
            accept_model     the model that judges (default: setting judge_model, then that of the run)
            output_attempts  answers that are held against the form of `output`, at least 1 (default: the setting)
            fork             the run that the new one is forked from
            at               the turn of that run from which it is forked (default: as it is now)
            attachments      files for the prompt: paths, bytes or `engine.Picture`. Pictures, PDF and sounds (WAV, MP3)
                             reach models that take them; another model gets the text of a PDF. Other files are text
            handoffs         personas that the model may hand the prompt over to: `engine.Handoff`, or names

        Raises an `EngineError` where the run cannot be started or driven: `NotFound` (404) for an unknown model or folder,
        `ValidationError` (400) for an empty prompt, `Conflict` (409) while the run is driven or inside a transaction. The
        prompt is not stored then; `start` puts one in line behind those of a run that is driven. A loop that fails raises
        nothing; its status is in the result.
        """
        from engine.driving import results, runs
        from engine.processes.kept_output import opened as output_file

        self.expect_no_transaction()
        with output_file(self, keep_output, run or options.get("fork"), options.get("root")) as kept:
            alias, loop = runs.prompt_and_drive(
                self,
                prompt,
                run,
                {**options, "output": output},
                on_event=on_event,
                on_proposal=on_proposal,
                on_driver=on_driver,
                kept=kept,
                provided=Provided(context, own_tools(_all_tools(options))),
            )
        return results.result(self, alias, loop, output)

    async def run_async(
        self,
        prompt: str,
        *,
        run: str | None = None,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        keep_output: str | PathLike[str] | None = None,
        context: object = None,
        output: TypeForm[T] = NO_OUTPUT,
        **options: Unpack[Options],
    ) -> Result[T]:
        """`run` for asyncio: it works in a thread, with a connection of its own, and calls back there.

        Cancelling it stops the driving; `resume` goes on then.
        """
        self.expect_no_transaction()
        return await self._handles.drive(
            lambda db, watch: db.run(
                prompt,
                run=run,
                on_event=on_event,
                on_proposal=on_proposal,
                on_driver=watch,
                keep_output=keep_output,
                context=context,
                output=output,
                **options,
            )
        )

    @expects(prompt=_TEXT, run=_TEXT, on_proposal="a function or None")
    def stream(
        self,
        prompt: str | None = None,
        *,
        run: str | None = None,
        on_proposal: OnProposal | None = None,
        keep_output: str | PathLike[str] | None = None,
        context: object = None,
        output: TypeForm[T] = NO_OUTPUT,
        **options: Unpack[Options],
    ) -> Stream[T]:
        """Give `prompt` to a run as `run` does, and iterate over what happens: `for event in db.stream(prompt):`.

        With asyncio it is `async for event in db.stream(prompt):`. The events are those of `engine.stream_events`, one class
        each; the first is a `StartEvent`, the last an `EndEvent` with the `Result`. Without a prompt `run` is driven on as
        `resume` does it, which takes `max_turns`, `max_seconds`, `max_cost`, `max_tokens` and `max_calls`.

        Whoever leaves the loop cancels the prompt. The run is driven in a thread and waits for a reader that is slow. At a
        `ProposalEvent` the reader may call `resolve`; the stream goes on if something was decided, else it ends with the
        status 202. Options and errors are those of `run`; the errors are raised at the first event.
        """
        from engine.api.streams import Stream, beginning

        self.expect_no_transaction()
        given = {"on_proposal": on_proposal, "keep_output": keep_output, "context": context, "output": output}
        return Stream(self, beginning(prompt, run, options, **given))

    @expects(prompt="a text", run=_TEXT)
    def start(
        self, prompt: str, *, run: str | None = None, output: TypeForm[T] = NO_OUTPUT, **options: Unpack[Options]
    ) -> Run:
        """Give `prompt` to a run, a new one unless `run` names one, without driving it: `resume` does that, from anywhere.

        `loops` of what it returns is the number of this prompt, which `result` and `abort` take. The options and the errors
        are those of `run`. It may be called inside a transaction.
        """
        from engine.driving import prompts, results

        alias, loop = prompts.prompt(self, prompt, run, {**options, "output": output})
        return replace(results.run_row(self, alias), loops=loop)

    @expects(run="a text", **_CALLBACKS)
    def resume(
        self,
        run: str,
        *,
        max_turns: int | None = None,
        max_seconds: float | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        on_driver: OnDriver | None = None,
        keep_output: str | PathLike[str] | None = None,
        context: object = None,
        tools: Iterable[Callable[..., Any] | Toolset | str] | None = None,
        output: TypeForm[T] = NO_OUTPUT,
    ) -> Result[T]:
        """Drive a run on from its next step, after a `start`, a kill, an interruption or a decision.

        With `max_turns`, `max_seconds`, `max_cost`, `max_tokens` or `max_calls` its latest prompt, which a limit has
        stopped, is given once more with that limit. What a limit of the day or the file has stopped goes on without one, if
        that leaves something again.
        `output` is the type of the object in the result, as in `result`. The callbacks, `keep_output`
        and `context` are those of `run`. `tools` are functions and toolsets for this driving; what the prompt chose stays.
        Raises `NotFound` (404) for an unknown run, `Conflict` (409) while another process drives it, or for a limit where
        none has stopped its latest prompt.
        """
        from engine.driving import results, runs
        from engine.processes.kept_output import opened as output_file

        runs.extend(
            self,
            run,
            {
                "max_turns": max_turns,
                "max_seconds": max_seconds,
                "max_cost": max_cost,
                "max_tokens": max_tokens,
                "max_calls": max_calls,
            },
        )
        with output_file(self, keep_output, run) as kept:
            runs.drive(
                self,
                run,
                on_event=on_event,
                on_proposal=on_proposal,
                on_driver=on_driver,
                kept=kept,
                provided=Provided(context, own_tools(tools)),
            )
        return results.result(self, run, None, output)

    async def resume_async(
        self,
        run: str,
        *,
        max_turns: int | None = None,
        max_seconds: float | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        keep_output: str | PathLike[str] | None = None,
        context: object = None,
        tools: Iterable[Callable[..., Any] | Toolset | str] | None = None,
        output: TypeForm[T] = NO_OUTPUT,
    ) -> Result[T]:
        """`resume` for asyncio; cancelling it stops the driving, and another resume goes on."""
        self.expect_no_transaction()
        return await self._handles.drive(
            lambda db, watch: db.resume(
                run,
                max_turns=max_turns,
                max_seconds=max_seconds,
                max_cost=max_cost,
                max_tokens=max_tokens,
                max_calls=max_calls,
                on_event=on_event,
                on_proposal=on_proposal,
                on_driver=watch,
                keep_output=keep_output,
                context=context,
                tools=tools,
                output=output,
            )
        )

    @expects(run="a text", after="a whole number")
    def events(self, run: str, *, after: int = 0) -> Iterator[Event]:
        """The events of a run behind the one with the id `after`, and those that come, until all its prompts have ended.

        Whoever drives the run, here or in another process, it is followed live; while it waits for a decision this waits
        too. Events of type delta, thought, begin, progress, output and retry are told to `on_event` only. The `text` of an
        answer comes in pieces if this process drives the run, else when it has been stored. A client that comes back with
        the id of the last event that it saw misses none. Raises `NotFound` (404) for an unknown run.
        """
        from engine.api.following import follow

        return follow(self, run, after)

    @expects(run="a text", after="a whole number")
    def events_async(self, run: str, *, after: int = 0) -> AsyncIterator[Event]:
        """`events` for asyncio: `async for event in db.events_async(run):`. Those on one event loop share a handle."""
        from engine.api.following import follow_async

        self.value("select 1")  # raises where the file was closed
        return follow_async(self._handles, run, after)

    @expects(limit="a whole number or None")
    def runs(self, *, limit: int | None = None) -> list[Run]:
        """The runs of the file, the newest first; at most `limit` of them, 0 or more."""
        from engine.driving import results

        return results.run_rows(self, limit)

    @expects(run=_TEXT)
    def proposals(self, run: str | None = None) -> list[Proposal]:
        """The open proposals of `run`, or of all runs, the oldest first. Raises `NotFound` (404) for an unknown run."""
        from engine.driving import results

        return results.proposals(self, run)

    @expects(run="a text", loop="a whole number or None")
    def result(
        self,
        run: str,
        loop: int | None = None,
        *,
        output: TypeForm[T] = NO_OUTPUT,
    ) -> Result[T]:
        """How prompt number `loop` of a run stands, by default its latest. Raises `NotFound` (404) for an unknown one.

        `output` is the type of its `Result.output`, as the prompt was given it (default: the value of its JSON).
        """
        from engine.driving import results

        return results.result(self, run, loop, output)

    def give_model(self, model: Model) -> str:
        """Make a model object known to this handle, for runs that were started with it elsewhere; returns its name.

        Only an object with a text `name` can be known elsewhere: it is stored as `object:NAME`.
        """
        return self.app_models.add(model)

    @expects(run="a text", note="a text")
    def handoff(self, run: str, to: Handoff | str, *, note: str = "") -> None:
        """Hand the open prompt of `run` over to another persona, which goes on with it at the next `resume`.

        `to` is an `engine.Handoff`, with the model and the tools of the persona, or its name. `note` tells it what the log
        does not. Raises `NotFound` (404) for an unknown run or persona, `Conflict` (409) while the run is driven, waits for
        a decision, or has no open prompt.
        """
        from engine.driving.handoffs import hand_over
        from engine.tools.handoffs import handoffs_of

        hand_over(self, run, handoffs_of([to])[0], note)

    @expects(run="a text", reason="a text", loop="a whole number or None")
    def abort(self, run: str, reason: str = "aborted", *, loop: int | None = None) -> None:
        """End the active loop of `run` with status 499; queued prompts stay. Raises `NotFound` (404) for an unknown run.

        With `loop`, end that prompt, such as number `start(…).loops`: in line it will never begin, one that has ended stays
        as it ended. Who has just given a prompt cannot know whether it is active yet.
        """
        from engine.driving import runs

        runs.abort(self, run, reason, loop)

    @expects(run="a text", path=_TEXT, accept="True or False", body=_TEXT, reason=_TEXT, by="a text")
    def resolve(
        self,
        run: str,
        path: str | None = None,
        *,
        accept: bool,
        body: str | None = None,
        reason: str | None = None,
        by: str = "client",
    ) -> None:
        """Accept or reject the proposals under `path`, or all open ones of the run; whoever drives the run performs them.

        `body` is the answer to a question, or a text that replaces the proposed one. `reason` tells the model why. `by` is
        recorded as who decided. Raises `NotFound` (404) where nothing is proposed, `ValidationError` (400) for an empty
        name, for a question without an answer, and for a text where none is taken.
        """
        from engine.driving import runs

        runs.resolve(self, run, path, accept, body=body, reason=reason, by=by)

    @expects(query="a text")
    def sql(self, query: str, bindings: Bindings = ()) -> list[Row]:
        """The rows of one read-only statement, as dicts; raises `PermissionDenied` (403) for one that would write."""
        from engine.db.query import read_only_rows

        return read_only_rows(self, query, bindings)

    def analysis(self, files: Files = ()) -> Analysis:
        """This file and others, whose views queries read as one, with the column `file`; see `engine.analysis`."""
        from engine.across.analysis import Analysis

        others = [files] if isinstance(files, str | PathLike) else files
        return Analysis([self.path, *others])

    @expects(work="a function")
    async def call_async(self, work: Callable[[Database], _T]) -> _T:
        """`work(db)` in a thread, with a handle for it: `await db.call_async(lambda db: db.start("Hi", root="."))`.

        For asyncio: what writes may wait for whoever else writes to the file, and would hold up the event loop meanwhile.
        However many are called at once, their handles share at most four connections; `work` has one during a statement, and
        inside `with db.transaction():`.
        """
        self.expect_no_transaction()
        return await self._handles.call(work)
