"""Read many documents with a model, a row for each: typed, within a ceiling, with progress, and analysed by one SQL.

    pip install -e '.[models]'                                   # in the folder of the engine's source
    ENGINE_MODEL=openai/MODEL python batch.py letters/ --spend 2.50
    python batch.py letters/                                     # goes on where it was stopped or killed

Each document is a run. Its answer is an object of the type `Letter`, kept as JSON in the file.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import engine

AT_ONCE = 50
REPORT = """
select output ->> '$.topic' as topic, count(*) as letters, sum(output ->> '$.urgent') as urgent,
    round(avg(output ->> '$.amount'), 2) as amount, round(sum(cost), 4) as dollars
from loop_results
where output is not null
group by topic
order by letters desc, topic
"""


@dataclass
class Letter:
    """What is taken from a letter."""

    topic: Literal["invoice", "complaint", "order", "other"]
    urgent: bool
    amount: float | None = None


class Batch:
    """The documents of a folder, and how far they are."""

    def __init__(self, db: engine.Database, folder: Path, spend: float | None) -> None:
        self.db, self.spend = db, spend
        self.files = sorted(path for path in folder.iterdir() if path.is_file())
        self._free = asyncio.Semaphore(AT_ONCE)
        self._done = self._failed = 0

    async def read(self) -> None:
        """Read what was not read yet, so many at once, until all is read or the money is spent."""
        ended = {row["run"] for row in self.db.sql("select run from loop_results where status in (200, 204)")}
        left = [path for path in self.files if path.stem not in ended]
        self._done = len(self.files) - len(left)
        await asyncio.gather(*map(self._one, left))
        print(f"\n{self._done} of {len(self.files)} read, {self._failed} failed, {self._cost():.2f} dollars")

    async def _one(self, path: Path) -> None:
        async with self._free:
            if self.spend is not None and self._cost() >= self.spend:
                return
            try:
                ok = (await self._answer(path)).status == 200
            except engine.EngineError as error:  # this letter cannot be read; the others can
                print(f"\n{path.name}: {error}")
                ok = False
        self._done += ok
        self._failed += not ok
        print(f"\r{self._done} of {len(self.files)}, {self._failed} failed", end="", flush=True)

    async def _answer(self, path: Path) -> engine.Result[Letter]:
        if self.db.sql("select 1 from open_prompts where run = ?", (path.stem,)):  # it was stopped in the middle
            return await self.db.resume_async(path.stem, output=Letter)
        return await self.db.run_async(
            "Read the attached letter.", run=path.stem, attachments=[path], output=Letter, mode="ask", max_turns=4
        )

    def _cost(self) -> float:
        return float(self.db.sql("select coalesce(sum(cost), 0) as cost from loop_results")[0]["cost"])


async def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Read documents with a model.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--db", default="batch.db")
    parser.add_argument("--spend", type=float, metavar="DOLLARS", help="begin no document once this is spent")
    given = parser.parse_args()
    async with await engine.open_async(given.db) as db:
        await Batch(db, given.folder, given.spend).read()
        for row in db.sql(REPORT):
            print(*row.values(), sep="\t")


if __name__ == "__main__":
    asyncio.run(main())
