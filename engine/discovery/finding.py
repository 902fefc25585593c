"""Finds tools, skills, rules, references and entries by their words and by their meaning.

The database ranks and joins; here texts become vectors. What can be found is read when somebody searches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import apsw

from engine.discovery.embedders import Embedder, EmbedderFailed, embedder, vectors
from engine.functions.discovery.vectors import packed, signs

if TYPE_CHECKING:
    from engine.db.database import Row, Store

KINDS = ("tool", "skill", "rule", "reference", "mcp", "entry")
"""What can be found."""
QUERY_CHARACTERS = 2_000
"""How much of a query counts."""
_BATCH = 500
_MOST_NEAR = (100, 1_000, 5_000)
"""So many vectors whose signs are most like those of the query's are compared in full: more where they are of few texts."""
_ENOUGH = 50
"""How many texts have a place. A text has 100 pieces at most, so 5,000 pieces are of so many."""

# the vectors come first where nothing is left out, else the texts
_NEAR = """
select t.id, t.kind, t.scope, t.name, t.content_id
from (
    select b.digest
    from text_vectors as b indexed by idx_text_vectors_bits
    where b.embedder = :embedder and length(b.bits) = length(:bits)
    order by APART
    limit :most
) as n
cross join search_texts as t indexed by idx_search_texts_digest on t.digest = n.digest
"""
_NEAR_WANTED = """
select t.id, t.kind, t.scope, t.name, t.content_id
from search_texts as t indexed by idx_search_texts_digest
cross join text_vectors as b indexed by idx_text_vectors_bits
    on b.embedder = :embedder and b.digest = t.digest and length(b.bits) = length(:bits)
where (:kinds is null or t.kind in (select value from json_each(:kinds)))
    and (:scopes is null or t.scope in (select value from json_each(:scopes)))
    and (:pattern is null or pattern_match(:pattern, case t.kind when 'skill' then 'skill://' || t.name else t.name end))
    and (:run_id is null or exists (
        select 1 from _run_contents as o
        where o.run_id = :run_id and o.entry_id = t.entry_id and o.content_id = t.content_id
    ))
order by APART
limit :most
"""

Progress = Callable[[int, int], None]
"""Gets how many of how many texts have their vector."""


