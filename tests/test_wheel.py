"""What is installed from the wheel, and from the folder itself, runs outside of this tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "tests")
OPEN = "import engine, sys; db = engine.open(sys.argv[1]); print(engine.__file__); db.close()"

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """Run `command` in `cwd` without this process's Python settings; return or fail with its output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} exited with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project to build in: building leaves files behind."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("source") / "engine", ignore=LEFT_OUT))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from `source`."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", out, cwd=source)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_all_sql_and_templates(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    for folder, kinds in (("sql", ("*.sql",)), ("templates", ("*.md", "*.j2")), ("functions", ("*.py",))):
        files = {path.relative_to(ROOT) for kind in kinds for path in (ROOT / folder).rglob(kind)}
        assert files
        assert {f"engine/{path.as_posix()}" for path in files} <= packed


def test_the_wheel_brings_one_top_level_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"engine"}


def test_an_earlier_build_brings_no_removed_file_back(source: Path, wheel: Path, tmp_path: Path) -> None:
    left = source / "build" / "lib" / "engine" / "sql" / "999_removed.sql"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_text("this is no SQL;")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, source, cwd=tmp_path)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as built, zipfile.ZipFile(wheel) as first:
        assert sorted(built.namelist()) == sorted(first.namelist())


@pytest.mark.parametrize("kind", ["wheel", "folder"])
def test_an_installed_engine_runs_elsewhere(kind: str, source: Path, wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    target = {"wheel": wheel, "folder": source}[kind]
    run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", target, cwd=tmp_path)

    assert run(tmp_path / "venv" / "bin" / "engine", "--version", cwd=tmp_path).strip()
    where = run(python, "-c", OPEN, tmp_path / "agent.db", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path / "venv")
    assert (tmp_path / "agent.db").stat().st_size > 0
