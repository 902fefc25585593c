"""Prompts that are handed over to another persona.

1. The model hands over; the persona goes on with its own text, model and tools, and the result is one.
2. It goes back and forth at most eight times.
3. An app hands an open prompt over; another process goes on, after a kill too.
4. A prompt without handoffs is told of nothing.
5. Typed answers and messages are those of one prompt.
6. The terminal offers personas, and shows what was handed over.

spec: @handoffs
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, script
from engine_cli import engine as cli

import engine

TO_BILLING = '<handoff persona="billing">The order is A1.</handoff>'


def look(order: str) -> str:
    """Look an order up."""
    return f"{order} was paid"


def refund(order: str) -> str:
    """Refund an order."""
    return f"{order} refunded"


def test_a_persona_goes_on_with_its_own_text_model_and_tools(db: engine.Database, tmp_path: Path) -> None:
    first = script(tmp_path, '<look order="A1"/>', TO_BILLING)
    second = script(tmp_path, "", "", '<refund order="A1"/>', "Refunded A1.")
    billing = engine.Handoff("billing", "You refund.", when="it is about money", model=second, tools=[refund])
    events: list[Any] = []
    result = db.run("Refund A1", run="demo", model=first, tools=[look], handoffs=[billing], on_event=events.append)
    assert (result.status, result.answer, result.turns, result.reason) == (200, "Refunded A1.", 4, None)
    texts = {(row["turn"], row["role"]): row["body"] for row in db.sql("select turn, role, body from packet_texts")}
    assert "* billing: it is about money" in texts[1, "system"]
    assert "You refund." not in texts[2, "system"]
    assert "You refund." in texts[3, "system"]
    assert "<refund>" not in texts[1, "system"]
    assert "<look>" not in texts[3, "system"]
    assert "<handoff" not in texts[3, "system"]
    assert "Handed over to billing." in texts[3, "user"]
    assert "A1 was paid" in texts[3, "user"]
    (told,) = db.sql("select detail from events where kind = 'prompt.handed_over'")
    assert json.loads(told["detail"]) == {"loop": 1, "persona": "billing", "next": 2, "model": second}
    assert [each["content"] for each in db.messages("demo") if each["role"] == "user"] == ["Refund A1"]
    db.run("Thanks", run="demo", model=script(tmp_path, "", "", "", "", "Welcome."))
    (row,) = db.sql("select body from packet_texts where turn = 5 and role = 'system'")
    assert "You refund." not in row["body"]


def test_it_goes_back_and_forth_at_most_eight_times(db: engine.Database, tmp_path: Path) -> None:
    there = ['<handoff persona="billing"/>', '<handoff persona="sales"/>'] * 5
    two = [engine.Handoff(name, f"You are {name}.") for name in ("billing", "sales")]
    result = db.run("Hi", run="demo", model=script(tmp_path, *there, "Enough."), handoffs=two)
    assert len(db.sql("select * from prompt_handoffs")) == 8
    (failed,) = db.sql("select message from commands where action = 'handoff' and outcome = 'conflict' limit 1")
    assert "handed over 8 times" in failed["message"]
    assert (result.status, result.answer) == (200, "Enough.")


def test_an_app_hands_an_open_prompt_over_and_another_process_goes_on(tmp_path: Path) -> None:
    with closing(engine.open(tmp_path / "one.db")) as db:
        db.start("Refund A1", run="demo", model=script(tmp_path, "no"))
        db.handoff("demo", engine.Handoff("billing", "You refund.", model=script(tmp_path, DONE)), note="He is angry.")
    with closing(engine.open(tmp_path / "one.db")) as db:
        with pytest.raises(engine.NotFound, match="persona 'nobody'"):
            db.handoff("demo", "nobody")
        assert db.resume("demo").answer == "Done."
        assert db.result("demo", 1).answer == "Done."
        (user,) = db.sql("select body from packet_texts where role = 'user'")
        assert "Refund A1\n\nNote: He is angry." in user["body"]
        with pytest.raises(engine.Conflict, match="has no open prompt"):
            db.handoff("demo", "billing")


def test_such_a_run_is_exported_forked_and_purged(db: engine.Database, tmp_path: Path) -> None:
    db.import_messages("demo", [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}])
    model = script(tmp_path, TO_BILLING, "Refunded.")
    db.run("Refund", run="demo", model=model, handoffs=[engine.Handoff("billing", "You refund.")], attachments=[b"A1"])
    db.fork("demo", "early", at=1)
    db.fork("demo", "late", at=3)
    assert db.run("Hm", run="late", model=script(tmp_path, *["Again."] * 9)).status == 200
    first = db.export_run("demo", tmp_path / "demo.jsonl")
    with closing(engine.open(tmp_path / "there.db")) as there:
        assert there.import_run(tmp_path / "demo.jsonl", trust=True) == "demo"
        assert there.export_run("demo", tmp_path / "again.jsonl") == first
        assert there.messages("demo") == db.messages("demo")
        assert there.result("demo", 2).answer == "Refunded."
        assert there.verify("demo").faults == []
    for run in ("early", "late", "demo"):
        db.purge(run)
    assert (
        db.sql("select * from handoffs")
        == db.sql("select * from attachments")
        == db.sql("select * from imported_calls")
        == []
    )


def test_a_prompt_without_handoffs_is_told_of_nothing(db: engine.Database, tmp_path: Path) -> None:
    db.install("handoffs")
    result = db.run("Hi", run="demo", model=script(tmp_path, TO_BILLING, DONE))
    assert (result.status, db.sql("select * from prompt_handoffs")) == (200, [])
    assert "andoff" not in db.sql("select body from packet_texts where role = 'system' limit 1")[0]["body"]


@pytest.mark.parametrize("given", ["billing", [7], 7, engine.Handoff("billing")])
def test_what_is_no_list_of_handoffs_is_a_type_error(db: engine.Database, tmp_path: Path, given: Any) -> None:
    with pytest.raises(TypeError, match="handoffs must be a list"):
        db.run("Hi", model=script(tmp_path, DONE), handoffs=given)


def test_a_typed_answer_is_that_of_the_last_persona(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, TO_BILLING, '<update status="200">[1, 2]</update>')
    billing = engine.Handoff("billing", "You count.")
    assert db.run("Count", model=model, output=list[int], handoffs=[billing]).output == [1, 2]


def test_the_terminal_offers_personas_and_shows_the_handoff(tmp_path: Path) -> None:
    (tmp_path / "billing.md").write_text("You refund.")
    assert cli(tmp_path, "personas", "add", "billing.md").returncode == 0
    model = script(tmp_path, TO_BILLING, DONE)
    done = cli(tmp_path, "run", "--run", "demo", "--model", model, "--handoff", "billing", "Refund A1")
    assert (done.returncode, done.stdout.strip()) == (0, "Done."), done.stderr
    assert "handoff" in cli(tmp_path, "log", "demo").stdout
    assert "billing" in cli(tmp_path, "show", "demo").stdout
