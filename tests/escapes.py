"""Attempts to get out of a sandbox; test_sandbox_escapes.py runs this text in one. Prints those that succeeded, as JSON."""

import ctypes
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

given = json.loads(sys.argv[1])
outside, root, pid = Path(given["outside"]), Path(given["root"]), given["pid"]
libc = ctypes.CDLL(None, use_errno=True)
managed = []


def attempt(name):
    def run(function):
        child = os.fork()  # one that gains or loses something does not change the others
        if child == 0:
            try:
                os._exit(0 if function() is not False else 1)
            except (OSError, ValueError, IndexError):
                os._exit(1)
        if os.waitpid(child, 0)[1] == 0:
            managed.append(name)

    return run


def called(number):
    if number != 0:
        raise OSError(ctypes.get_errno())


def reads(path):
    return given["secret"] in Path(path).read_text(errors="replace")


def connects(family, address):
    with socket.socket(family) as client:
        client.settimeout(5)
        client.connect(address)


def shell(line):
    return subprocess.run(line, shell=True, capture_output=True).returncode == 0


attempt("write outside")(lambda: (outside / "new").write_text("x"))
attempt("write over outside")(lambda: (outside / "kept").write_text("x"))
attempt("remove outside")(lambda: (outside / "kept").unlink())
attempt("write by a link")(lambda: (root / "link" / "new").write_text("x"))
attempt("write by /proc/1/root")(lambda: Path(f"/proc/1/root{outside}/new").write_text("x"))
attempt("write in /etc")(lambda: Path("/etc/engine-escape").write_text("x"))
attempt("write in /usr")(lambda: Path("/usr/engine-escape").write_text("x"))
attempt("write in /var")(lambda: Path("/var/engine-escape").write_text("x"))
attempt("write beside the project")(lambda: (root.parent / "engine-escape").write_text("x") and False)
attempt("mount writable again")(lambda: called(libc.mount(b"none", b"/", None, 32 | 4096, None)))
attempt("unmount what hides")(lambda: called(libc.umount2(os.fsencode(root / ".env"), 2)))
attempt("new user namespace")(lambda: called(libc.unshare(0x10000000)))
attempt("change root")(lambda: os.chroot("/tmp"))
attempt("make a device")(lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(8, 0)))
attempt("change core_pattern")(lambda: open("/proc/sys/kernel/core_pattern", "r+").close())
attempt("ask for a reboot")(lambda: os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY)))
attempt("change settings of the kernel")(
    lambda: any(
        os.access(os.path.join(folder, name), os.W_OK)
        for top in ("/proc/sys", "/proc/irq", "/proc/fs", "/proc/acpi", "/sys/kernel")
        for folder, _, names in os.walk(top)
        for name in names
    )
)
attempt("become root")(
    lambda: (
        os.setresuid(0, 0, 0)
        or any(
            int(line[7:], 16)
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith(("CapEff", "CapPrm", "CapBnd"))
        )
    )
)
attempt("setuid program")(
    lambda: shell("cp /bin/sh ./s && chmod 4755 ./s && ./s -p -c 'grep -q ^CapEff:.*[1-9a-f] /proc/self/status'")
)

attempt("read .env")(lambda: reads(root / ".env"))
attempt("read .env below")(lambda: reads(root / "deep" / "er" / ".env.local"))
attempt("read .env by another name")(lambda: reads(root / "hard"))
attempt("read .env by a link")(lambda: reads(root / "soft"))
attempt("read .env by moving it")(
    lambda: (os.rename(root / "deep", root / "moved"), reads(root / "moved" / "er" / ".env.local"))[1]
)
attempt("remove .env")(lambda: (root / ".env").unlink())
attempt("read the database")(lambda: any(reads(root / "data" / name) for name in ("agent.db", "agent.db-wal")))
attempt("plant a journal")(lambda: (root / "data" / "agent.db-journal").write_text("x"))
attempt("swap the database")(lambda: os.rename(root / "data", root / "data2"))
attempt("plant .engine")(lambda: (root / ".engine" / "engine.db").write_text("x"))
attempt("swap .engine")(lambda: os.rename(root / ".engine", root / "x.engine"))
attempt("read home")(lambda: reads(Path(given["home"]) / ".ssh" / "id_ed25519"))
attempt("read home by a link")(lambda: reads(root / "to_home" / ".ssh" / "id_ed25519"))
attempt("read key in the project")(lambda: reads(root / ".ssh" / "key"))
attempt("read /etc/shadow")(lambda: bool(Path("/etc/shadow").read_text()))
attempt("read another's /tmp")(lambda: outside.exists() and str(outside).startswith("/tmp"))

attempt("TCP")(lambda: connects(socket.AF_INET, ("127.0.0.1", given["port"])))
attempt("TCP outside")(lambda: connects(socket.AF_INET, ("192.0.2.1", 80)))
attempt("unix socket in the project")(lambda: connects(socket.AF_UNIX, str(root / "s.sock")))
attempt("unix socket outside")(lambda: connects(socket.AF_UNIX, given["socket"]))
attempt("abstract socket")(lambda: connects(socket.AF_UNIX, "\0" + given["abstract"]))
attempt("sockets in /run")(lambda: bool(os.listdir("/run")))


def outer():
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19] == given["started"]


attempt("signal the engine")(lambda: outer() and os.kill(pid, 0))
attempt("read the engine's environment")(
    lambda: any(
        given["secret"] in Path(p).read_bytes().decode(errors="replace") for p in Path("/proc").glob("[0-9]*/environ")
    )
)
attempt("trace the engine")(lambda: outer() and called(libc.ptrace(16, pid, 0, 0)))
attempt("see other processes")(lambda: len(list(Path("/proc").glob("[0-9]*"))) > 20)

git = root / ".git"
attempt("git config")(lambda: (git / "config").write_text("x"))
attempt("git hook")(lambda: (git / "hooks" / "pre-commit").write_text("x"))
attempt("swap git config")(lambda: [(root / "c").write_text("x"), os.replace(root / "c", git / "config")] and True)
attempt("swap .git")(lambda: os.rename(git, root / "git2"))
attempt("remove git hooks")(lambda: os.rename(git / "hooks", git / "h2"))
attempt("work tree config")(lambda: (git / "config.worktree").write_text("x"))
attempt("git file of a submodule")(lambda: (root / "sub" / ".git").write_text("gitdir: ../evil"))
attempt("swap the folder of a submodule")(lambda: os.rename(root / "sub", root / "sub2"))
attempt("config of a submodule")(lambda: (git / "modules" / "sub" / "config").write_text("x"))
attempt("hooks of a submodule that has none")(lambda: (git / "modules" / "sub" / "hooks").mkdir())
attempt("hook of a submodule")(lambda: (git / "modules" / "sub" / "hooks" / "x").write_text("x"))
attempt("swap modules")(lambda: os.rename(git / "modules", git / "m2"))
attempt("lead git elsewhere")(lambda: (git / "commondir").write_text("../evil") and False)
print(json.dumps(managed))
