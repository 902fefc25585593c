"""The program of the helper process: reads queries from its input, one after another, and writes what they find.

Run as a script, it loads the modules of the queries without the package `engine`, which opens databases and takes longer to
import than most queries to run.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def main() -> None:
    """Serve until the input ends. Its arguments are the folders of the libraries, as JSON, and its memory in bytes."""
    sys.path[:] = json.loads(sys.argv[1])
    size = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(kind, (0, 0))
    package = ModuleType("engine.functions")
    package.__path__ = [str(Path(__file__).parent.parent)]
    sys.modules["engine"], sys.modules["engine.functions"] = ModuleType("engine"), package
    from engine.functions.patterns import documents

    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while len(head := source.read(8)) == 8:
        request = json.loads(source.read(int.from_bytes(head, "big")))
        sink.write(json.dumps(_reply(documents.WORK[request["work"]], request)).encode() + b"\n")
        sink.flush()


def _reply(work: Callable[..., Any], request: dict[str, Any]) -> dict[str, Any]:
    """The result of a request. One that takes more seconds of CPU than it may ends the process."""
    from engine.functions.limits import Allowance

    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, request["seconds"])
    try:
        with Allowance(request["seconds"]) as allowed:
            found = {"result": work(*request["arguments"])}
        # a regex inside of the query broke a limit
        found = next(({"failure": f"fails: {said}"} for said in allowed.failures.values()), found)
    except MemoryError:
        found = {"failure": ""}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {**found, "seconds": time.process_time() - began}


if __name__ == "__main__":
    main()
