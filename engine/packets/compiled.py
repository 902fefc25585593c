"""Compiled templates in the user's cache: to compile those of a packet takes longer than two turns."""

from __future__ import annotations

import hashlib
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, BytecodeCache, bc_magic

from engine.system.places import cache_folder, read_cached, write_cached

_KEPT = 64
"""How many templates stay in the cache; each place where the engine or a plugin is installed has its own."""
_SYNTAX = ("autoescape", "keep_trailing_newline", "lstrip_blocks", "trim_blocks")
"""The options of an environment that change what its templates are compiled to."""


class CompiledTemplates(BytecodeCache):
    """Keeps compiled templates between processes. Jinja compares the hash of a source with that of the one compiled."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill `bucket` from the cache; nothing is taken that others may have written."""
        if data := read_cached(_place(bucket)):
            bucket.bytecode_from_string(data)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what `bucket` holds, where the cache can be written."""
        write_cached(_place(bucket), bucket.bytecode_to_string(), _KEPT)


def _place(bucket: Bucket) -> Path:
    options = [getattr(bucket.environment, name) for name in _SYNTAX]
    made_by = f"{jinja2.__version__} {bc_magic!r} {options} {bucket.key}"
    return cache_folder() / "templates" / f"{hashlib.sha256(made_by.encode()).hexdigest()[:32]}.template"
