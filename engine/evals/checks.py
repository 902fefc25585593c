"""The checks of a trial: each passes, or fails with a reason.

spec: @eval_checks
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.functions.fences import fence_tag
from engine.functions.typed_answers.checker import TooMuch, faults_of
from engine.functions.typed_answers.values import NoValue, value_of
from engine.functions.verdicts import verdict_read
from engine.testing.assertions import assert_commands, assert_files
from engine.texts import folder_of, strip_rationale

from .suites import CHECKS
from .trials import cost_of, function_of

if TYPE_CHECKING:
    from .trials import Trial

Checked = tuple[str, bool, str | None]
"""The name of a check, whether it passed, and why not."""
_LONGEST_NAME = 80
_LONGEST_REASON = 2000
_RESPONSE = """
    select t.response
    from turns as t
    join runs as r on r.id = t.run_id
    where r.alias = ? and t.response is not null
    order by t.sequence desc
    limit 1
"""


def checked(trial: Trial, check: dict[str, Any]) -> Checked:
    """Make one check of a trial."""
    kind = next(name for name in CHECKS if name in check)
    told = check[kind] if isinstance(check[kind], str) else json.dumps(check[kind], ensure_ascii=False)
    name = f"{kind} {' '.join(told.split())}"
    name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    try:
        reason = _KINDS[kind](trial, check[kind], check)
    except AssertionError as error:
        reason = str(error) or "the assertion failed"
    except EngineError as error:
        reason = error.message
    except Exception as error:  # the code of an app
        reason = f"{type(error).__name__}: {error}"
    return name, reason is None, reason and reason[:_LONGEST_REASON]


def _contains(trial: Trial, text: str, _: object) -> str | None:
    return None if text in trial.answer else f"the answer has no {text!r}"


def _lacks(trial: Trial, text: str, _: object) -> str | None:
    return f"the answer has {text!r}" if text in trial.answer else None


def _equals(trial: Trial, text: str, _: object) -> str | None:
    return None if trial.answer.strip() == text.strip() else "the answer is another"


def _regex(trial: Trial, pattern: str, _: object) -> str | None:
    return None if re.search(pattern, trial.answer) else f"the answer does not match {pattern!r}"


def _schema(trial: Trial, schema: Any, _: object) -> str | None:
    text = trial.result.output_json if trial.result and trial.result.output_json else trial.answer
    try:
        faults = faults_of(schema, value_of(text))
    except (NoValue, TooMuch) as error:
        return f"the answer {error}"
    return "; ".join(f"{fault.place} {fault.said}" for fault in faults) or None


def _files(trial: Trial, expected: dict[str, str | None], _: object) -> None:
    assert_files(trial.folder, expected)


def _commands(trial: Trial, expected: list[str], _: object) -> str | None:
    if trial.result is None:
        return "the task returned a text, so there is no run whose commands could be read"
    assert_commands(trial.db, [... if each == "..." else str(each) for each in expected], run=trial.result.run)
    return None


def _max_cost(trial: Trial, most: float, _: object) -> str | None:
    cost = cost_of(trial)
    if cost is None:
        return "the cost is unknown"
    return None if cost <= most else f"it cost ${cost:.6f}"


def _code(trial: Trial, name: str, _: object) -> str | None:
    said = function_of(name, trial.home)(trial)
    if said is None or said is True:
        return None
    return said if isinstance(said, str) and said else f"it returned {said!r}"


def _judge(trial: Trial, criteria: str, check: dict[str, Any]) -> str | None:
    """Have a model judge the answer, which it reads as data."""
    run = f"{trial.run}.judge"
    number = int(trial.db.value("select count(*) from runs where alias = ? or alias glob ? || '-*'", (run, run)))
    result = trial.db.run(
        _question(criteria, trial),
        run=f"{run}-{number + 1}",
        model=check.get("model") or trial.case.get("judge") or trial.model,
        system_prompt=strip_rationale((folder_of("engine.templates") / "judge.md.j2").read_text("utf-8")),
        mode="ask",
        temperature=0,
        max_turns=3,
        no_repo=True,
        no_web=True,
        no_interaction=True,
        no_proposals=True,
        no_processes=True,
        on_driver=trial.on_driver,
    )
    trial.db.describe(result.run, labels=("eval",), archived=True)
    if result.status != 200:
        return f"the judge ended with status {result.status}" + (f": {result.reason}" if result.reason else "")
    told = json.loads(verdict_read(trial.db.value(_RESPONSE, (result.run,)), result.answer) or "{}")
    return None if told.get("verdict") == "pass" else str(told.get("reasons") or "the judge said FAIL")


def _question(criteria: str, trial: Trial) -> str:
    parts = {"task": trial.prompt, "criteria": criteria, "result": trial.answer}
    tags = {name: fence_tag(name, "".join(parts.values())) for name in parts}
    told = "\n\n".join(f"<{tags[name]}>\n{text}\n</{tags[name]}>" for name, text in parts.items())
    return f"Does the result fulfil the criteria? PASS or FAIL, and why.\n\n{told}"


_KINDS: dict[str, Callable[[Trial, Any, dict[str, Any]], str | None]] = {
    "contains": _contains,
    "lacks": _lacks,
    "equals": _equals,
    "regex": _regex,
    "schema": _schema,
    "files": _files,
    "commands": _commands,
    "max_cost": _max_cost,
    "code": _code,
    "judge": _judge,
}
