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
        """Send `prompt` to a run, by default a new one; return when it has answered or waits for a decision.

        `on_event` gets each `engine.Event`. `on_proposal` gets each open `engine.Proposal`. It returns True to accept
        it, False to reject it, a text to answer with, or None to leave it open. `on_driver` gets the driver. Its
        `stop()`, called from another thread, stops the work; then the status is 102 or 202, and `resume` continues the
        run. `keep_output` is a file outside of the run's folder, to which the complete output of shell commands is
        appended. `output` is the type of the answer: a class of pydantic, a dataclass, a TypedDict, `list[str]`, a
        union, or a JSON Schema (in `engine.json_schema(…)` for type checkers). `Result.output` is the object. If an
        answer does not fit, the model reads the faults and tries again. After the last attempt the status is 406.

        `context` is the app's object for its tools (`engine.Context.app`); default: the `context` of `open`.

        Options; if an option is None or left out, the value of the run counts, then the setting, then the default:

            model            a name, such as openai/NAME, or an object with the method `complete` of
                             `engine.models.protocol`; or a list of these: if a model fails, the next is asked
            root             the working folder; without it the run has no files and no shell commands
            project          the name of the project (default: that of the folder)
            mode             "act" (default), or "ask", which cannot change files
            persona          the name of the persona, chosen when the run starts
            system_prompt    text added to the system message, for this prompt and later ones; "" removes it
            task_prompt      text added to the system message for this prompt only
            temperature      sampling temperature, 0 to 2 (default: that of the run, then the alias, then the setting). None:
                             no temperature is sent, so the model uses its own
            model_options    settings of the model for this prompt, a dict: top_p, top_k, max_output (tokens of an answer),
                             stop (a text or texts), seed, service_tier, and extra_body with a provider's own fields. None
                             removes a setting of the alias. An option that the provider does not support is a
                             `ValidationError`
            effort           how hard the model thinks: none, minimal, low, medium, high, xhigh or max, for this and
                             later prompts (default: that of the alias, then the setting)
            context_limit    context window in tokens, at least 256 (default: that of the model)
            max_turns        turns after which the prompt is stopped with 499, at least 1 (default: setting
                             max_loop_turns)
            max_seconds      seconds after which it is stopped with 499; 0: no limit (default: setting max_loop_seconds)
            max_cost         most US dollars that the prompt and its child runs may cost, before it is stopped with 499
                             (default: setting max_loop_cost). No call is made that could exceed it. The limits of the
                             settings max_day_cost and max_file_cost apply, too
            max_tokens       the same limit in tokens of packets and answers (default: setting max_loop_tokens)
            max_calls        the same limit in calls of models (default: setting max_loop_calls)
            condense_ratio   summarize old results if a packet fills more than this share; 0: never (default: the
                             setting)
            tools            the app's tools for this prompt: functions, toolsets, and names of tools and toolsets that
                             `open` was given; the others are hidden (default: all)
            narrow_tools     number of tools that the model sees besides the core tools; 0: all (default: the setting)
            answer_cache     reuse the answer to a nearly equal prompt (default: the setting)
            yolo             accept every proposal except questions (default: False)
            accept_edits     accept changes and removals of files (default: False)
            no_repo          hide the files of the project (default: False)
            no_web           close the tools that search the web or fetch pages (default: False)
            no_interaction   close the tools that ask a person (default: False)
            no_proposals     close the tools that need a decision (default: False)
            no_processes     close the tools that run commands (default: False)
            overwrite_unseen  let the run overwrite files that it has not read (default: False)
            max_depth        how many levels deep the run may delegate; 0: not at all (default: the setting)
            sandbox          of shell commands: "auto", "require" (no command without a sandbox), "off", or a name
                             (default: $ENGINE_SANDBOX, then the setting)
            network          what shell commands in a sandbox may reach: "all", or domains separated by commas (default:
                             nothing)
            accept           criteria for the result, checked by a judge; if they are not met, the run tries again
            accept_command   a command line that must exit with 0; it runs before the judge, and needs a decision like
                             any other
            accept_attempts  how many results are checked, at least 1; the last is kept (default: setting
                             accept_attempts)
            accept_model     the model of the judge (default: setting judge_model, then the model of the run)
            output_attempts  how many answers are compared with `output`, at least 1 (default: the setting)
            fork             the run to copy
            at               the turn at which it is copied (default: as it is now)
            attachments      files for the prompt: paths, bytes or `engine.Picture`. Pictures, PDFs and sounds (WAV,
                             MP3) are sent to models that accept them; other models get the text of a PDF. All other
                             files must be text
            handoffs         personas that the model may hand the prompt over to: `engine.Handoff`, or names
            fallback_models  the models that are asked if `model` fails, one after the other

        Raises an `EngineError` if the run cannot start: `NotFound` (404) for an unknown model or folder,
        `ValidationError` (400) for an empty prompt, `Conflict` (409) inside a transaction or if another driver works
        on the run. Then the prompt is not stored; to queue it anyway, use `start`. If the prompt itself fails, nothing
        is raised, and the status is in the result.
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
        """`run` for asyncio. It works in a thread with a connection of its own, and calls the callbacks there.

        If the task is cancelled, the work stops, and `resume` continues the run.
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
        """Send `prompt` to a run, and yield the events of its work: `for event in db.stream(prompt):`.

        With asyncio it is `async for event in db.stream(prompt):`. The events are those of `engine.stream_events`, one
        class each; the first is a `StartEvent`, the last an `EndEvent` with the `Result`. Without a prompt it
        continues `run` as `resume` does, with the same limits (`max_turns`, `max_seconds`, `max_cost`, …).

        If you leave the loop, the prompt is cancelled. The run works in a thread and waits for a slow reader. At a
        `ProposalEvent` you may call `resolve`. If you decide, the stream continues; otherwise it ends with the status
        202. Options and errors are the same as in `run`; errors are raised at the first event.
        """
        from engine.api.streams import Stream, beginning

        self.expect_no_transaction()
        given = {"on_proposal": on_proposal, "keep_output": keep_output, "context": context, "output": output}
        return Stream(self, beginning(prompt, run, options, **given))

    @expects(prompt="a text", run=_TEXT)
    def start(
        self, prompt: str, *, run: str | None = None, output: TypeForm[T] = NO_OUTPUT, **options: Unpack[Options]
    ) -> Run:
        """Queue `prompt` for a run, without working on it. `resume` works on it, in any process.

        `loops` of the returned `Run` is the number of this prompt, for `result` and `abort`. Options and errors are
        the same as in `run`. You may call it inside a transaction.
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
        """Continue a run after a `start`, a kill, an interruption or a decision.

        If a limit has stopped the latest prompt, `max_turns`, `max_seconds`, `max_cost`, `max_tokens` or `max_calls` gives
        the prompt again with this new limit. If a limit of the day or the file has stopped it, no new limit is needed.
        `output` is the type of the object in the result, as in `result`. The callbacks, `keep_output` and `context` are the
        same as in `run`. `tools` are functions and toolsets that this process adds; the tools that the prompt chose stay.
        Raises `NotFound` (404) for an unknown run, `Conflict` (409) while another process works on it, or for a limit where
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
        """`resume` for asyncio. If the task is cancelled, the work stops, and another `resume` continues it."""
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
        """The events of a run after the event with the id `after`, and new events until all prompts of the run have ended.

        It follows the run live, even if another process works on it. While the run waits for a decision, the iterator
        waits, too. Events of type delta, thought, begin, progress, output and retry go only to `on_event`. The `text`
        of an answer comes in pieces if this process works on the run, else as a whole. To miss no event, give `after`
        the id of the last event that you saw. Raises `NotFound` (404) for an unknown run.
        """
        from engine.api.following import follow

        return follow(self, run, after)

    @expects(run="a text", after="a whole number")
    def events_async(self, run: str, *, after: int = 0) -> AsyncIterator[Event]:
        """`events` for asyncio: `async for event in db.events_async(run):`. All iterators on one event loop share a
        handle.
        """
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
        """The result so far of prompt number `loop` of a run; default: its latest prompt. Raises `NotFound` (404) for
        an unknown one.

        `output` is the type of `Result.output`, as in the prompt (default: the plain JSON value).
        """
        from engine.driving import results

        return results.result(self, run, loop, output)

    def give_model(self, model: Model) -> str:
        """Register a model object with this handle, for runs that another process started with it; returns its name.

        The object needs an attribute `name`, a text. The database stores only `object:NAME`.
        """
        return self.app_models.add(model)

    @expects(run="a text", note="a text")
    def handoff(self, run: str, to: Handoff | str, *, note: str = "") -> None:
        """Hand the open prompt of `run` over to another persona, which continues it at the next `resume`.

        `to` is an `engine.Handoff` with the model and the tools of the persona, or the name of a persona. The persona
        reads `note`. Raises `NotFound` (404) for an unknown run or persona, `Conflict` (409) if a process works on the
        run, if it waits for a decision, or if it has no open prompt.
        """
        from engine.driving.handoffs import hand_over
        from engine.tools.handoffs import handoffs_of

        hand_over(self, run, handoffs_of([to])[0], note)

    @expects(run="a text", reason="a text", loop="a whole number or None")
    def abort(self, run: str, reason: str = "aborted", *, loop: int | None = None) -> None:
        """End the active loop of `run` with status 499; queued prompts stay. Raises `NotFound` (404) for an unknown run.

        With `loop`, end the prompt with this number, such as `start(…).loops`, whether it is active or queued. A
        prompt that has ended does not change.
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
        """Accept or reject the proposals under `path`, or all open proposals of the run. `resume` then carries them out.

        `body` is the answer to a question, or a text that replaces the proposed one. The model reads `reason`. `by` is
        the name of the person who decides. Raises `NotFound` (404) if there is no open proposal, `ValidationError`
        (400) for an empty name, for a question without an answer, and for a text that the proposal cannot have.
        """
        from engine.driving import runs

        runs.resolve(self, run, path, accept, body=body, reason=reason, by=by)

    @expects(query="a text")
    def sql(self, query: str, bindings: Bindings = ()) -> list[Row]:
        """The rows of one read-only statement, as dicts; raises `PermissionDenied` (403) for one that would write."""
        from engine.db.query import read_only_rows

        return read_only_rows(self, query, bindings)

    def analysis(self, files: Files = ()) -> Analysis:
        """Query the views of this file and others together, with a column `file`; see `engine.analysis`."""
        from engine.across.analysis import Analysis

        others = [files] if isinstance(files, str | PathLike) else files
        return Analysis([self.path, *others])

    @expects(work="a function")
    async def call_async(self, work: Callable[[Database], _T]) -> _T:
        """`work(db)` in a thread, with a handle for it: `await db.call_async(lambda db: db.start("Hi", root="."))`.

        For asyncio: a write may have to wait for another process, and would block the event loop. All calls together
        use at most four connections; `work` holds a connection during a statement, and inside `with
        db.transaction():`.
        """
        self.expect_no_transaction()
        return await self._handles.call(work)
