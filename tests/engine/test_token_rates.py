"""Tokens are estimated at a rate that the run has measured.

spec: @token_accounting @calibration
"""

from __future__ import annotations

import importlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, begin, script
from fresh import fresh

import engine

CORPUS = Path(__file__).parent.parent / "fixtures" / "packets.jsonl"


def recorded_runs() -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        runs[row["run"]].append(row)
    return runs


def replay(db: engine.Database, packets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Let the engine estimate recorded packets, each before it hears what the provider made of it."""
    estimated = []
    last = max(packet["loop"] for packet in packets)
    for loop in range(1, last + 1):
        begin(db, "demo", "Go on", context_limit=10_000_000)
        for packet in (packet for packet in packets if packet["loop"] == loop):
            db.insert("_begin_turn", run="demo")
            turn_id = db.value("select max(id) from turns")
            db.insert("_submit_packet", turn_id=turn_id, chars=packet["chars"])
            text = DONE if packet["turn"] % 7 == 0 else f"<update status='102'>{packet['turn']}</update>"
            db.execute(
                "update turns set response = ?, prompt_tokens = ? where id = ?", (text, packet["tokens"], turn_id)
            )
            db.insert("_dispatch", run="demo")
            estimated.append(
                {**packet, "estimate": db.value("select context_tokens from turns where id = ?", (turn_id,))}
            )
    return estimated


@pytest.fixture(scope="module")
def estimates() -> list[dict[str, Any]]:
    found = []
    for packets in recorded_runs().values():
        with fresh() as db:
            found += replay(db, packets)
    return found


def test_the_corpus_is_wide() -> None:
    runs = recorded_runs()
    rates = [packet["chars"] / packet["tokens"] for packets in runs.values() for packet in packets]
    assert len(rates) >= 200
    assert len(runs) >= 10
    assert min(rates) < 0.8, "Chinese takes more than a token a character"
    assert max(rates) > 3, "English and code take a third of one"


@pytest.mark.local_model
def test_the_corpus_can_be_recorded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CORPUS.parent))
    maker = importlib.import_module("make_packets")
    monkeypatch.setattr(maker, "LOOPS", 1)
    monkeypatch.setattr(maker, "TURNS", 2)
    rows = maker.recorded("chinese")
    assert [(row["run"], row["loop"], row["turn"]) for row in rows] == [("chinese", 1, 1), ("chinese", 1, 2)]
    assert all(0.5 < row["chars"] / row["tokens"] < 4 for row in rows)


def test_a_measured_rate_underestimates_no_recorded_packet_by_more_than_two_percent(
    estimates: list[dict[str, Any]],
) -> None:
    measured = [packet for packet in estimates if packet["loop"] > 1]
    assert len(measured) >= 150
    assert [packet for packet in measured if packet["tokens"] > 1.02 * packet["estimate"]] == []
    assert sum(p["estimate"] / p["tokens"] for p in measured) / len(measured) < 1.2, "and wastes little"


def test_within_a_first_loop_the_estimate_follows_what_the_provider_reports(estimates: list[dict[str, Any]]) -> None:
    dense = [p for p in estimates if p["run"] == "chinese" and p["loop"] == 1]
    assert dense[1]["tokens"] > 1.2 * dense[1]["estimate"], "nobody can know before the second report"
    late = [p for p in dense if p["turn"] > 4]
    assert [p for p in late if p["tokens"] > 1.3 * p["estimate"]] == []


def report(db: engine.Database, packets: list[tuple[int, int | None]], **attributes: Any) -> float:
    """One more prompt, a turn for each packet of so many characters and reported tokens; the rate of the prompt after it."""
    begin(db, "demo", context_limit=10_000_000, **attributes)
    for number, (chars, tokens) in enumerate(packets, 1):
        db.insert("_begin_turn", run="demo")
        turn_id = db.value("select max(id) from turns")
        db.insert("_submit_packet", turn_id=turn_id, chars=chars)
        text = DONE if number == len(packets) else f"<update status='102'>{turn_id}</update>"
        db.execute("update turns set response = ?, prompt_tokens = ? where id = ?", (text, tokens, turn_id))
        db.insert("_dispatch", run="demo")
    return float(db.value("select coalesce(chars_per_token, 0) from _loop_rates order by loop_id desc limit 1"))


GROWING = [(8000, 2000), (12000, 3000), (16000, 4000), (20000, 5000)]


@pytest.mark.parametrize(
    ("packets", "rate"),
    [
        (GROWING, 0.95 * 4),
        ([(20000, 5000), (20100, 5100), (20050, 5005)], 0.95 * 20100 / 5100),
        ([(8000, 2000), (8400, 3000)], 0.95 * 2.8),
        ([(8000, 2000), (12000, 6000)], 0.95 * 0.7 * 2),
        ([(8000, 2000), (80000, 26000)], 0.95 * 3),
        # a long text that takes few tokens came in the place of a short one that takes many
        ([(16000, 12000), (24000, 6000)], 0.95 * 16 / 12),
        ([*GROWING, (24000, 480_000)], 0.95 * 4),
        ([*GROWING, (24000, 7)], 0.95 * 4),
        ([*GROWING, (24000, 0), (24000, None)], 0.95 * 4),
        ([(8000, 50), (12000, 50)], 0),
        ([(8000, 8000), *[(8000 + number, 2000) for number in range(16)]], 0.95 * 4),
    ],
    ids=[
        "growing", "of one size", "little growth", "denser and denser", "much growth", "exchanged", "far too many",
        "far too few", "none", "the misses of a cache", "long ago",
    ],
)  # fmt: skip
def test_a_rate_is_made_of_the_last_reports_that_can_be_true(
    db: engine.Database, packets: list[tuple[int, int | None]], rate: float
) -> None:
    assert report(db, packets) == pytest.approx(rate, rel=0.001)


def test_each_model_has_a_rate_of_its_own(db: engine.Database) -> None:
    report(db, GROWING, model="scripted:a")
    report(db, [(8000, 4000), (10000, 5000)], model="scripted:b")
    begin(db, "demo", model="scripted:a")
    db.insert("_begin_turn", run="demo")
    rates = db.rows("select model, chars_per_token from loops order by id")
    assert [(row["model"], round(row["chars_per_token"], 3)) for row in rates] == [
        ("scripted:a", 2.0), ("scripted:b", 2.0), ("scripted:a", 3.8)
    ]  # fmt: skip


def test_a_loop_states_the_same_cost_of_an_entry_in_all_its_packets(tmp_path: Path) -> None:
    with fresh() as db:
        answers = [{"text": f"<get path='known://{n}'/>{GO_ON}", "usage": {"prompt_tokens": 9000}} for n in range(3)]
        begin(db, "demo", model=script(tmp_path, *answers, DONE))
        db.insert("verb_set", run="demo", path="known://a", body="x" * 300)
        db.resume("demo")
        heads = db.rows("select distinct substr(head, 1, 40) as head from chunks where head like '%known://a%'")
        assert len(heads) == 1
        first, second = db.rows("select chars_per_token, context_tokens from turns order by id limit 2")
        assert first["chars_per_token"] == db.value("select chars_per_token from loops") == 2
        assert second["chars_per_token"] < 1, "the packets are counted as the provider counts them"
