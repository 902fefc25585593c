"""Runs the work that the command line names and prints what it took; every program of a peer ends with `measure`."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable

AT_ONCE = 50
MODEL_S = 0.05


async def at_once(size: int, limit: int, one: Callable[[int], Awaitable[None]]) -> None:
    """Do `one` for each number below `size`, so many at a time."""
    free = asyncio.Semaphore(limit)

    async def waits(number: int) -> None:
        async with free:
            await one(number)

    await asyncio.gather(*map(waits, range(size)))


def measure(works: dict[str, Callable[[int], Awaitable[None]]]) -> None:
    """Do the work of the first argument, as often as the second says; starting Python and importing are left out."""
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    asyncio.run(works[sys.argv[1]](int(sys.argv[2])))  # type: ignore[arg-type]
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"cpu": round(cpu, 2), "wall": round(wall, 2), "mb": round(after.ru_maxrss / 1024, 1)}))
