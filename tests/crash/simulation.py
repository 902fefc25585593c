"""Drivers and clients over one file, in a history that a seed decides, and what has to be true of it.

`python -m tests.crash.simulation 17` tells history 17 step by step; `--seeds 1000` tries as many, from `--first` on.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent))

from audit import audit
from crash.scheduler import START_MS, Actor, Scheduler, scheduled

import engine
from engine.errors import EngineError
from engine.models.protocol import FREE, Completion, ModelError, Request, Usage

RUNS = ("a", "b", "c")
LOOKS = 40
"""The file is looked at after so many steps."""
_TOKEN = re.compile(r"t\d+")
_DAY_MS = 86_400_000
_LOOPS = "select run, loop, status, answer, reason from loop_list"
_RESPONSES = """
    select r.alias as run, t.sequence as turn, t.response
    from turns as t
    join runs as r on r.id = t.run_id
    where t.response is not null
"""
_NOTED = """
    select n.token, c.state
    from noted as n
    left join command_results as c on c.action = 'note' and c.message like '%noted ' || n.token || '%'
"""
_COMMANDS = "select run, action, state, target, message from command_results"


class Broken(AssertionError):
    """Something that has to be true of every history is not."""


@engine.tool(idempotent=True)
def note(text: str, context: engine.Context[Any]) -> str:
    """Note a text."""
    context.db.execute("insert into noted (token, request_id) values (?, ?)", (text, context.request_id))
    return f"noted {text}"


class World:
    """What is known of the file without asking it: what was told to clients, what models answered, what tools did."""

    def __init__(self, folder: Path, scheduler: Scheduler, faults: tuple[str, ...] = ()) -> None:
        self._faults = faults
        self.path = folder / "t.db"
        self.root = folder / "root"
        self.root.mkdir()
        self.scheduler = scheduler
        self.given: dict[str, tuple[str, int]] = {}
        """For each answer, the run and the number of responses that it had."""
        self.told: set[tuple[str, int]] = set()
        """Prompts that a client was told are stored."""
        self.ended: dict[tuple[str, int], tuple[int, str | None]] = {}
        """How prompts have ended, as it was first seen."""
        self.outcomes: Counter[str] = Counter()

    # what models and tools do

    name = "simulated"
    price = FREE

    def complete(self, request: Request, on_delta: Any = None, cancelled: Any = None) -> Completion:
        """An answer that the seed chooses, after others have had their turns; no text is given twice."""
        chance = self.scheduler.chance
        for _ in range(chance.randrange(4)):
            self.scheduler.give_way()
        drawn = chance.random()
        if drawn < 0.03:
            raise ModelError("invalid", "the provider refuses this")
        token = f"t{len(self.given) + 1}"
        self.given[token] = (request.run, request.position)
        on = f'<update status="102">{token}</update>'
        text = (
            f'<set path="known://{token}">text</set>{on}'
            if drawn < 0.2
            else f'<note text="{token}"/>{on}'
            if drawn < 0.4
            else f'<set path="{token}.md">{token}\n</set>{on}'
            if drawn < 0.6
            else f"<ask_user>{token}?</ask_user>{on}"
            if drawn < 0.65
            else f"nothing to see {token}"
            if drawn < 0.7
            else f'<update status="200">{token}</update>'
        )
        self.scheduler.tell(f"{request.run} is answered {text}")
        return Completion(text=text, usage=Usage(100, 10, 0, 0, 0.0))

    def open(self) -> engine.Database:
        """A handle, as another process would have it."""
        db = engine.open(self.path, clock=self.scheduler, tools=[note])
        db.give_model(self)
        for fault in self._faults:
            db.connection.execute(fault)
        return db

    # what clients do

    def prompt(self, db: engine.Database, run: str) -> None:
        """Give a prompt, and drive the run."""
        yolo = self.scheduler.chance.random() < 0.7
        result = db.run("Go", run=run, model=self, root=self.root, yolo=yolo, max_turns=6)
        if result.status in (200, 499, 500):
            self._expect_end(db, run, result)

    def _expect_end(self, db: engine.Database, run: str, result: Any) -> None:
        said = _TOKEN.search(result.answer or "")
        if result.status == 200 and said and self.given.get(said[0], ("",))[0] != run:
            raise Broken(f"run {run} answered {result.answer!r}, which its model never said")

    def begin(self, db: engine.Database, run: str) -> None:
        """Give a prompt, and leave it to others."""
        self.told.add((run, db.start("Go", run=run, model=self, root=self.root, yolo=True, max_turns=6).loops))

    def resume(self, db: engine.Database, run: str) -> None:
        """Go on with the run, and decide on what it proposes."""
        answers = [True, False, "yes", None]
        db.resume(run, on_proposal=lambda _: self.scheduler.chance.choice(answers))

    def decide(self, db: engine.Database, run: str) -> None:
        """Decide on all that is open."""
        db.resolve(run, accept=self.scheduler.chance.random() < 0.7)

    def abort(self, db: engine.Database, run: str) -> None:
        """End the prompt that is active."""
        db.abort(run, "enough")

    def write(self, db: engine.Database, run: str) -> None:
        """Write an entry."""
        db.insert("verb_set", run=run, path="known://client", body=str(self.scheduler.now))

    def client(self, actor: Actor) -> None:
        """Some acts, one after the other; that something cannot be done now is an answer like any other."""
        chance = self.scheduler.chance
        acts: list[tuple[Callable[[engine.Database, str], None], int]] = [
            (self.prompt, 5), (self.begin, 2), (self.resume, 4), (self.decide, 2), (self.abort, 1), (self.write, 1),
        ]  # fmt: skip
        db = self.open()
        for _ in range(chance.randrange(2, 5)):
            (act,) = chance.choices([act for act, _ in acts], [weight for _, weight in acts])
            run = chance.choice(RUNS)
            self.scheduler.tell(f"{actor.name} does {act.__name__} {run}")
            try:
                act(db, run)
                self.outcomes["done"] += 1
            except EngineError as error:
                if error.status not in (400, 403, 404, 409):
                    raise
                self.scheduler.tell(f"{actor.name} is told {error}")
                self.outcomes[type(error).__name__] += 1
        db.close()

    # what has to be true

    def look(self, db: engine.Database) -> None:
        """What was told is there, and what has ended stays as it ended."""
        now = {(row["run"], row["loop"]): row for row in db.rows(_LOOPS)}
        for prompt in self.told | self.ended.keys():
            if prompt not in now:
                raise Broken(f"prompt {prompt} is gone")
        for prompt, row in now.items():
            if row["status"] in (100, 102, 202):
                if prompt in self.ended:
                    raise Broken(f"prompt {prompt} had ended with {self.ended[prompt]}, and is open again")
                continue
            end = (row["status"], row["answer"])
            if self.ended.setdefault(prompt, end) != end:
                raise Broken(f"prompt {prompt} had ended with {self.ended[prompt]}, now with {end}")

    def finish(self) -> None:
        """Let one process do what is left, and look at all."""
        self.scheduler.now += 2 * _DAY_MS
        with self.open() as db:
            for _ in range(8):
                for run in [
                    row["run"] for row in db.rows("select distinct run from loop_list where status in (100, 102, 202)")
                ]:
                    self.scheduler.tell(f"the last one resumes {run}")
                    db.resume(run, on_proposal=lambda proposal: "yes" if proposal["kind"] == "question" else True)
                    if db.value("select 1 from open_proposals where run = ?", (run,)):
                        db.resolve(run, accept=True)
            self.look(db)
            left = db.rows("select run, loop, status from loop_list where status in (100, 102, 202)")
            if left:
                raise Broken(f"nobody can end {left}")
            self._answers(db)
            self._deeds(db)
            if faults := db.verify().faults:
                raise Broken(f"the record is not as it was sealed: {faults}")
        audit(self.path)

    def _answers(self, db: engine.Database) -> None:
        seen: Counter[str] = Counter()
        for row in db.rows(_RESPONSES):
            for token in set(_TOKEN.findall(row["response"])):
                seen[token] += 1
                if self.given[token][0] != row["run"]:
                    raise Broken(f"turn {row['turn']} of {row['run']} has {token}, the answer to another run")
        twice = [token for token, count in seen.items() if count > 1]
        if twice:
            raise Broken(f"answers stand in several turns: {twice}")

    def _deeds(self, db: engine.Database) -> None:
        noted = Counter(token for (token,) in db.tuples("select token from noted"))
        done = Counter(
            token
            for row in db.rows("select message from command_results where action = 'note' and state = 'resolved'")
            for token in _TOKEN.findall(row["message"])[:1]
        )
        if noted != done:
            raise Broken(f"noted: {noted}; commands that are resolved: {done}")
        for row in db.rows("select state, path from command_results where action = 'set' and path like 't%.md'"):
            there = (self.root / row["path"]).exists()
            if there != (row["state"] == "resolved"):
                raise Broken(
                    f"set {row['path']} is {row['state']}, and the file is {'there' if there else 'not there'}"
                )


def simulate(folder: Path, seed: int, *faults: str) -> World:
    """One history; raises what is wrong with it. `faults` are statements that break the file's rules."""
    scheduler = Scheduler(seed, most_dead=2)
    world = World(folder, scheduler, faults)
    with scheduled(scheduler):
        with world.open() as db:
            db.execute("create table noted (token text not null, request_id text primary key)")
        for number in range(scheduler.chance.randrange(2, 6)):
            scheduler.add(f"client{number}", world.client)
        with world.open() as watching:

            def look() -> None:
                if scheduler.steps % LOOKS == 0:
                    world.look(watching)

            scheduler.run(look)
        try:
            for actor in scheduler.actors:
                if actor.error:
                    raise actor.error
            world.finish()
        finally:
            scheduler.end()
    return world


def main() -> int:
    """Try histories from the command line."""
    parser = argparse.ArgumentParser(
        description="Histories of drivers and clients over one file, each decided by a seed."
    )
    parser.add_argument("seed", nargs="?", type=int, help="tell this history")
    parser.add_argument("--seeds", type=int, default=100, help="how many to try (default: 100)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default: 0)")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds) if given.seed is None else [given.seed]
    failed = 0
    steps = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="simulation-") as folder:
            try:
                world = simulate(Path(folder), seed)
            except Exception as error:
                failed += 1
                print(f"seed {seed}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                if given.seed is not None:
                    raise
                continue
        steps += world.scheduler.steps
        if given.seed is not None:
            print(*world.scheduler.told, sep="\n")
            print(dict(world.outcomes), f"{(world.scheduler.now - START_MS) / 1000:.0f} s of its own time")
    print(f"{len(seeds)} histories, {steps} steps, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
