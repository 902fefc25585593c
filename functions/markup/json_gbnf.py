"""GBNF rules for JSON that fits a schema, inside a tag: no `<` stands in it, in texts it is written as an escape.

A grammar says what a value is made of; bounds, patterns and lengths are checked when the answer is there.
"""

from __future__ import annotations

from typing import Any

from engine.functions.compact import to_json

from .gbnf import literal

_PLAIN = {
    "string": "json-text",
    "integer": "json-whole",
    "number": "json-number",
    "boolean": '("true" | "false")',
    "null": '"null"',
    "array": "json-list",
    "object": "json-object",
}
_SHARED = (
    r'json-text ::= "\"" json-char* "\""',
    r'json-char ::= [^"\\<\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-Ce-fE-F] [0-9a-fA-F] | [dD] [0-7]) '
    r"[0-9a-fA-F] [0-9a-fA-F])",
    'json-whole ::= "-"? ("0" | [1-9] [0-9]*)',
    'json-number ::= json-whole ("." [0-9]+)?',
    'json-list ::= "[" (json-value ("," json-value)*)? "]"',
    'json-object ::= "{" (json-text ":" json-value ("," json-text ":" json-value)*)? "}"',
    'json-value ::= json-text | json-number | "true" | "false" | "null" | json-list | json-object',
)
_MOST_OPTIONAL = 40
_DEFS = "#/$defs/"
_COMMA = ' "," '


def json_rules(schema: Any, defs: dict[str, Any], rule: str) -> list[str]:
    """The rules of a JSON value that fits `schema`, the first with the name `rule`; `defs` are what references name."""
    maker = _Maker(defs, rule)
    whole = maker.value(schema)
    return [f"{rule} ::= {whole}", *maker.rules.values(), *_SHARED]


class _Maker:
    def __init__(self, defs: dict[str, Any], prefix: str) -> None:
        self.rules: dict[str, str] = {}
        self._defs = defs
        self._prefix = prefix

    def value(self, schema: Any) -> str:
        """What a schema is on the right side of a rule."""
        if not isinstance(schema, dict):
            return "json-value"
        if isinstance(reference := schema.get("$ref"), str):
            return self._named(reference)
        if "const" in schema or "enum" in schema:
            return self._choice(schema["enum"] if "enum" in schema else [schema["const"]])
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return f"({' | '.join(self.value(each) for each in schema[union])})"
        if len(schema.get("allOf", ())) == 1:
            return self.value(schema["allOf"][0])
        kinds = schema.get("type", "object" if "properties" in schema else ())
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return f"({' | '.join(self._kind(kind, schema) for kind in kinds)})" if kinds else "json-value"

    def _kind(self, kind: str, schema: dict[str, Any]) -> str:
        if kind == "array":
            return self._list(schema)
        return self._object(schema) if kind == "object" else _PLAIN[kind]

    def _named(self, reference: str) -> str:
        """The rule of what a reference names, made once: it may refer to itself."""
        name = reference.removeprefix(_DEFS)
        if not reference.startswith(_DEFS) or name not in self._defs:
            return "json-value"
        if name not in self.rules:
            rule = f"{self._prefix}-{len(self.rules)}"
            self.rules[name] = rule  # referred to while it is made
            self.rules[name] = f"{rule} ::= {self.value(self._defs[name])}"
        return self.rules[name].partition(" ")[0]

    def _choice(self, values: list[Any]) -> str:
        return f"({' | '.join(literal(to_json(value).replace('<', chr(92) + 'u003c')) for value in values)})"

    def _list(self, schema: dict[str, Any]) -> str:
        first = [self.value(each) for each in schema.get("prefixItems", ())]
        if first:
            return '"[" ' + _COMMA.join(first) + ' "]"'
        item = self.value(schema.get("items", True))
        several = f'{item} ("," {item})*'
        return f'"[" {several} "]"' if schema.get("minItems") else f'"[" ({several})? "]"'

    def _object(self, schema: dict[str, Any]) -> str:
        named = schema.get("properties", {})
        needed = [name for name in named if name in schema.get("required", ())]
        others = [name for name in named if name not in needed]
        if not named:
            value = self.value(schema.get("additionalProperties", True))
            return f'"{{" (json-text ":" {value} ("," json-text ":" {value})*)? "}}"'
        pairs = {name: f"{literal(to_json(name) + ':')} {self.value(named[name])}" for name in named}
        if needed:
            inner = _COMMA.join(pairs[name] for name in needed) + "".join(f' ("," {pairs[name]})?' for name in others)
            return f'"{{" {inner} "}}"'
        return f'"{{" ({self._some(pairs, others[:_MOST_OPTIONAL])})? "}}"'

    def _some(self, pairs: dict[str, str], names: list[str]) -> str:
        """Any of some pairs, at least one, in their order."""
        rests = [
            pairs[name] + "".join(f' ("," {pairs[after]})?' for after in names[place + 1 :])
            for place, name in enumerate(names)
        ]
        return " | ".join(rests)
