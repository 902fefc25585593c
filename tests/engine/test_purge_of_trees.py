"""A tree is purged as a whole; a child that is purged alone while its parent waits for it.

spec: @purge @acceptance_verdict
"""

from __future__ import annotations

from pathlib import Path

import pytest
from delegating import DONE, Cast, ended, gives
from engine_cli import engine as command
from test_purge import rows_of
from workflow_steps import Steps, said, workflow

import engine
from engine.driving.lease import Lease
from engine.errors import Conflict, NotFound
from engine.models.protocol import Completion, Request

SECRET = "swordfish"
PARTS = {
    "demo": [gives("One", "Two"), DONE],
    "demo-1": [f'<set path="known://vault">{SECRET}</set>' + gives("Deep"), f"{SECRET}{ended()}"],
    "demo-1-1": [f'<set path="deep.md">{SECRET}\n</set>' + ended()],
}


@pytest.fixture
def tree(db: engine.Database, workspace_dir: Path) -> engine.Database:
    """A tree of four runs, and a run that is none of it."""
    db.run("Stay", model=Cast({}), run="demo-9")
    options = {"max_depth": 2, "yolo": True, "accept": "all is done"}
    db.run("Do it", model=Cast(PARTS), run="demo", root=workspace_dir, **options)
    return db


def runs(db: engine.Database) -> list[str]:
    return [str(row["alias"]) for row in db.rows("select alias from runs order by id")]


def test_a_tree_goes_as_a_whole_and_nothing_of_it_is_left(tree: engine.Database, workspace_dir: Path) -> None:
    everything = ["demo-9", "demo", "demo-1", "demo-2", "demo-1-1", "demo-3"]
    assert sorted(runs(tree)) == sorted(everything)
    with pytest.raises(Conflict, match="or purge all of them with 'engine runs purge demo --tree'"):
        tree.purge("demo")
    with Lease(tree, "demo-1-1"), pytest.raises(Conflict, match="demo-1-1: a process works on it"):
        tree.purge("demo", tree=True)
    fork = tree.fork("demo-1", "other")
    with pytest.raises(Conflict, match=r"run demo-1: has child runs or forks: .*other"):
        tree.purge("demo", tree=True)
    tree.purge(fork)
    assert sorted(runs(tree)) == sorted(everything)
    tree.purge("demo", tree=True)
    assert runs(tree) == ["demo-9"]
    left = rows_of(tree)
    for table in ("children", "acceptance_checks", "write_claims", "proposals"):
        assert left[table] == 0, table
    tree.close()
    # the file of the project stays, as it was written for good
    assert (workspace_dir / "deep.md").read_text() == f"{SECRET}\n"
    texts = engine.open(tree.path).rows("select body from contents where body like '%' || ? || '%'", (SECRET,))
    assert [row["body"] for row in texts] == [f"{SECRET}\n"]


def test_a_workflow_goes_with_its_steps(db: engine.Database, tmp_path: Path) -> None:
    path = workflow(tmp_path, {"one": {}, "two": {"needs": ["one"]}})
    db.run_workflow(path, run="wf", root=tmp_path, model=Steps(one=[said("1")], two=[said("2")]))
    db.purge("wf", tree=True)
    assert runs(db) == []
    assert (rows_of(db)["step_runs"], rows_of(db)["workflow_runs"], rows_of(db)["workflows"]) == (0, 0, 1)


def test_the_command_names_what_goes_and_asks(tree: engine.Database, tmp_path: Path) -> None:
    tree.close()
    at = ("--db", str(tree.path))
    refused = command(tmp_path, "runs", "purge", "demo", "--tree", *at)
    assert refused.returncode == 2
    assert (
        "run demo, and its child runs demo-1, demo-2, demo-3, demo-1-1, with 7 turns: will be removed for good"
        in refused.stderr
    )
    assert command(tmp_path, "runs", "purge", "demo", "--yes", *at).returncode == 1
    done = command(tmp_path, "runs", "purge", "demo", "--tree", "--yes", *at)
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "demo, demo-1, demo-2, demo-3, demo-1-1")
    assert command(tmp_path, "runs", "purge", "none", "--tree", "--yes", *at).returncode == 2


def test_a_judge_that_is_purged_in_flight_is_an_error_of_the_check(db: engine.Database) -> None:
    class Stopping:
        """Stops the driver where the judge is asked."""

        driver: engine.Driver | None = None

        def complete(self, request: Request, *_: object) -> Completion:
            if request.run != "demo":
                assert self.driver is not None
                self.driver.stop()
            return Completion("<update status='200'>PASS done</update>")

    model = Stopping()
    stopped = db.run(
        "Do it", model=model, run="demo", accept="it is done", on_driver=lambda driver: setattr(model, "driver", driver)
    )
    assert stopped.status == 102
    db.purge("demo-1")
    result = db.resume("demo")
    assert (result.status, result.answer) == (200, "PASS done")
    assert "not verified: the run of the judge was purged" in str(result.reason)


def test_a_child_that_is_purged_in_flight_is_begun_anew(db: engine.Database) -> None:
    cast = Cast({"demo": [gives("One"), DONE]})

    def stopping(request: Request) -> str:
        drivers[0].stop()
        return ended()

    cast.parts = {**cast.parts, "demo-1": [stopping]}
    drivers: list[engine.Driver] = []
    db.run("Do it", model=cast, run="demo", max_depth=1, on_driver=drivers.append)
    cast.parts = {"demo": [gives("One"), DONE]}
    db.purge("demo-1")
    with pytest.raises(NotFound):
        db.purge("demo-1")
    assert db.resume("demo").status == 200
    assert sorted(runs(db)) == ["demo", "demo-1"]
