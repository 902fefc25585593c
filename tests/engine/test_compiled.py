"""Templates are compiled once and kept in the user's cache, which is trusted by no more than its hash and its owner.

spec: @opening
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
import pytest

from engine.packets.compiled import CompiledTemplates
from engine.system.places import cache_folder


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "cache"))


def rendered(source: str = "{{ 1 + 1 }}", **options: Any) -> str:
    """What a new environment renders, as a new process does."""
    loader = jinja2.DictLoader({"t.j2": source})
    environment = jinja2.Environment(loader=loader, bytecode_cache=CompiledTemplates(), **options)
    return environment.get_template("t.j2").render()


def places() -> list[Path]:
    return sorted((cache_folder() / "templates").glob("*"))


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that Jinja compiled."""
    compiled: list[str] = []
    compile_ = jinja2.Environment.compile

    def noting(self: jinja2.Environment, source: Any, *arguments: Any, **options: Any) -> Any:
        compiled.append(source)
        return compile_(self, source, *arguments, **options)

    monkeypatch.setattr(jinja2.Environment, "compile", noting)
    return compiled


def test_what_one_process_compiled_the_next_one_reads(compilations: list[str]) -> None:
    assert [rendered(), rendered()] == ["2", "2"]
    assert compilations == ["{{ 1 + 1 }}"]
    (place,) = places()
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_changed_template_is_compiled_anew() -> None:
    assert [rendered(), rendered("{{ 2 + 2 }}"), rendered()] == ["2", "4", "2"]


def test_another_syntax_has_templates_of_its_own() -> None:
    source = "{% if true %}\nyes{% endif %}"
    assert rendered(source) == "\nyes"
    assert rendered(source, trim_blocks=True) == "yes"
    assert len(places()) == 2


@pytest.mark.parametrize("damage", ["byte", "cut", "empty", "mode", "folder", "link"])
def test_what_cannot_be_relied_on_is_compiled_anew(tmp_path: Path, compilations: list[str], damage: str) -> None:
    rendered()
    (place,) = places()
    data = place.read_bytes()
    match damage:
        case "byte":
            place.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        case "cut":
            place.write_bytes(data[:-1])
        case "empty":
            place.write_bytes(b"")
        case "mode":
            place.chmod(0o622)
        case "folder":
            place.parent.chmod(0o777)
        case "link":
            place.rename(tmp_path / "elsewhere")
            place.symlink_to(tmp_path / "elsewhere")
    assert rendered() == "2"
    assert len(compilations) == 2


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "file" / "cache"))
    assert rendered() == "2"
