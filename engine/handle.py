"""An open engine file with what its drivers were given: keys, models, tools, and the settings of this user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from engine.keys.keys import Keys
from engine.models.app_models import AppModels
from engine.processes.kept_jobs import KeptJobs
from engine.processes.outputs import Outputs

if TYPE_CHECKING:
    from engine.tools.app_tools import AppTools


class Traces(Protocol):
    """Sends what a run has done to where an operator sees it."""

    def look(self, db: Outputs, run: str, /) -> None:
        """Send what `run` has done since the last look."""
        ...

    def close(self) -> None:
        """Send what is left."""
        ...


class Recorded(Protocol):
    """Gives effects the results that were recorded of them, while a run is replayed."""

    def result(self, effect: dict[str, Any], /) -> tuple[Mapping[str, Any], Sequence[tuple[int, str]]] | None:
        """The columns of `_finish_effect` and the output by channel, None for an effect that is performed."""
        ...

    def begins(self, run: str, /) -> None:
        """Wait until it is the turn of a run that works beside others, before it is driven."""
        ...

    def searched(self, run: str, /) -> bool:
        """Whether the model of `run` was told of the tool search."""
        ...


class Provided(NamedTuple):
    """What the tools of one driving are given, besides what their handle has; None: what that has."""

    context: object = None
    tools: AppTools | None = None


class Handle(Outputs):
    """An open engine file that can drive runs. With `config`, settings and keys of this user and of the project count."""

    def __init__(self, path: str | PathLike[str], *, config: bool = False, **options: Any) -> None:
        self.app_models: AppModels = AppModels()
        self.app_tools: AppTools | None = None
        self.app_context: object = None
        self.tracer: Traces | None = None
        self.recorded: Recorded | None = None
        self.keys: Keys = Keys(files=config)
        self.kept_jobs = KeptJobs()
        super().__init__(path, config=config, **options)
        if not self.read_only:
            self._configure()

    def keys_for(self, run: str | None, root: str | PathLike[str] | None = None) -> Keys:
        """The keys that a run may use, with those of its folder where the user's configuration counts.

        `root` is the folder of a run that is not there yet.
        """
        if not self.keys.files and not self.keys.named:
            return self.keys
        of_run = "select p.root from runs as r join projects as p on p.id = r.project_id where r.alias = ?"
        return self.keys.at(root or self.value(of_run, (run,)))

    def shared(self) -> Handle:
        """A handle for a driver in another thread, which borrows a connection when it needs one; close it there.

        Raises `Conflict` (409) where this one was closed, `ValidationError` (400) for a database in memory.
        """
        raise NotImplementedError

    def elsewhere(self, path: str | PathLike[str]) -> Handle:
        """A handle on a copy of the file, with the keys, models and tools of this one; close it."""
        raise NotImplementedError

    def _configure(self) -> None:
        """Put the user's and the project's settings into the file, or take out those that somebody else put there."""
        if self.config or self.value("select 1 from setting_layers where layer <> 'file' limit 1"):
            from engine.config import configuration

            try:
                configuration.load(self)
            except BaseException:
                self.close()
                raise

    def use_tools(self, tools: AppTools | None) -> None:
        """Let models of the runs that this handle drives call these functions."""
        self.app_tools = tools
        if tools:
            tools.attach(self)

    def tools(self, name: str | None = None) -> list[dict[str, Any]]:
        """The functions that this handle was opened with, or the one of that name, as models are told of them.

        Keys: `name`, `meaning`, `document` (what a model reads), `schema` (a JSON Schema of its arguments), and `ask`,
        `idempotent`, `reads`, `timeout` (seconds; None: the setting process_timeout) as `engine.tool` has them.
        Raises `NotFound` (404) for a name that none of them has.
        """
        from engine.tools.app_tools import AppTools

        return (self.app_tools or AppTools(())).told(name)

    def make_room_for_tools(self) -> AppTools:
        """The tools of this handle, none if it was opened without: those of a single driving find their place there."""
        if self.app_tools is None:
            from engine.tools.app_tools import AppTools

            self.app_tools = AppTools(())
            self.app_tools.attach(self)
        return self.app_tools
