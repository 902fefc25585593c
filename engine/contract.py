"""What the Python API takes and gives: options, callbacks, results, runs and proposals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict

from .arguments import check_all
from .errors import NoOutput

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from .models.protocol import Model

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")


NO_OUTPUT: Any = None
"""No form of the answer is asked for. `TypeForm` is the type of types; only type checkers need it."""


def json_schema(schema: Mapping[str, Any] | str) -> Any:
    """Returns `schema` unchanged. Type checkers accept only types for `output=`, so wrap a JSON Schema in this function."""
    return schema


class Options(TypedDict, total=False):
    """How to start or prompt a run; `help(engine.Database.run)` says what each key means.

    If an option is None or left out, the value of the run counts, then the setting, then the default.
    """

    model: str | Model | Sequence[str | Model] | None
    root: str | PathLike[str] | None
    project: str | None
    mode: Literal["act", "ask"]
    persona: str | None
    system_prompt: str | None
    task_prompt: str | None
    temperature: float | None
    model_options: Mapping[str, Any] | str | None
    effort: str | None
    context_limit: int | None
    max_turns: int | None
    max_seconds: float | None
    max_cost: float | None
    max_tokens: int | None
    max_calls: int | None
    condense_ratio: float | None
    tools: Iterable[Any] | None
    narrow_tools: int | None
    answer_cache: bool | None
    yolo: bool
    accept_edits: bool
    no_repo: bool
    no_web: bool
    no_interaction: bool
    no_proposals: bool
    no_processes: bool
    overwrite_unseen: bool
    max_depth: int | None
    sandbox: str | None
    network: str | None
    accept: str | None
    accept_command: str | None
    accept_attempts: int | None
    accept_model: str | Model | None
    output_attempts: int | None
    fork: str | None
    at: int | None
    attachments: Iterable[Any] | None
    handoffs: Iterable[Any] | None
    fallback_models: Sequence[str | Model] | None


class Limits(TypedDict, total=False):
    """The limits with which a prompt goes on that one has stopped."""

    max_turns: int | None
    max_seconds: float | None
    max_cost: float | None
    max_tokens: int | None
    max_calls: int | None


class Asked(Options, total=False):
    """The options of a prompt with the form of its answer: a type, or a JSON Schema as a mapping or as text."""

    output: Any


_KINDS: dict[str, str] = {
    **dict.fromkeys(("model", "accept_model"), "a text, or an object with a method complete() or None"),
    **dict.fromkeys(
        (
            "project",
            "persona",
            "system_prompt",
            "task_prompt",
            "effort",
            "sandbox",
            "network",
            "accept",
            "accept_command",
            "fork",
        ),
        "a text or None",
    ),
    **dict.fromkeys(
        (
            "yolo",
            "accept_edits",
            "no_repo",
            "no_web",
            "no_interaction",
            "no_proposals",
            "no_processes",
            "overwrite_unseen",
        ),
        "True or False",
    ),
    **dict.fromkeys(
        ("context_limit", "max_turns", "max_depth", "accept_attempts", "output_attempts", "narrow_tools", "at"),
        "a whole number or None",
    ),
    **dict.fromkeys(
        ("max_tokens", "max_calls"),
        "a whole number or None",
    ),
    **dict.fromkeys(("temperature", "max_seconds", "max_cost", "condense_ratio"), "a number or None"),
    "answer_cache": "True or False or None",
    "root": "a path or None",
    "output": "",
    "tools": "",
    "attachments": "",
    "handoffs": "",
    "fallback_models": "",
    "model_options": "a dict, or a text with its JSON or None",
    "mode": "a text",
}


def check_options(options: Options | Asked) -> None:
    """Raise `TypeError` for an option that there is not, or one of another type."""
    if unknown := sorted(options.keys() - _KINDS.keys()):
        from difflib import get_close_matches

        near = get_close_matches(unknown[0], _KINDS, 2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(_KINDS)}"
        raise TypeError(f"{unknown[0]!r} is not an option; {hint}")
    check_all({name: value for name, value in options.items() if _KINDS[name]}, _KINDS)


def one_model(options: Options | Asked) -> str | Model | None:
    """The model of options that take one; raises `TypeError` for a list."""
    given = options.get("model")
    if given is None or isinstance(given, str) or not isinstance(given, Sequence):
        return given
    raise TypeError(f"model is one model here, not {given!r:.80}")


def attributes_of(options: Options | Asked) -> dict[str, Any]:
    """The options as attributes of a `set run://…`; those that are None, or False by default, are left out.

    The tools of a prompt are not among them: what is stored of them are names, which the handle knows. Nor are its
    attachments and handoffs.
    """
    given: dict[str, Any] = {"mode": "act", **options, "tools": None, "attachments": None, "handoffs": None}
    if given.get("root") is not None:
        given["root"] = str(Path(given["root"]).resolve())
    return {
        key: int(value) if isinstance(value, bool) else value
        for key, value in given.items()
        # False is the default of all but one, which has a setting too
        if value is not None and (value is not False or key == "answer_cache")
    }


@dataclass(frozen=True)
class Result(Generic[T]):
    """How a prompt ended. `status` is 200, 204, 403, 406, 413, 422, 499 or 500; 202 if the run waits for a decision,
    102 if the work was stopped before its end, 100 if the prompt is queued.

    `usage` sums tokens over the loop's turns, `cost` is in US dollars (None: the price of an answer is unknown),
    `reason` says why it ended, if the status does not. `accepted` says whether the result was accepted (None: it was
    not checked). `tree_cost` is `cost` plus the cost of all child runs. `output` is the typed answer, `output_json`
    its JSON (None: no typed answer).
    """

    run: str
    status: int
    answer: str
    turns: int
    usage: dict[str, int] = field(default_factory=dict)
    cost: float | None = None
    reason: str | None = None
    accepted: bool | None = None
    tree_cost: float | None = None
    output_json: str | None = None
    # no field: 'dataclasses.asdict' of a result is JSON-ready
    make: InitVar[Callable[[str], Any]] = json.loads

    def __post_init__(self, make: Callable[[str], Any]) -> None:
        object.__setattr__(self, "_make", make)

    @cached_property
    def output(self) -> T:
        """The object that was asked for by `output=`. Raises `NoOutput` (406) where the prompt has none: it was not asked
        for one, has not ended well, or the class of the app refuses it.
        """
        if self.output_json is None:
            raise NoOutput(f"run {self.run!r}: has no output; {_why_none(self)}")
        made: T = vars(self)["_make"](self.output_json)
        return made

    def to_json(self) -> str:
        """The result as JSON, for programs."""
        told = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "output_json"}
        output = None if self.output_json is None else json.loads(self.output_json)
        return json.dumps({**told, "output": output}, ensure_ascii=False)


def _why_none(result: Result[Any]) -> str:
    if result.status in (200, 204):
        return "its prompt did not ask for one with output=, and its text is in answer"
    if result.status in (100, 102, 202):
        return f"its prompt has not ended (status {result.status}); 'resume' goes on with it"
    return f"its prompt ended at {result.status}" + (f": {result.reason}" if result.reason else "")


@dataclass(frozen=True)
class Run:
    """The current state of a run, a row of `run_overview`. `loops` and `turns` are counts; times are UTC.

    `cost` is in US dollars (None: unknown), `answer` is the latest answer, `parent` the run that it was forked from.
    The latest prompt has the number `loops`. `title` is the title, else the beginning of the first prompt (None: no
    prompt); `archived_at` is when it was archived (None: it is not archived).
    """

    run: str
    project: str
    model: str | None
    status: int
    loops: int
    turns: int
    answer: str | None
    cost: float | None
    created_at: str
    updated_at: str
    parent: str | None
    tree_cost: float | None
    title: str | None = None
    labels: tuple[str, ...] = ()
    archived_at: str | None = None


class Proposal(TypedDict):
    """A proposal that waits for a decision, a row of `open_proposals`.

    `kind` is `question`, `process`, `file_write`, `mcp` or another kind. `detail` is the question, the command line,
    the call or the diff. Give `path` to `resolve`. `created_at` is a time in UTC. `background` is 1 for a command in
    the background, else 0; `kept` is 1 if this command would continue after its task. For a child run, `tree` has the
    names of the runs above it and its own, from the top down. `instructions` is a JSON array with the paths of the
    AGENTS.md for the file or the command line, the innermost first, else None. `options` is a JSON array of the
    answers that a question suggests, else None.
    """

    run: str
    turn: int | None
    path: str
    action: str
    target: str | None
    detail: str | None
    created_at: str
    kind: str
    proposal_id: int
    background: int
    tree: str | None
    kept: int
    instructions: str | None
    options: str | None


OnProposal = Callable[[Proposal], bool | str | None]


OnDriver = Callable[[Any], None]
"""Called with the driver of a run before it is driven; the driver's `stop` may be called from another thread."""
