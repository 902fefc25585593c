"""Lays out the texts of a packet by templates, which plugins may replace.

spec: @tool_docs
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.texts import strip_rationale

if TYPE_CHECKING:
    from jinja2 import Environment

_MARK = re.compile(r"{[{%#]")


@cache
def environment() -> Environment:
    """The Jinja environment of the packets: undefined names are errors, what is printed is printed as it is."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    from engine.plugins import template_loaders

    from .compiled import CompiledTemplates

    return Environment(
        loader=ChoiceLoader([*template_loaders(), PackageLoader("engine.templates", "")]),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=CompiledTemplates(),
        autoescape=False,  # noqa: S701 - a packet is text, not HTML
    )


def laid_out(file: str, **values: Any) -> str:
    """What a template of the packets makes of the values; `file` is its name.

    Raises EngineError where a plugin's section has no template, or one that is wrong.
    """
    from jinja2 import TemplateError, TemplateNotFound

    try:
        return environment().get_template(file).render(**values)
    except TemplateNotFound as error:
        raise EngineError(f"template {error}: not found; the plugin that uses the template must provide it") from error
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise EngineError(f"template {file}: {error}; correct it in its plugin") from error


@cache
def tool_document(name: str) -> str | None:
    """What the model is told of a tool: `tools/<name>.md` without the rationale in its comments, or None."""
    from jinja2 import TemplateNotFound

    jinja = environment()
    assert jinja.loader is not None, "the environment has its loader"
    try:
        source = jinja.loader.get_source(jinja, f"tools/{name}.md")[0]
    except TemplateNotFound:
        return None
    # a text without marks of Jinja need not be compiled
    return strip_rationale(jinja.from_string(source).render() if _MARK.search(source) else source)
