"""What a source file defines, read by tree-sitter where a grammar for it is installed (the extra `symbols`)."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

MAX_SYMBOLS = 300
"""Definitions that are looked for: a summary shows fewer."""
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

# What defines something, by the grammars' names for it; what is in a unit is not looked at, what is in a group is.
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
_VARIABLES = frozenset({"lexical_declaration", "variable_declaration"})
_CALLABLE = frozenset({"arrow_function", "function_expression", "function", "generator_function"})
_NEEDS_BODY = frozenset({"struct_specifier", "class_specifier", "union_specifier", "enum_specifier", "class", "module"})


def code_symbols(suffix: str, body: str) -> list[str] | None:
    """The definitions in the source `body` of a file with that suffix, each ``LINE: heading``, nested ones indented.

    None where the language has no grammar here, or where nothing was found.
    """
    language = _language(suffix)
    if language is None:
        return None
    from tree_sitter import Parser

    source = body.encode(errors="replace")
    found: list[str] = []
    _collect(Parser(language).parse(source).root_node, source, 0, 0, found)
    return found or None


@cache
def _language(suffix: str) -> Any:
    """The grammar for a suffix, or None."""
    module = _MODULES.get(suffix)
    if module is None:
        return None
    try:
        from tree_sitter import Language

        grammar = importlib.import_module(module)
        names = (f"language_{suffix}", "language_typescript", "language_php", "language")
        return Language(next(getattr(grammar, name) for name in names if hasattr(grammar, name))())
    except (ImportError, ValueError, StopIteration):
        return None


def _collect(node: Any, source: bytes, nesting: int, depth: int, found: list[str]) -> None:
    for child in node.named_children:
        if len(found) >= MAX_SYMBOLS:
            return
        kind = child.type
        body = child.child_by_field_name("body")
        if kind in _UNITS:
            # a property is one line of many; what can be called is what one looks for
            if kind != "property_declaration" or body is not None:
                found.append(_heading(child, body, source, nesting))
        elif kind in _GROUPS and (body is not None or kind not in _NEEDS_BODY):
            found.append(_heading(child, body, source, nesting))
            if depth < _MAX_DEPTH:
                _collect(child, source, nesting + 1, depth + 1, found)
        elif kind in _VARIABLES:
            found += [_heading(child, end, source, nesting) for end in _functions(child)]
        elif depth < _MAX_DEPTH and not kind.endswith(("expression", "comment", "literal")):
            _collect(child, source, nesting, depth + 1, found)


def _functions(declaration: Any) -> list[Any]:
    """The bodies of functions that a declaration binds to a name, at most one."""
    values = (child.child_by_field_name("value") for child in declaration.named_children)
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
    return f"{node.start_point[0] + 1}: {'    ' * nesting}{words}"[:_WIDTH]
