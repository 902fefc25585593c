"""What a server answers, as the text that a model reads, and as what went wrong."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import mcp_types as types

from engine.functions.compact import to_json
from engine.functions.pictures import HEAD_BYTES, picture_format
from engine.functions.terminals import terminal_text
from engine.models.protocol import storable
from engine.system.secrets import without_learnt
from engine.tools.results import ToolFailed, WithPictures

from .limits import DESCRIPTION_CHARACTERS, PICTURE_BYTES
from .words import line

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult

_MOST_PICTURES = 8
EMPTY = "Done."
"""The result of a tool that says nothing."""


def call_result(server: str, result: CallToolResult) -> WithPictures:
    """What a tool of a server returned: `call_text`, and its pictures, which the text names. Raises `ToolFailed`."""
    pictures: dict[str, bytes] = {}
    for each in result.content:
        found = _picture(each)
        if found is not None and len(pictures) < _MOST_PICTURES:
            data, name = found
            pictures[f"mcp://{server}/pictures/{hashlib.sha256(data).hexdigest()[:16]}.{name.lower()}"] = data
    told = "".join(f"\n[picture: {path}]" for path in pictures)
    return WithPictures(call_text(result) + told, pictures)


def _picture(block: ContentBlock) -> tuple[bytes, str] | None:
    """The bytes and the format of a picture that models can be shown; None for any other part."""
    if not isinstance(block, types.ImageContent):
        return None
    try:
        data = base64.b64decode(block.data, validate=True)
    except (binascii.Error, ValueError):
        return None
    name = picture_format(data[:HEAD_BYTES])
    return None if name is None or len(data) > PICTURE_BYTES else (data, name)


def call_text(result: CallToolResult) -> str:
    """The text of a tool's result: its parts, one below the other, or its JSON where it has no text.

    Raises `ToolFailed` where the tool says that it failed.
    """
    parts = [text for each in result.content if (text := block_text(each))]
    if result.structured_content is not None and not any(
        isinstance(each, types.TextContent) for each in result.content
    ):
        parts.append(to_json(result.structured_content))
    text = without_learnt(storable("\n".join(parts))) or EMPTY
    if result.is_error:
        raise ToolFailed(text)
    return text


def block_text(block: ContentBlock) -> str:
    """One part of a result or a prompt as text; of what is no text, a line that says what it is."""
    match block:
        case types.TextContent():
            return terminal_text(block.text)
        case types.ImageContent() | types.AudioContent():
            kind = "picture" if isinstance(block, types.ImageContent) else "sound"
            return f"[{kind}: {line(block.mime_type, 60)}, {_size(block.data)}]"
        case types.ResourceLink():
            about = line(block.description or block.title or block.name, 200)
            return f"[resource: {line(block.uri, DESCRIPTION_CHARACTERS)} - {about}]"
        case types.EmbeddedResource():
            return contents_text([block.resource])
        case _:
            return f"[{line(getattr(block, 'type', 'a part of an unknown kind'), 60)}]"


def contents_text(contents: Iterable[Any]) -> str:
    """The texts of a resource; each of several behind a line with its URI. Bytes are told, not shown."""
    found = [*contents]
    parts = []
    for each in found:
        head = f"[resource: {line(each.uri, DESCRIPTION_CHARACTERS)}]\n" if len(found) > 1 else ""
        if isinstance(each, types.TextResourceContents):
            parts.append(f"{head}{terminal_text(each.text)}")
        else:
            parts.append(f"{head}[{line(each.mime_type or 'bytes', 60)}, {_size(each.blob)}]")
    return "\n".join(parts)


def resource_page(result: ReadResourceResult) -> tuple[str, str | None]:
    """The text of a resource that was read, and its MIME type; the text is empty where it is bytes alone."""
    kinds = [line(each.mime_type, 100) for each in result.contents if each.mime_type]
    if not any(isinstance(each, types.TextResourceContents) for each in result.contents):
        return "", kinds[0] if kinds else None
    return without_learnt(storable(contents_text(result.contents))), kinds[0] if kinds else None


def prompt_text(result: GetPromptResult) -> str:
    """The messages of a prompt as one text; where some are not the user's, each stands behind its role."""
    messages = result.messages
    if all(each.role == "user" for each in messages):
        return storable("\n\n".join(block_text(each.content) for each in messages))
    return storable("\n\n".join(f"{each.role}:\n{block_text(each.content)}" for each in messages))


def _size(data: str) -> str:
    try:
        return f"{len(base64.b64decode(data, validate=True)):,} bytes"
    except (binascii.Error, ValueError):
        return "no base64"
