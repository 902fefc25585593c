"""Model objects that an app passes as `model=`, by the names under which runs remember them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import NotFound

if TYPE_CHECKING:
    from engine.models.protocol import Model

_SCHEME = "object:"


class AppModels:
    """The model objects of one database handle, which keeps them until it is gone.

    An object with a text `name` is stored as `object:NAME`: objects of one name are one model, and the one given last
    counts. Any other is stored as `object:CLASS-` with a number of its own, so that no other object takes its place.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, Model] = {}

    def name(self, model: str | Model | None) -> str | None:
        """The name to store for `model`, which is kept where it is an object."""
        return model if model is None or isinstance(model, str) else self.add(model)

    def add(self, model: Model) -> str:
        """Keep `model` and return its name."""
        own = getattr(model, "name", None)
        name = f"{_SCHEME}{own}" if isinstance(own, str) and own else self._name_of_its_own(model)
        self._by_name[name] = model
        return name

    def find(self, name: str) -> Model | None:
        """The object stored as `name`, None for the name of no object; raises `NotFound` (404) for one not given here."""
        if not name.startswith(_SCHEME):
            return None
        if name not in self._by_name:
            raise NotFound(
                f"model {name!r}: was a Python object, which this process does not have; pass it again with model="
            )
        return self._by_name[name]

    def _name_of_its_own(self, model: Model) -> str:
        from uuid import uuid4  # slow to import

        known = (name for name, other in self._by_name.items() if other is model)
        return next(known, None) or f"{_SCHEME}{type(model).__name__}-{uuid4().hex[:8]}"
