"""Servers that other programs keep: each key of each of them is taken over, or named.

spec: @mcp_import
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from engine_cli import engine
from hypothesis import given
from hypothesis import strategies as st

from engine.config.mcp_json import read_servers
from engine.config.mcp_taken import taken


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def listed(folder: Path) -> dict[str, Any]:
    return {each["server"]: each["settings"] for each in json.loads(engine(folder, "mcp", "list", "--json").stdout)}


def test_a_file_with_comments_and_every_key_of_cursor_and_vs_code(folder: Path) -> None:
    (folder / "mcp.json").write_text(
        """{
  // what the team uses
  "inputs": [{"id": "tracker-token", "type": "promptString", "password": true}],
  "servers": {
    "files": {"type": "stdio", "command": "npx", "args": ["-y", "files", "${workspaceFolder}/docs"],
              "envFile": "${workspaceFolder}/.env", "autoApprove": ["read"], "disabled": false,},
    "tracker": {"type": "http", "url": "https://${TRACKER_HOST}/mcp", "enabled": false,
                "headers": {"Authorization": "Bearer ${input:tracker-token}"}, "tools": ["list_*"]},
    "old": {"type": "sse", "url": "https://old.example/sse"},
    "odd": {"command": "x", "args": ["${command:pick}"], "gallery": true}
  }
}""",
        encoding="utf-8",
    )
    found = engine(folder, "mcp", "import", "mcp.json")
    assert found.returncode == 1
    assert "files, envFile: is not read" in found.stderr
    assert "files, autoApprove: is not imported" in found.stderr
    assert "set the variable TRACKER_TOKEN" in found.stderr
    assert "old: type 'sse' is not supported" in found.stderr
    assert "odd: command has '${command:pick}'" in found.stderr
    assert "odd, gallery: not taken over" in found.stderr
    assert listed(folder) == {
        "files": {"command": ["npx", "-y", "files", "./docs"], "enabled": True},
        "tracker": {
            "url": "https://${env:TRACKER_HOST}/mcp",
            "enabled": False,
            "headers": {"Authorization": "Bearer ${env:TRACKER_TOKEN}"},
            "tools": ["list_*"],
        },
    }


FILES = {
    "zed.json": (
        '{"context_servers": {"a": {"command": {"path": "run", "args": ["x"], "env": {"A": "1"}}, "settings": {}},'
        ' "b": {"source": "custom", "command": "run", "args": []}}}',
        {"a": {"command": ["run", "x"], "env": {"A": "1"}}, "b": {"command": ["run"]}},
    ),
    "opencode.json": (
        '{"mcp": {"a": {"type": "local", "command": ["run", "x"], "environment": {"K": "{env:K}"}, "enabled": true,'
        ' "timeout": 5000}, "b": {"type": "remote", "url": "https://b.example"}}}',
        {
            "a": {"command": ["run", "x"], "env": {"K": "${env:K}"}, "enabled": True, "timeout": 5},
            "b": {"url": "https://b.example"},
        },
    ),
    "config.toml": (
        'model = "x"\n[mcp_servers.a]\ncommand = "run"\nargs = ["x"]\nenv_vars = ["HOME"]\nstartup_timeout_ms = 2000\n'
        'enabled_tools = ["t"]\ndisabled_tools = ["u"]\ntool_timeout_sec = 90\n[mcp_servers.b]\n'
        'url = "https://b.example"\nbearer_token_env_var = "B_TOKEN"\nenv_http_headers = { "X-K" = "K" }\n',
        {
            "a": {
                "command": ["run", "x"],
                "env": {"HOME": "${env:HOME}"},
                "connect_timeout": 2,
                "tools": ["t"],
                "hide": ["u"],
                "timeout": 90,
            },
            "b": {"url": "https://b.example", "headers": {"Authorization": "Bearer ${env:B_TOKEN}", "X-K": "${env:K}"}},
        },
    ),
    "gemini.json": (
        '{"mcpServers": {"a": {"httpUrl": "https://a.example", "includeTools": ["t"], "excludeTools": ["u"]}}}',
        {"a": {"url": "https://a.example", "tools": ["t"], "hide": ["u"]}},
    ),
    "settings.json": ('{"mcp": {"servers": {"a": {"command": "run"}}}}', {"a": {"command": ["run"]}}),
    "continue.yaml": (
        "name: x\nmcpServers:\n  - name: a\n    command: run\n    args:\n      - y\n",
        {"a": {"command": ["run", "y"]}},
    ),
    "pasted.json": ('{"a": {"command": "run"}}', {"a": {"command": ["run"]}}),
    "bom.json": ('\ufeff{"mcpServers": {"a": {"command": "run"}}}', {"a": {"command": ["run"]}}),
}


@pytest.mark.parametrize("name", FILES)
def test_the_files_of_other_programs_are_read(folder: Path, name: str) -> None:
    text, expected = FILES[name]
    (folder / name).write_text(text, encoding="utf-8")
    found = engine(folder, "mcp", "import", name)
    assert found.returncode == 0, found.stderr
    assert listed(folder) == expected


def test_an_address_may_be_a_variable_as_a_whole(folder: Path) -> None:
    (folder / "mcp.json").write_text('{"mcpServers": {"a": {"url": "${A_URL}"}}}', encoding="utf-8")
    assert engine(folder, "mcp", "import", "mcp.json").returncode == 0
    assert listed(folder) == {"a": {"url": "${env:A_URL}"}}
    shown = engine(folder, "mcp", "show", "a", env={"A_URL": "ftp://x"}).stderr
    assert "is not an http or https address" in shown


def test_a_file_without_servers_says_so(folder: Path) -> None:
    (folder / "mcp.json").write_text('{"mcpServers": {}}', encoding="utf-8")
    assert "contains no server" in engine(folder, "mcp", "import", "mcp.json").stderr


def test_a_value_of_another_type_is_named_and_never_shown(folder: Path) -> None:
    (folder / "mcp.json").write_text(
        json.dumps({"mcpServers": {"a": {"command": "run", "headers": ["sk-secret"], "timeout": "long", "env": 3}}}),
        encoding="utf-8",
    )
    said = engine(folder, "mcp", "import", "mcp.json").stderr
    for key in ("headers", "timeout", "env"):
        assert f"a, {key}: is not imported, because it is" in said
    assert "sk-secret" not in said


KEYS = [
    *("command", "args", "env", "cwd", "url", "headers", "type", "tools", "timeout", "enabled", "disabled", "envFile"),
    *("serverUrl", "httpUrl", "environment", "trust", "autoApprove", "alwaysAllow", "oauth", "bearer_token_env_var"),
    *("env_vars", "description", "icon", "inputs", "source", "settings", "x-own"),
]
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5_000), st.sampled_from(["x", "${NAME}", "stdio", "sse"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["A", "b"]), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8))
def test_no_key_of_a_server_is_lost_in_silence(data: dict[str, Any]) -> None:
    made = taken(data)
    if made.problem:
        return
    named = ", ".join(note.partition(": ")[0] for note in made.notes).split(", ")
    ours = {
        **{"args": "command", "serverUrl": "url", "httpUrl": "url", "environment": "env", "disabled": "enabled"},
        **{"bearer_token_env_var": "headers", "env_vars": "env"},
    }
    for key, value in data.items():
        if value in (None, "", [], {}) or (value is False and key in ("trust", "autoApprove", "alwaysAllow")):
            continue
        is_said = key in named or ours.get(key, key) in made.table
        assert is_said or key in ("type", "source", "command", "args") or f"{key}." in str(made.notes), (key, made)


@given(st.text(max_size=200))
def test_no_file_raises_anything_but_what_it_says(text: str) -> None:
    from engine.errors import ValidationError

    place = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path("/tmp")
    for suffix in (".json", ".toml", ".yaml"):
        file = place / f"engine-import-{abs(hash(text))}{suffix}"
        file.write_text(text, encoding="utf-8", errors="replace")
        try:
            list(read_servers(file))
        except ValidationError:
            pass
        finally:
            file.unlink()
