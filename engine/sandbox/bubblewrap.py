"""Confines commands by bubblewrap (`bwrap`), which needs no rights but those to make user namespaces.

The file system is read-only, the project is writable, /tmp is its own and empty, and so is the home but for an allow-list.
Processes, network and System V objects outside do not exist. No right of root is left, and none can be had.

spec: @sandbox_limits
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path

from engine.errors import ValidationError
from engine.processes.confinement import ALL_NETWORK, Confined, Confinement
from engine.processes.guard import IF_THERE
from engine.system.places import home_folder, temporary_folder
from engine.system.secrets import masked
from engine.trust import trusted_folders

from . import bridge
from .proxy import Proxy
from .secrets_on_disk import Findings, homes, look, system_secrets
from .sharing import stand_ins

_UNSHARED = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
_ENDING = ("--die-with-parent", "--cap-drop", "ALL")
_OWN_FOLDERS = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108 - made anew, not used
# What names a socket outside, or a folder that is not there inside.
_TAKEN_OUT = (
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY"),
    *("WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST", "TMPDIR", "TMP", "TEMP"),
)
_PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")
_PLACES = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin:/run/wrappers/bin"
_TRY_SECONDS = 10
_ENVIRONMENTS = ("VIRTUAL_ENV", "CONDA_PREFIX")
_EXCHANGE = Path("/run/engine")
"""Where, inside, the socket of the proxy and the program are that leads to it."""


class Bubblewrap:
    """The sandbox of the engine on Linux."""

    name = "bubblewrap"

    def missing(self) -> str | None:
        """Why bubblewrap cannot be used here: it is not installed, or the system forbids what it needs."""
        return _try()[0]

    @contextmanager
    def confine(self, asked: Confinement) -> Iterator[Confined]:
        """See `Sandbox`. Raises `ValidationError` (400) for a root that is the whole file system, or of `ENGINE_TRUST`."""
        root = Path(os.path.realpath(asked.root))
        if root == Path("/"):
            raise ValidationError(
                "the working folder is the whole file system, which no sandbox can protect; choose another folder"
            )
        if asked.writable and root in trusted_folders.inside(root):
            raise ValidationError(
                f"{trusted_folders.VARIABLE} names {root}, the working folder, where a command could create a "
                "database; keep databases in another folder"
            )
        seen = partial(look, root, asked.database, asked.shown)
        with ExitStack() as stack:
            found = stack.enter_context(stand_ins(root, seen)) if asked.writable else seen(frozenset())
            arguments = [*_namespaces(asked), *_system(asked), *_project(root, found, writable=asked.writable)]
            environment: dict[str, str | None] = dict.fromkeys(_TAKEN_OUT)
            inside: list[str] = []
            refused: list[str] = []
            if asked.network and asked.network != ALL_NETWORK:
                proxy = stack.enter_context(Proxy(asked.network))
                refused = proxy.refused
                arguments += ["--ro-bind", str(proxy.socket.parent), str(_EXCHANGE)]
                inside = [
                    python_program(),
                    "-I",
                    "-S",
                    "-c",
                    Path(bridge.__file__).read_text("utf-8"),
                    str(_EXCHANGE / "proxy"),
                ]
                environment |= dict.fromkeys(_PROXIES, f"http://127.0.0.1:{bridge.PORT}")
            elif not asked.network:
                environment |= dict.fromkeys(_PROXIES)
            if not asked.writable:
                environment["GIT_OPTIONAL_LOCKS"] = "0"
            prefix = [
                _program() or "bwrap",
                *arguments,
                "--chdir",
                str(root),
                "--",
                *inside,
                *_counted(asked.limits.processes),
            ]
            yield Confined(prefix, environment, asked.limits, refused, _shell())


def _program() -> str | None:
    """The program of the system; one that lies in the project or on the user's path could be anybody's."""
    return shutil.which("bwrap", path=_PLACES)


def _counted(processes: int) -> list[str]:
    """Words in front of a command that limit the number of processes; set outside it would count those outside, too."""
    option = "u" if _shell().endswith("bash") else "p"
    limit = f"ulimit -{option} {processes}; " if processes else ""
    return [_shell(), "-c", f'{limit}exec "$@"', "sh"]


def _shell() -> str:
    """The shell of the system: one on the user's path may lie in a home, which is hidden inside."""
    return shutil.which("bash", path=_PLACES) or "/bin/sh"


def _namespaces(asked: Confinement) -> list[str]:
    network = [] if asked.network == ALL_NETWORK else ["--unshare-net"]
    return [*_UNSHARED, *network, *_try()[1], *_ENDING]


