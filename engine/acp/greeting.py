"""What a client is told first: the version, what this agent can do, and how to get a model where there is none."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from acp import PROTOCOL_VERSION, schema

from engine.driving.model_choice import choose_model, sync_environment_models
from engine.errors import EngineError

from . import mcp_servers

if TYPE_CHECKING:
    from engine.serving import Serving

KEYS = "keys"
"""The one method of authentication."""


def greeting(protocol_version: int, missing: str) -> schema.InitializeResponse:
    """The answer to a client of that version; `missing` says why there is no model, '' where there is one."""
    method = schema.AuthMethodAgent(id=KEYS, name="Key of a provider", description=missing)
    return schema.InitializeResponse(
        protocol_version=min(max(protocol_version, 1), PROTOCOL_VERSION),
        agent_info=schema.Implementation(name="engine", title="engine", version=version("engine")),
        agent_capabilities=schema.AgentCapabilities(
            load_session=True,
            prompt_capabilities=schema.PromptCapabilities(image=True, audio=True, embedded_context=True),
            mcp_capabilities=mcp_servers.CAPABILITIES,
            session_capabilities=schema.SessionCapabilities(
                list=schema.SessionListCapabilities(),
                fork=schema.SessionForkCapabilities(),
                resume=schema.SessionResumeCapabilities(),
                close=schema.SessionCloseCapabilities(),
            ),
        ),
        auth_methods=[method] if missing else [],
    )


def missing_model(serving: Serving) -> str:
    """Why there is no model that a run in no folder would get, and how to get one; '' where there is one."""
    import engine

    with engine.open(":memory:", config=True) as db:
        sync_environment_models(db)
        model = serving.options.get("model")
        try:
            choose_model(db, None, model if isinstance(model, str) else None)
        except EngineError as error:
            return error.message
    return ""
