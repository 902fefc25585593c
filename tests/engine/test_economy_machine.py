"""Whatever a model and a client do, packets fit, figures add up, and what is demoted is kept as it was.

spec: @budget_enforcement @token_accounting @condensation @run_views @calibration
"""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from audit import audit
from driving import begin
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import engine
from engine.packet import Renderer

PATHS = st.sampled_from(
    [
        "known://a",
        "known://b",
        "known://deep/c",
        "unknown://q",
        "unknown://r",
        "skill://s",
        "https://e.org/p",
        "prompt://1",
    ]
)
TEXTS = st.builds(
    lambda word, count, end: word * count + end,
    st.sampled_from(["a ", "line\n", "wörter, ", "\t{}\n", "<x>"]),
    st.integers(1, 150),
    st.sampled_from(["", "\n", "end"]),
)
LEVELS = st.sampled_from(["visible", "summarized", "archived"])
COMMANDS = st.one_of(
    st.builds('<set path="{}">{}</set>'.format, PATHS, TEXTS),
    st.builds('<set path="{}" visibility="{}"/>'.format, st.one_of(PATHS, st.just("log://**")), LEVELS),
    st.builds('<get path="{}"/>'.format, st.one_of(PATHS, st.just("known://**"), st.just("nothing"))),
    st.builds('<get path="{}" line="1" limit="50"/>'.format, PATHS),
    st.builds('<get path="prompt://1" line="{}"/>'.format, st.integers(1, 9)),
    st.builds('<rm path="{}"/>'.format, PATHS),
    st.builds('<mv path="{}" to="{}"/>'.format, PATHS, PATHS),
)
SHOWN = ("packet_summary", "packet_visible", "packet_log", "packet_unknowns")
FIGURES = re.compile(r'<budget tokenUsage="(\d+)".*entries, (\d+) tokens.*\nSystem: (\d+) tokens', re.DOTALL)


