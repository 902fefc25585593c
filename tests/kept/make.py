"""Makes the kept file anew: `python -m tests.kept.make`. It is compressed and holds a run of each kind, in one folder.

1. work: two prompts, edits, shell commands, a file that somebody else changed between them. 2. decided: accepted, replaced
and rejected proposals, a question. 3. children: three runs below one, one of which fails.

spec: @kept_runs
"""

from __future__ import annotations

import lzma
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import engine
from engine.models.protocol import Completion, Request, Usage

KEPT = Path(__file__).parent
PLACE = Path("/tmp/engine-kept")
"""Where the runs work; it stands in the files."""
ON = '<update status="102">on</update>'
DONE = '<update status="200">Done.</update>'
EDIT = '<set path="notes.md"><<SEARCH\n8080\nSEARCH\n<<REPLACE\n9090\nREPLACE</set>'


class Played:
    """A model that plays each run by its name; a run without a part is done at once."""

    name = "played"

    def __init__(self, **parts: list[str]) -> None:
        self._parts = parts

    def complete(self, request: Request, *_: object) -> Completion:
        """The next answer of the run that asks."""
        said = [*self._parts.get(request.run.replace("-", "_"), ()), DONE]
        return Completion(said[min(request.position, len(said) - 1)], "", Usage(100, 0, 10, 0, 0.001))


def work(db: engine.Database, root: Path) -> None:
    answers = [
        f'<get path="notes.md"/><set path="known://port">8080</set>{ON}',
        f"{EDIT}<sh>echo made > made.txt; rm src/util.py; echo told</sh><env>pwd | wc -l</env>{ON}",
        f'<get path="made.txt"/><mv path="settings.ini" to="conf/settings.ini"/><get path="nothing.md"/>{ON}',
        DONE,
        f'<get path="known://*"/><sh>exit 3</sh>{ON}',
        "The port is 9090.",
    ]
    db.run("Change the port", run="work", model=Played(work=answers), root=root, yolo=True, sandbox="off")
    (root / "notes.md").write_text("# Notes\n\nby hand\n", encoding="utf-8")
    db.insert("verb_set", run="work", path="known://later", body="from the app")
    db.run("Which port is it?", run="work", yolo=True, sandbox="off")


def decided(db: engine.Database, root: Path) -> None:
    answers = [
        f'<get path="notes.md"/>{ON}',
        f"{EDIT}<sh>echo no</sh>{ON}",
        f'<ask_user options="a;b">Which?</ask_user>{ON}',
        f'<set path="new.md">new\n</set>{ON}',
        DONE,
    ]
    db.run("Work", run="decided", model=Played(decided=answers), root=root)
    db.resolve("decided", "log://turn_2/set/notes.md", accept=True, body="other text\n", by="ada")
    db.resume("decided")
    db.resolve("decided", None, accept=False, reason="not that", by="ada")
    db.resume("decided")
    db.resolve("decided", None, accept=True, body="b")
    db.resume("decided")
    db.resolve("decided", None, accept=False)
    db.resume("decided")


def children(db: engine.Database, root: Path) -> None:
    db.execute("update settings set value = '1' where name = 'max_parallel_children'")
    tasks = "".join(f"<subtask>{task}</subtask>" for task in ("Count rows", "Write a.txt", "Fail"))
    parts = {
        "children": [tasks + ON, f'<get path="a.txt"/>{ON}', DONE],
        "children_1": ['<update status="200">7 rows</update>'],
        "children_2": [f'<set path="a.txt">a\n</set>{ON}', '<update status="200">written</update>'],
        "children_3": ['<update status="422">cannot</update>'],
    }
    db.run("Give it away", run="children", model=Played(**parts), root=root, yolo=True, max_depth=1)


MAKERS: tuple[Callable[[engine.Database, Path], None], ...] = (work, decided, children)


def folder() -> Path:
    """A fresh folder with a few files."""
    shutil.rmtree(PLACE, ignore_errors=True)
    (PLACE / "src").mkdir(parents=True)
    (PLACE / "notes.md").write_text("# Notes\n\nThe port is 8080.\n", encoding="utf-8")
    (PLACE / "settings.ini").write_text("[server]\nport = 8080\n", encoding="utf-8")
    (PLACE / "src" / "util.py").write_text("LIMIT = 10\n", encoding="utf-8")
    return PLACE


def main() -> None:
    """Make the file."""
    with TemporaryDirectory() as place:
        with engine.open(Path(place) / "runs.db") as db:
            for make in MAKERS:
                make(db, folder())
            db.execute("vacuum into ?", (f"{place}/kept.db",))
        data = lzma.compress((Path(place) / "kept.db").read_bytes(), preset=9)
    (KEPT / "runs.db.xz").write_bytes(data)
    shutil.rmtree(PLACE, ignore_errors=True)
    print(f"{len(data):,} bytes")


if __name__ == "__main__":
    main()
