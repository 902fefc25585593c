"""Asks the local model questions whose answers stand in rules: `python -m tests.bench knowledge`.

Each file of tests/examples/office becomes a domain of rules, a rule a line. Every question is asked four times: with the
rules that its words call up, with all of them, and with none. A run of the scripted model selects the rules; a model of
this size cannot follow a full packet, so it is asked with the system text of compact ones, and each domain that was
loaded as a file. The fourth time it is asked in a run of its own, whose compact packets show what the words call up and
hold it to a grammar. An answer is right if it holds the fact.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import engine
from engine.models import resolve_model
from engine.models.protocol import Message, Request
from engine.rules import store
from engine.rules.folders import Domain, Found

from .tree import ROOT

OFFICE = ROOT / "tests" / "examples" / "office"
RECALL = {
    "contacts": ["phone", "extension", "email", "supplier", "deliver"],
    "inventory": ["stock", "reorder", "price", "glue", "linen", "board"],
    "meeting-2026-10": ["meeting", "open day", "decided"],
    "notes-2023": ["2023"],
    "notes": ["rent", "lease", "ledgers", "budget of 2026", "guillotine"],
    "parking": ["parking", "yard", "van", "gate"],
    "recipe": ["paste", "starch"],
    "settings": ["printer", "backup", "heating", "file server"],
}
"""The words that call each domain up."""
QUESTIONS = (
    ("Which port does the label printer use?", r"\b9107\b"),
    ("How many days does the backup keep?", r"\b45\b"),
    ("What is the hour of the backup?", r"0?2:30"),
    ("How many grams of wheat starch are in the paste?", r"\b90\b"),
    ("How much is the rent of the workshop a month?", r"1,?850"),
    ("When is the next meeting?", r"12 November"),
    ("When is the open day?", r"5 December"),
    ("When is the yard gate locked?", r"18:30"),
    ("How much does the permit of the van cost a year?", r"\b96\b"),
    ("What was the budget of 2023?", r"47,?800"),
    ("How many sheets of grey board 3 mm are in stock?", r"\b85\b"),
    ("What is the price of the guillotine's service?", r"\b380\b"),
)
MOST_TOKENS = 60
"""The longest answer."""
IN_A_RUN = "in a run"
WAYS = {"called up": False, "all loaded": True, "none": None, IN_A_RUN: False}
"""Whether all domains are loaded, or those that a prompt calls up; None: there are none."""


@dataclass(frozen=True)
class Asked:
    """A question asked in one way: whether its answer is right, the tokens that the model read, the seconds that it took."""

    way: str
    answer: str
    is_right: bool
    tokens: int
    seconds: float


def main(arguments: list[str]) -> None:
    """Ask all questions in each way and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench knowledge", description=__doc__)
    parser.add_argument("--model", default="local", help="a name, such as gguf:FILE")
    parser.add_argument("--answers", action="store_true", help="print each question with its answers")
    given = parser.parse_args(arguments)
    asked: list[Asked] = []
    for way, everything in WAYS.items():
        for (question, _), each in zip(QUESTIONS, _ask(way, everything, given.model), strict=True):
            asked.append(each)
            if given.answers:
                print(f"{way:10} {'right' if each.is_right else 'wrong':6} {question}\n    {each.answer!r}", flush=True)
    print(f"{'':12}{'asked':>6}{'right':>7}{'tokens each':>13}{'seconds each':>14}")
    for way in WAYS:
        print(_line(way, [each for each in asked if each.way == way]))


def domains(everything: bool) -> list[Domain]:
    """The files of the office as domains of rules."""
    return [
        Domain(name, always_on=everything, recall=words, rules=_rules(next(OFFICE.glob(f"{name}.*"))))
        for name, words in RECALL.items()
    ]


def _rules(path: Path) -> list[str]:
    """The lines of a file; what stands below a heading in brackets is named by it."""
    heading, found = "", []
    for line in filter(None, map(str.strip, path.read_text("utf-8").splitlines())):
        if line.startswith("["):
            heading = line.strip("[]").replace("_", " ") + " "
        elif not line.startswith(("#", ";", "item,")):
            found.append(heading + line.removeprefix("- "))
    return found


def _ask(way: str, everything: bool | None, model: str) -> Iterator[Asked]:
    system = (ROOT / "templates" / "compact.md.j2").read_text("utf-8")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(engine.open(Path(folder) / "rules.db")) as db:
        script = Path(folder) / "script.jsonl"
        script.write_text('{"text": "<update status=\\"200\\">selected</update>"}\n', encoding="utf-8")
        if everything is not None:
            store.add(db, None, Found(source="office", domains=domains(everything), brackets_on=False))
        for question, answer in QUESTIONS:
            if way == IN_A_RUN:
                yield _in_a_run(db, question, answer, model)
                continue
            run = db.run(question, model=f"scripted:{script}", mode="ask").run
            user = "\n\n".join([*_loaded(db, run), question])
            began = time.monotonic()
            request = Request((Message("system", system), Message("user", user)), 0.0, MOST_TOKENS, None, 600.0, 0, run)
            said = resolve_model(model).complete(request)
            right = re.search(answer, said.text) is not None
            yield Asked(way, said.text, right, said.usage.prompt_tokens or 0, time.monotonic() - began)


def _in_a_run(db: engine.Database, question: str, answer: str, model: str) -> Asked:
    began = time.monotonic()
    result = db.run(question, model=model, mode="ask")
    tokens, said = result.usage["prompt_tokens"] or 0, result.answer or ""
    return Asked(IN_A_RUN, said, re.search(answer, said) is not None, tokens, time.monotonic() - began)


def _loaded(db: engine.Database, run: str) -> Iterator[str]:
    """The rules that a run was shown, each domain as a file."""
    rows = db.rows(
        "select l.label, c.body from rule_lines as l join rule_selections as s on s.id = l.selection_id "
        "join runs as r on r.id = s.run_id join contents as c on c.id = l.content_id "
        "where r.alias = ? and l.part = 'rule' order by l.ordinal",
        (run,),
    )
    for label, rules in groupby(rows, key=lambda row: row["label"]):
        yield f'<file path="{label}">\n' + "\n".join(row["body"] for row in rules) + "\n</file>"


def _line(way: str, asked: list[Asked]) -> str:
    tokens, seconds = (sum(getattr(each, name) for each in asked) / len(asked) for name in ("tokens", "seconds"))
    return f"{way:12}{len(asked):>6}{sum(each.is_right for each in asked):>7}{tokens:>13.0f}{seconds:>14.1f}"
