"""`engine serve acp` with the library's own client at the other end of a real process.

spec: @acp @acp_updates @acp_permissions
"""

from __future__ import annotations

import asyncio
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, schema
from acp_client import chosen, dismissed, run, talking, texts
from engine_cli import database, engine, script
from test_pictures_sent import png
from test_web import PDF

PLAN = '<set path="plan://rent">- [x] read\n  - [ ] edit</set>'
ON = '<update status="102">on</update>'
READ = '<get path="notes.md"/>'
RENT = '<set path="rent.md">1900\n</set>'
EDIT = '<set path="notes.md">rent 1900\nother\n</set>'
WORK = [
    {"text": 'I read the file first.\n<get path="notes.md"/>', "reasoning": "Where is the rent?"},
    f"Now I change it.\n{PLAN}{EDIT}<sh>echo hello; exit 3</sh>",
    '<think>nearly</think><update status="102">half way</update>',
    '<update status="200">The rent is 1900.</update>',
]


@pytest.fixture
def notes(folder: Path) -> Path:
    (folder / "notes.md").write_text("rent 1800\nother\n")
    return folder


def rows(folder: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(database(folder))) as connection:
        return connection.execute(query).fetchall()


def test_a_prompt_is_told_from_its_first_word_to_its_answer(notes: Path, tmp_path: Path) -> None:
    async def talk() -> None:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", WORK)) as at:
            session = await at.new()
            assert await at.prompt(session, "Raise the rent") == "end_turn"
            editor = at.editor
            assert editor.said() == "I read the file first.Now I change it.half way\n\nThe rent is 1900."
            assert editor.said("agent_thought_chunk") == "Where is the rent?\nnearly\n"
            assert editor.of("session_info_update")[0]["title"] == "Raise the rent"
            assert editor.of("plan")[-1]["entries"] == [
                {"content": "read", "priority": "medium", "status": "completed"},
                {"content": "  edit", "priority": "medium", "status": "pending"},
            ]
            assert all(each["size"] > each["used"] > 0 for each in editor.of("usage_update"))
            got, planned, edited, ran = editor.calls().values()
            assert (got["kind"], got["status"], got["title"]) == ("read", "completed", "get notes.md")
            assert got["locations"] == [{"path": str(notes / "notes.md")}]
            assert planned["title"] == "set plan://rent"
            assert (edited["kind"], edited["status"]) == ("edit", "completed")
            assert edited["locations"] == [{"path": str(notes / "notes.md"), "line": 1}]
            assert edited["content"] == [
                {
                    "type": "diff",
                    "path": str(notes / "notes.md"),
                    "oldText": "rent 1800\nother\n",
                    "newText": "rent 1900\nother\n",
                }
            ]
            assert (ran["kind"], ran["status"], ran["title"]) == ("execute", "failed", "echo hello; exit 3")
            assert texts(ran["content"]).startswith("```sh\necho hello; exit 3\n```\n```\nhello\n```\nexit 3 after")
            assert editor.offered == [["allow_once", "allow_run", "allow_project", "reject_once"]] * 2
            shown, live = len(editor.told), editor.calls()
            await at.connection.load_session(cwd=str(notes), session_id=session, mcp_servers=[])
            past = editor.told[shown:]
            assert past[0][1]["content"]["text"] == "Raise the rent"
            again = {update["toolCallId"]: update for _, update in past if update["sessionUpdate"] == "tool_call"}
            assert {key: each["content"] for key, each in again.items() if "content" in each} == {
                key: each["content"] for key, each in live.items() if "content" in each
            }
            assert "".join(u["content"]["text"] for _, u in past if u["sessionUpdate"] == "agent_message_chunk") == (
                "I read the file first.\n\nNow I change it.\n\nhalf way\n\nThe rent is 1900.\n\n"
            )

    run(talk())
    assert (notes / "notes.md").read_text() == "rent 1900\nother\n"


