"""Policies and grants: who decides on a proposal before anybody is asked, and whose right that is.

spec: @command_policies @grants
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from engine_cli import engine, script
from fresh import stays_open

import engine as library
from engine.display.proposals import always_target
from engine.effects import gate
from engine.functions.patterns.kinds import pattern_match
from engine.trust.rights import Rights

ASKS = [{"text": "<sh>echo one</sh>"}, {"text": '<set path="docs/a.md">a</set>'}, {"text": "done"}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with docs/, below a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    root = tmp_path / "folder"
    (root / "docs").mkdir(parents=True)
    with stays_open(root / "t.db"):
        yield root


def run(folder: Path, name: str, answers: list[dict[str, str]] = ASKS, **options: Any) -> library.Result:
    with library.open(folder / "t.db") as db:
        return db.run("go", run=name, model=script(folder.parent / f"{name}.jsonl", answers), root=folder, **options)


def decided(folder: Path, name: str) -> list[tuple[str, str]]:
    with library.open(folder / "t.db", read_only=True) as db:
        return [(row["target"], row["decided_by"]) for row in db.rows("select * from decisions where run = ?", (name,))]


def test_a_grant_for_a_run_accepts_its_kind_and_no_other(folder: Path) -> None:
    assert run(folder, "a", [ASKS[0], {"text": "<sh>echo two</sh>"}, {"text": "done"}]).status == 202
    with library.open(folder / "t.db") as db:
        number = gate.give_grant(db, "a", "process", None, by="Ada")
        db.resolve("a", accept=True, by="Ada")
        assert db.resume("a").status == 200
    assert decided(folder, "a") == [("echo one", "Ada"), ("echo two", f"grant {number}")]
    assert run(folder, "other").status == 202


def test_a_grant_for_a_project_holds_for_one_line_and_a_folder_of_files(folder: Path) -> None:
    assert run(folder, "a").status == 202
    with library.open(folder / "t.db") as db:
        gate.give_grant(db, "a", "process", "echo one", whole_project=True, by="Ada")
        gate.give_grant(db, "a", "file_write", "docs/**", whole_project=True, by="Ada")
        with pytest.raises(library.ValidationError, match="give a file pattern"):
            gate.give_grant(db, "a", "process", None, whole_project=True)
    assert run(folder, "b").status == 200
    assert decided(folder, "b") == [("echo one", "grant 1"), ("docs/a.md", "grant 2")]
    assert (folder / "docs" / "a.md").read_text() == "a\n"
    assert run(folder, "c", [{"text": "<sh>echo one; echo two</sh>"}]).status == 202
    assert run(folder, "d", [{"text": '<set path="docs/../a.md">x</set>'}, {"text": "done"}]).status in (200, 202)
    assert not (folder / "a.md").exists()


def test_a_revoked_grant_is_none(folder: Path) -> None:
    run(folder, "a")
    with library.open(folder / "t.db") as db:
        number = gate.give_grant(db, "a", "process", "echo one", whole_project=True, by="Ada")
        assert gate.revoke_grant(db, number)["target"] == "echo one"
        with pytest.raises(library.NotFound):
            gate.revoke_grant(db, number)
    assert run(folder, "b").status == 202


def test_a_copy_of_a_file_brings_no_rights_along(folder: Path) -> None:
    run(folder, "a")
    with library.open(folder / "t.db") as db:
        gate.give_grant(db, "a", "process", "echo one", whole_project=True, by="Ada")
        gate.add_policy(db, "echo", "accept", root=str(folder))
    clone = folder.parent / "clone"
    shutil.copytree(folder, clone)
    run(folder, "b", ASKS[:1])
    assert decided(folder, "b") == [("echo one", "policy echo")]
    # the file itself is trusted, the rights in it are not
    with library.open(clone / "t.db", trust=True) as db:
        db.execute("update projects set root = ?", (str(clone),))
        model = script(folder.parent / "b.jsonl", ASKS[:1])
        assert db.run("go", run="b", model=model, root=clone).status == 202


def test_a_right_that_was_changed_in_the_file_is_none(folder: Path) -> None:
    run(folder, "a")
    with library.open(folder / "t.db") as db:
        gate.add_policy(db, "make", "accept", root=str(folder))
        gate.give_grant(db, "a", "process", "make", whole_project=True)
        db.execute("update command_policies set program = 'echo' where level = 'project'")
        db.execute("update grants set target = 'echo one'")
    assert run(folder, "b").status == 202


def test_an_accepting_policy_lets_nothing_else_through(folder: Path) -> None:
    with library.open(folder / "t.db") as db:
        gate.add_policy(db, "make", "accept", root=str(folder))
        gate.add_policy(db, "env *", "accept", root=str(folder))
        accepted = ("make", "make -j4 'a b' && env make", "(make | make) ; make &")
        lines = (
            *accepted, "./make", "/tmp/make", "env ./make", "env PATH=x make",
            "make\n\\rm x", "make x\r#; rm x", "make\u00a0/../rm",
            "for PATH in x; do make; done", "export 'PATH=x'; make", "env -S'rm x' make", "env -iS 'rm x'",
            "[[ a || rm ]]; make", "make; rm x",
            "((rm)); make", "make $'\\'; rm x #'", "make >x", "make `rm x`", "make <(rm x)", "make() { rm; }; make",
        )  # fmt: skip
        found = [line for line in lines if gate.explain(db, line, root=str(folder))["decision"] == "accept"]
    assert found == list(accepted)


def test_a_branch_that_is_named_like_an_option_is_no_option(folder: Path) -> None:
    refused = ("git rebase -i main", "git rebase --interactive", "git rebase main -i")
    lines = (
        *refused,
        "git rebase origin/add-index",
        "git rebase --ignore-date main",
        "command -v node",
        "command -V vim",
    )
    with library.open(folder / "t.db") as db:
        found = [line for line in lines if gate.explain(db, line, root=str(folder))["decision"] == "refuse"]
    assert found == list(refused)


def decisions_on(folder: Path, lines: tuple[str, ...], wanted: str) -> list[str]:
    """Those of `lines` that come to this decision."""
    with library.open(folder / "t.db") as db:
        return [line for line in lines if gate.explain(db, line, root=str(folder))["decision"] == wanted]


def test_options_before_a_subcommand_hide_it_from_no_policy(folder: Path) -> None:
    with library.open(folder / "t.db") as db:
        gate.add_policy(db, "git push*", "ask", root=str(folder))
        gate.add_policy(db, "git status*", "accept", root=str(folder))
    lines = ("git push", "git -C . push", "git -c a.b=c --no-pager push -f", "git pull")
    assert decisions_on(folder, lines, "ask") == list(lines[:3])
    # what stands before may name a program that is run
    assert decisions_on(folder, ("git status", "git -c core.fsmonitor=x status"), "accept") == ["git status"]


def test_what_waits_for_a_person_is_refused_and_told_how_to_do_it(folder: Path) -> None:
    lines = ("git add . -p", "git -C x rebase -i", "git commit", "docker run -it a", "git commit -m x", "git log -p")
    assert decisions_on(folder, lines, "refuse") == list(lines[:4])
    answers = [{"text": "<sh>git commit -a</sh>"}, {"text": "done"}]
    assert run(folder, "a", answers, yolo=True).status == 200
    assert decided(folder, "a") == [("git commit -a", "policy interactive")]
    with library.open(folder / "t.db") as db:
        assert "Give the message with -m" in db.value("select body from run_log where action = 'sh'")


def test_a_program_of_the_project_is_accepted_by_its_path_alone(folder: Path) -> None:
    with library.open(folder / "t.db") as db:
        for program in (
            ".venv/bin/pytest *",
            "./gradlew",
            "cd *",
            "env *",
            "timeout *",
            "bash *",
            "find *",
            "command *",
        ):
            gate.add_policy(db, program, "accept", root=str(folder))
    accepted = (".venv/bin/pytest -q", "timeout 9 .venv/bin/pytest -q | ./gradlew", "cd docs")
    lines = (
        *accepted,
        "cd docs && .venv/bin/pytest -q", "env -C docs .venv/bin/pytest -q", "bash -c '.venv/bin/pytest -q'",
        "find . -execdir ./gradlew", "command cd docs && ./gradlew",
        "../x/.venv/bin/pytest -q", "/tmp/.venv/bin/pytest -q", "./.venv/bin/pytest -q", "docs/../.venv/bin/pytest -q",
        "pytest -q", "gradlew", ".venv/bin//pytest -q", "$PWD/.venv/bin/pytest -q", "~/.venv/bin/pytest -q",
        ".venv/bin/pytest -q >x", "PATH=x ./gradlew", ".venv/bin/PYTEST -q",
    )  # fmt: skip
    assert decisions_on(folder, lines, "accept") == list(accepted)
    with library.open(folder / "t.db") as db:
        db.execute("update projects set root = ?", (str(folder / "docs"),))
        assert gate.explain(db, "./gradlew", root=str(folder / "docs"))["decision"] is None


def test_a_right_holds_in_the_folder_that_it_was_given_for(folder: Path) -> None:
    run(folder, "a")
    other = folder.parent / "other"
    other.mkdir()
    with library.open(folder / "t.db") as db:
        gate.add_policy(db, "make", "accept", root=str(folder))
        gate.give_grant(db, "a", "process", "echo one", whole_project=True)
        db.execute("update projects set root = ?", (str(other),))
        assert gate.explain(db, "make", root=str(other))["decision"] is None
        assert gate.explain(db, "echo one", root=str(other))["grant_id"] is None


def test_a_policy_of_a_relative_root_holds_in_that_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    (folder.parent / "link").symlink_to(folder)
    with library.open(folder / "t.db") as db:
        gate.add_policy(db, "echo", "refuse", root="folder", message="Say nothing.")
        gate.add_policy(db, "make", "accept", root=Path("link"))
        assert gate.explain(db, "make", root="folder/docs/..")["decision"] == "accept"
        for root in ("no folder", "folder/t.db"):
            with pytest.raises(library.EngineError, match=root):
                gate.add_policy(db, "make", "accept", root=root)
            with pytest.raises(library.EngineError, match=root):
                gate.explain(db, "make", root=root)
        assert db.rows("select root from projects") == [{"root": str(folder)}]
    run(folder, "a", [{"text": "<sh>echo one</sh>"}, {"text": "<sh>make</sh>"}, {"text": "done"}])
    assert [by for _, by in decided(folder, "a")] == ["policy echo", "policy make"]


def test_a_grant_for_a_folder_follows_no_link_out_of_it(folder: Path) -> None:
    (folder / "secret.md").write_text("old\n")
    (folder / "docs" / "x.md").symlink_to("../secret.md")
    run(folder, "a")
    with library.open(folder / "t.db") as db:
        gate.give_grant(db, "a", "file_write", "docs/**", whole_project=True)
    assert run(folder, "b", [{"text": '<set path="docs/x.md">s/old/new/</set>'}, {"text": "done"}]).status == 202
    assert (folder / "secret.md").read_text() == "old\n"


def test_rights_that_are_given_at_once_are_all_kept(folder: Path) -> None:
    places = [Path(f"/{number}") for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda place: Rights(place).change(give=["right"]), places))
    assert [place for place in places if not Rights(place).confirmed("right")] == []


@pytest.mark.parametrize("name", ["**", "docs[1]", "a?b", "!(a)", "a{b}"])
def test_always_in_this_project_means_the_folder_whatever_its_name(name: str) -> None:
    pattern = always_target({"kind": "file_write", "target": f"{name}/a.md"})
    assert [path for path in (f"{name}/a.md", "docs/a.md", "docs1/a.md") if pattern_match(pattern, path)] == [
        f"{name}/a.md"
    ]


def test_yolo_accepts_no_open_line_that_a_policy_refuses_by_now(folder: Path) -> None:
    run(folder, "a", ASKS[:1])
    with library.open(folder / "t.db") as db:
        gate.add_policy(db, "echo", "refuse", root=str(folder), message="Say nothing.")
    assert engine(folder, "resume", "a", "--yolo", "--db", "t.db").returncode == 6
    assert decided(folder, "a") == []


HIDDEN = [
    "time ! ./mark x",
    "time { ./mark x; }",
    "bash <(echo ./mark x)",
    "source <(echo ./mark x)",
    "ma{r,}k x",
    "./mar? x",
    "X=./mark; $X x",
    "echo ./mark x | bash",
    "bash <<< './mark x'",
    "setpriv --no-new-privs ./mark x",
    "unknown-wrapper --flag ./mark x; ./mar? x",
    "python3 -c 'import os; os.system(\"./mark x\")'",
    "find . -maxdepth 0 -exec ./mark {} \\;",
    "coproc ./mark x; wait",
    "PATH=.:$PATH env -S 'mark x'",
]


@pytest.mark.parametrize("yolo", [True, False])
def test_a_refused_program_that_a_line_hides_never_runs(folder: Path, yolo: bool) -> None:
    (folder / "mark").write_text("#!/bin/sh\n: > ran\n")
    (folder / "mark").chmod(0o755)
    with library.open(folder / "t.db") as db:
        for policy in ("mark", "./mark"):
            gate.add_policy(db, policy, "refuse", root=str(folder), message="Leave it alone.")
        gate.add_policy(db, "*", "accept", root=str(folder))
    for number, line in enumerate(HIDDEN):
        answers = [{"text": f"<sh>{line}</sh>"}, {"text": "done"}]
        result = run(folder, f"r{number}", answers, yolo=yolo)
        assert result.status == (200 if yolo else result.status)
        by = [each for _, each in decided(folder, f"r{number}")]
        assert by in ([], ["policy mark"], ["policy ./mark"]), line
    assert not (folder / "ran").exists()


def test_yolo_runs_what_cannot_be_read_where_no_policy_of_a_person_refuses(folder: Path) -> None:
    run(folder, "a", [{"text": "<sh>X=echo; $X > ran</sh>"}, {"text": "done"}], yolo=True)
    assert (folder / "ran").exists()
    assert decided(folder, "a") == [("X=echo; $X > ran", "yolo")]


def test_a_grant_for_the_line_itself_runs_what_it_hides(folder: Path) -> None:
    line = "X=echo; $X > ran"
    with library.open(folder / "t.db") as db:
        gate.add_policy(db, "curl", "refuse", root=str(folder), message="Use get.")
    assert run(folder, "a", [{"text": f"<sh>{line}</sh>"}, {"text": "done"}]).status == 202
    with library.open(folder / "t.db") as db:
        number = gate.give_grant(db, "a", "process", line, whole_project=True)
    run(folder, "b", [{"text": f"<sh>{line}</sh>"}, {"text": "done"}])
    assert decided(folder, "b") == [(line, f"grant {number}")]


def test_no_connection_of_an_app_confirms_anything(folder: Path) -> None:
    import apsw

    connection = apsw.Connection(":memory:")
    library.register(connection)
    assert connection.execute("select is_confirmed('x')").fetchone() == (0,)


def test_a_person_adds_explains_and_removes_policies(folder: Path) -> None:
    assert engine(folder, "allow", "policy", "add", "git push*", "--ask").returncode == 0
    assert engine(folder, "allow", "policy", "add", "curl", "--refuse", "Use get.").returncode == 0
    assert engine(folder, "allow", "policy", "add", "make", "--accept").returncode == 0
    listed = json.loads(engine(folder, "allow", "policy", "list", "--json").stdout)
    assert [(row["command"], row["decision"], row["of"]) for row in listed] == [
        ("git push*", "ask", str(folder)), ("curl", "refuse", str(folder)), ("make", "accept", str(folder))
    ]  # fmt: skip
    said = {
        line: engine(folder, "allow", "policy", "explain", line).stdout
        for line in ("curl x", "git push", "make all", "vim", "ls", "$X")
    }
    assert "refused by policy" in said["curl x"]
    assert "Use get." in said["curl x"]
    assert "also under --yolo" in said["git push"]
    assert "accepted without asking" in said["make all"]
    assert "shipped: editor" in said["vim"]
    assert "no policy covers" in said["ls"]
    assert "not known from its text" in said["$X"]
    assert "under --yolo it is refused" in said["$X"]
    explained = json.loads(engine(folder, "allow", "policy", "explain", "ls; curl x", "--json").stdout)
    assert (explained["decision"], [each["program"] for each in explained["programs"]]) == ("refuse", ["ls", "curl"])
    number = str(listed[1]["policy_id"])
    assert engine(folder, "allow", "policy", "rm", number).returncode == 0
    assert engine(folder, "allow", "policy", "rm", number).returncode == 2
    everything = json.loads(engine(folder, "allow", "policy", "list", "--all", "--json").stdout)
    shipped = next(row for row in everything if row["level"] == "shipped")
    refused = engine(folder, "allow", "policy", "rm", str(shipped["policy_id"]))
    assert (refused.returncode, "is built in" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["curl"],
        ["curl", "--ask", "--accept"],
        ["", "--ask"],
        ["/bin/ls", "--ask"],
        ["../ls", "--accept"],
        ["a/../../ls", "--accept"],
        [".venv/bin/*", "--accept"],
        ["~/ls", "--accept"],
        ["x", "--refuse", " "],
        ["x", "--ask", "--run", "nope"],
    ],
)
def test_a_policy_that_says_nothing_clear_is_refused(folder: Path, arguments: list[str]) -> None:
    done = engine(folder, "allow", "policy", "add", *arguments)
    assert done.returncode == 2, done.stderr
    assert json.loads(engine(folder, "allow", "policy", "list", "--json").stdout or "[]") == []


def test_grants_are_listed_and_revoked(folder: Path) -> None:
    run(folder, "a")
    with library.open(folder / "t.db") as db:
        gate.give_grant(db, "a", "process", "echo \x1b[2J", whole_project=True, by="Ada")
    listed = engine(folder, "allow", "grants", "--db", "t.db").stdout
    assert "Ada" in listed
    assert "\x1b" not in listed
    assert engine(folder, "allow", "grants", "--db", "t.db", "--revoke", "1").returncode == 0
    assert json.loads(engine(folder, "allow", "grants", "--db", "t.db", "--json").stdout) == []
    assert engine(folder, "allow", "grants", "--db", "t.db", "--revoke", "1").returncode == 2
