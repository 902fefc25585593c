"""The size that a packet states of itself: exact at every width of its figures, and without blanks in between.

spec: @packet_structure @token_accounting
"""

from __future__ import annotations

import re
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from campaign import examples
from driving import DONE, GO_ON, script
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.packets.parts import Section
from engine.packets.sizing import stating_size


@given(st.integers(0, 30_000), st.integers(0, 12_000), st.sampled_from([1, 2, 3.7]), st.integers(0, 99_999))
@examples(300)
def test_the_stated_size_is_that_of_the_packet(body: int, ceiling: int, rate: float, before: int) -> None:
    def tell(chars: int) -> dict[str, Any]:
        usage = ceil(chars / rate)
        return {"usage": usage, "free": max(ceiling - usage, 0), "system": usage // 2, "system_share": usage % 101}

    def state(size: dict[str, Any]) -> dict[str, Section]:
        told = f"{size['usage']} {size['free']} {size['system']} {size['system_share']}{size['padding']}"
        return {"budget": Section(told, [])}

    def packet(before: int) -> tuple[dict[str, Section], dict[str, Any]]:
        return stating_size({"body": Section("x" * body, []), "budget": Section(str(before) * 2, [])}, 7, tell, state)

    sections, size = packet(before)
    assert size["usage"] == ceil((sum(len(each.text) for each in sections.values()) + 7) / rate)
    # a packet that is made again, by a process that knows nothing of the one before, says the same
    assert [(name, each.text) for name, each in sections.items()] == [
        (name, each.text) for name, each in packet(0)[0].items()
    ]


@pytest.mark.parametrize("figures", ["0", "1"])
def test_packets_around_a_power_of_ten_state_their_tokens(db: engine.Database, tmp_path: Path, figures: str) -> None:
    db.execute("update settings set value = ? where name = 'prompt_figures'", (figures,))
    db.run("Begin.", run="demo", model=script(tmp_path, DONE))
    first = int(db.value("select context_tokens from turn_timeline where run = 'demo'"))
    fill = "".join(f'<set path="known://fill{n}">{"a" * 800}</set>' for n in range((9_600 - first) // 510)) + GO_ON
    grow = [f'<set path="known://g{turn}">{"b" * turn}</set>' + GO_ON for turn in range(20)]
    model = script(tmp_path, DONE, fill, *grow, DONE)
    assert db.run("Go on.", run="demo", model=model, max_turns=30).status == 200
    widths = set()
    for turn, text, system in db.tuples(
        "select u.turn, u.body, s.body from packet_texts as u join packet_texts as s on s.run = u.run and s.turn = u.turn "
        "where u.run = 'demo' and u.role = 'user' and s.role = 'system' order by u.turn"
    ):
        stated = {int(found) for found in re.findall(r'tokenUsage(?:="| )(\d+)', text)}
        assert stated == {ceil((len(text) + len(system)) / 2)}, turn
        assert not re.search(r'" +>|\) +$', text), turn
        widths.add(len(str(*stated)))
    assert widths == {4, 5}
