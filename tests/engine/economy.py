"""What a model may say at random, and what must hold of every packet, for the machine of the economy."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import engine
from engine.models.protocol import Message

FILES = ("a.md", "code.py")
PATHS = st.sampled_from(
    [
        "known://a",
        "known://b",
        "known://deep/c",
        "unknown://q",
        "unknown://r",
        "skill://s",
        "https://e.org/p",
        "prompt://1",
        *FILES,
    ]
)
GLOBS = st.sampled_from(["known://**", "log://**", "*://**", "sh://**", "**/*.md", "unknown://*", "prompt://*"])
TEXTS = st.builds(
    lambda word, count, end: word * count + end,
    st.sampled_from(["a ", "line\n", "wörter, ", "\t{}\n", "<x>", "def f():\n    pass\n"]),
    st.integers(1, 150),
    st.sampled_from(["", "\n", "end"]),
)
LEVELS = st.sampled_from(["visible", "summarized", "archived"])
ANY = st.one_of(PATHS, GLOBS)
COMMANDS = st.one_of(
    st.builds('<set path="{}">{}</set>'.format, PATHS, TEXTS),
    st.builds('<set path="{}" tags="t" summary="s {}">{}</set>'.format, PATHS, st.integers(0, 3), TEXTS),
    st.builds('<set path="{}"><<APPEND\n{}\nAPPEND</set>'.format, PATHS, TEXTS),
    st.builds('<set path="{}"><<SEARCH\nend\nSEARCH\n<<REPLACE\n{}\nREPLACE</set>'.format, PATHS, TEXTS),
    st.builds('<set path="{}" visibility="{}"/>'.format, ANY, LEVELS),
    st.builds('<get path="{}"/>'.format, st.one_of(ANY, st.just("nothing"))),
    st.builds('<get path="{}" line="{}" limit="{}"/>'.format, PATHS, st.integers(-9, 9), st.integers(1, 50)),
    st.builds('<get path="{}">{}</get>'.format, GLOBS, st.sampled_from(["line", "wörter", "zzz"])),
    st.builds('<get path="{}" manifest/>'.format, GLOBS),
    st.builds('<rm path="{}"/>'.format, st.one_of(PATHS, st.just("known://**"))),
    st.builds('<cp path="{}" to="{}"/>'.format, PATHS, PATHS),
    st.builds('<mv path="{}" to="{}"/>'.format, PATHS, PATHS),
    st.builds("<sh>yes output | head -{}</sh>".format, st.sampled_from([1, 80, 400])),
    st.builds("<think>{}</think>".format, TEXTS),
)
SHOWN = ("_packet_summary", "_packet_visible", "_packet_log", "_packet_unknowns")
FIGURES = re.compile(r'<budget tokenUsage="(\d+)".*entr(?:y|ies), (\d+) tokens?.*\nSystem: (\d+) tokens', re.DOTALL)
STATED = re.compile(r'"tokens":(\d+)\} <<:::')
AGREED = "path, visibility, coalesce(body, '') as body, state, outcome"


def seen(db: engine.Database, run: str) -> dict[int, list[tuple[Any, ...]]]:
    """What each turn of a run saw: rows of (path, visibility, body, state, outcome, written), by turn."""
    turns: dict[int, list[tuple[Any, ...]]] = {}
    for row in db.rows(f"select turn, {AGREED}, written from context_at where run = ? order by path", (run,)):
        turns.setdefault(row.pop("turn"), []).append(tuple(row.values()))
    return turns


def in_context(db: engine.Database, run: str) -> list[tuple[Any, ...]]:
    """What is in context now, in the form of `seen`, told by the entries themselves."""
    rows = db.rows(
        f"select {AGREED}, turn from known_entries where run = ? and category <> 'audit' "
        "and visibility <> 'archived' and state <> 'proposed' order by path",
        (run,),
    )
    return [tuple(row.values()) for row in rows]


def stock(db: engine.Database, run: str) -> dict[str, tuple[Any, ...]]:
    """All that a run knows and how the ladder would treat it, but for entries of shared scope: these follow their head."""
    rows = db.rows(
        "select k.path, k.body, k.visibility, k.state, k.outcome, k.attributes, k.turn, v.last_used_turn "
        "from known_entries as k join runs as r on r.alias = k.run "
        "join entries as e on e.scope = k.scope and e.path = k.path "
        "join run_views as v on v.run_id = r.id and v.entry_id = e.id where k.run = ? and k.scope like 'run:%'",
        (run,),
    )
    return {row.pop("path"): tuple(row.values()) for row in rows}


def sent(db: engine.Database, run: str) -> dict[int, list[str]]:
    """The messages of each turn of a run as they are kept."""
    turns: dict[int, list[str]] = {}
    for row in db.rows("select turn, body from packet_texts where run = ? order by turn, ordinal", (run,)):
        turns.setdefault(row["turn"], []).append(row["body"])
    return turns


def check_sums(db: engine.Database, turn_id: int, messages: Sequence[Message]) -> None:
    """Floor, premium and system are what the budget says, and what the packet's text takes."""
    text = "".join(message.content for message in messages)
    chars_per_token = db.value("select chars_per_token from turns where id = ?", (turn_id,))
    found = FIGURES.search(text)
    assert found
    usage, floor, system = map(int, found.groups())
    sums = db.row("select sum(floor) as f, sum(expansion) as p from _packet_schemes where turn_id = ?", (turn_id,))
    assert sums is not None
    both = (sums["f"] or 0) + (sums["p"] or 0)
    assert usage == math.ceil(len(text) / chars_per_token)
    assert floor == math.ceil((sums["f"] or 0) / chars_per_token)
    assert system == usage - math.ceil(both / chars_per_token) > 0
    assert both == shown_chars(db, turn_id, messages[-1].content)


