"""What is measured of one tree where the context is large: packets, writes, forks and the prefix that a provider keeps."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import apsw

from .compared import Figures, Meter, opened

ENTRIES = 5000
CHANGED = ENTRIES // 100
BYTES = 1000
_ROUNDS = 5
_UPSERTS = 1000


def measure_packet() -> Figures:
    """Turns over 5,000 visible entries: before every other one, 1 % of them are written."""
    from engine.models.scripted import ScriptedModel

    meter = Meter()
    meter.watch_shares()
    with opened(synchronous="NORMAL") as (db, folder):
        start(db)
        write(db, range(ENTRIES), "first")
        changed: list[bool] = []
        tables, bare = bare_tables(folder), []
        complete = ScriptedModel.complete

        def between(model: Any, *arguments: Any, **options: Any) -> Any:
            changed.append(len(changed) % 2 == 0)
            bare.append(bare_ms(tables))
            if changed[-1]:
                write(db, range(CHANGED), f"change {len(changed)}")
            return complete(model, *arguments, **options)

        ScriptedModel.complete = between  # type: ignore[method-assign]
        count = 2 * _ROUNDS + 1
        result = db.run("Read all.", run="bench", model=script(folder, count), max_turns=count + 1)
        ScriptedModel.complete = complete  # type: ignore[method-assign]
        assert (result.status, result.turns) == (200, count), result
    offers, renders = ([1000 * spent / min(bare) for spent in meter.calls[name]] for name in ("packet", "render"))
    assert len(offers) == count
    yield f"packet of {ENTRIES} entries : bare join", "×", min(renders)
    yield "the first, with what is stored : bare join", "×", offers[0]
    for name, chosen in (("1 % changed", True), ("none changed", False)):
        spent = min(offer for offer, was in zip(offers[1:], changed, strict=False) if was is chosen)
        yield f"{name}, with what is stored : bare join", "×", spent


_BARE = (
    "select e.path, {text} from run_views as v join entries as e on e.id = v.entry_id "
    "join contents as c on c.id = v.content_id where v.visibility = 'visible' and e.scheme = 'known' "
    "order by v.turn, v.entry_id"
)


def bare_tables(folder: Path) -> apsw.Connection:
    """The same entries in tables of the simplest kind, so that both trees are compared with one and the same join."""
    connection = apsw.Connection(str(folder / "bare.db"))
    for table in (
        "run_views (entry_id integer primary key, content_id integer, turn integer, visibility text)",
        "entries (id integer primary key, scheme text, path text)",
        "contents (id integer primary key, body text)",
    ):
        connection.execute(f"create table {table}")
    with connection:
        for number in range(ENTRIES):
            connection.execute("insert into run_views values (?, ?, 0, 'visible')", (number, number))
            connection.execute("insert into entries values (?, 'known', ?)", (number, f"known://entry/{number}"))
            connection.execute("insert into contents values (?, ?)", (number, body(number, "first")))
    return connection


def bare_ms(connection: apsw.Connection) -> float:
    """Milliseconds in which SQLite joins and Python concatenates them, in short and whole, as a packet shows them."""
    began = time.process_time()
    parts: list[str] = []
    for text in ("substr(c.body, 1, 500)", "c.body"):
        parts += [f"{path}\n{shown}\n" for path, shown in connection.execute(_BARE.format(text=text))]
    assert len("".join(parts)) > ENTRIES * BYTES
    return 1000 * (time.process_time() - began)


def measure_writes() -> Figures:
    for _ in range(_ROUNDS):
        with opened() as (db, _folder):
            start(db)
            began = time.process_time()
            write(db, [number % (_UPSERTS // 2) for number in range(_UPSERTS)], "upsert", None)
            yield f"{_UPSERTS} upserts, one transaction", "ms", 1000 * (time.process_time() - began)


def measure_forks() -> Figures:
    """Forks of a run of three turns, between which half of the entries were rewritten and a quarter put away."""
    with opened(synchronous="NORMAL") as (db, folder):
        start(db)
        for said, chosen in (
            ("first", range(ENTRIES)),
            ("second", range(0, ENTRIES, 2)),
            ("third", range(1, ENTRIES, 4)),
        ):
            write(db, chosen, said, "archived" if said == "third" else "summarized")
            assert db.run(f"Take note of the {said}.", run="bench", model=script(folder, 4, "200")).status == 200
        for at in (None, 3, 1):
            for _ in range(_ROUNDS):
                before, began = size(db), time.process_time()
                db.fork("bench", at=at)
                spent = 1000 * (time.process_time() - began)
                what = f"fork of {ENTRIES} entries, " + (f"from turn {at}" if at else "from now")
                yield what, "ms", spent
                yield f"{what}: bytes", "KB", (size(db) - before) / 1000


def measure_prefix() -> Figures:
    from .notes import ACTS, common, fill, write_script

    for name, act in ACTS.items():
        with opened() as (db, folder):
            start(db)
            fill(db)
            model = write_script(folder / "script.jsonl", act, 30)
            assert db.run("Compare the notes.", run="bench", model=model, max_turns=31).turns == 30
            sent: dict[int, str] = {}
            for row in db.rows("select * from packet_texts order by turn, ordinal"):
                sent[row["turn"]] = sent.get(row["turn"], "") + row.get(
                    "body", row.get("text")
                )  # text: in older revisions
        shares = [common(*pair) / len(pair[1]) for pair in pairwise(sent.values())]
        yield f"prefix kept, {name}", "%", 100 * mean(shares)


def start(db: Any) -> None:
    """A run that is large enough for everything."""
    db.insert("verb_set", run="bench", path="run://bench", attributes=json.dumps({"context_limit": 100_000_000}))


def write(db: Any, numbers: Any, said: str, visibility: str | None = "visible") -> None:
    """Write entries through the door for apps, in one transaction."""
    with db.transaction():
        for number in numbers:
            path = f"known://entry/{number}"
            db.insert("verb_set", run="bench", path=path, body=body(number, said), visibility=visibility)


def body(number: int, said: str) -> str:
    return f"{said} {number} ".ljust(BYTES, "x")


def script(folder: Path, count: int, status: str = "102") -> str:
    """A model that says `count` times that it goes on with `status`, and then that it is done."""
    said = [f'<update status="{status}">{number}</update>' for number in range(count - 1)]
    lines = [json.dumps(text) for text in (*said, '<update status="200">done</update>')]
    (folder / "script.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return f"scripted:{folder / 'script.jsonl'}"


def size(db: Any) -> int:
    return int(db.value("select page_count * page_size from pragma_page_count, pragma_page_size"))
