"""Asks the client about the proposals of a run, and takes its answers back to it.

spec: @acp_permissions
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from acp import schema

from engine.acp.texts import text_content, title
from engine.display.escapes import drawn
from engine.display.proposals import always_target, options_of
from engine.system.user import user_name

if TYPE_CHECKING:
    from engine.db.database import Row, Store

    from .updates import Updates

_TOOL = "mcp"
"""The kind of a call of a server's tool: a grant is for that tool, not for all of its kind."""
_WORDS = {"file_write": "every change of a file", "file_delete": "every removal", "process": "every shell command"}
_OWN_WORDS = "own_words"


class Client(Protocol):
    """What a question needs of the client; each waits for the answer."""

    def ask(
        self, call: schema.ToolCallUpdate, options: Sequence[schema.PermissionOption]
    ) -> schema.RequestPermissionResponse | None:
        """Ask; None where no answer came that is one."""
        ...

    def unsaved(self, target: str) -> bool:
        """Whether the client has another text of a file than the disk."""
        ...


class Permissions:
    """Decides on proposals as the client says: True accepts, False rejects, a text answers a question, None leaves it open.

    The proposals of one command are one decision. `cancel` is called where the client says that the prompt was cancelled.
    """

    def __init__(self, db: Store, client: Client, updates: Updates, cancel: Callable[[], None]) -> None:
        self._db = db
        self._client = client
        self._updates = updates
        self._cancel = cancel
        self._accepted: set[tuple[str, str]] = set()
        self.decided_by = user_name()

    def __call__(self, proposal: Mapping[str, Any]) -> bool | str | None:
        """Ask about one proposal."""
        command = proposal["run"], proposal["path"]
        if command in self._accepted or self._is_granted(proposal):
            return True
        if proposal["kind"] == "question":
            return self._answer(proposal)
        siblings = self._db.rows(
            "select * from open_proposals where run = ? and path = ? order by proposal_id", command
        )
        answer = self._decide(proposal, siblings)
        if answer:
            self._accepted.add(command)
        return answer

    def _is_granted(self, proposal: Mapping[str, Any]) -> bool:
        """Accept what a grant covers by now, such as one that was given at another file of the same patch."""
        found = self._db.row(
            "select decided_by from _immediate_decisions where proposal_id = ? and decided_by glob 'grant *'",
            (proposal["proposal_id"],),
        )
        if found:
            self._decided(proposal, "accept", decided_by=found["decided_by"])
        return found is not None

    def _decide(self, proposal: Mapping[str, Any], siblings: Sequence[Row]) -> bool | None:
        chosen, response = self._ask(proposal, _choices(siblings), self._unsaved(siblings))
        match chosen:
            case "allow_once":
                return True
            case "allow_run":
                for kind, target in dict.fromkeys(map(_granted, siblings)):
                    self._grant(proposal["run"], kind, target, whole_project=False)
                return True
            case "allow_project":
                self._grant(proposal["run"], proposal["kind"], always_target(proposal), whole_project=True)
                return True
            case "reject_once":
                self._decided(proposal, "reject", reason=_reason(response))
                return False
            case _:
                return None

    def _answer(self, proposal: Mapping[str, Any]) -> str | None:
        """The answer to a question, where it suggests some; otherwise the next prompt is its answer."""
        answers = options_of(proposal)
        if not answers:
            return None
        options = [_option(f"answer_{number}", title(each), "allow_once") for number, each in enumerate(answers)]
        chosen, _ = self._ask(proposal, [*options, _option(_OWN_WORDS, "Answer in my own words", "reject_once")], [])
        return dict(zip((each.option_id for each in options), answers, strict=True)).get(chosen or "")

    def _ask(
        self, proposal: Mapping[str, Any], options: Sequence[schema.PermissionOption], notes: Sequence[str]
    ) -> tuple[str | None, schema.RequestPermissionResponse | None]:
        """The option that the client chose; None where it chose none of them."""
        call = self._updates.call(proposal["run"], proposal["path"])
        if call is None:
            return None, None
        call.content = [*(call.content or []), *map(text_content, notes)] or None
        response = self._client.ask(call, options)
        if response is None:
            return None, None
        if isinstance(response.outcome, schema.DeniedOutcome):
            self._cancel()
            return None, None
        chosen = response.outcome.option_id
        return (chosen if chosen in {each.option_id for each in options} else None), response

    def _unsaved(self, siblings: Sequence[Row]) -> list[str]:
        files = [each["target"] for each in siblings if each["kind"] in ("file_write", "file_delete")]
        return [
            f"note: the editor has unsaved changes of {drawn(each)}; an accepted change is written to the file on disk"
            for each in files
            if self._client.unsaved(each)
        ]

    def _grant(self, run: str, kind: str, target: str | None, *, whole_project: bool) -> None:
        from engine.effects.gate import give_grant

        give_grant(self._db, run, kind, target, whole_project=whole_project, by=self.decided_by)

    def _decided(self, proposal: Mapping[str, Any], decision: str, **given: str | None) -> None:
        """Decide with what the answer to the driver cannot say."""
        self._db.insert(
            "verb_answer_proposal",
            proposal_id=proposal["proposal_id"],
            decision=decision,
            **{"decided_by": self.decided_by, **given},
        )


def _choices(siblings: Sequence[Row]) -> list[schema.PermissionOption]:
    """What a client may choose. Kinds of plugins are not granted beforehand, nor is a command for a whole project of which
    several files are changed.
    """
    kinds = list(dict.fromkeys(each["kind"] for each in siblings))
    options = [_option("allow_once", "Allow", "allow_once")]
    if all(kind in _WORDS or kind == _TOOL for kind in kinds):
        words = " and ".join(_WORDS.get(kind, "this tool") for kind in kinds)
        options.append(_option("allow_run", f"Allow {words} in this run", "allow_always"))
        if len(siblings) == 1:
            always = title(always_target(siblings[0]), 80)
            what = {"file_write": "changes of ", "file_delete": "removals of "}.get(kinds[0], "")
            options.append(_option("allow_project", f"Always allow in this project: {what}{always}", "allow_always"))
    return [*options, _option("reject_once", "Reject", "reject_once")]


def _granted(proposal: Mapping[str, Any]) -> tuple[str, str | None]:
    """The kind and the target of a grant for the rest of a run."""
    return proposal["kind"], proposal["target"] if proposal["kind"] == _TOOL else None


def _option(number: str, name: str, kind: Any) -> schema.PermissionOption:
    return schema.PermissionOption(option_id=number, name=name, kind=kind)


def _reason(response: schema.RequestPermissionResponse | None) -> str | None:
    """Why the client rejects, where it says so: `_meta.reason`."""
    told = ((response and response.field_meta) or {}).get("reason")
    return told[:2_000] if isinstance(told, str) and told.strip() else None
