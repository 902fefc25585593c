"""Draws Markdown of a model: no HTML of it, no picture, no address but http, https and mailto.

spec: @inspector_texts
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from markupsafe import Markup, escape

from engine.display.escapes import drawn

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MOST = 100_000
"""A longer text is shown as it is: drawing it would take too long."""
_SCHEMES = frozenset(("http", "https", "mailto"))


def as_markdown(text: str) -> Markup:
    """The text as HTML; what it holds of HTML is shown as text."""
    if len(text) > MOST:
        return Markup("<pre>{}</pre>").format(drawn(text))
    # nothing but what markdown-it makes of Markdown: HTML is switched off, so each text in it is escaped
    return Markup(_drawer().render(drawn(text)))  # noqa: S704


@cache
def _drawer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    class Drawer(MarkdownIt):
        """Takes no address but those that lead out."""

        def validateLink(self, url: str) -> bool:  # noqa: N802
            return _leads_out(url)

    drawer = Drawer("commonmark", {"html": False, "linkify": False, "maxNesting": 20})
    drawer.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "entity"])
    drawer.add_render_rule("image", _picture)
    drawer.add_render_rule("link_open", _link)
    drawer.add_render_rule("heading_open", _heading)
    drawer.add_render_rule("heading_close", _heading)
    return drawer


def _leads_out(address: str) -> bool:
    try:
        return urlsplit(address.strip()).scheme.lower() in _SCHEMES
    except ValueError:
        return False


def _picture(_: Any, tokens: Any, at: int, *__: Any) -> str:
    """A picture is told, not loaded."""
    return str(Markup('<span class="picture">picture: {}</span>').format(tokens[at].content or "without a name"))


def _link(drawer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    return str(drawer.renderToken(tokens, at, options, env))


def _heading(drawer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    """The headings of a text lie below those of the page, all of one kind."""
    tokens[at].tag = "p"
    if tokens[at].nesting == 1:
        tokens[at].attrSet("class", "heading")
    return str(drawer.renderToken(tokens, at, options, env))


def as_text(text: str) -> Markup:
    """The text as it is, escaped, with what an eye does not see as escapes."""
    return escape(drawn(text))
