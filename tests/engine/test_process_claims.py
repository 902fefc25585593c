"""A command that a client claims is carried out once, by the client: whatever else happens at the same time.

1. Every order of what drivers, clients and persons do. 2. A driver that is about to let go when the client decides. 3. The
server, as a client meets it.

spec: @process_claims @rpc_methods
"""

from __future__ import annotations

import subprocess
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from campaign import examples
from driving import DONE, GO_ON, begin, opened, script, turn
from engine_cli import ENGINE, environment
from hypothesis import given
from hypothesis import strategies as st
from rpc_client import served
from timing import wait_until

import engine
from engine.driving import runs
from engine.errors import EngineError
from engine.processes import claims
from engine.processes.stale import heal

SHELL = "<sh>echo made >> made.txt</sh>" + GO_ON
PATH = "log://turn_1/sh/make"
_numbers = count(1)


class Scene:
    """A run with one command that waits for a decision, and all that may be done about it, each step as the product does it.

    `begun` says who began the command, in their order.
    """

    def __init__(self, db: engine.Database) -> None:
        self.db = db
        self.run = f"scene{next(_numbers)}"
        self.begun: list[str] = []
        self._seen: int | None = None
        begin(db, self.run)
        turn(db, self.run, "<sh>make</sh>" + GO_ON)

    def person_accepts(self) -> None:
        runs.resolve(self.db, self.run, None, True)

    def client_accepts(self, client: str) -> None:
        runs.resolve(self.db, self.run, None, True, claimant=client)

    def client_begins(self, client: str) -> None:
        with self.db.transaction():
            claims.claim(self.db, self.run, PATH, client)
            self._start(client, client)

    def client_ends(self, client: str) -> None:
        effect = self.db.value("select effect_id from _claimed_processes where run = ?", (self.run,))
        self.db.insert("_finish_effect", effect_id=effect or 0, state="resolved", lease=client)

    def client_leaves(self, client: str) -> None:
        claims.release(self.db, client)

    def driver_comes(self) -> None:
        self.db.insert("_claim_lease", run=self.run, token="driver", holder="{}")

    def driver_looks(self) -> None:
        """What it finds now it begins later."""
        step = self.db.value("select step from _next_steps where run = ?", (self.run,))
        query = "select effect_id from _pending_effects as f join runs as r on r.id = f.run_id where r.alias = ?"
        self._seen = self.db.value(query, (self.run,)) if step in ("perform", "confine") else None

    def driver_begins(self) -> None:
        if self._seen is not None:
            self._start("driver", "driver", self._seen)
            self._seen = None
            self.db.insert("_finish_effect", effect_id=self.begun_effect, state="resolved", lease="driver")

    def driver_goes(self) -> None:
        self._seen = None
        self.db.insert("_release_lease", token="driver")

    def somebody_cancels(self) -> None:
        self.db.cancel(self.run, PATH, reason="enough")

    def _start(self, who: str, token: str, effect: int | None = None) -> None:
        found = effect or self.db.value(
            "select p.effect_id from _process_paths as p join runs as r on r.id = p.run_id where r.alias = ? and path = ?",
            (self.run, PATH),
        )
        self.begun_effect = found
        self.db.insert("_start_effect", effect_id=found, lease=token)
        self.begun.append(who)


STEPS: dict[str, Any] = {
    "person accepts": Scene.person_accepts,
    "a accepts": lambda scene: scene.client_accepts("a"),
    "b accepts": lambda scene: scene.client_accepts("b"),
    "a begins": lambda scene: scene.client_begins("a"),
    "b begins": lambda scene: scene.client_begins("b"),
    "a ends": lambda scene: scene.client_ends("a"),
    "a leaves": lambda scene: scene.client_leaves("a"),
    "driver comes": Scene.driver_comes,
    "driver looks": Scene.driver_looks,
    "driver begins": Scene.driver_begins,
    "driver goes": Scene.driver_goes,
    "somebody cancels": Scene.somebody_cancels,
}


@examples(300)
@given(order=st.lists(st.sampled_from(sorted(STEPS)), min_size=3, max_size=12))
def test_in_every_order_a_command_is_begun_by_one_alone(shared_db: engine.Database, order: list[str]) -> None:
    scene = Scene(shared_db)
    claimed = None
    for step in order:
        try:
            STEPS[step](scene)
        except EngineError:
            continue
        who = step.split()[0]
        if step in ("a accepts", "b accepts"):
            claimed = who
        if claimed is not None and step == f"{claimed} leaves":
            claimed = None
        if step.endswith("begins") and claimed is not None and scene.begun:
            assert scene.begun[-1] == claimed, order
    assert scene.begun.count("driver") <= 1, order
    assert not ("driver" in scene.begun and set(scene.begun) - {"driver"}), order
    # another client may take up what one has begun that is gone
    assert len(set(scene.begun)) <= 1 or "a leaves" in order, order


def test_a_driver_does_not_begin_what_a_client_had_begun(db: engine.Database) -> None:
    """It had looked before the client began, and the client was gone when it came to it."""
    scene = Scene(db)
    for step in ("person accepts", "driver looks", "a begins", "a leaves"):
        STEPS[step](scene)
    with pytest.raises(engine.Conflict, match="was already started"):
        STEPS["driver begins"](scene)
    assert scene.begun == ["a"]


