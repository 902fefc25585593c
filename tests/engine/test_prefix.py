"""What a provider has read before comes again unchanged, and it is told up to where.

1. The packet begins as the one before did: growing log, promotions, what comes into context.
2. Cuts: blocks are those of the message before, as far as the two are the same.
3. Over the wire: a request to Anthropic marks what to cache, one to others is plain text; a new process and a fork cut as
   the process and the run before them did.

spec: @prefix_stability
"""

from __future__ import annotations

import json
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script
from hypothesis import given
from hypothesis import strategies as st
from loopback import Answer, Handler, saying, serving

import engine
from engine.models.cuts import blocks_of, cuts_of, kept_of, message_of
from engine.models.protocol import Message


def users(db: engine.Database, run: str = "demo") -> list[str]:
    rows = db.rows("select body from packet_texts where run = ? and role = 'user' order by turn", (run,))
    return [row["body"] for row in rows]


def section(text: str, name: str) -> str:
    return text[text.index(f"<{name}>\n") : text.index(f"</{name}>\n")]


# 1. the packet begins as the one before did


@pytest.fixture
def noted(db: engine.Database) -> engine.Database:
    """A run with a note that is visible, three in short and one put away."""
    db.insert("verb_set", run="demo", path="run://demo", attributes='{"model":"scripted:none"}')
    for number, visibility in enumerate(["visible", "summarized", "summarized", "summarized", "archived"]):
        db.insert("verb_set", run="demo", path=f"known://{number}", body=f"note {number}", visibility=visibility)
    return db


def test_a_packet_of_a_growing_log_begins_with_the_packet_before(noted: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, *(f'<get path="known://{n}" line="1"/>{GO_ON}' for n in range(4)), DONE)
    noted.run("Look", run="demo", model=model)
    for before, after in pairwise(users(noted)):
        end = before.index("</log>" if "</log>" in before else "<instructions>\n")
        assert after.startswith(before[:end])


def test_promotions_and_demotions_leave_the_summary_as_it_is(noted: engine.Database, tmp_path: Path) -> None:
    model = script(
        tmp_path,
        '<get path="known://2"/>' + GO_ON,
        '<set path="known://0" visibility="summarized"/><get path="known://1"/>' + GO_ON,
        '<get path="known://2"/><get path="known://*"/>' + GO_ON,
        '<set path="known://*" visibility="summarized"/>' + GO_ON,
        DONE,
    )
    noted.run("Look", run="demo", model=model, max_turns=9)
    sent = users(noted)
    assert section(sent[0], "summary") == section(sent[1], "summary") == section(sent[2], "summary")
    # the pattern also brought in what was put away: it stands last
    assert section(sent[3], "summary").startswith(section(sent[2], "summary"))
    assert section(sent[3], "summary") == section(sent[4], "summary")


def begin_in(db: engine.Database, folder: Path) -> None:
    """Begin the run `demo` in a folder."""
    attributes = json.dumps({"model": "scripted:none", "root": str(folder)})
    db.insert("verb_set", run="demo", path="run://demo", attributes=attributes)


@pytest.mark.parametrize("path", ["known://long", "skill://long", "notes.md", "unknown://long", "log://**", "**"])
def test_the_summary_stays_whatever_is_shown_or_put_in_short(
    db: engine.Database, workspace_dir: Path, tmp_path: Path, path: str
) -> None:
    long = "".join(f"line {number}\n" for number in range(200))
    (workspace_dir / "notes.md").write_text(long)
    begin_in(db, workspace_dir)
    for scheme in ("known", "skill", "unknown"):
        db.insert("_write_entry", run_id=1, path=f"{scheme}://long", body=long, visibility="visible")
    flips = [f'<set path="{path}" visibility="{way}"/>{GO_ON}' for way in ("summarized", "visible", "summarized")]
    model = script(tmp_path, '<get path="notes.md"/>' + GO_ON, "<think>hm</think>" + GO_ON, *flips, DONE)
    assert db.run("Look", run="demo", model=model, max_turns=9).status == 200
    before, *sent = [text[: text.index("<visible>\n")] for text in users(db)[1:]]
    assert all(name in before for name in (":::known://long\n", ":::skill://long\n", ":::notes.md\n"))
    if path == "**":
        # it also brought in the other files, which stand last
        assert sent[1].startswith(before.removesuffix("</summary>\n"))
        before, *sent = sent[1:]
    assert set(sent) == {before}