def shown_chars(db: engine.Database, turn_id: int, text: str) -> int:
    """Characters of the entries in the user's message, each of which takes what is said of it."""
    costs: dict[int, int] = {}
    place = task = 0
    for view in ("_packet_prompt", *SHOWN):
        for row in db.rows(f"select * from {view} where turn_id = ?", (turn_id,)):
            place = text.index(row["text"], place) + len(row["text"])
            if "entry_id" in row:
                assert text[place] == "\n"
                costs[row["entry_id"]] = costs.get(row["entry_id"], 0) + len(row["text"]) + 1
            else:
                task = len(row["text"])
    said = db.rows(
        "select c.* from _context_costs as c join turns as t on t.run_id = c.run_id where t.id = ?", (turn_id,)
    )
    for row in said:
        expansion = row["expansion"] if row["visibility"] == "visible" else 0
        assert row["summarized"] + expansion == (task if row["is_task"] else costs.pop(row["entry_id"])), row
    assert not costs, "nothing is shown that is not accounted for"
    check_stated(db, turn_id)
    return sum(row["summarized"] + (row["expansion"] if row["visibility"] == "visible" else 0) for row in said)


def check_stated(db: engine.Database, turn_id: int) -> None:
    """`tokens` in a head is what showing the entry adds, its own digits left out."""
    rows = db.rows(
        "select x.opening || x.fence as head, x.category, c.expansion, x.chars_per_token from _context_costs as c "
        "join turns as t on t.run_id = c.run_id "
        "join _context_texts as x on x.run_id = c.run_id and x.entry_id = c.entry_id where t.id = ? and not c.is_task",
        (turn_id,),
    )
    for row in rows:
        if found := STATED.search(row["head"]):
            own = len(found[1]) if row["category"] == "data" else 0
            assert int(found[1]) == math.ceil((row["expansion"] - own) / row["chars_per_token"]), row


def check_shown(db: engine.Database, run: str, text: str) -> None:
    """Each entry in context stands in the packet; one that is visible with its whole body."""
    prompt = db.value("select min(t.sequence) from turns as t join loops as l on l.id = t.loop_id join runs as r "
                      "on r.id = t.run_id where r.alias = ? and l.status = 102", (run,))  # fmt: skip
    for path, visibility, body, *_ in in_context(db, run):
        whole = (
            body
            if path == f"prompt://{prompt}" or not path.startswith(("log:", "prompt:"))
            else "\t" + body.replace("\n", "\n\t")
        )
        assert path == f"prompt://{prompt}" or f"<<:::{path}\n" in text
        assert visibility != "visible" or body == "" or whole in text


def check_told(db: engine.Database, turn_id: int, text: str) -> None:
    """What was taken out of sight is in short or archived, and the model was told so once, in this packet."""
    rows = db.rows(
        "select d.path, d.step, t.sequence, v.visibility from demotions as d join turns as t on t.id = d.turn_id "
        "left join run_views as v on v.run_id = t.run_id and v.entry_id = d.entry_id where t.id = ?",
        (turn_id,),
    )
    assert all(row["visibility"] == ("archived" if row["step"] in (3, 5) else "summarized") for row in rows)
    errors = db.value("select count(*) from turn_errors where turn_id = ? and slug = 'budget'", (turn_id,))
    assert errors <= 1
    assert errors or all(row["step"] == 1 for row in rows)
    for row in rows:
        record = "budget/condensed" if row["step"] == 1 else "error/budget"
        assert f"<<:::log://turn_{row['sequence']}/{record}\n" in text
    for step in (1, 2):
        listed = sorted(row["path"] for row in rows if row["step"] == step)[:50]
        assert all(f"* {path} (turn " in text for path in listed)


def recent(db: engine.Database, turn_id: int) -> set[str]:
    """What the turn before brought into view and is shorter in short."""
    rows = db.rows(
        "select c.path from _context_costs as c join turns as t on t.run_id = c.run_id where t.id = ? "
        "and c.visibility = 'visible' and c.expansion > 0 and c.category <> 'prompt' and c.last_used_turn = t.sequence - 1",
        (turn_id,),
    )
    return {row["path"] for row in rows}


def check_second_step(db: engine.Database, turn_id: int, brought: set[str]) -> None:
    """The second step of the ladder takes older results: what the turn before brought into view is the last to go."""
    rows = db.rows("select path from demotions where turn_id = ? and step = 2", (turn_id,))
    assert not {row["path"] for row in rows} & brought
