"""JSON as the engine's functions write it: compact, Unicode kept."""

from __future__ import annotations

import json

to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Encode a value; one encoder for all calls, because `json.dumps` with options makes a new one every time."""
