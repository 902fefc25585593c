"""Plugins by path: named by the user, in the environment or in his own configuration, and never by a project.

spec: @plugins_by_path @plugin_projections
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from engine_cli import ENGINE, SECONDS, environment

from engine.functions.catalogue import own_functions
from engine.functions.texts import body_short
from engine.plugins import Projection
from engine.schema.projecting import projecting

PLUGIN = """
from engine.plugins import hookimpl

@hookimpl
def engine_sql():
    row = "insert into settings (name, value, meaning) values ('shout', 'HEY', 'x') on conflict (name) do nothing;"
    return [("shout.sql", row)]
"""
SETTING = [*ENGINE, "config", "shout", "--json"]


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    (tmp_path / "plugins").mkdir(mode=0o755)
    place = tmp_path / "plugins" / "shout.py"
    place.write_text(PLUGIN)
    place.chmod(0o644)
    return place


def shown(folder: Path, command: list[str] = SETTING, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(folder.parent, **env),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_the_environment_names_a_plugin(folder: Path, plugin: Path) -> None:
    done = shown(folder, ENGINE_PLUGIN_shout=str(plugin))
    assert [row["value"] for row in json.loads(done.stdout)] == ["HEY"], done.stderr
    assert shown(folder).returncode == 2
    app = [sys.executable, "-c", "import engine; print(engine.open(':memory:').value('select count(*) from settings'))"]
    plain, more = (int(shown(folder, app, **env).stdout) for env in ({}, {"ENGINE_PLUGIN_shout": str(plugin)}))
    assert more == plain + 1


def test_a_module_without_a_hook_is_refused_and_the_message_says_what_a_hook_is(folder: Path, plugin: Path) -> None:
    inside = (
        PLUGIN.replace("\n", "\n    ")
        .replace("    from engine", "from engine")
        .replace("    @", "class Shout:\n    @", 1)
    )
    plugin.write_text(f"{inside}\nplugin = Shout()\n")
    done = shown(folder, ENGINE_PLUGIN_shout=str(plugin))
    assert done.returncode == 2
    assert f"ENGINE_PLUGIN_shout: plugin shout: {plugin} has no hook; write a function such as" in done.stderr


def test_a_folder_is_a_package(folder: Path, plugin: Path) -> None:
    package = plugin.parent / "shouting"
    package.mkdir(mode=0o755)
    (package / "__init__.py").write_text("from .inner import engine_sql\n")
    (package / "inner.py").write_text(PLUGIN)
    for file in package.iterdir():
        file.chmod(0o644)
    done = shown(folder, ENGINE_PLUGIN_shout=str(package))
    assert [row["value"] for row in json.loads(done.stdout)] == ["HEY"], done.stderr


def test_the_user_s_configuration_names_a_plugin_for_the_command_line_alone(folder: Path, plugin: Path) -> None:
    own = folder.parent / ".config" / "engine"
    own.mkdir(parents=True, mode=0o700)
    (own / "config.toml").write_text(f'max_strikes = 5\n\n[plugins]\nshout = "{plugin}"\n')
    (own / "config.toml").chmod(0o600)
    assert [row["value"] for row in json.loads(shown(folder).stdout)] == ["HEY"]
    app = [
        sys.executable,
        "-c",
        "import engine; print(engine.open(':memory:').value(\"select 1 from settings where name='shout'\"))",
    ]
    assert shown(folder, app).stdout == "None\n"


def test_a_project_names_none(folder: Path, plugin: Path) -> None:
    (folder / "engine.toml").write_text(f'[plugins]\nshout = "{plugin}"\n')
    assert shown(folder).returncode == 2
    done = shown(folder, [*ENGINE, "config", "max_strikes"])
    assert (done.returncode, "[plugins] works only in your own config.toml" in done.stderr) == (0, True)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda place: place.unlink(), "No such file"),
        (lambda place: place.chmod(0o666), "others can write to it"),
        (lambda place: place.parent.chmod(0o777), "others can write to it"),
        (lambda place: place.write_text("1/0"), "fails: ZeroDivisionError"),
        (lambda place: place.write_text("def x("), "fails: SyntaxError"),
        (lambda place: place.write_text("import sys; sys.exit(3)"), "fails: SystemExit"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_told_with_who_names_it(folder: Path, plugin: Path, make, why: str) -> None:  # type: ignore[no-untyped-def]
    make(plugin)
    done = shown(folder, ENGINE_PLUGIN_shout=str(plugin))
    assert done.returncode == 2
    assert done.stderr.startswith("engine: ENGINE_PLUGIN_shout: plugin shout: ")
    assert why in done.stderr


def test_a_relative_path_is_refused(folder: Path, plugin: Path) -> None:
    done = shown(folder, ENGINE_PLUGIN_shout=os.path.relpath(plugin, folder))
    assert (done.returncode, "is not an absolute path" in done.stderr) == (2, True)


def explode(path: str, body: str) -> str:
    raise LookupError(path + body)


def projected(projection: Projection, path: str, body: str | None) -> tuple[object, object]:
    """What is shown of a body in full view, and in short, where a plugin projects the scheme x."""
    calls = {each.name: each.call for each in projecting(own_functions(), {"x": projection, "file": projection})}
    return calls["body_shown"](path, body), calls["body_short"](path, body)


def upper(_: str, body: str) -> str:
    return body.upper()


@pytest.mark.parametrize(
    ("projection", "path", "body", "expected"),
    [
        (Projection(summarized=upper), "x://a", "text", ("text", "TEXT")),
        (Projection(summarized=upper), "y://a", "text", ("text", None)),
        (Projection(visible=upper), "x://a", "text", ("TEXT", None)),
        (Projection(visible=upper), "x://a", "TEXT", ("TEXT", None)),
        (Projection(visible=upper, summarized=lambda path, _: path), "a/b.py", "text", ("TEXT", "a/b.py")),
        (Projection(lambda *_: "word " * 200), "x://a", "text", ("word " * 200, body_short("x://a", "word " * 200))),
        (Projection(lambda *_: None, lambda *_: None), "x://a", "text", ("text", None)),
        (Projection(explode, explode), "x://a", "text", ("text", None)),
        (Projection(lambda *_: 7, lambda *_: 7), "x://a", "text", ("text", None)),  # type: ignore[arg-type, return-value]
        (Projection(summarized=lambda *_: "long" * 999), "x://a", "text", ("text", ("long" * 999)[:500])),
        (Projection(lambda *_: "a\0b", lambda *_: "a\0b"), "x://a", "text", ("a\ufffdb", "a\ufffdb")),
        (Projection(explode, explode), "x://a", None, (None, None)),
    ],
)
def test_a_projection_replaces_the_engine_s_own_where_it_is_one(
    projection: Projection, path: str, body: str | None, expected: tuple[object, object]
) -> None:
    assert projected(projection, path, body) == expected
