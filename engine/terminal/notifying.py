"""Tells a person who looks elsewhere that something waits, or that a long prompt has ended.

spec: @chat_notify
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from .printing import one_line

if TYPE_CHECKING:
    from engine.db.database import Store

LONG_S = 20
"""Seconds after which the end of a prompt is told."""
_HOW = "select value from settings where name = 'notify'"


def notify(db: Store, text: str) -> None:
    """Ring, ask the terminal for a notification (OSC 9), or run the person's command, as the setting `notify` says."""
    how = str(db.value(_HOW) or "bell").strip()
    told = one_line(text, 200)
    if how == "off" or not sys.stderr.isatty():
        return
    if how in ("bell", "osc9"):
        sys.stderr.write("\a" if how == "bell" else f"\x1b]9;{told}\x1b\\")
        sys.stderr.flush()
        return
    try:
        subprocess.Popen(
            ["/bin/sh", "-c", f'{how} "$0"', told],  # the text is an argument, never a part of the line
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        sys.stderr.write("\a")


__all__ = ["LONG_S", "notify"]
