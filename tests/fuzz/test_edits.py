"""A short run of random edits, that its judgement would notice what it looks for, and a sample through the whole engine.

spec: @fuzz @edit_places @edit_indentation
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import engine

from . import edits
from .edit_notations import NOTATIONS, SLIPS, written
from .edit_texts import Group, Line, change_of, groups_of
from .edits import NEEDLESS, OTHER, REFUSED, RIGHT, WRONG, batch, case_of, outcome, show


def test_an_edit_makes_the_new_text_or_is_refused() -> None:
    tally = batch(seed=0, first=0, count=5_000)
    assert [show(case) for case in tally.findings] == []
    assert tally.total(RIGHT) > 3_000
    for notation in NOTATIONS:
        exact = tally.counts[notation, "exact", RIGHT]
        assert exact > tally.counts[notation, "exact", REFUSED], notation
    for slip in SLIPS:
        assert sum(tally.counts[notation, slip, RIGHT] for notation in NOTATIONS) > 100, slip


def test_a_change_in_two_notations_is_made_or_refused() -> None:
    tried = 0
    for number in range(600):
        random = Random(number)
        change = change_of(random, 1)
        first, second = random.sample(list(NOTATIONS), 2)
        parts = [replace(change, groups=change.groups[:1]), replace(change, groups=change.groups[1:])]
        bodies = [
            NOTATIONS[notation](part, [written(group) for group in part.groups], random) if part.groups else ""
            for notation, part in zip((first, second), parts, strict=True)
        ]
        if all(bodies) and len(change.old) < 10_000:
            tried += 1
            done, result = outcome(change.old, "\n".join(bodies))
            assert not done or result == change.new, (number, first, second)
    assert tried > 50


def test_a_result_that_is_another_text_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    number = next(number for number in range(100) if case_of(0, number).verdict == RIGHT)
    monkeypatch.setattr(edits, "outcome", lambda before, body: (True, before))
    assert case_of(0, number).verdict == WRONG
    plain = next(number for number in range(500) if case_of(0, number).slip == "exact" and _is_plain(number))
    monkeypatch.setattr(edits, "outcome", lambda before, body: (False, "not today, for no reason at all"))
    assert case_of(0, plain).verdict == NEEDLESS


def _is_plain(number: int) -> bool:
    case = case_of(0, number)
    return case.verdict in (WRONG, RIGHT) and edits._is_plain(case.change, case.notation, [])


def test_changes_are_made_by_their_seed_alone() -> None:
    assert [case_of(3, number).body for number in range(50)] == [case_of(3, number).body for number in range(50)]
    assert len({case_of(3, number).body for number in range(50)}) > 40


def test_texts_have_all_that_makes_edits_hard() -> None:
    texts = [change_of(Random(number), 1).old for number in range(3_000)]
    for sign in ("\r\n", "\t", "\ufeff", "\n\n", "\n  \n", "e\u0301", "\u00e9", "SEARCH", "@@", "  \n", "z" * 10_000):
        assert sum(sign in text for text in texts) > 1, sign
    assert sum(not text.endswith("\n") for text in texts) > 100
    assert sum("\r\n" in text and "\n" in text.replace("\r\n", "") for text in texts) > 100
    assert max(map(len, texts)) > 500_000


def test_groups_are_the_change() -> None:
    before = [Line(str(number), "\n") for number in range(9)]
    after = [*before[:4], Line("x", "\n"), *before[5:]]
    (group,) = groups_of(before, after, 1)
    assert group == Group(3, 3, [(" ", before[3]), ("-", before[4]), ("+", after[4]), (" ", before[5])])


def test_what_tells_nothing_of_a_slip_is_another_change() -> None:
    """Verdicts are not all of one kind: what nobody could tell is left out, and is not much."""
    tally = batch(seed=5, first=0, count=1_000)
    assert 0 < tally.total(OTHER) < 150


def _ends_in_layout(body: str) -> bool:
    """Whether CR LF behind the last line is taken for layout before `</set>`, though other lines end in LF."""
    return body.endswith("\r\n") and body.count("\r\n") < body.count("\n")


def test_a_sample_comes_to_the_same_on_disk(db: engine.Database, tmp_path: Path) -> None:
    """From the answer of a model to the bytes of the file, and the message where it is refused."""
    root = tmp_path / "root"
    root.mkdir()
    cases = [case for number in range(400) if (case := case_of(11, number)).body and len(case.body) < 5_000]
    cases = [case for case in cases if case.verdict in (RIGHT, REFUSED) and not _ends_in_layout(case.body)][:60]
    for case in cases:
        (root / "f").write_bytes(case.change.old.encode())
        model = tmp_path / "answers.jsonl"
        said = f'<set path="f">{case.body}</set>'
        model.write_text(json.dumps(said) + "\n" + json.dumps('<update status="200">done</update>') + "\n")
        run = f"r{case.number}"
        db.run("edit", run=run, model=f"scripted:{model}", root=root, yolo=True, overwrite_unseen=True)
        done, text = outcome(case.change.old, case.body)
        assert (root / "f").read_bytes() == (text if done else case.change.old).encode(), show(case)
        state = db.value("select state from command_results where run = ? and action = 'set' and turn > 0", (run,))
        assert (state != "failed") == done, show(case)