def test_what_changes_on_disk_leaves_what_stands_before_it(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    begin_in(db, workspace_dir)
    for name in ("a.md", "b.md", "c.md"):
        (workspace_dir / name).write_text(f"{name} as it was\n")
    look = "".join(f'<get path="{name}.md"/>' for name in "abc") + GO_ON
    db.run("Look", run="demo", model=script(tmp_path, look, DONE))
    (workspace_dir / "b.md").write_text("b.md as it is\n")
    (workspace_dir / "new.md").write_text("new\n")
    (workspace_dir / "c.md").unlink()
    db.run("Look", run="demo", model=script(tmp_path, "said", "said", DONE))
    before, after = (section(text, "summary") for text in users(db)[1:])
    of_a = before[: before.index(":::a.md\n", before.index("a.md as it was")) + 8]
    assert after.startswith(of_a)
    rest = after.removeprefix(of_a)
    assert rest.count("<<:::") == 1
    assert "b.md as it is\n" in rest


def test_what_becomes_visible_stands_last(noted: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, *(f'<get path="known://{n}"/>{GO_ON}' for n in (3, 1, 3, 2)), DONE)
    noted.run("Look", run="demo", model=model)
    for before, after in pairwise(section(text, "visible") for text in users(noted)):
        assert after.startswith(before)


def test_what_comes_into_context_stands_last(noted: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, '<get path="known://4"/>' + GO_ON, '<set path="known://1">anew</set>' + GO_ON, DONE)
    noted.run("Look", run="demo", model=model)
    first, second, third = (section(text, "summary") for text in users(noted))
    assert second.startswith(first)
    assert third.endswith(":::known://4\n" + third[third.rindex('{"turn":2') :])


def test_a_section_of_a_fork_stands_as_its_parents_does(noted: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, *(f'<get path="known://{n}"/>{GO_ON}' for n in (4, 3, 0, 1)), DONE)
    noted.run("Look", run="demo", model=model)
    noted.run("Look", run="child", fork="demo", at=4, model=script(tmp_path, DONE))
    for name in ("summary", "visible"):
        assert section(users(noted, "child")[0], name) == section(users(noted)[3], name)


# 2. cuts

PARTS = st.lists(
    st.tuples(st.sampled_from(["", "<s>\na\n</s>\n", "<s>\na\nb\n</s>\n", "x"]), st.booleans()), max_size=5
)


@given(packets=st.lists(PARTS, min_size=1, max_size=6), most=st.integers(0, 3))
def test_blocks_are_the_message_cut(packets: list[list[tuple[str, bool]]], most: int) -> None:
    before: Message | None = None
    parts_before: list[str] = []
    for parts in packets:
        message = message_of("user", parts, before, parts_before)
        blocks = blocks_of(message, most)
        assert "".join(text for text, _ in blocks) == message.content == "".join(text for text, _ in parts)
        assert all(text for text, _ in blocks)
        assert sum(cached for _, cached in blocks) <= most
        assert set(message.cache_to) <= set(message.cuts)
        before, parts_before = message, [text for text, _ in parts]


@given(packets=st.lists(PARTS, min_size=1, max_size=8))
def test_cuts_are_made_again_of_what_is_stored(packets: list[list[tuple[str, bool]]]) -> None:
    before: Message | None = None
    texts_before: list[str] = []
    line: list[tuple[int, tuple[int, ...]]] = []
    for parts in packets:
        message = message_of("user", parts, before)
        line.insert(0, (kept_of(message), message.cache_to))
        assert cuts_of(line) == message.cuts
        assert set(message_of("user", parts, before, texts_before).cuts) <= set(message.cuts)
        before, texts_before = message, [text for text, _ in parts]


def test_the_blocks_of_a_growing_section_come_again() -> None:
    before, parts = Message("user", ""), [""]
    for count in range(1, 9):
        rows = "".join(f"row {number}\n" for number in range(count))
        texts = ["<prompt>\nGo\n</prompt>\n", f"<log>\n{rows}</log>\n", f"<budget>{count}</budget>\n"]
        message = message_of("user", list(zip(texts, (False, True, False), strict=True)), before, parts)
        old, new = blocks_of(before, 3), blocks_of(message, 3)
        assert [text for text, _ in new][: count - 1] == [text for text, _ in old][: count - 1]
        assert [cached for _, cached in new] == [False] * (count - 1) + [True, False]
        before, parts = message, texts


# 3. over the wire


def in_anthropics_form(text: str) -> Answer:
    """Stream this text as Anthropic does."""
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 6}},
        {"type": "message_stop"},
    ]

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        for event in events:
            handler.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    return answer


