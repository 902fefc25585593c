"""Rules in Markdown: the list items of a file, one rule each; all else in it is for people."""

from __future__ import annotations

import json

MARK = "- "
"""What a line with a rule begins with."""


def rules_parse(text: str | None) -> str | None:
    """The rules in the text of a rule file, as a JSON array: what stands behind `- ` in a line.

    Headings, blank lines and other text are no rules; line ends may be those of any system.
    """
    return None if text is None else json.dumps(rules_in(text), ensure_ascii=False)


def rules_in(text: str) -> list[str]:
    """`rules_parse` as a list."""
    lines = (line.strip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    rules = (line.removeprefix(MARK).strip() for line in lines if line.startswith(MARK))
    return [rule for rule in rules if rule]


def rules_text(title: str, rules: list[str]) -> str:
    """A rule file with this title and these rules, which `rules_in` reads again."""
    return f"# {title}\n\n" + "".join(f"{MARK}{' '.join(rule.split())}\n" for rule in rules)
