"""Whatever a model and a client do, packets fit, figures add up, and what is demoted or past is kept as it was.

spec: @budget_enforcement @token_accounting @condensation @run_views @calibration @context_at @time_travel @fork @packets
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audit import audit
from campaign import examples
from driving import begin
from economy import (
    ANY,
    COMMANDS,
    FILES,
    LEVELS,
    PATHS,
    TEXTS,
    check_second_step,
    check_shown,
    check_sums,
    check_told,
    in_context,
    recent,
    seen,
    sent,
    stock,
)
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import engine
from engine.effects import files
from engine.effects.perform import Performer
from engine.packets.rendering import Renderer

OWN = ("known:", "unknown:", "https:", "sh:", "log:", "prompt:")
RATES = st.sampled_from([None, None, None, 0.2, 1.5, 3.0, 4.0, 40.0])


class Economy(RuleBasedStateMachine):
    """Runs of one file, driven turn by turn without a model."""

    @initialize(
        room=st.sampled_from([9000, 4000, 20_000, 1500, -4200]),
        ratio=st.sampled_from([None, 0.3, 0.6]),
        steps=st.sampled_from([3, 40]),
    )
    def start(self, room: int, ratio: float | None, steps: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        root = self.folder / "project"
        root.mkdir()
        (root / "a.md").write_text("# A\n\nline of text\n" * 40)
        (root / "code.py").write_text("def f():\n    return 1\n\n\n" * 30)
        self.loop = {"context_limit": 4600 + room, "condense_ratio": ratio, "max_turns": steps, "yolo": True}
        self.db = engine.open(self.folder / "t.db", synchronous="NORMAL")
        self.runs = ["demo"]
        self.past: dict[str, dict[int, list[Any]]] = {"demo": {}}
        self.packets: dict[str, dict[int, list[str]]] = {"demo": {}}
        self.stocks: dict[tuple[str, int], dict[str, tuple[Any, ...]]] = {}
        self.limits: dict[tuple[str, int], int] = {}
        self.kills: list[bool] = []
        begin(self.db, "demo", "Do what you can\n" * 60, root=str(root), **self.loop)

    @rule(
        commands=st.lists(COMMANDS, max_size=8),
        status=st.sampled_from([102, 102, 102, 200]),
        rate=RATES,
        refusals=st.sampled_from([0, 0, 0, 0, 1, 2]),
        which=st.integers(0, 9),
        kills=st.lists(st.booleans(), max_size=12),
    )
    def take_a_turn(
        self, commands: list[str], status: int, rate: float | None, refusals: int, which: int, kills: list[bool]
    ) -> None:
        run, self.kills = self.runs[which % len(self.runs)], kills
        turn_id = self.begin_turn(run)
        if not self.send(run, turn_id):
            return
        for _ in range(refusals):
            self.step(lambda: self.db.insert("_fail_call", turn_id=turn_id, status=413, message="too long"))
            if self.db.value("select phase = 'assembling' from turns where id = ?", (turn_id,)):
                self.forget(run, turn_id)
            if not self.send(run, turn_id, refused=True):
                return
        chars = self.db.value("select context_chars from turns where id = ?", (turn_id,))
        response = "".join(commands) + f'<update status="{status}">turn {turn_id}</update>'
        self.answer(run, turn_id, response, None if rate is None else int(chars / rate))

    def answer(self, run: str, turn_id: int, response: str, reported: int | None = None) -> None:
        """Store what the model said, dispatch it and do in the world what it asked for, until the turn is over."""
        query = "update turns set response = ?, prompt_tokens = ? where id = ?"
        self.step(lambda: self.db.execute(query, (response, reported, turn_id)))
        run_id = self.db.value("select id from runs where alias = ?", (run,))
        while self.db.value("select phase <> 'judged' from turns where id = ?", (turn_id,)):
            if self.next(run) == "perform":
                Performer(self.db, None, threading.Event()).perform(run_id)
            else:
                assert self.next(run) == "dispatch"
                self.step(lambda: self.db.insert("_dispatch", run=run))

    def step(self, act: Callable[[], None]) -> None:
        """Do a step; where a kill is due, first begin it, lose it with the process, and open the file again."""
        if self.kills and self.kills.pop():
            self.db.execute("begin immediate")
            act()
            self.db.close()
            self.db = engine.open(self.folder / "t.db", synchronous="NORMAL")
        act()

    def begin_turn(self, run: str) -> int:
        while self.next(run) == "perform":  # what a client has asked for between turns
            run_id = self.db.value("select id from runs where alias = ?", (run,))
            Performer(self.db, None, threading.Event()).perform(run_id)
        if self.next(run) == "end":
            begin(self.db, run, "And then this", **self.loop)
        self.step(lambda: self.db.insert("_begin_turn", run=run))
        return int(self.db.value("select max(id) from turns"))

    def next(self, run: str) -> str:
        return str(self.db.value("select step from _next_steps where run = ?", (run,)))

    def send(self, run: str, turn_id: int, refused: bool = False) -> bool:
        """Render and offer until the packet goes out or the loop ends; check what must hold on the way."""
        for request in self.db.rows("select * from _scan_requests where turn_id = ?", (turn_id,)):
            files.scan(self.db, request)
        files.look_at_watched(self.db, self.db.value("select run_id from turns where id = ?", (turn_id,)))
        before, brought = self.contents(run), recent(self.db, turn_id)
        while (phase := self.db.value("select phase from turns where id = ?", (turn_id,))) == "assembling":
            renderer = Renderer(self.db)
            with self.db.transaction():
                check_sums(self.db, turn_id, renderer.render(turn_id))
            self.step(lambda: Renderer(self.db).offer(turn_id, None))
        after = self.contents(run)
        assert {path: after[path] for path in before} == before, "only what is shown has changed"
        self.check_end(turn_id, phase, refused)
        if not refused:
            check_second_step(self.db, turn_id, brought)
        if phase == "asking":
            self.remember(run, turn_id)
        return phase == "asking"

    def contents(self, run: str) -> dict[str, tuple[Any, ...]]:
        rows = self.db.rows(
            "select path, body, state, outcome, status, attributes, write_count from known_entries where run = ?",
            (run,),
        )
        return {row["path"]: tuple(row.values()) for row in rows if "/budget" not in row["path"]}

    def check_end(self, turn_id: int, phase: str, refused: bool) -> None:
        row = self.db.row(
            "select t.context_tokens as tokens, b.ceiling, l.status from turns as t join loops as l on l.id = t.loop_id "
            "join _loop_ceilings as b on b.loop_id = l.id where t.id = ?",
            (turn_id,),
        )
        assert row is not None
        if phase == "asking":
            assert row["tokens"] <= row["ceiling"]
        else:
            assert (phase, row["status"]) == ("judged", 413)
            assert refused or row["tokens"] > row["ceiling"]

    def remember(self, run: str, turn_id: int) -> None:
        """Note what was sent and seen in the very moment."""
        turn, chars = self.db.row("select sequence, context_chars from turns where id = ?", (turn_id,)).values()
        messages = [message.content for message in Renderer(self.db).messages(turn_id)]
        assert sum(map(len, messages)) == chars
        self.packets[run][turn] = messages
        self.past[run][turn] = in_context(self.db, run)
        self.stocks[run, turn] = stock(self.db, run)
        self.limits[run, turn] = self.loop["context_limit"]
        check_shown(self.db, run, messages[-1])
        check_told(self.db, turn_id, messages[-1])

    def forget(self, run: str, turn_id: int) -> None:
        """A packet that the provider refused is replaced by the one that is sent in its place."""
        turn = self.db.value("select sequence from turns where id = ?", (turn_id,))
        for noted in (self.packets[run], self.past[run]):
            del noted[turn]
        del self.stocks[run, turn]

    @invariant()
    def the_past_stays(self) -> None:
        for run in getattr(self, "runs", ()):
            assert seen(self.db, run) == self.past[run]
            assert sent(self.db, run) == self.packets[run]

    @precondition(lambda self: self.db.value("select count(*) from demotions"))
    @rule(which=st.integers(0, 99))
    def get_what_was_demoted(self, which: int) -> None:
        rows = self.db.rows(
            "select r.alias as run, d.path, k.body, k.status from demotions as d join turns as t on t.id = d.turn_id "
            "join runs as r on r.id = t.run_id join known_entries as k on k.run = r.alias and k.path = d.path"
        )
        if not rows:
            return
        row, entry = (
            rows[which % len(rows)],
            "select visibility, body, status from known_entries where run = ? and path = ?",
        )
        turn_id = self.begin_turn(row["run"])
        if self.send(row["run"], turn_id):
            response = f'<get path="{row["path"]}"/><update status="102">get {turn_id}</update>'
            self.answer(row["run"], turn_id, response)
            got = self.db.row(entry, (row["run"], row["path"]))
            assert got == {"visibility": "visible", "body": row["body"], "status": row["status"]}

    @rule(path=PATHS, body=TEXTS, level=LEVELS, which=st.integers(0, 9))
    def write_from_outside(self, path: str, body: str, level: str, which: int) -> None:
        self.do_as_client(which, "verb_set", path=path, body=body, visibility=level)

    @rule(path=ANY, level=LEVELS, which=st.integers(0, 9))
    def show_from_outside(self, path: str, level: str, which: int) -> None:
        self.do_as_client(which, "verb_set", path=path, visibility=level)

    @rule(
        verb=st.sampled_from(["verb_get", "verb_rm", "verb_mv", "verb_cp"]),
        path=PATHS,
        to=PATHS,
        which=st.integers(0, 9),
    )
    def move_from_outside(self, verb: str, path: str, to: str, which: int) -> None:
        ends = {"to": to} if verb in ("verb_mv", "verb_cp") else {}
        self.do_as_client(which, verb, path=path, **ends)

    def do_as_client(self, which: int, verb: str, **columns: Any) -> None:
        """Do it, or be refused and leave nothing."""
        run = self.runs[which % len(self.runs)]
        before = stock(self.db, run)
        try:
            self.db.insert(verb, run=run, **columns)
        except engine.EngineError:
            assert stock(self.db, run) == before

    @rule(text=TEXTS, name=st.sampled_from(FILES))
    def edit_a_file(self, text: str, name: str) -> None:
        (self.folder / "project" / name).write_text(text)

    @rule(limit=st.sampled_from([400, 5000, 9000, 30_000]), which=st.integers(0, 9))
    def change_the_limit(self, limit: int, which: int) -> None:
        run = self.runs[which % len(self.runs)]
        self.loop["context_limit"] = limit
        self.db.insert("verb_set", run=run, path=f"run://{run}", attributes=json.dumps({"context_limit": limit}))

    @precondition(lambda self: len(self.runs) < 4 and self.stocks)
    @rule(which=st.integers(0, 99), now=st.booleans())
    def fork(self, which: int, now: bool) -> None:
        """A child has what its parent saw, now or at any turn, and its ladder finds the same."""
        parent, turn = list(self.stocks)[which % len(self.stocks)]
        child = self.fork_of(parent, None if now else turn)
        assert stock(self.db, child) == (stock(self.db, parent) if now else self.stocks[parent, turn])

    @precondition(lambda self: len(self.runs) < 4 and self.stocks)
    @rule(which=st.integers(0, 99))
    def do_the_same(self, which: int) -> None:
        """Two of a kind that are given the same prompt send the same packet, after the same demotions."""
        parent, _ = list(self.stocks)[which % len(self.stocks)]
        if self.next(parent) != "end":
            self.db.abort(parent)
        twin = self.fork_of(parent, None)
        for run in (parent, twin):
            turn_id = self.begin_turn(run)
            if self.send(run, turn_id):
                self.answer(run, turn_id, "Done.")
        both = [self.last_turn(run) for run in (parent, twin)]
        assert both[0] == both[1]

    def last_turn(self, run: str) -> tuple[Any, ...]:
        turn = self.db.value("select next_turn - 1 from runs where alias = ?", (run,))
        demoted = self.db.rows(
            "select d.step, d.path, d.tokens from demotions as d join turns as t on t.id = d.turn_id "
            "join runs as r on r.id = t.run_id where r.alias = ? and t.sequence = ? order by 1, 2",
            (run, turn),
        )
        return turn, self.packets[run].get(turn), demoted

    @precondition(lambda self: len(self.runs) < 4 and self.stocks)
    @rule(which=st.integers(0, 99))
    def do_again(self, which: int) -> None:
        """A fork at the first turn of a loop that is given that loop's prompt sends what its parent sent."""
        parent, turn = list(self.stocks)[which % len(self.stocks)]
        row = self.db.row(
            "select l.prompt from turns as t join loops as l on l.id = t.loop_id join runs as r on r.id = t.run_id "
            "where r.alias = ? and t.sequence = ? and not t.ladder and not t.condensed and not t.refused "
            "and not exists (select 1 from turns as o where o.loop_id = l.id and o.sequence < t.sequence)",
            (parent, turn),
        )
        shared = any(not path.startswith(OWN) for path, *_ in self.past[parent][turn])
        if row is None or shared or self.limits[parent, turn] != self.loop["context_limit"]:
            return
        child = self.fork_of(parent, turn)
        begin(self.db, child, row["prompt"], **self.loop)
        turn_id = self.begin_turn(child)
        assert self.send(child, turn_id)
        assert self.packets[child][turn] == self.packets[parent][turn]
        self.answer(child, turn_id, "Done.")

    def fork_of(self, parent: str, at: int | None) -> str:
        child = self.db.fork(parent, f"child{len(self.runs)}", at=at)
        self.runs.append(child)
        first = self.db.value("select next_turn from runs where alias = ?", (child,))
        self.past[child] = {turn: rows for turn, rows in self.past[parent].items() if turn < first}
        self.packets[child] = {}
        return child

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
            audit(self.folder / "t.db")
            shutil.rmtree(self.folder)


Economy.TestCase.settings = settings(examples(8), stateful_step_count=16)
TestEconomy = Economy.TestCase
