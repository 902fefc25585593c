"""Rules: reads folders and files of rules, writes them into the database, and asks it about them.

What a prompt loads is decided in sql/rules/422_rule_matching.sql.
"""

from __future__ import annotations