def discover(
    db: Store,
    query: str,
    *,
    kinds: Iterable[str] | None = None,
    scopes: Iterable[str] | None = None,
    pattern: str | None = None,
    run_id: int | None = None,
    limit: int = 10,
    progress: Progress | None = None,
    by_meaning: bool = True,
) -> list[Row]:
    """What `query` finds, best first, as rows of `_found_texts`; words alone where no embedder is installed.

    `kinds` are of `KINDS`, `scopes` are project:N, run:N or global, `pattern` is one over paths and names; with `run_id`
    only entries that the run sees, as it sees them; without `by_meaning` words alone are searched. Writes to the file.
    Raises `EmbedderFailed` (500).
    """
    text = query[:QUERY_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    chosen = embedder() if by_meaning else None
    _refresh(db, chosen, progress, kinds)
    wanted = {
        "kinds": None if kinds is None else json.dumps(list(kinds)),
        "scopes": None if scopes is None else json.dumps(list(scopes)),
        "pattern": pattern,
        "run_id": run_id,
    }
    meant = _meant(db, chosen, text, wanted)
    with db.transaction():
        db.insert("_rank_texts", query=text, **meant, **wanted)
        found = db.rows("select * from _found_texts limit ?", (limit,))
        db.execute("delete from _search_ranks")
    return found


def discover_or_words(db: Store, query: str, **wanted: Any) -> tuple[list[Row], str | None]:
    """What `discover` finds; where the embedder fails, what words alone find, and in a line why it failed, else None."""
    try:
        return discover(db, query, **wanted), None
    except EmbedderFailed as error:
        return discover(db, query, **wanted, by_meaning=False), " ".join(error.message.split())


def _meant(db: Store, chosen: Embedder | None, text: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """The vector of a query and the texts that are near it; nothing without an embedder."""
    if chosen is None:
        return {}
    vector = vectors(chosen, [text])[0]
    everything = all(value is None for value in wanted.values())
    with db.held():  # the extension is loaded into a connection
        statement = (_NEAR if everything else _NEAR_WANTED).replace("APART", _apart(db))
        near = _near(db, statement, {"embedder": chosen.name, "bits": signs(vector), **({} if everything else wanted)})
    return {"embedder": chosen.name, "vector": packed(vector), "near": json.dumps(near)}


def _near(db: Store, statement: str, bindings: dict[str, Any]) -> list[int]:
    """The ids of the pieces that are near; where those of few texts crowd the others out, more of them."""
    near: list[Any] = []
    for most in _MOST_NEAR:
        near = db.tuples(statement, {**bindings, "most": most})
        if len(near) < most or len({row[1:] for row in near}) >= _ENOUGH:
            break
    return [row[0] for row in near]


def _apart(db: Store) -> str:
    """The SQL for how far two BLOBs of bits are apart: sqlite-vec's, which is five times as fast, where it is there."""
    if find_spec("sqlite_vec") is None:
        return "vectors_apart(b.bits, :bits)"
    try:
        db.value("select vec_version()")
    except Exception:  # it is not loaded yet
        if not _load_sqlite_vec(db.connection):
            return "vectors_apart(b.bits, :bits)"
    return "vec_distance_hamming(vec_bit(b.bits), vec_bit(:bits))"


def _load_sqlite_vec(connection: apsw.Connection) -> bool:
    connection.enable_load_extension(True)
    try:
        connection.load_extension(import_module("sqlite_vec").loadable_path())
    except apsw.Error:
        return False
    finally:
        connection.enable_load_extension(False)
    return True


def refresh(db: Store, progress: Progress | None = None, kinds: Iterable[str] | None = None) -> None:
    """Read what can be found anew where it has changed, and make the vectors that are missing; entries only if wanted."""
    _refresh(db, embedder(), progress, kinds)


def _refresh(db: Store, chosen: Embedder | None, progress: Progress | None, kinds: Iterable[str] | None) -> None:
    entries = kinds is None or "entry" in kinds
    with db.transaction():
        db.insert("_refresh_search", entries=entries)
    if chosen is not None:
        _embed(db, chosen, entries, progress)


def _embed(db: Store, chosen: Embedder, entries: bool, progress: Progress | None) -> None:
    """Make vectors for the texts that have none; each batch is kept at once, so that what is done is not done again."""
    if db.value("select 1 from _search_clock where embedder = ?", (chosen.name,)):
        return
    missing = [
        row["digest"]
        for row in db.rows(
            "select distinct digest from search_texts as t where (? or t.kind <> 'entry') and not exists "
            "(select 1 from text_vectors as v where v.embedder = ? and v.digest = t.digest)",
            (entries, chosen.name),
        )
    ]
    for begin in range(0, len(missing), _BATCH):
        batch = db.rows(
            "select digest, text from _embeddable_texts where digest in (select value from json_each(?))",
            (json.dumps(missing[begin : begin + _BATCH]),),
        )
        made = vectors(chosen, [row["text"] for row in batch])
        with db.transaction():
            for row, vector in zip(batch, made, strict=True):
                db.execute(
                    "insert into text_vectors (embedder, digest, bits, vector) values (?, ?, ?, ?) on conflict do nothing",
                    (chosen.name, row["digest"], signs(vector), packed(vector)),
                )
        if progress:
            progress(min(begin + _BATCH, len(missing)), len(missing))
    db.execute(
        "update _search_clock set embedder = :name where not exists (select 1 from search_texts as t where not exists "
        "(select 1 from text_vectors as v where v.embedder = :name and v.digest = t.digest))",
        {"name": chosen.name},
    )
