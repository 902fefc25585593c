"""The person at this computer."""

from __future__ import annotations


def user_name() -> str:
    """The name of the person at the terminal, as the system knows it; 'client' where it knows none."""
    from getpass import getuser

    try:
        return getuser() or "client"
    except (KeyError, OSError, ImportError):
        return "client"
