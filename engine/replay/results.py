"""What a replay says of itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["packet", "command", "entry", "file", "turn"]


class Difference(NamedTuple):
    """The first difference between a replay and the record.

    `what` is the section of a packet, a command, or the path of an entry or a file. `diff` is a unified diff from
    the record to the replay.
    """

    kind: Kind
    run: str
    turn: int
    what: str
    diff: str


@dataclass(frozen=True)
class Replay:
    """The result of a replay: the first `difference` (None: no difference), and how many `turns` are identical.

    `parted` is the first turn for which a model was asked (None: all answers were recorded). `cost` and
    `recorded_cost` are US dollars since the first replayed turn (None: a price is unknown). `answer` is the last
    answer of the replay. `kept` is the name under which the replayed run was stored. `notes` are texts about things
    that could not be replayed.
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
        """Whether the replay is identical to the record."""
        return self.difference is None

    def to_json(self) -> str:
        """The result as JSON, for programs."""
        told = asdict(self) | {"difference": self.difference and self.difference._asdict()}
        return json.dumps({**told, "identical": self.identical}, ensure_ascii=False)
