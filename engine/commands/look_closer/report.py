"""`engine report`: a run for a person to read and keep.

spec: @report
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption
from engine.cli.run_argument import RunArgument, run_or_latest

if TYPE_CHECKING:
    from engine.reports.parts import Report

_FORMS = {".md": "Markdown", ".html": "HTML", ".pdf": "PDF"}


def report(
    run: RunArgument = None,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Where to write: .md, .html or .pdf. Default: Markdown on stdout."),
    ] = None,
    db: DbOption = None,
) -> None:
    """Write a report on a run as Markdown, HTML or PDF.

    The report contains the prompts, the steps and the texts that they read and wrote, the decisions, the file changes
    and the cost. It also says whether the record was changed afterwards. A PDF needs Chromium. Readers need no engine.

    \b
    Examples:
      engine report
      engine report demo demo.html
      engine report demo audit/demo.pdf
    """
    from engine.errors import ValidationError
    from engine.reports.facts import report as report_on
    from engine.terminal.printing import print_text, visible

    if file is not None and file.suffix.lower() not in _FORMS:
        raise ValidationError(f"{visible(str(file))}: the name must end in {' or '.join(_FORMS)}")
    with open_to_read(db) as database:
        made = report_on(database, run_or_latest(database, run))
    if file is None:
        from engine.reports.markdown import markdown

        typer.echo(markdown(made), nl=False)
        return
    _write(file, _as_bytes(made, file.suffix.lower()))
    print_text(f"{made.run}: {_FORMS[file.suffix.lower()]} written to {visible(str(file))}")


def _as_bytes(made: Report, form: str) -> bytes:
    if form == ".md":
        from engine.reports.markdown import markdown

        return markdown(made).encode()
    from engine.reports.html import html

    page = html(made)
    if form == ".html":
        return page.encode()
    from engine.reports.pdf import pdf

    return pdf(page)


def _write(file: Path, content: bytes) -> None:
    from engine.system.durable import replace_file, system_errors

    with system_errors("write", str(file)):
        replace_file(file, content, 0o600)


__all__ = ["report"]
