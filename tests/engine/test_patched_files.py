"""What a patch does to the files of a project: all of it or nothing.

spec: @patches
"""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import begin, script, turn
from fresh import fresh

import engine

FILES = {"a.py": "one\ntwo\n", "b.py": "x\nx\n", "ro.py": "ro\n", "logo.bin": None}
FIRST = "*** Update File: a.py\n-one\n+1\n"


def prepare(db: engine.Database) -> None:
    db.execute("update settings set value = '99' where name in ('max_strikes', 'min_cycles')")
    begin(db, "demo", yolo=True, overwrite_unseen=True)
    for path, text in FILES.items():
        kind = "binary" if text is None else "text"
        db.insert("_report_file", project_id=1, path=path, kind=kind, size=9, mtime_ns=1, sha256=path, text=text)
    db.insert("file_constraints", project_id=1, pattern="ro.py", rule="readonly", created_at=0)
    db.insert("_sync_files", run_id=1)


def patch(*sections: str) -> str:
    return "*** Begin Patch\n" + "".join(sections) + "*** End Patch"


@pytest.mark.parametrize(
    ("section", "outcome", "message"),
    [
        ("*** Update File: gone.py\n-x\n+y\n", "not_found", "gone.py not found"),
        ("*** Update File: b.py\n-x\n+y\n", "conflict", "2 places, in line 1, 2"),
        ("*** Update File: b.py\n-z\n+y\n", "conflict", "was not found"),
        ("*** Add File: b.py\n+y\n", "conflict", "b.py exists already"),
        ("*** Update File: b.py\n*** Move to: ./ro.py\n", "conflict", "ro.py exists already"),
        ("*** Add File: ../b.py\n+y\n", "validation", "Invalid path"),
        ("*** Add File: known://b\n+y\n", "validation", "A patch changes files"),
        ("*** Delete File: logo.bin\n", "unsupported", "binary"),
        ("*** Update File: ./a.py\n-two\n+2\n", "validation", "a.py twice"),
        ("*** Update File: b.py\n*** Update File: a.py\n", "validation", "has no lines"),
        ("*** Update File: ro.py\n-ro\n+rw\n", "readonly", "ro.py is readonly"),
    ],
)
def test_one_file_that_does_not_fit_leaves_the_others_as_they_are(section: str, outcome: str, message: str) -> None:
    with fresh() as db:
        prepare(db)
        turn(db, "demo", f"<set>{patch(FIRST, section)}</set><update status='102'>on</update>")
        row = db.row("select outcome, message from command_results where action = 'set' and turn is not null")
        assert row is not None
        assert row["outcome"] == outcome
        assert message in row["message"]
        assert db.rows("select 1 from _pending_effects") == []


@pytest.mark.parametrize(
    ("path", "body", "outcome"),
    [
        ("a.py", patch(FIRST), None),
        ("./a.py", patch(FIRST), None),
        ("fix.patch", patch(FIRST), "validation"),
        ("a.py", "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n", None),
    ],
)
def test_a_path_beside_a_patch_is_one_of_its_files(path: str, body: str, outcome: str | None) -> None:
    with fresh() as db:
        prepare(db)
        turn(db, "demo", f"<set path='{path}'>{body}</set><update status='102'>on</update>")
        assert db.value("select outcome from command_results where action = 'set' and turn is not null") == outcome
        texts = db.rows("select p.target, c.body from proposals as p join contents as c on c.id = p.content_id")
        assert [tuple(row.values()) for row in texts] == ([] if outcome else [("a.py", "1\ntwo\n")])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("known://idea", patch(FIRST)),
        ("fix.diff", "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"),
        ("post.md", "--- not a diff"),
    ],
)
def test_a_patch_may_be_kept_as_a_text(path: str, body: str) -> None:
    with fresh() as db:
        prepare(db)
        turn(db, "demo", f"<set path='{path}'>{body}</set><update status='102'>on</update>")
        assert db.value("select state from command_results where action = 'set' and turn is not null") in (
            "resolved",
            "accepted",
        )
        kept = "select c.body from contents as c where c.body = ? or c.body = ? || char(10)"
        assert db.rows(kept, (body, body))


UNIFIED = "--- a/a.py\n+++ b/a.py\n@@ ... @@\n-one\n+1\n"
BLOCK = "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE"


