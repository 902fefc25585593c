"""How much of what is drawn at random is tried: little, unless `ENGINE_CAMPAIGN=N` asks for a long run by hand."""

from __future__ import annotations

import os

from hypothesis import settings

CAMPAIGN = int(os.environ.get("ENGINE_CAMPAIGN", "0"))
"""How many examples a long run tries; 0 in an ordinary one."""


def examples(few: int) -> settings:
    """Settings of a test that tries `few` examples, or as many as the campaign says."""
    return settings(max_examples=CAMPAIGN or few)
