"""Code is summarized by what it defines: by tree-sitter where its grammar is installed, else by lines that look like it.

spec: @symbols
"""

from __future__ import annotations

import importlib.util

import pytest
from campaign import examples
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

from engine.functions.sources import symbols
from engine.functions.sources.symbols import code_symbols
from engine.functions.texts import body_summary

SOURCES = {
    "js": (
        'import x from "y";\nclass A extends B {\n  foo(x) { return 1 }\n  static bar() {}\n}\nfunction b(y) {}\n'
        "const c = (z) => 1;\nexport default function d() {}\nconst LIMIT = 3;\n",
        ["2: class A extends B", "3:     foo(x)", "4:     static bar()", "6: function b(y)", "7: const c = (z)",
         "8: export default function d()"],
    ),
    "ts": (
        "export interface I { m(x: number): void }\ntype T = string | number;\nexport abstract class A<T> implements I {\n"
        "  constructor(y: number) {}\n  bar(): T { return null }\n}\nenum E { A, B }\n",
        ["1: export interface I", "1:     m(x: number): void", "2: type T = string | number",
         "3: export abstract class A<T> implements I",
         "4:     constructor(y: number)", "5:     bar(): T", "7: enum E"],
    ),
    "tsx": ("export function App(p: Props) { return <div>{p.x}</div>; }\n", ["1: export function App(p: Props)"]),
    "go": (
        "package main\n\ntype S struct {\n\tx int\n}\n\nfunc (s *S) M(a int) (int, error) {\n\treturn 1, nil\n}\n",
        ["3: type S struct", "7: func (s *S) M(a int) (int, error)"],
    ),
    "rs": (
        "pub struct S<T> { x: T }\nimpl<T> S<T> {\n    pub fn new(x: T) -> Self { S { x } }\n}\ntrait Q { fn m(&self); }\n",
        ["1: pub struct S<T>", "2: impl<T> S<T>", "3:     pub fn new(x: T) -> Self", "5: trait Q", "5:     fn m(&self)"],
    ),
    "java": (
        "public class A extends B {\n  private int x;\n  public A(int y) { }\n"
        "  String m(int z) throws E { return null; }\n}\n",
        ["1: public class A extends B", "3:     public A(int y)", "4:     String m(int z) throws E"],
    ),
    "c": (
        "struct s { int a; };\nstatic int f(int a, char *b)\n{\n  return 1;\n}\n#ifdef X\nvoid h(void) {}\n#endif\n",
        ["1: struct s", "2: static int f(int a, char *b)", "7: void h(void)"],
    ),
    "cpp": (
        "namespace n {\ntemplate <class T>\nclass A : public B {\n public:\n  int m(int x) const { return 1; }\n};\n}\n",
        ["1: namespace n", "3:     class A : public B", "5:         int m(int x) const"],
    ),
    "cs": (
        "namespace N {\n public class A : B {\n  public int P { get; set; }\n  public int M(int x) { return 1; }\n }\n}\n",
        ["1: namespace N", "2:     public class A : B", "4:         public int M(int x)"],
    ),
    "rb": (
        "module M\n  class A < B\n    def m(x)\n      1\n    end\n  end\nend\n",
        ["1: module M", "2:     class A < B", "3:         def m(x)"],
    ),
    "php": (
        "<?php\nclass C extends D {\n  public function m($x): int { return 1; }\n}\nfunction f() {}\n",
        ["2: class C extends D", "3:     public function m($x): int", "5: function f()"],
    ),
    "sh": ("set -e\nfoo() {\n  echo 1\n}\nfunction bar { echo 2; }\n", ["2: foo()", "5: function bar"]),
    "kt": (
        "package a\nclass A(val x: Int) : B() {\n    fun m(y: Int): Int {\n        return y\n    }\n}\nfun top() {\n}\n",
        ["2: class A(val x: Int) : B()", "3:     fun m(y: Int): Int", "7: fun top()"],
    ),
    "swift": (
        "class A: B {\n  var x = 1\n  init(y: Int) {}\n  func m(z: Int) -> Int { return 1 }\n}\nprotocol P { func q() }\n",
        ["1: class A: B", "3:     init(y: Int)", "4:     func m(z: Int) -> Int", "6: protocol P", "6:     func q()"],
    ),
    "scala": (
        "class A(x: Int) extends B {\n  def m(y: Int): Int = y\n}\nobject O { def z() = 1 }\n",
        ["1: class A(x: Int) extends B", "2:     def m(y: Int): Int", "4: object O", "4:     def z()"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("suffix", SOURCES)
def test_definitions_are_found_in_their_order_and_nesting(suffix: str) -> None:
    pytest.importorskip("tree_sitter")
    module = symbols._MODULES[suffix]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    source, expected = SOURCES[suffix]
    assert code_symbols(suffix, source) == expected


def test_a_summary_is_made_of_them() -> None:
    pytest.importorskip("tree_sitter_javascript")
    body = "".join(f"const part{number} = (x) => {{ return x + {number}; }};\n" for number in range(60))
    summary = body_summary("src/parts.js", body)
    assert summary is not None
    assert summary.startswith("1: const part0 = (x)\n2: const part1 = (x)\n")
    assert summary.endswith("more symbols]")
    assert len(summary) <= 500


def test_without_a_grammar_lines_that_look_like_definitions_stand_in() -> None:
    assert code_symbols("lua", "function f()\nend\n") is None
    body = "function first()\nend\n" + "-- words\n" * 80 + "function second()\nend\n"
    assert body_summary("a.lua", body) == "1: function first()\n83: function second()"


def test_functions_are_found_by_the_names_that_they_are_bound_to() -> None:
    pytest.importorskip("tree_sitter_javascript")
    source = (
        "exports.load = async function (path) { return 1 };\nBox.prototype.open = (key) => { };\n"
        "class A {\n  static size = 3;\n  onClick = (event) => { }\n}\napp.get('/', (request) => { });\nlimit = 3;\n"
    )
    assert code_symbols("js", source) == [
        "1: exports.load = async function (path)", "2: Box.prototype.open = (key)", "3: class A", "5:     onClick = (event)"
    ]  # fmt: skip


def test_where_a_grammar_stumbles_lines_that_look_like_definitions_stand_in() -> None:
    pytest.importorskip("tree_sitter_go")
    source = "package p\n\n<<<<<<< ours\nfunc one() {\n=======\nfunc uno() {\n>>>>>>> theirs\n}\n\nfunc two() {\n"
    assert code_symbols("go", source) == ["4: func one()", "6: func uno()", "10: func two()"]


def test_a_grammar_that_is_not_installed_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(symbols._MODULES, "zig", "tree_sitter_of_nobody")
    assert code_symbols("zig", "fn main() void {}\n") is None


@examples(30)
@given(suffix=st.sampled_from([*SOURCES, "zig"]), body=st.text(max_size=400), times=st.integers(1, 4))
def test_no_text_is_too_odd(suffix: str, body: str, times: int) -> None:
    for text in (body * times, (SOURCES.get(suffix, ("", []))[0] + body) * times):
        found = code_symbols(suffix, text) or []
        assert all(len(line) <= 120 and "\n" not in line for line in found)
        assert len(body_summary(f"a.{suffix}", text) or "") <= 500


def test_nesting_that_never_ends_is_cut() -> None:
    assert len(body_summary("a.js", "class A { m() { " * 3000) or "") <= 500
    assert len(body_summary("a.ts", "namespace N { " * 3000) or "") <= 500


def test_a_source_that_takes_a_grammar_ever_longer_is_given_up() -> None:
    pytest.importorskip("tree_sitter_ruby")
    source = "def first\nend\n" + "%w(" * 28_000
    assert body_summary("a.rb", source) is not None
    check_cost(20, lambda: body_summary("a.rb", source))
