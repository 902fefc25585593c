"""A project with nested AGENTS.md and 40 skills, as a team that works with several agents has it."""

from __future__ import annotations

from pathlib import Path

ROOT = """# Ledger

A bookkeeping service. Amounts are integers in cents; never use floats for money.

- Run `make check` before you say that something is done.
- Names of tables are plural. A migration is never edited once it is merged.
- See the [testing guide](docs/testing.md), the [release checklist](docs/releasing.md#before) and
  [how we write SQL](./docs/sql.md "house style").
"""
NESTED = {
    "services/AGENTS.md": "# Services\n\nEach service has its own `main.py`. No service imports another one.\n",
    "services/billing/AGENTS.md": "# Billing\n\nEvery change of an invoice is an event. Read [VAT](../../docs/vat.md).\n",
    "services/billing/pdf/AGENTS.md": "# PDF\n\nFonts are embedded. Page sizes are A4 and Letter.\n",
    "web/AGENTS.md": "# Web\n\nNo inline styles. Texts are in `web/texts.json`.\n",
}
DOCS = {
    "docs/testing.md": "# Testing\n\nTests use a real database. A test has one claim.\n",
    "docs/releasing.md": "# Releasing\n\nTag, build, sign, publish.\n",
    "docs/sql.md": "# SQL\n\nLower case, four spaces.\n",
    "docs/vat.md": "# VAT\n\n19 % and 7 %, rounded for each line.\n",
}
CODE = {
    "services/billing/invoice.py": "def total(lines: list[int]) -> int:\n    return sum(lines)\n",
    "services/billing/pdf/page.py": "SIZES = {'A4': (210, 297)}\n",
    "services/billings/other.py": "TOTAL = 0\n",
    "web/app.js": "export const start = () => {};\n",
}
_TASKS = ("audit", "backup", "deploy", "export", "import", "migrate", "profile", "release", "report", "review")
_THINGS = ("database", "invoices", "pages", "statements")


def skill(name: str, description: str, body: str) -> str:
    """The text of a SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\nlicense: MIT\n---\n\n{body}"


def skills() -> dict[str, str]:
    """The files of 40 skills in `.claude/skills` and `.agents/skills`, some with references and scripts."""
    files = {}
    for place, (task, thing) in enumerate((task, thing) for task in _TASKS for thing in _THINGS):
        name = f"{task}-{thing}"
        folder = f"{'.claude' if place % 2 else '.agents'}/skills/{name}"
        files[f"{folder}/SKILL.md"] = skill(
            name,
            f">\n  {task.capitalize()} {thing} of the ledger. Use it when somebody asks to {task} {thing},\n"
            "  or when a ticket names them.",
            f"# {task.capitalize()} {thing}\n\n1. Look at the tickets.\n2. Follow [the details](references/details.md).\n",
        )
        if place % 4 == 0:
            files[f"{folder}/references/details.md"] = f"# Details\n\nHow to {task} {thing}, step by step.\n"
            files[f"{folder}/scripts/run.py"] = f"print('{task} {thing}')\n"
    return files


def make(root: Path, *parts: dict[str, str]) -> Path:
    """Write the project into `root`, or only these files; returns `root`."""
    for files in parts or ({"AGENTS.md": ROOT}, NESTED, DOCS, CODE, skills()):
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return root