class Economy(RuleBasedStateMachine):
    """Runs of one file, driven turn by turn without a model."""

    @initialize(extra=st.sampled_from([9000, 4000, 20_000, 1500]), ratio=st.sampled_from([None, 0.3, 0.6]))
    def start(self, extra: int, ratio: float | None) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.db = engine.open(self.folder / "t.db", synchronous="NORMAL")
        self.limit = {"context_limit": 4300 + extra, "condense_ratio": ratio}
        self.runs = ["demo"]
        begin(self.db, "demo", "Do what you can\n" * 60, **self.limit)

    @rule(
        commands=st.lists(COMMANDS, max_size=8),
        status=st.sampled_from([102, 102, 102, 200]),
        rate=st.sampled_from([None, None, 1.5, 4.0]),
        which=st.integers(0, 9),
    )
    def take_a_turn(self, commands: list[str], status: int, rate: float | None, which: int) -> None:
        run = self.runs[which % len(self.runs)]
        if not self.db.value("select step = 'begin' from next_steps where run = ?", (run,)):
            begin(self.db, run, "And then this", **self.limit)
        self.db.insert("begin_turns", run=run)
        turn_id = self.db.value("select max(id) from turns")
        if not self.packet_fits(turn_id):
            return
        chars = self.db.value("select context_chars from turns where id = ?", (turn_id,))
        response = "".join(commands) + f'<update status="{status}">turn {turn_id}</update>'
        reported = None if rate is None else int(chars / rate)
        self.db.execute("update turns set response = ?, prompt_tokens = ? where id = ?", (response, reported, turn_id))
        self.db.insert("dispatch", run=run)

    def packet_fits(self, turn_id: int) -> bool:
        """Render and offer until the packet goes out or the loop ends; check what must hold on the way."""
        renderer, before = Renderer(self.db), self.contents(turn_id)
        while (phase := self.db.value("select phase from turns where id = ?", (turn_id,))) == "assembling":
            self.check_figures(renderer, turn_id)
            renderer.offer(turn_id, None)
        after = self.contents(turn_id)
        assert {path: after[path] for path in before} == before, "only what is shown has changed"
        self.check_end(turn_id, phase)
        self.check_demotions(turn_id)
        return phase == "asking"

    def contents(self, turn_id: int) -> dict[str, tuple[Any, ...]]:
        """Bodies and states of all that the turn's run knows, the 413 of this very turn excepted."""
        rows = self.db.rows(
            "select path, body, state, outcome, status, attributes, write_count from known_entries where run = "
            "(select r.alias from turns as t join runs as r on r.id = t.run_id where t.id = ?)",
            (turn_id,),
        )
        return {row.pop("path"): tuple(row.values()) for row in rows}

    def check_figures(self, renderer: Renderer, turn_id: int) -> None:
        text = "".join(message.content for message in renderer.render(turn_id))
        turn = self.db.row("select divisor from turns where id = ?", (turn_id,))
        assert turn is not None
        found = FIGURES.search(text)
        assert found
        usage, floor, system = map(int, found.groups())
        sums = self.db.row(
            "select sum(floor) as f, sum(premium) as p from packet_schemes where turn_id = ?", (turn_id,)
        )
        assert sums is not None
        both = (sums["f"] or 0) + (sums["p"] or 0)
        assert usage == math.ceil(len(text) / turn["divisor"])
        assert floor == math.ceil((sums["f"] or 0) / turn["divisor"])
        assert system == usage - math.ceil(both / turn["divisor"]) > 0
        rows = [row for view in SHOWN for row in self.db.rows(f"select text from {view} where turn_id = ?", (turn_id,))]
        prompt = self.db.rows("select text from packet_prompt where turn_id = ?", (turn_id,))
        assert both == sum(len(row["text"]) + 1 for row in rows) + sum(len(row["text"]) for row in prompt)

    def check_end(self, turn_id: int, phase: str) -> None:
        row = self.db.row(
            "select t.context_tokens as tokens, b.ceiling, l.status from turns as t join loops as l on l.id = t.loop_id "
            "join loop_ceilings as b on b.loop_id = l.id where t.id = ?",
            (turn_id,),
        )
        assert row is not None
        if phase == "asking":
            assert row["tokens"] <= row["ceiling"]
        else:
            assert (phase, row["status"]) == ("judged", 413)
            assert row["tokens"] > row["ceiling"]

    def check_demotions(self, turn_id: int) -> None:
        hidden = self.db.rows(
            "select d.path, v.visibility from demotions as d join turns as t on t.id = d.turn_id "
            "left join run_views as v on v.run_id = t.run_id and v.entry_id = d.entry_id where t.id = ?",
            (turn_id,),
        )
        assert all(row["visibility"] == "summarized" for row in hidden)
        errors = self.db.value("select count(*) from turn_errors where turn_id = ? and slug = 'budget'", (turn_id,))
        steps = self.db.value("select count(*) from demotions where turn_id = ? and step > 1", (turn_id,))
        assert errors <= 1
        assert errors or not steps

    @precondition(lambda self: self.db.value("select count(*) from demotions"))
    @rule(which=st.integers(0, 99))
    def get_what_was_demoted(self, which: int) -> None:
        rows = self.db.rows(
            "select r.alias as run, d.path, k.body, k.status from demotions as d join turns as t on t.id = d.turn_id "
            "join runs as r on r.id = t.run_id join known_entries as k on k.run = r.alias and k.path = d.path"
        )
        if not rows:
            return
        row = rows[which % len(rows)]
        self.db.insert("verb_get", run=row["run"], path=row["path"], pattern=0)
        entry = "select visibility, body, status from known_entries where run = ? and path = ?"
        assert self.db.row(entry, (row["run"], row["path"])) == {
            "visibility": "visible",
            "body": row["body"],
            "status": row["status"],
        }

    @rule(path=PATHS.filter(lambda path: not path.startswith("prompt")), body=TEXTS, level=LEVELS)
    def write_from_outside(self, path: str, body: str, level: str) -> None:
        if not path.startswith("known") or len(body) <= 1000:
            self.db.insert("verb_set", run="demo", path=path, body=body, visibility=level)

    @rule(count=st.integers(5, 9), lines=st.integers(1, 80))
    def results_come_in(self, count: int, lines: int) -> None:
        turn = self.db.value("select next_turn - 1 from runs where alias = 'demo'")
        for number in range(count):
            self.db.execute(
                "insert into entry_writes (run_id, path, body, writer, turn) values (1, ?, ?, 'system', ?)",
                (f"log://turn_{turn}/sh/{number}", "a line of output\n" * lines, turn),
            )

    @precondition(lambda self: len(self.runs) < 3 and self.db.value("select count(*) > 2 from turns"))
    @rule()
    def fork(self) -> None:
        self.runs.append(self.db.fork("demo", f"child{len(self.runs)}"))

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
            audit(self.folder / "t.db")
            shutil.rmtree(self.folder)


Economy.TestCase.settings = settings(
    max_examples=12, stateful_step_count=16, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestEconomy = Economy.TestCase