def _system(asked: Confinement) -> Iterator[str]:
    """The arguments for all but the project: read-only, without sockets, homes and keys."""
    # root owns the files of the kernel's settings there, also without any right of root
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc")
    hidden = [Path(folder) for folder in _OWN_FOLDERS if Path(folder).is_dir() and not Path(folder).is_symlink()]
    size = ["--size", str(asked.limits.memory)] if asked.limits.memory else []
    for folder in [*hidden, *_outermost(homes())]:
        yield from (*size, "--tmpfs", str(folder))
    if not any(name.is_relative_to("/run") for name in hidden):
        yield from (*size, "--tmpfs", "/run")
    for path in _visible(asked):
        yield from ("--ro-bind-try", str(path), str(path))
    for path in system_secrets():
        yield from ("--ro-bind", os.devnull, str(path))


def _visible(asked: Confinement) -> Iterator[Path]:
    """What of the hidden places can be read: names in the home, Python and where names of hosts are looked up."""
    home = Path(os.path.realpath(home_folder()))
    for name in asked.home:
        path = home / name
        if ".." not in path.parts and os.access(path, os.R_OK) and not path.is_symlink() and not _holds_key(path):
            yield path
    given = (sys.prefix, sys.base_prefix, *(os.environ.get(name) for name in _ENVIRONMENTS))
    pythons = {Path(os.path.realpath(path)) for path in given if path}
    # one that holds the home would bring all of it back
    yield from sorted(path for path in pythons if os.access(path, os.R_OK) and not home.is_relative_to(path))
    system = Path("/run/current-system")
    if system.exists():
        yield system
    resolver = Path(os.path.realpath("/etc/resolv.conf"))
    if asked.network == ALL_NETWORK and resolver.is_relative_to("/run"):
        yield resolver


def _holds_key(path: Path) -> bool:
    """Whether a small text such as .gitconfig holds what looks like a key."""
    if not path.is_file():
        return False
    with suppress(OSError, UnicodeDecodeError):
        text = path.read_text("utf-8")
        return masked(text) != text or "extraheader" in text.casefold()
    return True


def _project(root: Path, found: Findings, *, writable: bool) -> Iterator[str]:
    yield from ("--bind" if writable else "--ro-bind", str(root), str(root))
    if writable:
        for folder in sorted(found.anchored):
            yield from ("--bind", str(folder), str(folder))
        for path in sorted(found.kept):
            yield from ("--ro-bind", str(path), str(path))
        for path in sorted(found.placeholders):
            yield from ("--ro-bind", os.devnull, str(path))
    for folder in _outermost(found.folders | (found.empty if writable else set())):
        yield from ("--size", "4096", "--tmpfs", str(folder), "--remount-ro", str(folder))
    away = {*map(Path, _OWN_FOLDERS), *homes()}
    for path in sorted(found.files | found.sockets):
        is_there = root in path.parents or not away.intersection(path.parents)
        if is_there and not found.folders.intersection(path.parents):
            # many a socket is gone soon, and where one is gone nothing can be put in its place
            yield from (IF_THERE, "3") if path in found.sockets else ()
            yield from ("--ro-bind", os.devnull, str(path))


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """The folders that lie in no other one of them."""
    known = set(folders)
    return sorted(folder for folder in known if not known.intersection(folder.parents))


def python_program() -> str:
    """The Python that runs the engine's own programs in a sandbox."""
    return sys.executable if Path(sys.executable or "").name.startswith("python") else "python3"


@cache
def _try() -> tuple[str | None, list[str]]:
    """Run nothing in a sandbox: why that fails, and the arguments that not every version has."""
    program = _program()
    if sys.platform != "linux" or program is None:
        return "bwrap is not installed; install the package bubblewrap", []
    said = ""
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        for newer in (["--disable-userns"], []):
            words = [*_UNSHARED, "--unshare-net", *newer, *_ENDING, "--ro-bind", "/", "/", "--dev", "/dev"]
            words += [
                "--proc",
                "/proc",
                "--size",
                "4096",
                "--tmpfs",
                "/run",
                "--bind",
                folder,
                folder,
                "--",
                "/bin/true",
            ]
            try:
                done = subprocess.run(
                    [program, *words], capture_output=True, text=True, timeout=_TRY_SECONDS, check=False
                )
            except (OSError, subprocess.SubprocessError) as error:
                return f"bwrap cannot be started: {error}", []
            if done.returncode == 0:
                return None, newer
            said = said or done.stderr.strip().partition("\n")[0]
    return f"the system does not allow it: {said}", []
