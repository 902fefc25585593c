"""What a replay says of itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["packet", "command", "entry", "file", "turn"]


class Difference(NamedTuple):
    """The first thing in which a replay differs from the record.

    `what` names it: the section of a packet, a command, the path of an entry or of a file. `diff` is a unified diff from
    the record to the replay.
    """

    kind: Kind
    run: str
    turn: int
    what: str
    diff: str


@dataclass(frozen=True)
class Replay:
    """How a replay went: the first `difference`, None where there is none, and how many `turns` are as recorded.

    `parted` is the turn from which a model was asked, None where all answers were recorded ones. `cost` and
    `recorded_cost` are US dollars from the first turn that was replayed on, None where a price is unknown. `answer` is the
    replay's last one. `kept` is the name under which the replayed run was kept. `notes` say what could not be brought
    back, a text each.
    """

    run: str
    turns: int
    difference: Difference | None
    status: int
    answer: str | None = None
    parted: int | None = None
    cost: float | None = None
    recorded_cost: float | None = None
    kept: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def identical(self) -> bool:
        """Whether the replay is what was recorded."""
        return self.difference is None

    def to_json(self) -> str:
        """The result as JSON, for programs."""
        told = asdict(self) | {"difference": self.difference and self.difference._asdict()}
        return json.dumps({**told, "identical": self.identical}, ensure_ascii=False)
