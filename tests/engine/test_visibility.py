"""What a model sees is its own to choose, for entries of every kind, and is what the last write made of it.

spec: @visibility @freshness @run_views @context @filesystem_freshness
"""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import DONE, GO_ON, begin, script, turn

import engine

BODY = "The first line says little.\n" + "And so do the others.\n" * 40 + "The last line says it all.\n"
END = "The last line says it all."

KINDS = [
    "known://a",
    "skill://a",
    "https://example.org/a",
    "sh://turn_0/make_1",
    "unknown://a",
    "log://turn_0/get/a",
    "odd://a",
]
BY = ["model", "client"]


def shown(db: engine.Database, run: str = "demo") -> str:
    """All that the next packet of a run shows of entries; the turn it was begun for is ended again."""
    db.insert("_begin_turn", run=run)
    turn_id = db.value("select max(id) from turns")
    views = ("_packet_summary", "_packet_visible", "_packet_log", "_packet_unknowns", "_packet_prompt")
    rows = [row for view in views for row in db.rows(f"select text from {view} where turn_id = ?", (turn_id,))]
    db.insert("_submit_packet", turn_id=turn_id, chars=100)
    db.execute("update turns set response = ? where id = ?", (f'<update status="102">{turn_id}</update>', turn_id))
    db.insert("_dispatch", run=run)
    return "\n".join(row["text"] for row in rows)


def write(db: engine.Database, path: str, body: str, visibility: str) -> None:
    db.execute(
        "insert into _write_entry (run_id, path, body, visibility, writer) values (1, ?, ?, ?, 'plugin')",
        (path, body, visibility),
    )


@pytest.mark.parametrize(
    ("path", "by"),
    # a scheme that nobody registered is written by apps and plugins only
    [(path, by) for path in KINDS for by in BY if (path, by) != ("odd://a", "model")],
)
def test_every_kind_of_entry_can_be_shown_shortened_and_put_away(db: engine.Database, path: str, by: str) -> None:
    begin(db, "demo")
    write(db, path, BODY, "visible")

    def see(visibility: str) -> str:
        if by == "model":
            turn(db, "demo", f'<set path="{path}" visibility="{visibility}"/>{GO_ON}')
        else:
            db.insert("verb_set", run="demo", path=path, visibility=visibility)
        return shown(db)

    assert f"<<:::{path}" in (text := shown(db))
    assert END in text
    short = see("summarized")
    assert f"<<:::{path}" in short
    assert ("The first line says little." in short) == (not path.startswith("sh://"))
    assert (END in short) == path.startswith("sh://"), "of an output the end is kept, of all else the beginning"
    assert f"<<:::{path}" not in see("archived")
    if by == "model":
        turn(db, "demo", f'<get path="{path}"/>{GO_ON}')
        if path.startswith("https"):  # a page that was not fetched is not asked for: the driver has nothing to do
            db.execute(
                "insert into _finish_effect (effect_id, state) select effect_id, 'resolved' from _pending_effects"
            )
            db.insert("_dispatch", run="demo")
    else:
        db.insert("verb_get", run="demo", path=path)
    assert BODY.replace("\n", "\n\t").rstrip("\t") in shown(db).replace("\n\t", "\n").replace("\n", "\n\t")
    assert db.value("select body from known_entries where path = ?", (path,)) == BODY
    assert db.value("select status from known_entries where path = ?", (path,)) == 200


def test_a_glob_moves_all_that_it_finds(db: engine.Database) -> None:
    begin(db, "demo")
    for name in "abc":
        write(db, f"known://old/{name}", BODY, "visible")
    write(db, "known://new/d", BODY, "visible")
    turn(db, "demo", f'<set path="known://old/*" visibility="archived"/>{GO_ON}')
    assert {
        row["visibility"] for row in db.rows("select visibility from known_entries where path like 'known://old/%'")
    } == {"archived"}
    assert db.value("select visibility from known_entries where path = 'known://new/d'") == "visible"
    turn(db, "demo", f'<get path="known://**" visibility="summarized">says it all</get>{GO_ON}')
    assert db.value("select count(*) from known_entries where visibility = 'summarized' and path like 'known:%'") == 4


def test_the_prompt_is_shortened_by_an_app_not_by_the_model(db: engine.Database) -> None:
    begin(db, "demo", BODY)
    turn(db, "demo", f'<set path="prompt://1" visibility="archived"/>{GO_ON}')
    assert END in shown(db), "the task is not the model's to put away"
    db.execute(
        "insert into _write_entry (run_id, path, visibility, writer) values (1, 'prompt://1', 'summarized', 'plugin')"
    )
    short = shown(db)
    assert END in short, "a question at its end stays in view"
    assert short.count("And so do the others.") < 40
    turn(db, "demo", f'<get path="prompt://1"/>{GO_ON}')
    assert shown(db).count("And so do the others.") == 40


def test_summary_and_tags_stay_through_all_visibilities(db: engine.Database) -> None:
    begin(db, "demo")
    turn(db, "demo", f'<set path="known://a" tags="x,y" summary="what it is">text</set>{GO_ON}')
    for visibility in ("summarized", "archived", "visible"):
        db.insert("verb_set", run="demo", path="known://a", visibility=visibility)
        text = shown(db)
        assert ('"summary":"what it is","tags":"x,y"' in text) == (visibility != "archived")


