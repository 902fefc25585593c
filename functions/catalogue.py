"""The SQL functions of the engine, by the modules that hold them.

A process calls few of them, and to import them all takes as long as to open a file: a module is imported when one of its
functions is first called.

spec: @functions
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from engine.errors import ValidationError

from . import Function

_ARGUMENTS = {
    "commits": {"commit_message": 2},
    "counts": {"counted": -1},
    "edits.anchors": {"anchor_lines": 1},
    "edits.bodies": {"edit_apply": 2, "edit_has_marks": 1},
    "edits.comparison": {"edit_diff": 3},
    "edits.patches": {"patch_parse": 1, "patch_apply": 2},
    "fences": {"fence_suffix": 2, "fence_tag": 2, "fence_path": 1, "fence_json": 1, "fence_line": 1},
    "grammars": {"grammar_answer": 1, "grammar_gbnf": 1, "grammar_json_schema": 1},
    "heads": {"entry_head": 6},
    "answer_cache": {"prompts_agree": 2},
    "rules.keywords": {"keywords_find": 3, "star_commands": 2, "paths_named": 1},
    "hooks": {"hook_verdict": 4},
    "links": {"markdown_links": 2, "terms_share": 2},
    "discovery.queries": {"tags_match": 2, "search_query": 1, "find_query": 1, "name_words": 1},
    "discovery.pieces": {"text_pieces": 1},
    "relations": {"relations_read": 1, "relations_text": 2},
    "rules.files": {"rules_parse": 1},
    "skills": {"skill_head": 2},
    "discovery.vectors": {"vectors_cosine": 2, "vectors_apart": 2},
    "manifests": {"manifest_text": 3},
    "markup.answer": {"response_parse": 4},
    "markup.render": {"render_response": 3},
    "markup.repetition": {"text_repetition": 1},
    "messages.conversations": {"messages_read": 2, "messages_write": 2},
    "passages.finding": {"passages_find": 3, "passages_query": 1},
    "paths": {
        "log_path": 3,
        "path_scheme": 1,
        "path_normalize": 1,
        "path_locate": 2,
        "path_slug": 1,
        "path_error": 1,
        "path_is_pattern": 1,
    },
    "patterns.kinds": {
        "pattern_kind": 1,
        "pattern_prefix": 1,
        "pattern_match": 2,
        "pattern_search": 2,
        "pattern_error": 1,
    },
    "patterns.replacing": {"pattern_replace": 3},
    "pictures": {"picture_line": 2, "picture_tokens": 3},
    "rewrites": {"text_rewrite": 2},
    "schemas": {"schema_openai": 4, "schema_anthropic": 3},
    "shell.lines": {"shell_read": 1, "shell_paths": 2},
    "sources.symbol_maps": {"symbol_map": 3},
    "texts": {
        "text_digest": 1,
        "text_lines": 1,
        "text_slice": -1,
        "text_clean": 1,
        "body_summary": 2,
        "body_short": 2,
        "body_shown": 2,
    },
    "tokens": {"token_count": -1, "token_estimate": 2},
    "typed_answers.answers": {"answer_read": 3, "answer_told": 1},
    "typed_answers.tools": {"answer_tool": 2},
    "values": {"value_error": 4},
    "verdicts": {"criteria_told": 1, "goal_told": 1, "verdict_read": 2},
    "workflows.texts": {"workflow_read": 3},
}
"""The number of arguments of each function, -1 for any number, by module and by its name, which Python and SQL share."""


_UNFIT = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, RecursionError)
"""What Python says of a value that is no text, of a number that is out of range, or of JSON that has not the shape that a
function takes."""


class Late:
    """A function that is imported when it is first called.

    Values that it does not take, which SQL can give to any function, raise `ValidationError` (400).
    """

    __slots__ = ("_found", "_module", "_name")

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name
        self._found: Callable[..., Any] | None = None

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        found: Callable[..., Any] = getattr(import_module(f"{__package__}.{self._module}"), self._name)
        return found

    def __call__(self, *values: Any) -> Any:
        """What the function returns."""
        found = self._found
        if found is None:
            found = self._found = self.function
        try:
            return found(*values)
        except UnicodeError:  # of the values, wherever they stand
            raise
        except _UNFIT as error:
            said = f"cannot use the values that it was given ({str(error)[:200]}); see functions/SPEC.md"
            raise ValidationError(f"{self._name}() {said}") from error


@cache
def own_functions() -> tuple[Function, ...]:
    """All pure functions of the engine, each of them imported late."""
    return tuple(
        Function(name, arguments, Late(module, name))
        for module, names in _ARGUMENTS.items()
        for name, arguments in names.items()
    )
