"""The methods: what each is for, what it takes, and the function that carries it out.

spec: @rpc_methods
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from . import entries, models, runs, streams
from .params import Param

if TYPE_CHECKING:
    from .projects import Project


class Caller(Protocol):
    """The client that calls."""

    async def project(self) -> Project:
        """The project that it works in: the one it named with `init`, else that of the server."""
        ...

    async def choose(self, folder: str | None, name: str | None) -> Project:
        """Work in the project of another folder from now on."""
        ...


Call = Callable[["Project", dict[str, Any]], Awaitable[Any]]


@dataclass(frozen=True)
class Method:
    """A method by its `name`; one with `takes_options` takes those of a run besides its `params`."""

    name: str
    meaning: str
    call: Call
    params: tuple[Param, ...] = ()
    takes_options: bool = False

    def params_in(self, project: Project) -> tuple[Param, ...]:
        """All that it takes for a run of `project`."""
        return (*self.params, *project.options) if self.takes_options else self.params


def _text(name: str, meaning: str, *, required: bool = False) -> Param:
    return Param(name, "string", meaning, required)


def _whole(name: str, meaning: str, *, required: bool = False) -> Param:
    return Param(name, "integer", meaning, required)


def _flag(name: str, meaning: str) -> Param:
    return Param(name, "boolean", meaning)


_RUN = _text("run", "name of the run", required=True)
_PATH = _text("path", "path of the entry: known://topic, notes.md, or a glob", required=True)
_TO = _text("to", "the new path", required=True)
_LIMIT = _whole("limit", "at most N results")
_OFFSET = _whole("offset", "skip N results")
_PROMPT = (
    _text("prompt", "what to do", required=True),
    _text("run", "the run to continue, or the name of a new run"),
    _flag("fork", "work in a fork of `run`; `run` itself does not change"),
    _whole("at", "with `fork`: the turn of `run` from which it is forked"),
    Param("attachments", "array", "files for the prompt, each in base64"),
)
_LOG_PATH = _text("path", "path of the command's record: log://turn_1/sh/make", required=True)

METHODS: tuple[Method, ...] = (
    Method("getModels", "the models that have an alias", models.get_models, (_LIMIT, _OFFSET)),
    Method(
        "addModel",
        "give a model an alias",
        models.add_model,
        (
            _text("alias", "the name to use", required=True),
            _text(
                "actual",
                "provider/name, http://HOST/v1#name, gguf:FILE, scripted:FILE, replay:DB#RUN or local",
                required=True,
            ),
            _whole("contextLength", "context window in tokens"),
        ),
    ),
    Method("removeModel", "remove an alias", models.remove_model, (_text("alias", "the alias", required=True),)),
    Method(
        "get",
        "make entries visible for a run, or with `persist` add files to the project",
        entries.get,
        (
            _PATH,
            _text("run", "name of the run"),
            _flag("persist", "add the files to the project"),
            _flag("readonly", "with `persist`: and protect them from changes"),
        ),
    ),
    Method(
        "set",
        "write an entry or a file of a run, or change its visibility",
        entries.set_,
        (
            _RUN,
            _PATH,
            _text("body", "the new text"),
            Param("attributes", "object", "tags, summary, visibility and other attributes"),
        ),
    ),
    Method("rm", "remove entries or files of a run", entries.rm, (_RUN, _PATH)),
    Method("cp", "copy an entry", entries.cp, (_RUN, _PATH, _TO)),
    Method("mv", "move an entry", entries.mv, (_RUN, _PATH, _TO)),
    Method(
        "store",
        "choose the files of the project",
        entries.store,
        (
            _text("path", "a file, a folder or a glob", required=True),
            _flag("persist", "include them (the default)"),
            _flag("readonly", "protect them from changes"),
            _flag("ignore", "exclude them"),
            _flag("clear", "remove their rule"),
        ),
    ),
    Method(
        "getEntries",
        "the entries that a run sees",
        entries.get_entries,
        (_RUN, _text("pattern", "a glob over paths"), _text("body", "a text that they contain"), _LIMIT, _OFFSET),
    ),
    Method(
        "startRun",
        "create a run without a prompt",
        runs.start_run,
        (
            _text("run", "its name; default: from its model and the time"),
            _text("model", "alias or name of its model"),
            Param("temperature", "number", "sampling temperature, 0 to 2"),
            _text("persona", "name of its persona"),
            _whole("contextLimit", "context window in tokens"),
            _text("effort", "how hard its model thinks: low, medium, high, …"),
            _text("systemPrompt", "text added to its system message"),
        ),
    ),
    Method("ask", "send a prompt that may only read", runs.ask, _PROMPT, takes_options=True),
    Method("act", "send a prompt that may change files", runs.act, _PROMPT, takes_options=True),
    Method(
        "run/inject",
        "send a prompt to an existing run; while the run works, the prompt waits in its queue",
        runs.inject,
        (
            _RUN,
            _text("message", "what to do", required=True),
            _text("mode", "ask or act; default: the mode of the last prompt"),
        ),
        takes_options=True,
    ),
    Method(
        "run/resolve",
        "decide on proposals of a run: `resolution` has `action` (accept, reject, error), `path` (default: all) and "
        "`output`: an answer, a text in place of the proposed one, or the reason",
        runs.resolve,
        (
            _RUN,
            Param("resolution", "object", "action, path, output", required=True),
            _flag("drive", "false: do not continue the run; the client performs the accepted commands"),
        ),
    ),
    Method(
        "run/abort",
        "end the prompt that a run works on",
        runs.abort,
        (_RUN, _text("reason", "why"), _whole("loop", "end only this prompt, even if it is queued")),
    ),
    Method("run/resume", "continue a run that was interrupted", runs.resume, (_RUN,)),
    Method(
        "run/fork",
        "make a run that stands where this one stands, or stood",
        runs.fork,
        (_RUN, _text("name", "name of the fork"), _whole("at", "the turn from which it is forked")),
    ),
    Method(
        "run/config",
        "change model, temperature, context limit or effort of a run",
        runs.config,
        (
            _RUN,
            _text("model", "alias or name of its model"),
            Param("temperature", "number", "sampling temperature, 0 to 2"),
            _whole("contextLimit", "context window in tokens"),
            _text("effort", "how hard its model thinks: low, medium, high, …"),
            _text("persona", "cannot change: a run keeps its persona"),
        ),
    ),
    Method(
        "run/rename",
        "give a run another name",
        runs.rename,
        (_RUN, _text("name", "its new name", required=True)),
    ),
    Method("getRuns", "the runs of the project, the newest first", runs.get_runs, (_LIMIT, _OFFSET)),
    Method(
        "getMessages",
        "the conversation of a run as messages",
        runs.get_messages,
        (_RUN, _text("form", "openai (default), anthropic or pydantic_ai")),
    ),
    Method(
        "importMessages",
        "add the messages of a conversation to a run, or to a new one",
        runs.import_messages,
        (
            _RUN,
            Param("messages", "array", "the messages", required=True),
            _text("form", "openai, anthropic or pydantic_ai; default: as they look"),
        ),
    ),
    Method("getRun", "the state of a run, as `run/state` tells it", runs.get_run, (_RUN,)),
    Method(
        "getProposals",
        "the proposals that wait for a decision",
        runs.get_proposals,
        (_text("run", "only of this run and its child runs"),),
    ),
    Method(
        "stream",
        "store output of a command that the client runs",
        streams.stream,
        (
            _RUN,
            _LOG_PATH,
            _whole("channel", "1: output, 2: errors", required=True),
            _text("chunk", "the text", required=True),
        ),
    ),
    Method(
        "stream/completed",
        "report that the command has ended",
        streams.completed,
        (_RUN, _LOG_PATH, _whole("exit_code", "its exit code; default: 0"), Param("duration", "number", "seconds")),
    ),
    Method(
        "stream/aborted",
        "report that the client gave up the command",
        streams.aborted,
        (_RUN, _LOG_PATH, _text("reason", "why"), Param("duration", "number", "seconds")),
    ),
    Method("stream/cancel", "stop a command of a run", streams.cancel, (_RUN, _LOG_PATH, _text("reason", "why"))),
    Method(
        "sql",
        "run one read-only SQL statement and return its rows",
        runs.sql,
        (_text("query", "the statement", required=True), Param("bindings", "array", "values for its ?")),
    ),
)
"""The methods that work in a project; `ping`, `init` and `discover` are the connection's own."""

NOTIFICATIONS: tuple[tuple[str, str], ...] = (
    ("engine/hello", "sent when a client connects: `version`, `root`"),
    ("run/state", "a run has changed: a row of `run_state`"),
    ("run/progress", "the activity of a run: `status` (thinking, processing, retrying) and details"),
    ("run/proposal", "a proposal waits for a decision: a row of `open_proposals`"),
    ("stream/cancelled", "a command should stop: `path`, `reason`"),
    ("ui/render", "new text: `turn`, `at`, `text` of an answer; `channel`, `text` of a command"),
    ("ui/notify", "a notice for the person: `level` (info, warning, error), `text`"),
)