def test_the_states_of_a_call_come_in_their_order_and_its_output_as_it_comes(notes: Path, tmp_path: Path) -> None:
    loud = "<sh>echo one; sleep 0.5; echo two</sh>"

    async def talk() -> list[dict[str, Any]]:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", [loud, "Done."])) as at:
            await at.prompt(await at.new(), "Go")
            return [update for _, update in at.editor.told if update["sessionUpdate"].startswith("tool_call")]

    told = run(talk())
    assert [each["status"] for each in told] == [
        "pending",
        "in_progress",
        *["in_progress"] * (len(told) - 3),
        "completed",
    ]
    assert told[0]["sessionUpdate"] == "tool_call"
    assert "one" in texts(told[2]["content"])
    assert "```\none\ntwo\n```" in texts(told[-1]["content"])


def test_a_rejection_with_a_reason_is_told_to_the_model_and_without_one_ends_the_prompt(
    notes: Path, tmp_path: Path
) -> None:
    model = script(tmp_path / "s.jsonl", [RENT, '<update status="200">I left it.</update>', RENT])
    reasons = iter([{"reason": "not before January"}, {}])

    async def talk() -> None:
        async with talking(
            notes, "--model", model, answer=lambda call, options: chosen("reject_once", **next(reasons))
        ) as at:
            session = await at.new()
            assert await at.prompt(session, "Raise the rent") == "end_turn"
            assert at.editor.said() == "I left it."
            assert await at.prompt(session, "Raise it all the same") == "end_turn"

    run(talk())
    assert not (notes / "rent.md").exists()
    assert rows(notes, "select decision, reason from decisions") == [("reject", "not before January"), ("reject", None)]


def test_always_is_a_grant_and_the_next_of_its_kind_is_not_asked_about(notes: Path, tmp_path: Path) -> None:
    answers = [RENT + ON, '<set path="more.md">2000\n</set>', "Done."]

    async def talk() -> None:
        async with talking(
            notes, "--model", script(tmp_path / "s.jsonl", answers), answer=lambda call, options: chosen("allow_run")
        ) as at:
            await at.prompt(await at.new(), "Raise the rent")
            assert len(at.editor.asked) == 1
            assert [each["status"] for each in at.editor.calls().values()] == ["completed"] * 2

    run(talk())
    assert (notes / "more.md").read_text() == "2000\n"
    assert [each for (each,) in rows(notes, "select decided_by from decisions")][1] == "grant 1"


def test_a_patch_of_several_files_is_one_question(notes: Path, tmp_path: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Add File: a.txt\n+a\n*** Add File: b.txt\n+b\n"
        "*** Update File: notes.md\n@@\n-rent 1800\n+rent 1900\n*** End Patch"
    )

    async def talk() -> None:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", [f"<set>{patch}</set>", "Done."])) as at:
            await at.prompt(await at.new(), "Go")
            (asked,) = at.editor.asked
            assert [Path(each["path"]).name for each in asked["content"]] == ["a.txt", "b.txt", "notes.md"]
            assert "old_text" not in asked["content"][0]

    run(talk())
    assert (notes / "b.txt").read_text() == "b\n"


