"""The agent: what it answers to each request of a client. `serving` puts it behind a connection.

spec: @acp
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from acp import RequestError, schema

from engine.acp.texts import title
from engine.errors import Conflict, EngineError, NotFound, Overflow
from engine.system.in_thread import in_thread

from . import choices
from .content import read_prompt
from .failures import AUTH_REQUIRED, request_error, told
from .greeting import KEYS, greeting, missing_model
from .mcp_servers import taken_over
from .prompting import Prompting
from .replay import past
from .sessions import MOST_WAITING, Session, Sessions

if TYPE_CHECKING:
    from acp import Client

    from engine.serving import Serving

    from .content import Prompt
    from .lines import Lines

_T = TypeVar("_T")


class EngineAgent:
    """Serves the sessions of one client."""

    def __init__(self, serving: Serving, lines: Lines) -> None:
        self._serving = serving
        self._lines = lines
        self._sessions = Sessions(serving)
        self._one_at_a_time = asyncio.Lock()
        self._client: Client | None = None
        self._reads_files = False

    def on_connect(self, conn: Client) -> None:
        """Take the connection."""
        self._client = conn

    def stop(self) -> None:
        """Stop what is driven; whatever was not at its end can be resumed."""
        for session in self._sessions:
            for prompting in tuple(session.prompts):
                prompting.stop()

    async def close(self) -> None:
        """Close the databases."""
        self.stop()
        await in_thread(self._sessions.close_all)

    @told
    async def initialize(
        self, protocol_version: int, client_capabilities: schema.ClientCapabilities | None = None, **_: Any
    ) -> schema.InitializeResponse:
        """Agree on the version, and tell what this agent can do."""
        files = client_capabilities and client_capabilities.fs
        self._reads_files = bool(files and files.read_text_file)
        return greeting(protocol_version, await in_thread(lambda: missing_model(self._serving)))

    @told
    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse:
        """Look whether there is a model by now."""
        if method_id != KEYS:
            raise NotFound(f"method {method_id[:100]!r}: unknown; the only way to sign in is {KEYS!r}")
        if missing := await in_thread(lambda: missing_model(self._serving)):
            raise RequestError(AUTH_REQUIRED, missing)
        return schema.AuthenticateResponse()

    @told
    async def new_session(
        self,
        cwd: str,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
        **_: Any,
    ) -> schema.NewSessionResponse:
        """Begin a session; its first prompt makes the run."""
        _refuse_more_folders(additional_directories)
        try:
            session, modes, options = await self._opened(lambda: self._sessions.new(cwd, taken_over(mcp_servers)))
        except NotFound as error:
            if error.message.startswith("no model"):
                raise RequestError(AUTH_REQUIRED, error.message) from error
            raise
        return schema.NewSessionResponse(session_id=session.run, modes=modes, config_options=options)

    @told
    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[Any] | None = None,
        additional_directories: Sequence[str] | None = None,
        **_: Any,
    ) -> schema.LoadSessionResponse:
        """Go on with a run, and tell what it said and did."""
        _refuse_more_folders(additional_directories)
        _session, modes, options = await self._opened(
            lambda: self._sessions.load(cwd, session_id, taken_over(mcp_servers)), self._tell_past
        )
        return schema.LoadSessionResponse(modes=modes, config_options=options)

    @told
    async def resume_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[Any] | None = None,
        additional_directories: Sequence[str] | None = None,
        **_: Any,
    ) -> schema.ResumeSessionResponse:
        """Go on with a run without telling of its past."""
        _refuse_more_folders(additional_directories)
        _session, modes, options = await self._opened(
            lambda: self._sessions.load(cwd, session_id, taken_over(mcp_servers))
        )
        return schema.ResumeSessionResponse(modes=modes, config_options=options)

    @told
    async def fork_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[Any] | None = None,
        additional_directories: Sequence[str] | None = None,
        **_: Any,
    ) -> schema.ForkSessionResponse:
        """Go on with a fork of a run, as it is now."""
        _refuse_more_folders(additional_directories)
        session, modes, options = await self._opened(
            lambda: self._sessions.fork(cwd, session_id, taken_over(mcp_servers))
        )
        return schema.ForkSessionResponse(session_id=session.run, modes=modes, config_options=options)

    @told
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """The runs of a folder, the latest first."""
        rows, after = await self._locked(lambda: self._sessions.listed(cwd, cursor))
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(
                    session_id=row["alias"],
                    cwd=row["root"],
                    title=title(row["title"] or row["alias"], 80),
                    updated_at=row["updated_at"],
                )
                for row in rows
            ],
            next_cursor=after,
        )

    @told
    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        """Cancel what is under way in a session, and forget it; its run stays."""
        session = self._sessions.find(session_id)
        await self._cancel(session)
        async with session.turn:  # what was cancelled has ended
            await self._locked(lambda: self._sessions.close(session_id))
        return schema.CloseSessionResponse()

    @told
    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> schema.SetSessionModeResponse:
        """Choose the mode of the next prompts."""
        choices.set_mode(self._sessions.find(session_id), mode_id, self._sessions.modes)
        return schema.SetSessionModeResponse()

    @told
    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        """Choose the model of the next prompts."""
        session = self._sessions.find(session_id)
        await self._locked(lambda: choices.set_option(session, config_id, value))
        options = await self._locked(lambda: choices.options(session))
        return schema.SetSessionConfigOptionResponse(config_options=options)

    @told
    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> schema.PromptResponse:
        """Answer a prompt. One of a session that is answering another waits for its turn."""
        session = self._sessions.find(session_id)
        asked = read_prompt(prompt, session.root)
        if len(session.prompts) > MOST_WAITING:
            raise Overflow(
                f"session {session_id!r}: {MOST_WAITING} prompts are waiting; cancel some, or wait for their answers"
            )
        assert self._client is not None, "a request came over a connection"
        prompting = Prompting(session, self._client, self._lines)
        session.prompts.append(prompting)
        try:
            async with session.turn:
                prompting.expect_client()
                if prompting.is_cancelled:
                    return schema.PromptResponse(stop_reason="cancelled")
                await self._title(session, asked)
                text = await self._locked(lambda: choices.expanded(session, asked.text))
                answer = await prompting.answer(replace(asked, text=text))
                await self._tell_commands(session)
                return answer
        finally:
            session.prompts.remove(prompting)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """End the prompts of a session that have not ended."""
        try:
            await self._cancel(self._sessions.find(session_id))
        except EngineError as error:
            raise request_error(error) from error

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - the library's
        """Nothing is added to the protocol."""
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Nothing is added to the protocol."""

    async def _cancel(self, session: Session) -> None:
        for prompting in tuple(session.prompts):
            await prompting.cancel()

    async def _title(self, session: Session, asked: Prompt) -> None:
        """Name a session after its first prompt."""
        if not session.is_titled:
            session.is_titled = True
            named = schema.SessionInfoUpdate(session_update="session_info_update", title=title(asked.text, 80))
            await self._tell(session, named)

    async def _opened(
        self, open_session: Callable[[], Session], tell: Callable[[Session], Awaitable[None]] | None = None
    ) -> tuple[Session, Any, Any]:
        """Open a session, and say what it may choose. If that fails, it is forgotten unless it was open before."""
        known = {id(each) for each in self._sessions}
        session = await self._locked(open_session)
        try:
            if tell is not None:
                await tell(session)
            session.reads_files = self._reads_files
            options = await self._locked(lambda: choices.options(session))
            await self._tell_commands(session)
        except BaseException:
            if id(session) not in known:
                await self._locked(lambda: self._sessions.close(session.run))
            raise
        return session, choices.modes(session, self._sessions.modes), options

    async def _tell_commands(self, session: Session) -> None:
        """Tell the commands of a session where they are others than the client knows: a scan finds skills."""
        known, session.commands = session.commands, await self._locked(lambda: choices.commands(session))
        if session.commands != known and (known or session.commands.available_commands):
            self._later(session, session.commands)

    def _later(self, session: Session, update: Any) -> None:
        """Tell an update behind the answer that is being given."""

        def tell() -> None:
            task = asyncio.ensure_future(self._tell(session, update))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

        asyncio.get_running_loop().call_soon(tell)

    async def _tell(self, session: Session, update: Any) -> None:
        assert self._client is not None, "a request came over a connection"
        await self._client.session_update(session.run, update)

    async def _tell_past(self, session: Session) -> None:
        if session.prompts:
            raise Conflict(
                f"session {session.run!r}: a prompt is still being answered; cancel the prompt, or wait for its answer"
            )
        loop = asyncio.get_running_loop()

        def read() -> None:
            with session.database.shared() as db:
                for update in past(db, session):
                    asyncio.run_coroutine_threadsafe(self._tell(session, update), loop).result()

        async with session.turn:
            await in_thread(read)

    async def _locked(self, work: Callable[[], _T]) -> _T:
        """The result of work with the handles of databases, in a thread: one thread at a time uses them."""
        async with self._one_at_a_time:
            return await in_thread(work)


def _refuse_more_folders(folders: Sequence[str] | None) -> None:
    """Raise `EngineError` (400) where a session would have several folders."""
    if folders:
        raise EngineError("additionalDirectories: not supported; a session works only in the folder cwd", 400)