def test_an_empty_summary_and_empty_tags_take_them_away(db: engine.Database) -> None:
    begin(db, "demo")
    turn(db, "demo", f'<set path="known://a" tags="x,é" summary="{"🎉<>" * 60}">text</set>{GO_ON}')
    assert f'"summary":"{("🎉<>" * 60)[:80]}","tags":"x,é"' in shown(db)
    turn(db, "demo", f'<set path="known://a" tags=""/>{GO_ON}')
    assert '"tags"' not in (text := shown(db)).partition("known://a")[0]
    assert '"summary":"🎉' in text
    db.insert("verb_set", run="demo", path="known://a", attributes='{"summary":""}')
    assert '{"turn":' in (head := shown(db).partition(" <<:::known://a")[0])
    assert "summary" not in head.rpartition("\n")[2]


WRITES = {
    "a set": ('<set path="known://a">after</set>', "known://a", "after"),
    "an edit": (
        '<set path="known://a"><<SEARCH\nbefore\nSEARCH\n<<REPLACE\nafter\nREPLACE</set>',
        "known://a",
        "after",
    ),
    "an addition": ('<set path="known://a"><<APPEND\nafter\nAPPEND</set>', "known://a", "before"),
    "a substitution": ('<set path="known://a">s/before/after/</set>', "known://a", "after"),
    "a pattern": ('<set path="known://*">after</set>', "known://b", "after"),
    "a copy": ('<set path="known://a">after</set><cp path="known://a" to="known://c"/>', "known://c", "after"),
    "a move": ('<mv path="known://a" to="known://c"/>', "known://c", "before"),
}


@pytest.mark.parametrize("way", WRITES)
def test_what_the_model_wrote_is_what_the_next_packet_shows(db: engine.Database, way: str) -> None:
    response, path, text = WRITES[way]
    begin(db, "demo")
    for name in ("a", "b"):
        write(db, f"known://{name}", "before", "visible")
    turn(db, "demo", response + GO_ON)
    packet = shown(db)
    body = db.value("select body from known_entries where path = ?", (path,))
    assert text in body
    times = 1 if path == "known://c" else 2
    assert packet.count(f"<<:::{path}\n{body}\n:::{path}") == times, "in short, and whole where it was visible"


def test_what_was_removed_is_not_shown(db: engine.Database) -> None:
    begin(db, "demo")
    write(db, "known://a", "before", "visible")
    turn(db, "demo", f'<rm path="known://a"/>{GO_ON}')
    assert "<<:::known://a" not in shown(db)


@pytest.mark.parametrize("visibility", ["visible", "summarized", "archived"])
def test_a_write_is_shown_as_it_asked_to_be(db: engine.Database, visibility: str) -> None:
    begin(db, "demo")
    write(db, "known://a", "before", "visible")
    turn(db, "demo", f'<set path="known://a" visibility="{visibility}"><<REPLACE\nafter\nREPLACE</set>{GO_ON}')
    assert db.value("select visibility from known_entries where path = 'known://a'") == visibility
    assert shown(db).count("<<:::known://a\nafter") == {"visible": 2, "summarized": 1, "archived": 0}[visibility]
    db.insert("verb_set", run="demo", path="known://a", body="by an app")
    db.insert("verb_set", run="demo", path="known://a", body=", twice", append=1)
    assert shown(db).count("<<:::known://a\nby an app, twice") == 2, "a body brings its entry into view"


def user_text(db: engine.Database, number: int) -> str:
    return str(db.value("select body from packet_texts where turn = ? and role = 'user'", (number,)))


def test_a_file_is_shown_as_its_accepted_edit_left_it(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    edit = "<<SEARCH\n8080\nSEARCH\n<<REPLACE\n9090\nREPLACE"
    model = script(
        tmp_path,
        f'<get path="notes.md"/>{GO_ON}',
        f'<set path="notes.md">{edit}</set>{GO_ON}',
        f'<set path="new.txt">fresh</set><get path="new.txt"/>{GO_ON}',
        f'<cp path="new.txt" to="copy.txt"/><get path="copy.txt"/>{GO_ON}',
        f'<rm path="new.txt"/>{GO_ON}',
        DONE,
    )
    assert db.run("Move the port", model=model, run="demo", root=workspace_dir, yolo=True).status == 200
    assert "The port is 8080." in user_text(db, 2)
    assert "The port is 9090." in user_text(db, 3)
    assert "The port is 8080." not in user_text(db, 3).partition("<log>")[0], (
        "without a get the edit is seen, still visible"
    )
    assert user_text(db, 4).count("<<:::new.txt\nfresh") == 2
    assert user_text(db, 5).count("<<:::copy.txt\nfresh") == 2
    assert "<<:::new.txt" not in user_text(db, 6)


def test_a_file_that_changed_on_disk_is_shown_as_it_is(
    db: engine.Database, tmp_path: Path, workspace_dir: Path
) -> None:
    model = script(
        tmp_path, f'<get path="notes.md"/>{GO_ON}', DONE, f"<sh>echo changed again > notes.md</sh>{GO_ON}", DONE
    )
    db.run("Read", model=model, run="demo", root=workspace_dir, yolo=True)
    (workspace_dir / "notes.md").write_text("changed by hand\n", encoding="utf-8")
    assert db.run("Read again", run="demo", yolo=True).status == 200
    assert "<<:::notes.md\nchanged by hand\n" in user_text(db, 3)
    assert "<<:::notes.md\nchanged again\n" in user_text(db, 4)


def test_a_text_that_a_person_put_in_place_is_what_is_shown(
    db: engine.Database, tmp_path: Path, workspace_dir: Path
) -> None:
    model = script(tmp_path, f'<set path="notes.md" visibility="visible">by the model</set>{GO_ON}', DONE)
    result = db.run(
        "Write",
        model=model,
        run="demo",
        root=workspace_dir,
        overwrite_unseen=True,
        on_proposal=lambda proposal: "by a person",
    )
    assert result.status == 200
    assert "<<:::notes.md\nby a person\n" in user_text(db, 2)