def test_a_cancel_aborts_what_runs_and_what_waits(notes: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", ["<sh>sleep 600</sh>", "Fine."])

    async def talk() -> None:
        async with talking(notes, "--model", model) as at:
            session = await at.new()
            first = asyncio.create_task(at.prompt(session, "Sleep"))
            second = asyncio.create_task(at.prompt(session, "And then?"))
            await at.editor.until(lambda: "in_progress" in [each["status"] for each in at.editor.calls().values()])
            await at.connection.cancel(session_id=session)
            assert await first == "cancelled"
            assert await second == "cancelled"
            assert await at.prompt(session, "Say something") == "end_turn"
            await at.editor.until(lambda: bool(at.editor.told))
        assert at.editor.said() == "Fine."

    run(talk())
    assert rows(notes, "select status, reason from loop_list order by loop") == [(499, "cancelled"), (200, None)]


@pytest.mark.parametrize("says_so", [True, False])
def test_a_cancel_ends_a_question_that_is_open(notes: Path, tmp_path: Path, says_so: bool) -> None:
    async def talk() -> None:
        asked = asyncio.Event()

        async def answer() -> Any:
            asked.set()
            if not says_so:
                await asyncio.sleep(600)
            return dismissed()

        async with talking(
            notes, "--model", script(tmp_path / "s.jsonl", [RENT, "Well."]), answer=lambda call, options: answer()
        ) as at:
            session = await at.new()
            prompt = asyncio.create_task(at.prompt(session, "Raise the rent"))
            if not says_so:
                await asked.wait()
                await at.connection.cancel(session_id=session)
            assert await prompt == "cancelled"
            assert await at.prompt(session, "Then leave it") == "end_turn"

    run(talk())
    assert not (notes / "rent.md").exists()
    assert rows(notes, "select count(*) from open_proposals") == [(0,)]


def test_an_answer_that_is_none_leaves_the_question_open_and_the_next_prompt_asks_again(
    notes: Path, tmp_path: Path
) -> None:
    answers: list[Any] = [chosen("no such option"), RuntimeError("no dialog"), chosen("allow_once")]

    def answer(call: Any, options: Any) -> Any:
        given = answers.pop(0)
        if isinstance(given, Exception):
            raise RequestError(-32603, str(given))
        return given

    async def talk() -> None:
        async with talking(
            notes, "--model", script(tmp_path / "s.jsonl", [RENT + ON, "Done.", "Yes.", "Sure."]), answer=answer
        ) as at:
            session = await at.new()
            assert await at.prompt(session, "Raise the rent") == "end_turn"
            assert "It waits for 1 decision" in at.editor.said()
            assert await at.prompt(session, "And?") == "end_turn"
            assert await at.prompt(session, "Well?") == "end_turn"
            assert at.editor.said().endswith("Sure.")

    run(talk())
    assert (notes / "rent.md").read_text() == "1900\n"


def test_questions_are_options_or_the_next_prompt(notes: Path, tmp_path: Path) -> None:
    answers = [
        '<ask_user options="red; blue">Which colour?</ask_user>',
        "<ask_user>And how large?</ask_user>",
        '<update status="200">Blue, ten metres.</update>',
    ]

    async def talk() -> None:
        async with talking(
            notes, "--model", script(tmp_path / "s.jsonl", answers), answer=lambda call, options: chosen("answer_1")
        ) as at:
            session = await at.new()
            assert await at.prompt(session, "Paint it") == "end_turn"
            assert at.editor.offered == [["answer_0", "answer_1", "own_words"]]
            assert at.editor.said().endswith("And how large?")
            assert await at.prompt(session, "ten metres") == "end_turn"
            assert at.editor.said().endswith("Blue, ten metres.")

    run(talk())
    assert rows(notes, "select count(*) from loop_list") == [(1,)]
    answered = rows(notes, "select body from run_log where action = 'ask_user' order by turn")
    assert "blue" in answered[0][0]
    assert "ten metres" in answered[1][0]


def test_links_and_what_the_editor_has_join_the_prompt(notes: Path, tmp_path: Path) -> None:
    inside = schema.ResourceContentBlock(type="resource_link", name="n", uri=f"file://{notes}/notes.md")
    outside = schema.ResourceContentBlock(type="resource_link", name="p", uri="file:///etc/passwd")
    buffer = schema.EmbeddedResourceContentBlock(
        type="resource", resource=schema.TextResourceContents(uri=f"file://{notes}/draft%20x.md", text="unsaved words")
    )

    async def talk() -> None:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", ["Yes."])) as at:
            await at.prompt(await at.new(), "Compare ", inside, " with ", outside, " and ", buffer)

    run(talk())
    ((prompt,),) = rows(notes, "select prompt from loop_list")
    assert prompt.startswith("Compare notes.md with file:///etc/passwd and draft x.md")
    assert "unsaved words" in prompt


def test_a_file_of_the_editor_is_attached(notes: Path, tmp_path: Path) -> None:
    """spec: @attachments"""
    resource = schema.BlobResourceContents(
        uri="file:///x.pdf", blob=b64encode(PDF).decode(), mime_type="application/pdf"
    )
    document = schema.EmbeddedResourceContentBlock(type="resource", resource=resource)
    picture = schema.ImageContentBlock(type="image", data=b64encode(png(9, 9)).decode(), mime_type="image/png")

    async def talk() -> None:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", ["Yes."])) as at:
            session = await at.new()
            await at.prompt(session, "Read it", document)
            with pytest.raises(RequestError, match="the model takes no pictures"):
                await at.prompt(session, "Look at it", picture)

    run(talk())
    ((prompt, packet),) = rows(
        notes, "select prompt, body from loop_list join packet_texts using (run) where role = 'user'"
    )
    assert "Attached: attachment://1/file1 (PDF, 1 page" in prompt
    assert "Port 9100 is open" in packet


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (schema.ImageContentBlock(type="image", data="aGk=", mime_type="image/png"), -32602),
        (schema.AudioContentBlock(type="audio", data="aGk=", mime_type="audio/wav"), -32602),
        (schema.TextContentBlock(type="text", text=" \n"), -32602),
        (schema.TextContentBlock(type="text", text="x" * 1_000_001), -32602),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_line_and_makes_no_run(
    notes: Path, tmp_path: Path, block: Any, code: int
) -> None:
    async def talk() -> None:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", ["Yes."])) as at:
            session = await at.new()
            with pytest.raises(RequestError) as raised:
                await at.prompt(session, block)
            assert raised.value.code == code
            assert "\n" not in str(raised.value)

    run(talk())
    assert not database(notes).exists() or rows(notes, "select count(*) from runs") == [(0,)]


def test_modes_and_models_hold_from_the_next_prompt_on(notes: Path, tmp_path: Path) -> None:
    model, other = script(tmp_path / "s.jsonl", [RENT, "No."]), script(tmp_path / "o.jsonl", ["", "", RENT, "Done."])

    async def talk() -> None:
        async with talking(notes, "--model", model, "--yolo", "--ask") as at:
            made = await at.connection.new_session(cwd=str(notes), mcp_servers=[])
            session = made.session_id
            assert made.modes is not None
            assert made.modes.current_mode_id == "ask"
            assert [each.id for each in made.modes.available_modes] == ["ask", "act", "yolo"]
            await at.prompt(session, "Try")
            assert not (notes / "rent.md").exists()
            await at.connection.set_session_mode(session_id=session, mode_id="yolo")
            options = await at.connection.set_config_option(config_id="model", session_id=session, value=other)
            assert options is not None
            assert options.config_options[0].current_value == other
            await at.prompt(session, "Try again")
            assert at.editor.asked == []
            loaded = await at.connection.load_session(cwd=str(notes), session_id=session, mcp_servers=[])
            assert loaded.modes is not None
            assert loaded.modes.current_mode_id == "yolo"
            for mode, code in (("admin", -32002),):
                with pytest.raises(RequestError) as raised:
                    await at.connection.set_session_mode(session_id=session, mode_id=mode)
                assert raised.value.code == code

    run(talk())
    assert (notes / "rent.md").read_text() == "1900\n"


def test_a_model_that_can_be_told_how_hard_to_think_has_the_option(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "thinker.py").write_text(THINKER)

    async def talk() -> None:
        async with talking(
            notes, "--model", "thinker", command=("serve", "adapter", str(tmp_path / "thinker.py"))
        ) as at:
            made = await at.connection.new_session(cwd=str(notes), mcp_servers=[])
            session = made.session_id
            assert [each.id for each in made.config_options or []] == ["model", "effort"]
            with pytest.raises(RequestError, match="must be one of none"):
                await at.connection.set_config_option(config_id="effort", session_id=session, value="immense")
            await at.connection.set_config_option(config_id="effort", session_id=session, value="high")
            await at.prompt(session, "Think")
            assert at.editor.said() == "I thought: high."
            engine(notes, "runs", "label", session, "--title", "A thought")
            (listed,) = (await at.connection.list_sessions(cwd=str(notes))).sessions
            assert listed.title == "A thought"
            engine(notes, "runs", "archive", session)
            assert (await at.connection.list_sessions(cwd=str(notes))).sessions == []

    run(talk())


def test_yolo_is_refused_where_nobody_allowed_it(notes: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [RENT])
    engine(notes, "run", "--yolo", "--model", script(tmp_path / "y.jsonl", ["Yes."]), "--run", "free", "Go")

    async def talk() -> None:
        async with talking(notes, "--model", model) as at:
            session = await at.new()
            with pytest.raises(RequestError, match="--yolo"):
                await at.connection.set_session_mode(session_id=session, mode_id="yolo")
            loaded = await at.connection.load_session(cwd=str(notes), session_id="free", mcp_servers=[])
            assert loaded.modes is not None
            assert loaded.modes.current_mode_id == "act"

    run(talk())


@pytest.mark.parametrize(
    ("arguments", "answers", "reason"),
    [
        ([], ['<update status="422">Cannot be done.</update>'], "end_turn"),
        ([], [""] * 3, "max_turn_requests"),
    ],
)
def test_stop_reasons_say_how_the_loop_ended(
    notes: Path, tmp_path: Path, arguments: list[str], answers: list[str], reason: str
) -> None:
    async def talk() -> str:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", answers), *arguments) as at:
            return await at.prompt(await at.new(), "Go")

    assert run(talk()) == reason


def test_a_model_that_fails_is_an_error_of_one_line(notes: Path, tmp_path: Path) -> None:
    answers = [{"error": {"status": 401, "message": "no\nsuch key sk-abcdefgh12345678"}}]

    async def talk() -> None:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", answers)) as at:
            with pytest.raises(RequestError) as raised:
                await at.prompt(await at.new(), "Go")
            assert "\n" not in str(raised.value)
            assert "such key" in str(raised.value)
            assert "abcdefgh12345678" not in str(raised.value)

    run(talk())


def test_no_model_is_told_as_a_missing_authentication(notes: Path) -> None:
    async def talk() -> None:
        async with talking(notes) as at:
            hello = await at.connection.initialize(1)
            (method,) = hello.auth_methods or []
            assert "engine models" in (method.description or "")
            for attempt in (at.new(), at.connection.authenticate(method_id="keys")):
                with pytest.raises(RequestError) as raised:
                    await attempt
                assert raised.value.code == -32000

    run(talk())


def test_runs_of_the_command_line_are_sessions_and_sessions_are_runs(notes: Path, tmp_path: Path) -> None:
    engine(notes, "run", "--model", script(tmp_path / "c.jsonl", ["Hello.", "Again."]), "--run", "demo", "Say hello")

    async def talk() -> str:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", ["Yes."])) as at:
            listed = await at.connection.list_sessions(cwd=str(notes))
            assert [(each.session_id, each.cwd, each.title) for each in listed.sessions] == [
                ("demo", str(notes), "Say hello")
            ]
            await at.connection.resume_session(cwd=str(notes), session_id="demo", mcp_servers=[])
            assert at.editor.told == []
            assert await at.prompt("demo", "Once more") == "end_turn"
            assert at.editor.said() == "Again."
            forked = await at.connection.fork_session(cwd=str(notes), session_id="demo", mcp_servers=[])
            await at.connection.load_session(cwd=str(notes), session_id=forked.session_id, mcp_servers=[])
            assert at.editor.said("user_message_chunk") == "Say helloOnce more"
            await at.connection.close_session(session_id="demo")
            with pytest.raises(RequestError, match="is not open here"):
                await at.prompt("demo", "Still there?")
            session = await at.new()
            await at.prompt(session, "Hi")
            return session

    session = run(talk())
    assert session in engine(notes, "runs").stdout


def test_sessions_in_several_folders_are_driven_beside_each_other(notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    model = script(tmp_path / "s.jsonl", ["<sh>until [ -e go_on ]; do sleep 0.05; done</sh>", "Done."])

    async def talk() -> None:
        async with talking(notes, "--model", model) as at:
            sessions = [await at.new(), await at.new(), await at.new(other)]
            prompts = asyncio.gather(*(at.prompt(each, "Go") for each in sessions))
            await at.editor.until(
                lambda: [update.get("status") for _, update in at.editor.told].count("in_progress") >= 3
            )
            for folder in (notes, other):
                (folder / "go_on").touch()
            assert await prompts == ["end_turn"] * 3

    run(talk())
    assert rows(notes, "select count(*) from runs") == [(2,)]
    assert rows(other, "select count(*) from runs") == [(1,)]


def test_lists_come_in_pages(notes: Path, tmp_path: Path) -> None:
    import engine as api

    engine(notes, "run", "--model", script(tmp_path / "c.jsonl", ["Hello."]), "--run", "demo", "Say hello")
    with api.open(database(notes)) as db, db.transaction():
        for number in range(60):
            db.start("Hi", run=f"r{number}", model="scripted:none", root=notes)

    async def talk() -> None:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", [])) as at:
            first = await at.connection.list_sessions(cwd=str(notes))
            last = await at.connection.list_sessions(cwd=str(notes), cursor=first.next_cursor)
            assert (len(first.sessions), len(last.sessions), last.next_cursor) == (50, 11, None)
            with pytest.raises(RequestError, match="cursor"):
                await at.connection.list_sessions(cwd=str(notes), cursor="1 or 1")

    run(talk())


def test_an_editor_with_unsaved_changes_is_told_so_and_keeps_them(notes: Path, tmp_path: Path) -> None:
    async def talk() -> None:
        async with talking(
            notes, "--model", script(tmp_path / "s.jsonl", [READ, EDIT, "Done."]), reads_files=True
        ) as at:
            at.editor.buffers[str(notes / "notes.md")] = "rent 1800\nother\nunsaved\n"
            await at.prompt(await at.new(), "Raise the rent")
            assert "unsaved changes of notes.md" in texts(at.editor.asked[0]["content"])

    run(talk())
    assert (notes / "notes.md").read_text() == "rent 1900\nother\n"


def test_skills_are_commands(notes: Path, tmp_path: Path) -> None:
    skill = notes / ".agents" / "skills" / "release" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: release\ndescription: How to release\n---\nTag it.\n")

    async def talk() -> None:
        async with talking(notes, "--model", script(tmp_path / "s.jsonl", ["Hello.", "Tagged."])) as at:
            session = await at.new()
            await at.prompt(session, "Say hello")
            await at.editor.until(lambda: bool(at.editor.of("available_commands_update")))
            (commands,) = at.editor.of("available_commands_update")
            assert [each["name"] for each in commands["availableCommands"]] == ["release"]
            await at.prompt(session, "/release 1.2")

    run(talk())
    assert rows(notes, "select prompt from loop_list where loop = 2") == [
        ("Get skill://release and do what it says. 1.2",)
    ]


THINKER = """
from engine import plugins
from engine.adapters import named
from engine.models.protocol import Completion, Usage


class Thinker:
    takes_effort = True

    @plugins.hookimpl
    def engine_model(self, name):
        return self if name == "thinker" else None

    def complete(self, request, *_):
        return Completion(f"I thought: {request.effort}.", "", Usage(10, 0, 5, 0, 0.0))


def serve(serving):
    plugins.manager().register(Thinker())
    named("acp")(serving)
"""
PLAYERS = """
from engine import plugins
from engine.adapters import named
from engine.models.protocol import Completion, Usage


class Players:
    @plugins.hookimpl
    def engine_model(self, name):
        return self if name == "players" else None

    def complete(self, request, *_):
        told = request.messages[-1].content
        if "Write it down" in told and "Do both" not in told:
            text = '<set path="rent.md">1900\\n</set><update status="200">It is written.</update>'
        elif request.position == 0:
            text = '<subtask>Write it down</subtask><update status="102">on</update>'
        else:
            text = '<update status="200">Both are done.</update>'
        return Completion(text, "", Usage(10, 0, 5, 0, 0.0))


def serve(serving):
    plugins.manager().register(Players())
    named("acp")(serving)
"""


def test_what_runs_below_do_is_told_with_their_names(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "cast.py").write_text(PLAYERS)
    engine(notes, "config", "max_depth=1")

    async def talk() -> None:
        async with talking(
            notes,
            "--model",
            "players",
            command=("serve", "adapter", str(tmp_path / "cast.py")),
            env={"PYTHONPATH": str(Path(__file__).parent)},
        ) as at:
            assert await at.prompt(await at.new(), "Do both") == "end_turn"
            assert at.editor.said() == "on\n\nBoth are done."
            (asked,) = at.editor.asked
            assert asked["title"].endswith(": set rent.md")
            below = [each for each in at.editor.calls().values() if each["title"].endswith(": set rent.md")]
            assert [each["status"] for each in below] == ["completed"]

    run(talk())
    assert (notes / "rent.md").read_text() == "1900\n"
