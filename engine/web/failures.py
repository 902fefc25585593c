"""What goes wrong on the web, as the outcome of a command."""

from __future__ import annotations


class WebFailure(Exception):  # noqa: N818 - it is an outcome, not an error of the engine
    """Something was not read: `outcome` is one of the table `outcomes`, `message` is told to the model."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message
