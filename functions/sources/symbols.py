"""What a source file defines, read by tree-sitter where a grammar for it is installed (the extra `symbols`).

spec: @symbols
"""

from __future__ import annotations

import re
from typing import Any

from engine.functions.lazy import lazy_regex
from engine.functions.limits import SUMMARY_SECONDS

from .syntax import language, root_of

MAX_SYMBOLS = 300
"""Most definitions that are collected; a summary shows fewer."""
_MAX_DEPTH = 30
_WIDTH = 120

_GRAMMARS = {
    "tree_sitter_bash": "sh",
    "tree_sitter_c": "c h",
    "tree_sitter_c_sharp": "cs",
    "tree_sitter_cpp": "cc cpp cxx hh hpp",
    "tree_sitter_go": "go",
    "tree_sitter_java": "java",
    "tree_sitter_javascript": "cjs js jsx mjs",
    "tree_sitter_kotlin": "kt kts",
    "tree_sitter_php": "php",
    "tree_sitter_ruby": "rb",
    "tree_sitter_rust": "rs",
    "tree_sitter_scala": "scala",
    "tree_sitter_swift": "swift",
    "tree_sitter_typescript": "ts tsx",
}
_MODULES = {suffix: module for module, suffixes in _GRAMMARS.items() for suffix in suffixes.split()}

# Node types of the grammars that define something. Definitions inside a unit are ignored, those inside a group are not.
_UNITS = frozenset(
    re.findall(
        r"\w+",
        "function_definition function_declaration generator_function_declaration function_item function_signature_item "
        "function_signature method_definition method_declaration method_signature method singleton_method "
        "abstract_method_signature constructor_declaration destructor_declaration secondary_constructor init_declaration "
        "protocol_function_declaration operator_declaration property_declaration local_function_statement "
        "type_alias_declaration type_definition type_item type_spec type_alias delegate_declaration macro_definition "
        "alias_declaration",
    )
)
_GROUPS = frozenset(
    re.findall(
        r"\w+",
        "class_declaration class_definition class_specifier abstract_class_declaration class interface_declaration "
        "enum_declaration enum_specifier enum_item enum_definition struct_specifier struct_item struct_declaration "
        "union_specifier union_item record_declaration annotation_type_declaration trait_item trait_declaration "
        "trait_definition impl_item mod_item module internal_module namespace_definition namespace_declaration "
        "file_scoped_namespace_declaration object_declaration object_definition companion_object protocol_declaration "
        "extension_declaration",
    )
)
_BINDINGS = frozenset(
    {
        "lexical_declaration", "variable_declaration", "field_definition", "public_field_definition",
        "expression_statement",
    }
)  # fmt: skip
_TYPES = frozenset({"type_spec", "type_alias"})
_CALLABLE = frozenset({"arrow_function", "function_expression", "function", "generator_function"})
_NEEDS_BODY = frozenset({"struct_specifier", "class_specifier", "union_specifier", "enum_specifier", "class", "module"})


_HEADING = lazy_regex(
    r"^[ \t]*(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|async"
    r"|inline|virtual|override|sealed|partial|open|data|unsafe|extern|pub(?:\([\w ]*\))?)[ \t]+)*"
    r"(?:function\*?|class|struct|interface|enum|trait|impl|fn|func|fun|def|defmodule|module|namespace|protocol)"
    r"[ \t<(][^\n]*",
    re.MULTILINE,
)


def code_symbols(suffix: str, body: str) -> list[str] | None:
    """The definitions in the source `body` of a file with that suffix, each ``LINE: heading``, nested ones indented.

    None where the language has no grammar here, or where nothing was found.
    """
    grammar = language(_MODULES[suffix], suffix) if suffix in _MODULES else None
    if grammar is None:
        return None
    source = body.encode(errors="replace")
    root = root_of(grammar, source, SUMMARY_SECONDS)
    if root is None:
        return None
    found: list[str] = []
    _collect(root, source, 0, 0, found)
    # a grammar that meets an error loses whole classes
    if root.has_error and len(lines := code_headings(body)) > len(found):
        return lines
    return found or None


def code_headings(body: str) -> list[str]:
    """Lines that look like the head of a definition in a common language."""
    found = []
    line, position = 1, 0
    for match in _HEADING.finditer(body):
        line += body.count("\n", position, match.start())
        position = match.start()
        found.append(f"{line}: {_shorten(match[0])}")
    return found


def _shorten(heading: str) -> str:
    """A heading without the sign that opens its block, cut to a readable length; its indentation stays."""
    return heading.rstrip().rstrip("{:").rstrip()[:120]


def _collect(node: Any, source: bytes, nesting: int, depth: int, found: list[str]) -> None:
    for child in node.named_children:
        if len(found) >= MAX_SYMBOLS:
            return
        kind = child.type
        body = child.child_by_field_name("body")
        if kind in _UNITS:
            # leave out properties: a summary names what can be called
            if kind != "property_declaration" or body is not None:
                found.append(_heading(child, body, source, nesting))
        elif kind in _GROUPS and (body is not None or kind not in _NEEDS_BODY):
            found.append(_heading(child, body, source, nesting))
            if depth < _MAX_DEPTH:
                _collect(child, source, nesting + 1, depth + 1, found)
        elif kind in _BINDINGS and (ends := _functions(child)):
            found += [_heading(child, end, source, nesting) for end in ends]
        elif depth < _MAX_DEPTH and not kind.endswith(("expression", "comment", "literal")):
            _collect(child, source, nesting, depth + 1, found)


def _functions(binding: Any) -> list[Any]:
    """The bodies of functions that a declaration, a field or an assignment binds to a name, at most one."""
    parts = [binding, *binding.named_children]
    values = [part.child_by_field_name(name) for part in parts for name in ("value", "right")]
    bodies = (value.child_by_field_name("body") for value in values if value is not None and value.type in _CALLABLE)
    return [body for body in bodies if body is not None][:1]


def _heading(node: Any, body: Any, source: bytes, nesting: int) -> str:
    end = body.start_byte if body is not None and body.start_byte > node.start_byte else node.end_byte
    outer = node.parent if node.parent is not None and node.parent.type == "export_statement" else node
    text = source[outer.start_byte : end].decode(errors="replace")
    lines = text if body is not None else text.partition("\n")[0]
    words = " ".join(lines.split())
    for opening in ("=>", "{", ":", "=", ";"):
        words = words.removesuffix(opening).rstrip()
    if node.type in _TYPES and words.partition(" ")[0] not in ("type", "typealias"):
        words = f"type {words}"
    return f"{node.start_point[0] + 1}: {'    ' * nesting}{words}"[:_WIDTH]
