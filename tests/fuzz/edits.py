"""Writes random changes of random texts in every notation, and checks that the result is the new text, or a refusal.

`python -m tests.fuzz.edits --count 200000`. `--first N --count 1` with the same seed makes the change N again and shows it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from engine.functions.edits.bodies import edit_apply
from engine.functions.edits.patches import patch_apply, patch_parse

from .edit_notations import NOTATIONS, SEARCHING, SLIPS, Written, new, old, written
from .edit_texts import Change, Group, change_of

BATCH = 2_000
SPREAD = 1_000_003
RIGHT, REFUSED, WRONG, NEEDLESS, OTHER = "right", "refused", "WRONG", "NEEDLESS", "another change"
UNWRITTEN = "not written"


class Case(NamedTuple):
    """A change as it was written, and what came of it: a verdict and, of a refusal, its message."""

    number: int
    notation: str
    slip: str
    context: int
    change: Change
    body: str
    verdict: str
    result: str


@dataclass
class Tally:
    """What a batch, or the whole run, came to."""

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    findings: list[Case] = field(default_factory=list)
    slowest: float = 0.0

    def add(self, other: Tally) -> None:
        """Take up the figures of another tally."""
        self.counts += other.counts
        self.findings += other.findings
        self.slowest = max(self.slowest, other.slowest)

    def total(self, verdict: str | None = None) -> int:
        """How many cases there were, of one verdict or all."""
        return sum(count for (_, _, each), count in self.counts.items() if verdict in (None, each))


def case_of(seed: int, number: int) -> Case:
    """The change `number` of the run `seed`, written and read again."""
    random = Random(seed * SPREAD + number)
    notation, slip = random.choice(list(NOTATIONS)), random.choice([*SLIPS, "exact"])
    context = random.choice((0, 1, 3))
    change = change_of(random, context)
    groups = [SLIPS[slip].change(written(group), random) for group in change.groups]
    if random.random() < 0.15 and slip not in ("exact", "LF alone"):
        groups = [SLIPS["LF alone"].change(lines, random) for lines in groups]
    together = list(zip(change.groups, groups, strict=True))
    if random.random() < 0.3:
        random.shuffle(together)
    change.groups, groups = [group for group, _ in together], [lines for _, lines in together]
    body = NOTATIONS[notation](change, groups, random)
    if random.random() < 0.1 and not any("\r" in text for lines in groups for _, text in lines):
        body = body.replace("\n", "\r\n")
    state, result = outcome(change.old, body) if body else (False, "")
    verdict = _verdict(change, notation, slip, groups, body, state, result)
    return Case(number, notation, slip, context, change, body, verdict, result)


def outcome(before: str, body: str) -> tuple[bool, str]:
    """Whether `body` changes the text `before` of the file f, and the new text or the message."""
    parsed = json.loads(patch_parse(body) or "")
    if parsed["error"]:
        return False, parsed["error"]
    if parsed["files"]:
        if [each["path"] for each in parsed["files"]] != ["f"]:
            return False, "the patch changes another file"
        return _outcome(patch_apply(before, json.dumps(parsed["files"][0])))
    return _outcome(edit_apply(before, body))


def _outcome(result: str | None) -> tuple[bool, str]:
    found: dict[str, Any] = json.loads(result or "")
    done = found["state"] == "resolved"
    return done, str(found["body"] if done else found["message"])


def _verdict(
    change: Change, notation: str, slip: str, groups: list[Written], body: str, done: bool, result: str
) -> str:
    if not body:
        return UNWRITTEN
    if done and result == change.new:
        return RIGHT
    if done:
        return OTHER if _is_another_change(change, notation, slip, groups) else WRONG
    assert len(result) > 20, result
    needless = slip == "exact" and _is_plain(change, notation, groups)
    return NEEDLESS if needless and not _is_another_change(change, notation, slip, groups) else REFUSED


def _is_another_change(change: Change, notation: str, slip: str, groups: list[Written]) -> bool:
    """Whether what is written is, to the letter, how another change is written, so that nobody could tell."""
    rows = [line.row for line in change.before]
    for group, lines in zip(change.groups, groups, strict=True):
        exact = written(group)
        wanted = [text.removesuffix("\r") for text in old(lines)]
        if not wanted and notation in SEARCHING:
            return True  # an empty search adds its lines at the end
        lost = [text.removesuffix("\r") for text in new(lines)] != [text.removesuffix("\r") for text in new(exact)]
        same = wanted == [text.removesuffix("\r") for text in old(exact)]
        if (lost and notation == "anchors") or (notation == "sed" and slip not in ("exact", "LF alone")):
            return True  # no line that stays tells of the slip
        there = any(rows[at : at + len(wanted)] == wanted for at in range(len(rows)))
        if lost and (not wanted or _lost_blanks(exact, lines)):
            return True
        if slip == "blanks for tabs" and any(sign == "+" and text.startswith("  ") for sign, text in exact):
            return True  # blanks that are meant are not told from those for tabs
        if lost and same:
            one = _is_of_one_unit(change) and not any(text.startswith("\t") for each in groups for _, text in each)
            return slip != "blanks for tabs" or not one or notation == "unified"
        if not same and there:
            return True  # it is how a change of that place is written
        if not _ends_as_told(change, group, lines, notation):
            return True
    return False


def _lost_blanks(exact: Written, lines: Written) -> bool:
    """Whether a new line of blanks alone is written as an empty one: it is not told from a line that was empty."""
    return any(
        sign == "+" and not one.strip() and one != other for (sign, one), (_, other) in zip(exact, lines, strict=True)
    )


def _ends_as_told(change: Change, group: Group, lines: Written, notation: str) -> bool:
    """Whether the endings of the new lines can be told from what is written and from the text."""
    bare = bool(change.before) and change.before[-1].end == ""
    coded = notation not in ("sed", "anchors") and any("\r" in text for _, text in lines)
    if notation in SEARCHING and bare and group.new and group.old[-1].end == "" and not new(lines)[-1].endswith("\r"):
        last = group.new[-1]
        if last.end or (last.row != group.old[-1].row and last.row in [line.row for line in group.old]):
            return False  # whether the last line is new or stays is not told
    if coded:
        return True
    kinds = {line.end for line in change.before if line.end} or {"\n"}
    if len(kinds) == 1:
        return all(line.end in (*kinds, "") for line in group.added)
    return _ends_as_place(group)


def _ends_as_place(group: Group) -> bool:
    """Whether new lines end as all the lines that were searched do."""
    kinds = {line.end for line in group.old if line.end}
    return len(kinds) == 1 and all(line.end in (*kinds, "") for line in group.added)


def _is_of_one_unit(change: Change) -> bool:
    tabs = any(line.row.startswith("\t") for line in change.before)
    blanks = any(line.row.startswith("  ") and line.row.strip() for line in change.before)
    return tabs and not blanks


def _is_plain(change: Change, notation: str, groups: list[Written]) -> bool:
    """Whether an exact writing has one place in every reading, and nothing in it looks like notation."""
    if change.hostile or change.ends == "mixed" or change.mark:
        return False
    bare = [line.row.strip() for line in change.before]
    after = [line.row.strip() for line in change.after]
    units = {row[0] for line in (*change.before, *change.after) if (row := line.row) and row[0] in " \t"}
    if len(units) > 1:
        return False
    for group in change.groups:
        wanted = [line.row.strip() for line in group.old]
        if not wanted or not any(wanted):
            return False
        if notation in SEARCHING and group.old[-1].end == "":
            return False  # which of the repeated lines is the last, and has no line feed, may not be told
        if notation == "sed" or _count(bare, wanted) != 1 or _count(after, wanted) > 1:
            return False
        others = (each for each in change.groups if each is not group)
        if any(_count([line.row.strip() for line in each.new], wanted) for each in others):
            return False  # where it is searched after the other was changed, it stands twice
    return True


def _count(lines: list[str], wanted: list[str]) -> int:
    return sum(lines[at : at + len(wanted)] == wanted for at in range(len(lines) - len(wanted) + 1))


def batch(seed: int, first: int, count: int) -> Tally:
    """Check the changes `first` to `first + count` of the run `seed`."""
    tally = Tally()
    for number in range(first, first + count):
        began = time.process_time()
        case = case_of(seed, number)
        tally.slowest = max(tally.slowest, time.process_time() - began)
        tally.counts[case.notation, case.slip, case.verdict] += 1
        if case.verdict in (WRONG, NEEDLESS):
            tally.findings.append(case)
    return tally


def show(case: Case) -> str:
    """A case as a person reads it."""
    texts = {"before": case.change.old, "body": case.body, "meant": case.change.new, "result": case.result}
    head = f"change {case.number}: {case.notation}, {case.slip}, {case.context} lines of context: {case.verdict}"
    return "\n".join([head, *(f"--- {name}\n{_shown(text)}" for name, text in texts.items())])


def _shown(text: str) -> str:
    return "".join(f"{line[:200]!r}\n" for line in text[:5_000].split("\n"))


def main() -> int:
    """Run what the command line says; 1 if anything was found."""
    options = _options()
    total, began = Tally(), time.monotonic()
    starts = range(options.first, options.first + options.count, BATCH)
    counts = [min(BATCH, options.first + options.count - start) for start in starts]
    if options.count == 1:
        case = case_of(options.seed, options.first)
        print(show(case))
        return int(case.verdict in (WRONG, NEEDLESS))
    with ProcessPoolExecutor(options.jobs) as pool:
        for tally in pool.map(batch, [options.seed] * len(starts), starts, counts):
            total.add(tally)
    for case in total.findings[:20]:
        print(
            f"{show(case)}\nagain: python -m tests.fuzz.edits --seed {options.seed} --first {case.number} --count 1\n",
            file=sys.stderr,
        )
    _report(total, time.monotonic() - began)
    return int(bool(total.findings))


def _report(total: Tally, seconds: float) -> None:
    for verdict in (RIGHT, REFUSED, OTHER, UNWRITTEN, NEEDLESS, WRONG):
        exact = sum(count for (_, slip, each), count in total.counts.items() if each == verdict and slip == "exact")
        print(f"{verdict:>15} {total.total(verdict):>9,}, exact {exact:,}")
    print(f"{total.total():,} changes in {seconds:,.0f} s; the slowest took {total.slowest * 1000:,.0f} ms")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.edits", description=__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="how many changes (default: 200000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other changes (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first change (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one a core)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