@pytest.fixture(scope="module")
def shared_db(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with opened(tmp_path_factory.mktemp("claims")) as db:
        yield db


@pytest.mark.parametrize("asks", [False, True])
def test_a_driver_that_has_asked_lets_the_client_carry_it_out(tmp_path: Path, workspace_dir: Path, asks: bool) -> None:
    with opened(tmp_path) as db:

        def told(event: Any) -> None:
            if event["type"] == "proposal" and not asks:
                decide()

        def asked(proposal: Any) -> None:
            decide()

        def decide() -> None:
            with db.shared() as other:
                runs.resolve(other, "demo", None, True, claimant="client")

        model = script(tmp_path, SHELL, DONE)
        callbacks: Any = {"on_event": told, "on_proposal": asked if asks else None}
        result = db.run("Make it", run="demo", model=model, root=workspace_dir, sandbox="off", **callbacks)
        assert (result.status, (workspace_dir / "made.txt").exists()) == (202, False)
        assert db.rows("select claimant, state from _claimed_processes") == [{"claimant": "client", "state": "pending"}]
        path = db.value("select path from _claimed_processes")
        claims.claim(db, "demo", path, "client")
        effect = db.value("select effect_id from _claimed_processes")
        db.insert("_start_effect", effect_id=effect, lease="client")
        db.insert("_finish_effect", effect_id=effect, state="resolved", lease="client", detail='{"exit_code":0}')
        assert db.resume("demo").answer == "Done."
        assert not (workspace_dir / "made.txt").exists()


def test_a_decision_that_comes_while_the_driver_lets_go_is_carried_out(tmp_path: Path, workspace_dir: Path) -> None:
    """A driver tells of the proposal when it has looked for the last time, and still holds the lease."""
    with opened(tmp_path) as db:
        decided: list[bool] = []

        def told(event: Any) -> None:
            if event["type"] == "proposal":
                decided.append(True)
                with db.shared() as other:
                    other.resolve("demo", accept=True)

        result = db.run(
            "Make it",
            run="demo",
            model=script(tmp_path, SHELL, DONE),
            root=workspace_dir,
            sandbox="off",
            on_event=told,
        )
        assert (decided, result.answer) == ([True], "Done.")
        assert (workspace_dir / "made.txt").read_text() == "made\n"


def test_what_a_client_of_a_dead_server_was_to_carry_out_goes_to_the_next_driver(
    tmp_path: Path, workspace_dir: Path
) -> None:
    with opened(tmp_path) as db:
        model = script(tmp_path, SHELL, DONE)
        assert db.run("Make it", run="demo", model=model, root=workspace_dir, sandbox="off").status == 202
        claim = (
            "import sys, engine; from engine.driving import runs; db = engine.open(sys.argv[1]); "
            "runs.resolve(db, 'demo', None, True, claimant='client')"
        )
        done = subprocess.run(
            [ENGINE[0], "-c", claim, str(db.path)],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert db.resume("demo").status == 202
        heal(db)
        assert db.resume("demo").answer == "Done."
        assert (workspace_dir / "made.txt").read_text() == "made\n"


def test_the_server_never_carries_out_what_a_client_has_claimed(tmp_path: Path) -> None:
    """The client accepts as soon as it is told, when the driver that asked has not let go."""
    folder = tmp_path / "work"
    folder.mkdir()
    with served(folder) as server, server.client() as client:
        for number in range(12):
            run = f"claimed{number}"
            client.call("act", prompt="Make it", run=run, model=script(tmp_path, SHELL, DONE), sandbox="off")
            path = client.wait("run/proposal", run=run)["path"]
            client.call("run/resolve", run=run, resolution={"action": "accept", "path": path}, drive=False)
            client.call("stream/completed", run=run, path=path, exit_code=0)
            assert client.wait("run/state", run=run, status=200)["answer"] == "Done."
            assert not (folder / "made.txt").exists(), number


def test_a_client_that_is_gone_leaves_it_to_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with served(folder) as server:
        with server.client() as client:
            client.call("act", prompt="Make it", run="left", model=script(tmp_path, SHELL, DONE), sandbox="off")
            path = client.wait("run/proposal", run="left")["path"]
            client.call("run/resolve", run="left", resolution={"action": "accept"}, drive=False)
            with server.client() as other:
                code, status, message = other.refusal("stream/completed", run="left", path=path)
                assert (code, status) == (-32000, 409)
                assert "is already run by another client" in message
                other.call("run/resume", run="left")
        with server.client() as other:
            wait_until(lambda: not other.call("sql", query="select 1 from _claimed_processes"))
            assert not (folder / "made.txt").exists()
            assert other.call("run/resume", run="left")["resumed"]
            other.wait("run/state", run="left", status=200)
    assert (folder / "made.txt").read_text() == "made\n"


def test_a_stale_command_is_cleaned_up_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with served(folder) as server, server.client() as client, server.client() as other:
        client.call("act", prompt="Make it", run="stale", model=script(tmp_path, SHELL, DONE), sandbox="off")
        path = client.wait("run/proposal", run="stale")["path"]
        client.call("run/resolve", run="stale", resolution={"action": "accept"}, drive=False)
        client.call("stream", run="stale", path=path, channel=1, chunk="half\n")
        other.call("stream/cancel", run="stale", path=path, reason="its window was closed")
        assert client.wait("stream/cancelled", run="stale")["reason"] == "its window was closed"
        assert client.refusal("stream/completed", run="stale", path=path)[1] == 404
        other.wait("run/state", run="stale", status=200)
        (log,) = other.call("sql", query="select body, outcome from run_log where run = 'stale' and action = 'sh'")
        assert (log["outcome"], "its window was closed" in log["body"]) == ("cancelled", True)
        assert [each["state"] for each in other.call("getEntries", run="stale", pattern="sh://**")] == ["failed"] * 2
