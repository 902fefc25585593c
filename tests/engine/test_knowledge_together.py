"""A repository with nested AGENTS.md, 40 skills and rules, driven from the first prompt to the last file.

spec: @agents @skills @rule_section @prompt_layers @get_like
"""

from __future__ import annotations

from pathlib import Path

import agents_project as project
from driving import DONE, GO_ON, script
from test_agents import conventions, sent
from test_skills import listed

import engine
from engine.rules import imports
from engine.rules.folders import Domain, Found


def test_each_packet_has_what_its_turn_needs_and_no_more(db: engine.Database, tmp_path: Path) -> None:
    root = project.make(tmp_path / "ledger")
    rules = [
        Domain("money", recall=["invoice"], rules=["Amounts are in cents"]),
        Domain("ships", recall=["ship"], rules=["No"]),
    ]
    imports.add(db, None, Found(source="test", domains=rules, brackets_on=False))
    answers = (
        # 1: finds by words, asks for a skill
        '<get path="services/**" like="total of an invoice"/><get path="skill://export-invoices"/>' + GO_ON,
        # 2: a command line touches a folder
        "<sh>cd services/billing && cat invoice.py</sh>",
        # 3: a file in another folder, and its own
        '<get path="services/billing/invoice.py"/><set path="web/new.js">let cents = 0;\n</set>' + GO_ON,
        '<sh>test -f web/new.js && grep -c cents "web/new.js"</sh>',
        DONE,
    )  # fmt: skip
    done = db.run(
        "Add the total of an invoice to the page", run="demo", model=script(tmp_path, *answers), root=root, yolo=True
    )
    assert done.status == 200
    assert (root / "web" / "new.js").read_text() == "let cents = 0;\n"

    assert len(listed(db, 1)) == 40
    system = {sent(db, turn, "system") for turn in range(1, 6)}
    assert len(system) == 1, "what stays the same is sent as it was"
    assert project.ROOT in system.pop()

    inner = ["services/AGENTS.md", "services/billing/AGENTS.md"]
    both = ["web/AGENTS.md", *inner]
    assert [conventions(db, turn) for turn in range(1, 6)] == [[], inner[:1], inner, both, both]
    shown = [sent(db, turn, "user") for turn in range(1, 6)]
    assert all("  1. Amounts are in cents\n" in text and "1. No\n" not in text for text in shown)
    assert "* services/billing/invoice.py - " in shown[1]
    assert ["Export invoices\n" in text for text in shown] == [False, True, True, True, True]
    assert "Deploy pages\n" not in "".join(shown)
    assert "exit=0" in shown[4]
    layers = db.rows("select distinct layer from prompt_layers where run = 'demo' and turn = 5 order by ordinal")
    assert [row["layer"] for row in layers if row["layer"] != "engine"] == ["tools", "persona", "skills", "project"]
