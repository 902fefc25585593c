"""A file for the gallery of the inspector: a run that edits, one that delegates, a workflow, two that wait."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import engine

GO_ON = '<update status="102">on</update>'
FILES = {
    "README.md": "# Harbour\n\nBerths for ships of all sizes.\n\n- Port: 8080\n- Owner: Ada\n",
    "harbour/berths.py": "LIMIT = 10\n\n\ndef free(taken):\n    return [n for n in range(LIMIT) if n not in taken]\n",
    "tests/test_berths.py": "from harbour.berths import free\n\ndef test_free():\n    assert len(free(set())) == 10\n",
}
WORKFLOW = """
name: release
description: Prepare a release
steps:
  - {id: survey, instruction: Say what changed since the last one.}
  - {id: notes, needs: [survey], instruction: Write the release notes.}
  - {id: check, needs: [survey], instruction: Run the tests and read their output.}
  - {id: sum, needs: [notes, check], instruction: Say whether it can be released.}
"""


def told(text: str, prompt: int, thoughts: str = "") -> dict[str, Any]:
    """An answer with what a provider would report of it."""
    used = {"prompt_tokens": prompt, "cached_tokens": int(prompt * 0.82), "completion_tokens": len(text) // 3 + 40}
    return {
        "text": text,
        "reasoning": thoughts,
        "usage": {**used, "cost": round(prompt * 2.1e-6 + len(text) * 5e-6, 6)},
    }


EDIT = '<set path="harbour/berths.py"><<SEARCH\nLIMIT = 10\nSEARCH\n<<REPLACE\nLIMIT = 12\nREPLACE</set>'
OWNER = '<set path="README.md"><<SEARCH\n- Owner: Ada\nSEARCH\n<<REPLACE\n- Owner: Grace\nREPLACE</set>'
RAISE = [
    told(
        'I look at the code and its tests first.\n<get path="harbour/berths.py"/><get path="tests/**"/><env>ls harbour</env>'
        + GO_ON,
        3_900,
        "The limit is in one place, I suppose. The test may name it too.",
    ),
    told(
        "The limit stands in `harbour/berths.py`, and **one test counts on it**.\n"
        '<set path="known://limit" summary="where the limit is">LIMIT; a test expects 10.</set>' + EDIT + GO_ON,
        4_600,
    ),
    told("<sh>python3 -m pytest -q tests 2>&1 | tail -3; exit 1</sh>" + GO_ON, 5_000, "The test should fail now."),
    told(
        '<set path="tests/test_berths.py"><<SEARCH\n== 10\nSEARCH\n<<REPLACE\n== 12\nREPLACE</set><sh>echo 1 passed</sh>'
        + GO_ON,
        5_600,
    ),
    told(
        '<update status="200">There are now **12 berths**.\n\n| file | change |\n|---|---|\n| `berths.py` | `LIMIT = 12` |\n'
        "| `tests/test_berths.py` | expects 12 |\n\nThe tests pass.</update>",
        5_900,
    ),
]
LEAD = [
    told(
        '<subtask model="cheap">List the public functions of harbour/</subtask>'
        '<subtask model="cheap">Check README.md for wrong facts</subtask>' + GO_ON,
        4_100,
    ),
    told('<update status="200">One function, `free`. The README names the right port.</update>', 5_200),
]  # fmt: skip


def showcase(folder: Path) -> Path:
    """Make the file in `folder`, with the project beside it."""
    for name, text in FILES.items():
        (folder / "harbour" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "harbour" / name).write_text(text)
    (folder / "release.yaml").write_text(WORKFLOW)

    def script(name: str, *answers: Any) -> str:
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
        return f"scripted:{folder / name}.jsonl"

    cheap = script(
        "cheap",
        told('<get path="**" manifest/>' + GO_ON, 2_100),
        told('<update status="200">`free`, in berths.py.</update>', 2_400),
    )
    models = {
        "careful": script("careful", *RAISE), "lead": script("lead", *LEAD), "cheap": cheap,
        "step": script("step", told('<update status="200">Done, nothing stands in the way.</update>', 2_800)),
        "asks": script("asks", told(OWNER + GO_ON, 3_300)),
        "unsure": script("unsure", told("<ask_user>Which berth is for the ferry: 3 or 7?</ask_user>", 3_100)),
    }  # fmt: skip
    options: dict[str, Any] = {"root": folder / "harbour", "sandbox": "off", "overwrite_unseen": True}
    with engine.open(folder / "harbour.db") as db:
        for alias, actual in models.items():
            db.execute(
                "insert into models (alias, actual, context_length, origin, created_at) "
                "values (?, ?, 32768, 'client', now())",
                (alias, actual),
            )
        db.run(
            "Raise the number of berths to 12, with its test",
            run="berths",
            model="careful",
            yolo=True,
            accept_command="grep -q 12 harbour/berths.py",
            **options,
        )
        db.run("Review the package", run="review", model="lead", max_depth=1, yolo=True, **options)
        db.run_workflow(folder / "release.yaml", run="release", model="step", root=folder / "harbour")
        db.run("Make Grace the owner in the README", run="owner", model="asks", **options)
        db.run("Give the ferry a berth", run="ferry", model="unsure", **options)
    return folder / "harbour.db"