@pytest.mark.parametrize(
    "body",
    [
        UNIFIED,
        f"```diff\n{UNIFIED}```",
        f"apply_patch <<'EOF'\n{patch(FIRST)}\nEOF",
        f"{FIRST}*** End Patch",
        BLOCK,
        f"a.py\n```python\n{BLOCK}\n```",
        BLOCK.replace("one", ":start_line:1\n-------\none"),
        "@@ -1 +1 @@\n-one\n+1\n",
        f"I change the first line.\n\n```diff\n{UNIFIED}```\nDone.",
    ],
)
def test_an_edit_in_the_notation_of_another_tool_is_read(body: str) -> None:
    with fresh() as db:
        prepare(db)
        turn(db, "demo", f"<set path='a.py'>{body}</set><update status='102'>on</update>")
        texts = db.rows("select p.target, c.body from proposals as p join contents as c on c.id = p.content_id")
        assert [tuple(row.values()) for row in texts] == [("a.py", "1\ntwo\n")]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("a.py", f"*** Begin Patch\n{FIRST}"),
        ("a.py", FIRST),
        ("a.py", UNIFIED.replace("...", "-1 +1") + "and so on"),
        ("a.py", f"```diff\n{UNIFIED}"),
        ("a.py", f"apply_patch <<'EOF'\n{patch(FIRST)}"),
        ("a.py", "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-x\n+y\n"),
        ("a.py", "cat > a.py <<'EOF'\n1\ntwo\nEOF"),
        ("a.py", BLOCK.removesuffix(">>>>>>> REPLACE")),
        ("a.py", f"Here:\n{UNIFIED}\ndiff --git a/x b/x\nbut not that"),
        ("a.py", "<<REPLACE\none"),
        ("new.py", "<<NEW\none"),
        ("new.py", "--- /dev/null\n+++ b/new.py\n@@\nprint(1)\n"),
        ("new.py", BLOCK.removesuffix(">>>>>>> REPLACE")),
        (None, "--- a/a.py\n+++ b/a.py\n"),
    ],
)
def test_a_notation_that_cannot_be_read_never_becomes_the_text(path: str | None, body: str) -> None:
    with fresh() as db:
        prepare(db)
        turn(db, "demo", f"<set{f' path={path!r}' if path else ''}>{body}</set><update status='102'>on</update>")
        row = db.row("select outcome, message from command_results where action = 'set' and turn is not null")
        assert row is not None
        assert row["outcome"] == "validation", row
        assert "<<" in row["message"]
        assert db.rows("select 1 from proposals") == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("a.py", f"<<NEW\n{UNIFIED}NEW"),
        ("doc.md", f"A diff:\n\n```diff\n{UNIFIED}```\n"),
        ("a.py", f"A diff of another:\n{UNIFIED.replace('a.py', 'b.py')}"),
    ],
)
def test_a_text_may_be_or_hold_a_patch_on_purpose(path: str, body: str) -> None:
    with fresh() as db:
        prepare(db)
        turn(db, "demo", f"<set path='{path}'>{body}</set><update status='102'>on</update>")
        kept = body.removeprefix("<<NEW\n").removesuffix("NEW").strip("\n") + "\n"
        texts = db.rows("select p.target, c.body from proposals as p join contents as c on c.id = p.content_id")
        assert [tuple(row.values()) for row in texts] == [(path, kept)]


def test_a_patch_that_changes_nothing_says_so() -> None:
    with fresh() as db:
        prepare(db)
        same = patch("*** Update File: a.py\n-one\n+one\n")
        turn(db, "demo", f"<set>{same}</set><update status='102'>on</update>")
        assert "changes nothing" in db.value(
            "select message from command_results where action = 'set' and turn is not null"
        )


def test_ask_mode_refuses_a_patch() -> None:
    with fresh() as db:
        begin(db, "demo", mode="ask")
        turn(db, "demo", f"<set>{patch(FIRST)}</set><set>*** Begin Patch\nbroken</set>")
        outcomes = db.rows("select outcome, message from command_results where action = 'set' and turn is not null")
        assert [row["outcome"] for row in outcomes] == ["permission", "aborted"]


def test_a_patch_changes_the_files_on_disk(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_bytes(b"one\r\ntwo\r\n")
    (root / "b.py").write_text("last")
    (root / "c.py").write_text("gone\n")
    answer = patch(FIRST, "*** Update File: b.py\n*** Move to: sub/b.py\n-last\n+still\n", "*** Delete File: c.py\n")
    model = script(tmp_path, f"<set>{answer}</set>", "<update status='200'>Done</update>")
    with fresh() as db:
        result = db.run("patch", model=model, root=root, yolo=True, overwrite_unseen=True)
        assert result.status == 200
    found = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.py")}
    assert found == {"a.py": b"1\r\ntwo\r\n", "sub/b.py": b"still"}


def test_a_file_that_changed_meanwhile_spares_the_others_too(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("one\n")
    (root / "b.py").write_text("two\n")
    answer = patch(FIRST, "*** Update File: b.py\n-two\n+2\n")
    model = script(tmp_path, f"<set>{answer}</set>", "<update status='200'>Done</update>")
    with fresh() as db:
        db.run("patch", model=model, root=root, yolo=False, run="demo", overwrite_unseen=True)
        (root / "b.py").write_text("changed by somebody\n")
        db.resolve("demo", accept=True)
        db.resume("demo")
        row = db.row("select outcome, message from command_results where action = 'set' and turn is not null")
        assert row is not None
        assert row["outcome"] == "conflict"
        assert "b.py" in row["message"]
    assert (root / "a.py").read_text() == "one\n"
