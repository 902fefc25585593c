"""Drives one run to its end: started here, or taken up where another process left it.

`python child.py DATABASE ROOT MODEL [DEPTH [WORKFLOW]]` prints `ready` when only the work itself is left to do, and at the
end one line of JSON: the result, or the error.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import engine
from engine.packets import layout

RUN = "crash"
PROMPT = "Bring the files up to date."


def main(database: str, root: str, model: str, depth: str = "0", workflow: str | None = None) -> None:
    """Start or resume the run, which may delegate so deep, or the run of a workflow, and print how it ended."""
    layout.environment()
    print("ready", flush=True)
    try:
        with engine.open(database) as db:
            if db.value("select 1 from runs where alias = ?", (RUN,)):
                result = db.resume(RUN)
            elif workflow:
                result = db.run_workflow(workflow, run=RUN, model=model, root=root, yolo=True)
            else:
                result = db.run(PROMPT, run=RUN, model=model, root=root, yolo=True, max_depth=int(depth))
    except engine.EngineError as error:
        print(json.dumps({"error": str(error), "status": error.status}))
        sys.exit(1)
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    main(*sys.argv[1:])
