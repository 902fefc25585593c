"""A report as one page of HTML: no script, no address, nothing that is loaded; texts of others are texts.

spec: @report
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from engine.display.escapes import drawn

from .parts import Code, Facts, Points, Table, Text

if TYPE_CHECKING:
    from jinja2 import Template

    from .parts import Report

_KINDS = {Facts: "facts", Points: "points", Table: "table", Text: "text"}


def html(report: Report) -> str:
    """The report as a page that a browser shows in light or dark, and prints."""
    return _template().render(report=report, kind=lambda part: _KINDS[type(part)])


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # escaped whatever the name of the template
    environment = Environment(
        loader=PackageLoader("engine.templates", ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["seen"] = drawn
    environment.tests["code"] = lambda value: isinstance(value, Code)
    return environment.get_template("report.html.j2")