def test_anthropic_is_told_what_to_cache(noted: engine.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx2")
    answers = [f"<think>{number}</think>{GO_ON}" for number in range(3)]
    with serving(*map(in_anthropics_form, [*answers, DONE])) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url.removesuffix("/v1"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
        assert noted.run("Look", run="demo", model="anthropic/claude-x").status == 200
    sent = users(noted)
    requests = [body["messages"][0]["content"] for body in server.asked]
    assert len(requests) == len(sent) == 4
    for blocks, text, body in zip(requests, sent, server.asked, strict=True):
        assert "".join(block["text"] for block in blocks) == text
        assert json.dumps(body["system"]).count("cache_control") == 1
        marked = [number for number, block in enumerate(blocks) if "cache_control" in block]
        assert [blocks[number + 1]["text"].partition("\n")[0] for number in marked] == [
            f"</{name}>" for name in ("summary", "visible", "log") if f"<{name}>\n" in text
        ]
    for before, after in pairwise(requests[1:]):
        last = max(number for number, block in enumerate(before) if "cache_control" in block)
        texts = [[block["text"] for block in blocks] for blocks in (before, after)]
        assert texts[1][: last + 1] == texts[0][: last + 1], "what was cached for the last request is read by this one"


@pytest.mark.usefixtures("in_folder")
def test_blocks_come_again_in_a_new_process_and_in_a_fork(
    noted: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx2")
    ask = '<ask_user question="On?"/><update status="102">on</update>'
    texts = [
        '<get path="known://1"/>' + GO_ON,
        '<set path="known://2">anew</set>' + ask,
        '<set path="known://0" visibility="summarized"/>' + ask,
        '<get path="known://3" line="1"/>' + ask,
        "<think>hm</think>" + GO_ON,
        DONE,
    ]
    with serving(*map(in_anthropics_form, [*texts, GO_ON, DONE])) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url.removesuffix("/v1"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
        result = noted.run("Look", run="demo", model="anthropic/claude-x", yolo=False)
        while result.status == 202:
            with engine.open(tmp_path / "t.db") as other:
                path = other.value("select path from open_proposals where run = 'demo'")
                other.resolve("demo", path, accept=True, body="yes")
                result = other.resume("demo")
        assert result.status == 200
        with engine.open(tmp_path / "t.db") as other:
            assert other.run("Look", run="child", fork="demo", at=4).status == 200
    requests = [body["messages"][0]["content"] for body in server.asked]
    assert len(requests) == 8
    for body in server.asked:
        assert json.dumps(body).count("cache_control") <= 4
    read = []
    # the child's first packet comes after the one of turn 4
    for before, after in [*pairwise(requests[:6]), (requests[3], requests[6]), (requests[6], requests[7])]:
        of_before, of_after = (list(accumulate(len(block["text"]) for block in blocks)) for blocks in (before, after))
        text = ["".join(block["text"] for block in blocks) for blocks in (before, after)]
        same = next((n for n, pair in enumerate(zip(*text, strict=False)) if len(set(pair)) > 1), min(map(len, text)))
        for end, block in zip(of_before, before, strict=True):
            if "cache_control" in block and end <= same:
                assert of_after[: of_before.index(end) + 1] == of_before[: of_before.index(end) + 1]
        marked = [end for end, block in zip(of_after, after, strict=True) if "cache_control" in block]
        assert marked, "what is new is cached in its turn"
        read.append(any(end <= same for end, block in zip(of_before, before, strict=True) if "cache_control" in block))
    # the edit of turn 2 changed the first section that is cached
    assert read == [True, False, True, True, True, True, True]


def test_others_get_plain_text(noted: engine.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx2")
    with serving(saying(DONE)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        assert noted.run("Look", run="demo", model="openai/tiny").status == 200
    assert [message["content"] for message in server.asked[0]["messages"]][1:] == users(noted)


def test_native_tools_are_cached_and_there_are_four_marks_still(
    noted: engine.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx2")
    noted.insert("models", alias="native", actual="anthropic/claude-x", tool_calling="native", created_at=0)
    with serving(*map(in_anthropics_form, ["<think>a</think>" + GO_ON, DONE])) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url.removesuffix("/v1"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
        assert noted.run("Look", run="demo", model="native").status == 200
    last = server.asked[-1]
    assert [json.dumps(last[part]).count("cache_control") for part in ("tools", "system", "messages")] == [1, 1, 2]
    blocks = last["messages"][0]["content"]
    ends = [
        blocks[number + 1]["text"].partition("\n")[0] for number, block in enumerate(blocks) if "cache_control" in block
    ]
    assert ends == ["</visible>", "</log>"], "the longest beginnings stay"


def test_openrouter_tells_anthropics_models_what_to_cache(
    noted: engine.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx2")
    with serving(saying("<think>a</think>" + GO_ON), saying(DONE)) as server:
        monkeypatch.setenv("OPENROUTER_BASE_URL", server.url)
        monkeypatch.setenv("OPENROUTER_API_KEY", "secret")
        assert noted.run("Look", run="demo", model="openrouter/anthropic/claude-x").status == 200
    marks = [[json.dumps(message).count("cache_control") for message in body["messages"]] for body in server.asked]
    assert marks == [[1, 2], [1, 3]]
