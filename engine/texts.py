"""The texts that people and plugins can change: templates, tool documents, personas."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_MARK = re.compile(r"{[{%#]")
_RATIONALE = re.compile(r"[ \t]*<!--.*?-->", re.DOTALL)


def folder_of(package: str) -> Path:
    """The folder of a package of ours. `importlib.resources` would import all that makes temporary files and archives."""
    return Path(import_module(package).__path__[0])


@cache
def environment() -> Environment:
    """The Jinja environment of the packets: undefined names are errors, what is printed is printed as it is."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    from .packets.compiled import CompiledTemplates
    from .plugins import template_loaders

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


def template(name: str) -> Template:
    """A template of the packets by the name of its file."""
    return environment().get_template(name)


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


def strip_rationale(text: str) -> str:
    """`text` without its HTML comments, which say why a line stands there and are not for the model."""
    return re.sub(r"\n{3,}", "\n\n", _RATIONALE.sub("", text)).strip()


@cache
def personas() -> tuple[tuple[str, str], ...]:
    """The personas that come with the engine, as (name, text)."""
    folder = folder_of("engine.templates") / "personas"
    return tuple(
        sorted(
            (entry.name.removesuffix(".md"), strip_rationale(entry.read_text("utf-8"))) for entry in folder.iterdir()
        )
    )
