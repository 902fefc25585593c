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
_LIMIT = _whole("limit", "how many at most")
_OFFSET = _whole("offset", "how many to pass over")
_PROMPT = (
    _text("prompt", "what to do", required=True),
    _text("run", "the run to go on with, or the name of a new one"),
    _flag("fork", "work in a fork of `run`, which stays as it is"),
    _whole("at", "with `fork`: the turn of `run` from which it is forked"),
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
        "make entries visible for a run, or with `persist` take files into the project",
        entries.get,
        (
            _PATH,
            _text("run", "name of the run"),
            _flag("persist", "take the files into the project"),
            _flag("readonly", "with `persist`: and protect them from changes"),
        ),
    ),
    Method(
        "set",
        "write an entry or a file of a run, or change how it is seen",
        entries.set_,
        (
            _RUN,
            _PATH,
            _text("body", "the new text, as it stands"),
            Param("attributes", "object", "tags, summary, visibility and the like"),
        ),
    ),
    Method("rm", "remove entries or files of a run", entries.rm, (_RUN, _PATH)),
    Method("cp", "copy an entry", entries.cp, (_RUN, _PATH, _TO)),
    Method("mv", "move an entry", entries.mv, (_RUN, _PATH, _TO)),
    Method(
        "store",
        "say which files belong to the project",
        entries.store,
        (
            _text("path", "a file, a folder or a glob", required=True),
            _flag("persist", "take them in, which is what it does unless told otherwise"),
            _flag("readonly", "protect them from changes"),
            _flag("ignore", "leave them out"),
            _flag("clear", "take back what was said of them"),
        ),
    ),
    Method(
        "getEntries",
        "the entries that a run sees",
        entries.get_entries,
        (_RUN, _text("pattern", "a glob over paths"), _text("body", "a text that they hold"), _LIMIT, _OFFSET),
    ),
    Method(
        "startRun",
        "make a run without a prompt",
        runs.start_run,
        (
            _text("run", "its name; default: that of its model and the time"),
            _text("model", "alias or name of its model"),
            Param("temperature", "number", "sampling temperature, 0 to 2"),
            _text("persona", "name of its persona"),
            _whole("contextLimit", "context window in tokens"),
            _text("effort", "how hard its model thinks: low, medium, high, …"),
            _text("systemPrompt", "what its system message says besides its persona"),
        ),
    ),
    Method("ask", "give a prompt that only reads", runs.ask, _PROMPT, takes_options=True),
    Method("act", "give a prompt that may change things", runs.act, _PROMPT, takes_options=True),
    Method(
        "run/inject",
        "give a prompt to a run that is there; while it works the prompt waits in line",
        runs.inject,
        (_RUN, _text("message", "what to do", required=True), _text("mode", "ask or act; default: as before")),
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
            _flag("drive", "false: do not go on; the client carries out what was accepted"),
        ),
    ),
    Method(
        "run/abort",
        "end the prompt that a run works on",
        runs.abort,
        (_RUN, _text("reason", "why"), _whole("loop", "end this prompt alone, in line too")),
    ),
    Method("run/resume", "drive a run on that was interrupted", runs.resume, (_RUN,)),
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
    Method("getRun", "the state of a run, as `run/state` tells it", runs.get_run, (_RUN,)),
    Method(
        "getProposals",
        "what waits for a decision",
        runs.get_proposals,
        (_text("run", "of this run and those below it"),),
    ),
    Method(
        "stream",
        "store output of a command that the client carries out",
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
        "tell that it has ended",
        streams.completed,
        (_RUN, _LOG_PATH, _whole("exit_code", "its exit code; default: 0"), Param("duration", "number", "seconds")),
    ),
    Method(
        "stream/aborted",
        "tell that the client gave it up",
        streams.aborted,
        (_RUN, _LOG_PATH, _text("reason", "why"), Param("duration", "number", "seconds")),
    ),
    Method("stream/cancel", "have a command of a run ended", streams.cancel, (_RUN, _LOG_PATH, _text("reason", "why"))),
    Method(
        "sql",
        "the rows of one statement that only reads",
        runs.sql,
        (_text("query", "the statement", required=True), Param("bindings", "array", "values for its ?")),
    ),
)
"""The methods that work in a project; `ping`, `init` and `discover` are the connection's own."""

NOTIFICATIONS: tuple[tuple[str, str], ...] = (
    ("engine/hello", "the server greets: `version`, `root`"),
    ("run/state", "a run has changed: a row of `run_state`"),
    ("run/progress", "what a run is at: `status` (thinking, processing, retrying), and what it does"),
    ("run/proposal", "something waits for a decision: a row of `open_proposals`"),
    ("stream/cancelled", "a command was told to end: `path`, `reason`"),
    ("ui/render", "text as it comes: `turn`, `at`, `text` of an answer, `channel`, `text` of a command"),
    ("ui/notify", "a person should know: `level` (info, warning, error), `text`"),
)
