"""What is installed from the wheel, and from the folder itself, runs outside of this tree."""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

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


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project to build in: building leaves files behind."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("source") / "engine", ignore=LEFT_OUT))


@pytest.fixture(scope="session")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from `source`."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", out, cwd=source)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def wheel_of_folder(source: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip makes of the folder, in which an earlier build has left a file that was removed since."""
    left = source / "build" / "lib" / "engine" / "sql" / "people" / "999_removed.sql"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_text("this is no SQL;")
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", out, source, cwd=out)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_all_sql_and_templates(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    for folder, kinds in (
        ("sql", ("*.sql",)),
        ("templates", ("*.md", "*.j2", "*.yaml", "*.jsonc", "*.css", "*.js", "*.svg")),
        ("functions", ("*.py",)),
    ):
        files = {path.relative_to(ROOT) for kind in kinds for path in (ROOT / folder).rglob(kind)}
        assert files
        assert {f"engine/{path.as_posix()}" for path in files} <= packed


def test_the_wheel_brings_one_top_level_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"engine"}


def test_an_earlier_build_brings_no_removed_file_back(wheel: Path, wheel_of_folder: Path) -> None:
    with zipfile.ZipFile(wheel_of_folder) as built, zipfile.ZipFile(wheel) as first:
        assert packed(built) == packed(first)


def packed(archive: zipfile.ZipFile) -> list[tuple[str, bytes]]:
    """Each file of a wheel with its bytes; RECORD names them in any order."""
    return sorted(
        (name, b"\n".join(sorted(data.splitlines())) if name.endswith("/RECORD") else data)
        for name in archive.namelist()
        for data in [archive.read(name)]
    )


def test_an_installed_engine_runs_elsewhere(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "-q", "--no-index", "--no-deps", wheel, cwd=tmp_path)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    link_what_is_declared(wheel, site)

    assert run(tmp_path / "venv" / "bin" / "engine", "--version", cwd=tmp_path).strip()
    where = run(python, "-c", OPEN, tmp_path / "agent.db", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path / "venv")
    assert (tmp_path / "agent.db").stat().st_size > 0


APP = """\
import engine

with engine.open("agent.db") as db:
    print(db.run("Hi", max_turns=3).answer)
    db.run("Hi", modle="x")  # wrong
    for event in db.events("demo"):
        print(event["tpye"])  # wrong
"""


@pytest.fixture(scope="session", params=["wheel", "editable"])
def typed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the engine, from the wheel or from the folder as CONTRIBUTING says."""
    place = tmp_path_factory.mktemp("typed") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", place, cwd=place.parent)
    pip = (sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "-q", "--no-deps")
    if request.param == "wheel":
        run(*pip, "--no-index", request.getfixturevalue("wheel"), cwd=place.parent)
    else:
        source = request.getfixturevalue("source")
        run(*pip, "--config-settings", "editable_mode=strict", "-e", source, cwd=place.parent)
    return place / "bin" / "python"


@pytest.fixture(scope="session")
def pyright(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pyright, with its own Node, of the package index."""
    place = tmp_path_factory.mktemp("pyright") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", place, cwd=place.parent)
    pip = (sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "-q")
    done = subprocess.run([*pip, "pyright[nodejs]"], cwd=place.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no package index has pyright")
    return place / "bin" / "pyright"


def wrong_lines() -> set[int]:
    return {number for number, line in enumerate(APP.splitlines(), 1) if "# wrong" in line}


def test_mypy_finds_the_types_of_an_installed_engine(typed: Path, tmp_path: Path) -> None:
    """Of an editable install it found no module: setuptools maps the folders by a hook that only Python follows."""
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    words = ["--python-executable", str(typed), "--follow-imports=silent", "--ignore-missing-imports", "app.py"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "import-not-found" not in done.stdout
    assert {int(number) for number in re.findall(r"^app\.py:(\d+): error:", done.stdout, re.MULTILINE)} == wrong_lines()


def test_pyright_finds_the_types_of_an_installed_engine(typed: Path, pyright: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    words = ["--pythonpath", str(typed), "--outputjson", "app.py"]
    done = subprocess.run([pyright, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}
    assert lines == wrong_lines(), found


def link_what_is_declared(wheel: Path, site: Path) -> None:
    """Put into `site` what the wheel requires, and what that requires, as it is installed here; and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    waiting, seen = [(text, "") for text in metadata.get_all("Requires-Dist", [])], set[tuple[str, str]]()
    while waiting:
        text, extra = waiting.pop()
        requirement = Requirement(text)
        if (text, extra) in seen or not (requirement.marker is None or requirement.marker.evaluate({"extra": extra})):
            continue
        seen.add((text, extra))
        found = distribution(requirement.name)
        assert requirement.specifier.contains(found.version, prereleases=True), (text, found.version)
        waiting += [(each, own) for each in found.requires or () for own in ("", *requirement.extras)]
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(found.locate_file(top))).resolve())
    assert len(seen) > 10
