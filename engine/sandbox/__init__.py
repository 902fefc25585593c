"""Sandboxes: what keeps a shell command to the project. Without one it has all rights of its user.

A sandbox turns a command line into one that runs confined. Bubblewrap is the engine's own; plugins may give others by the
hook `engine_sandboxes`. Which of them a process is to run in is decided in sql/gate/159_sandbox.sql.
"""

from __future__ import annotations

from engine.processes.confinement import Confined, Confinement, Limits, Sandbox, SandboxMissing

from .choice import check_choice, find, names
from .domains import check_network

__all__ = [
    "Confined",
    "Confinement",
    "Limits",
    "Sandbox",
    "SandboxMissing",
    "check_choice",
    "check_network",
    "find",
    "names",
]
