"""Verdicts: what a model is told of the criteria for its result, and what a judge says of that.

Only the first word of its response counts, so that nothing that it quotes of the result can be taken for its verdict.
"""

from __future__ import annotations

import json
import re

from .lazy import lazy_regex

_MOST_REASONS = 4000
"""Characters of the reasons that are kept."""
_GOAL = 60
"""Characters of the goal of a prompt that a reason names."""

_TOLD = {
    "accept": "It is accepted if: ",
    "accept_command": "It is accepted if this command exits with 0: ",
}

# Thoughts may stand before it, and it may stand in an update.
_OPENING = lazy_regex(
    r"(?:\s*<(think|thinking|reasoning)\b[^<>]*>.*?</\1\s*>)*\s*(<update\b[^<>]*>)?\s*", re.IGNORECASE | re.DOTALL
)
_WORD = lazy_regex(r"[*_]{0,3}(PASS|FAIL)[*_]{0,3}(?=$|[\s.:,;!<–—-])[\s.:,;!–—-]*")
_CLOSING = lazy_regex(r"</update\s*>\Z", re.IGNORECASE)
_THOUGHT_END = lazy_regex(r"</(?:think|thinking|reasoning)\s*>", re.IGNORECASE)


def verdict_read(response: str | None, answer: str | None) -> str | None:
    """The verdict in the response of a judge, as JSON: `verdict` is pass, fail or error, `reasons` says why.

    The first word is PASS or FAIL, else it is an error. A PASS has to be that of its `answer` too, as the engine read it: a
    response that is read in two ways accepts nothing.
    """
    if response is None or answer is None:
        return None
    opening = _OPENING.match(response)
    assert opening is not None, "all of it is optional"
    text = response[opening.end() :].rstrip()
    text = _CLOSING.sub("", text) if opening[2] else text
    word = _WORD.match(text)
    if word is None:
        start = text[:200].strip() or "nothing"
        return _verdict("error", f"the first word of the judge is neither PASS nor FAIL: {start}")
    if word[1] == "PASS" and (ends := list(_THOUGHT_END.finditer(text))):
        # a judge that quotes the end of a thought in its thoughts has not passed what it quotes
        last = verdict_read(text[ends[-1].end() :], "")
        assert last is not None, "neither of the two is null"
        if json.loads(last)["verdict"] == "fail":
            return last
        return _verdict("error", f"the judge said PASS before the end of a thought: {text[:200]}")
    if word[1] == "PASS" and not ((read := _WORD.match(answer.lstrip())) and read[1] == "PASS"):
        return _verdict("error", f"the judge said PASS, and its answer is another: {answer[:200]}")
    return _verdict(word[1].lower(), text[word.end() :].strip()[:_MOST_REASONS])


def _verdict(verdict: str, reasons: str) -> str:
    return json.dumps({"verdict": verdict, "reasons": reasons}, ensure_ascii=False)


def goal_told(prompt: str | None) -> str | None:
    """That the goal of a prompt is not reached: its first line that says something, quoted and cut at 60 characters."""
    if prompt is None:
        return None
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    line = " ".join(line.replace("\0", "\ufffd").split())
    return f'; "{line if len(line) <= _GOAL else line[: _GOAL - 1].rstrip() + "…"}" is not done'


def criteria_told(config: str | None) -> str | None:
    """What stands behind the prompt of a loop with the options `config` (JSON) about criteria; '' where it has none."""
    if config is None:
        return None
    if '"accept' not in config:
        return ""
    options = json.loads(config)
    lines = ((said, str(options.get(name) or "").strip()) for name, said in _TOLD.items())
    return "".join(f"\n\n{said}{text}" for said, text in lines if text)
