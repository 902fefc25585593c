"""Relations, against a model of the graph in plain Python, and at the terminal.

1. Whatever is set, related and removed, the views say what a dictionary of parents says, and what would close a cycle is
refused. 2. What is exported and imported is the same graph. 3. The text has each node once. 4. The commands.

spec: @relations @relation_cycles @relation_doors @relation_json @relation_graph @relation_text
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_cli import engine
from hypothesis import given, settings
from hypothesis import strategies as st

import engine as library
from engine.errors import Conflict
from engine.functions.relations import relations_read, relations_text

NAMES = "abcdefg"
Graph = dict[str, set[str]]

ACTIONS = st.one_of(
    st.tuples(st.just("set"), st.sampled_from(NAMES), st.sets(st.sampled_from(NAMES), max_size=3)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.booleans()),
    st.tuples(
        st.just("import"),
        st.dictionaries(st.sampled_from(NAMES), st.sets(st.sampled_from(NAMES), max_size=2), max_size=5),
        st.none(),
    ),
)


def above(graph: Graph, name: str) -> set[str]:
    """All that `name` is below."""
    found: set[str] = set()
    waiting = list(graph[name])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(graph[one])
    return found


def changed(graph: Graph, parents: Graph) -> tuple[Graph, str | None]:
    """The graph with other parents of some nodes; the same and why, where that is refused."""
    new = graph | parents
    if any(parent not in new for one in parents.values() for parent in one):
        return graph, "404"
    if any(name in above(new, name) for name in new):
        return graph, "409"
    return new, None


def without(graph: Graph, name: str, cascade: bool) -> Graph:
    gone = {name}
    if cascade:
        below = {one for one in graph if name in above(graph, one)}
        gone |= below
        # what has a parent that stays, stays, and what is below it
        while kept := {one for one in gone - {name} if graph[one] - gone}:
            gone -= kept
    return {one: parents - gone for one, parents in graph.items() if one not in gone}


@pytest.fixture(scope="module")
def shared() -> Iterator[library.Database]:
    """A database whose graph the examples empty."""
    with library.open(":memory:") as db:
        yield db


@settings(max_examples=60, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=12))
def test_the_graph_is_what_a_dictionary_of_parents_says(
    shared: library.Database, actions: list[tuple[str, object, object]]
) -> None:
    shared.execute("delete from nodes")
    graph: Graph = {}
    for action, what, how in actions:
        refused = None
        try:
            if action == "remove":
                expected = "404" if what not in graph else None
                graph = graph if expected else without(graph, str(what), bool(how))
                shared.insert("verb_remove_node", node=what, **{"cascade": int(bool(how))})
            elif action == "set":
                assert isinstance(how, set)
                graph, expected = changed(graph, {str(what): how})
                shared.insert("verb_set_node", node=what, parents=json.dumps(sorted(how)))
            else:
                assert isinstance(what, dict)
                graph, expected = changed(graph, what)
                body = [{"id": name, "parents": sorted(parents)} for name, parents in what.items()]
                shared.insert("verb_import_nodes", body=json.dumps(body))
        except library.EngineError as error:
            refused = str(error)[:3]
        assert refused == expected, (action, what, how, graph)
    pairs = {(name, parent) for name, parents in graph.items() for parent in parents}
    ancestors = {(name, one) for name in graph for one in above(graph, name)}
    assert set(shared.tuples("select node, parent from node_parents")) == pairs
    assert set(shared.tuples("select child, node from node_children")) == pairs
    assert shared.tuples("select node, ancestor from node_ancestors order by 1, 2") == sorted(ancestors)
    assert shared.tuples("select descendant, node from node_descendants order by 1, 2") == sorted(ancestors)
    assert {node for (node,) in shared.tuples("select node from root_nodes")} == {n for n in graph if not graph[n]}
    tops = {parent for _, parent in pairs}
    assert {node for (node,) in shared.tuples("select node from leaf_nodes")} == set(graph) - tops


def test_what_is_exported_is_the_same_graph_again(tmp_path: Path) -> None:
    nodes = [
        {
            "id": f"n{i}",
            "type": "thing",
            "parents": [f"n{i // 2}", f"n{i - 1}"] if i > 1 else [],
            "context": {"description": f"é {i}", "status": "done", "deep": {"x": [i]}},
            "created_at": i,
        }
        for i in range(300)
    ]
    with library.open(tmp_path / "a.db") as one, library.open(tmp_path / "b.db") as other:
        one.insert("verb_import_nodes", body=json.dumps(nodes[::-1]))
        exported = "[" + ",".join(body for (body,) in one.tuples("select body from node_exports")) + "]"
        other.insert("verb_import_nodes", body=exported)
        query = "select node, body from node_exports order by node"
        assert other.tuples(query) == one.tuples(query)
        assert other.value("select count(*) from edges") == 595
        with pytest.raises(Conflict, match=r"'n299', which is below it: n1 > n[23] > .* > n1$"):
            other.insert("verb_set_node", node="n1", parents='["n299"]')


def test_a_chain_of_any_length_is_walked(tmp_path: Path) -> None:
    length = 5_000
    body = json.dumps([{"id": f"n{i}", "parents": [f"n{i - 1}"] if i else []} for i in reversed(range(length))])
    with library.open(tmp_path / "t.db") as db:
        db.insert("verb_import_nodes", body=body)
        assert db.value("select count(*) from node_descendants where node = 'n0'") == length - 1
        assert db.value(f"select count(*) from node_ancestors where node = 'n{length - 1}'") == length - 1
        with pytest.raises(Conflict, match=r"n0 > n1 > n2 .* > n11 > … > n0$"):
            db.insert("verb_set_node", node="n0", parents=f'["n{length - 1}"]')
        text = db.value("select relations_text(body, 2000) from _relation_texts where node = 'n0'")
        assert len(text.splitlines()) == 1_000
        db.insert("verb_remove_node", node="n0", **{"cascade": 1})
        assert db.value("select count(*) from nodes") == 0


def test_the_text_has_each_node_once() -> None:
    rows = [
        ["top", "plan", "in_progress", "All of it", []],
        ["a", "step", "done", "", ["top"]],
        ["b", "step", None, "two\nlines :::a", ["top", "a"]],
        ["c", "file", None, "", ["a", "b"]],
        ["d", "file", None, "", ["c"]],
    ]
    assert relations_text(json.dumps(rows), 2) == (
        "top (plan) [in_progress] All of it\n"
        "  a (step) [done]\n"
        "    b (step) two lines &#58;::a (also below top)\n"
        "    c (file) (also below b)\n"
        "      … 1 more below"
    )
    assert relations_text(json.dumps(rows), 3) == (
        "top (plan) [in_progress] All of it\n"
        "  a (step) [done]\n"
        "    b (step) two lines &#58;::a (also below top)\n"
        "      c (file) (also below a)\n"
        "        … 1 more below"
    )
    circle = [["t", "x", None, "", ["z"]], ["y", "x", None, "", ["t", "z"]], ["z", "x", None, "", ["y"]]]
    assert relations_text(json.dumps(circle), 5) == "t (x)\n  y (x) (also below z)\n    z (x)"
    assert relations_text("[]", 2) == ""


@settings(max_examples=50, deadline=None)
@given(st.text() | st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists).map(json.dumps))
def test_any_text_is_read_as_nodes_or_has_a_fault(body: str) -> None:
    found = json.loads(relations_read(body) or "{}")
    assert found.keys() in ({"nodes"}, {"fault", "status"})
    assert "\n" not in found.get("fault", "")


def test_nodes_at_the_terminal(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()

    def told(*arguments: str, stdin: str = "") -> str:
        done = engine(root, "relations", *arguments, stdin=stdin)
        return done.stdout + done.stderr + (f"exit {done.returncode}\n" if done.returncode else "")

    assert told("add", "auth", "--type", "feature", "--status", "pending", "--description", "Sign in") == "set: auth\n"
    assert told("add", "src/auth.py", "--type", "file", "--below", "auth", "--context", '{"lines": 3}') == (
        "set: src/auth.py\n"
    )
    assert told("show", "auth") == "auth (feature) [pending] Sign in\n  src/auth.py (file)\n"
    assert told("add", "auth", "--below", "src/auth.py") == (
        "engine: node 'auth': cannot be below 'src/auth.py', which is below it: auth > src/auth.py > auth\nexit 1\n"
    )
    exported = told("export")
    assert [node["id"] for node in json.loads(exported)] == ["auth", "src/auth.py"]
    assert told("rm", "auth", "--cascade") == "removed: auth and 1 below it\n"
    assert "no nodes" in told("list")
    (root / "relations.json").write_text(exported, encoding="utf-8")
    assert told("import", "relations.json") == "imported: relations.json\n"
    assert told("list", "--roots").splitlines()[1].split()[:4] == ["global", "auth", "feature", "pending"]
    shown = json.loads(told("show", "src/auth.py", "--json"))
    assert (shown["context"], shown["ancestors"]) == ({"lines": 3}, [{"scope": "global", "node": "auth"}])
    assert told("list", "--type", "nope") == "no nodes of type nope; the types are feature, file\n"
    assert told("list", "--status", "nope") == (
        "engine: status 'nope': unknown; use one of in_progress, pending, done, failed, skipped\nexit 2\n"
    )
    assert told("list", "--type", "feature", "--status", "done").startswith("no such nodes")
    assert told("show", "nope").endswith("'engine relations list' lists them\nexit 2\n")
    assert told("list", "--run", "nope").endswith("see 'engine runs'\nexit 2\n")
