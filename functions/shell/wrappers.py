"""Programs that run another one that their arguments name: which of their words belong to themselves, and which to it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple


class Wrapper(NamedTuple):
    """A program that runs another: its options that take a value, how many words stand before that program, and its options
    without a value. With an option that is none of these, any later word may be the program.
    """

    valued: str = ""
    before: int = 0
    flags: str = ""


_PLAIN = Wrapper()
WRAPPERS = {
    "sudo": Wrapper(
        "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot",
        0,
        "-A -b -E -H -i -k -K -n -P -S -s --askpass --non-interactive --preserve-env --set-home --stdin",
    ),
    "doas": Wrapper("-u -C -a", 0, "-n -s -L"),
    "pkexec": Wrapper("--user", 0, "--disable-internal-agent --keep-cwd"),
    "env": Wrapper("-u -C -S -a --unset --chdir --split-string --argv0", 0, "-i -0 -v - --ignore-environment --debug"),
    "nohup": _PLAIN,
    "setsid": Wrapper("", 0, "-c -f -w --ctty --fork --wait"),
    "time": Wrapper("-f -o --format --output", 0, "-p -v -a -q --portability --verbose --append --quiet"),
    "nice": Wrapper("-n --adjustment"),
    "ionice": Wrapper("-c -n -p --class --classdata", 0, "-t --ignore"),
    "chrt": Wrapper("-T -P -D", 1, "-b -d -f -i -o -r -R -a -v"),
    "taskset": Wrapper("", 1, "-a -c --all-tasks --cpu-list"),
    "timeout": Wrapper("-s -k --signal --kill-after", 1, "-v --verbose --foreground --preserve-status"),
    "stdbuf": Wrapper("-i -o -e --input --output --error"),
    "xargs": Wrapper(
        "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars",
        0,
        "-0 -r -t -p -x -o --null --no-run-if-empty --verbose --exit --open-tty",
    ),
    "exec": Wrapper("-a", 0, "-c -l"),
    "command": Wrapper("", 0, "-p"),
    "builtin": _PLAIN,
    "coproc": _PLAIN,
    "chroot": Wrapper("--userspec --groups", 1, "--skip-chdir"),
    "unshare": Wrapper("-S -G -w --wd", 0, "-m -u -i -n -p -U -C -T -f -r -c"),
    "nsenter": Wrapper("-t -S -G --target"),
    "strace": Wrapper(
        "-e -o -p -s -u -a -E -I -O -P -S -b -X -U", 0, "-f -ff -c -C -q -qq -r -t -tt -T -v -V -x -xx -y -yy -i -k -w"
    ),
    "ltrace": Wrapper("-e -o -p -s -u -n -a -l -x -A -D -F", 0, "-f -c -C -S -r -t -T -i -L -b"),
    "flock": Wrapper(
        "-w -E --timeout --wait --conflict-exit-code", 1, "-s -x -e -n -u -o -F --shared --exclusive --nonblock"
    ),
    "runuser": Wrapper("-u -g -G -c -s -w --user --group --supp-group --command --shell --whitelist-environment"),
    "busybox": _PLAIN,
    "toybox": _PLAIN,
    "uv": Wrapper("-p --project --directory --with --python --extra --group --package --env-file"),
    "setpriv": Wrapper(
        "--ruid --euid --reuid --rgid --egid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits "
        "--pdeathsig --ptracer --selinux-label --apparmor-profile --landlock-access --landlock-rule --seccomp-filter",
        0,
        "--clear-groups --keep-groups --init-groups --no-new-privs --reset-env --nnp",
    ),
    "prlimit": Wrapper("-p -o --pid --output", 0, "--noheadings --raw --verbose"),
    "choom": Wrapper("-n -p --adjust --pid"),
    "unbuffer": Wrapper("", 0, "-p"),
    "npx": Wrapper("-p -c -w --package --call --workspace", 0, "-y -q --yes --no --quiet"),
    "entr": Wrapper("", 0, "-a -c -cc -d -dd -n -p -r -x -z"),
    "numactl": Wrapper("-i -m -N -C -l --interleave --membind --cpunodebind --physcpubind"),
    "systemd-run": Wrapper("-u -p -M -E -H --unit --property --machine --setenv --uid --gid --slice --description"),
    "catchsegv": _PLAIN,
    "fakeroot": Wrapper("-l -s -i -b -u --lib --faked"),
    "faketime": Wrapper("", 1, "-m -f"),
    "chpst": Wrapper("-u -U -e -/ -n -l -L -m -d -o -p -f -c -r -t"),
    "gosu": Wrapper("", 1),
    "su-exec": Wrapper("", 1),
    "setarch": Wrapper("", 1, "-R -v --addr-no-randomize --verbose"),
    "linux32": Wrapper("", 0, "-R -v"),
    "linux64": Wrapper("", 0, "-R -v"),
    "cpulimit": Wrapper("-l -p -e -c --limit", 0, "-f -i -z -q --foreground"),
    "valgrind": _PLAIN,
    "rlwrap": Wrapper("-a -b -f -H -p -s -S"),
    "tini": Wrapper("-e -p", 0, "-s -g -v -w"),
    "dumb-init": Wrapper("-r", 0, "-c -v"),
    "chronic": Wrapper("", 0, "-v -e"),
    "torsocks": _PLAIN,
    "torify": _PLAIN,
    "proxychains": Wrapper("-f", 0, "-q"),
    "proxychains4": Wrapper("-f", 0, "-q"),
    "xvfb-run": Wrapper("-e -f -n -p -s -w", 0, "-a --auto-servernum"),
    "dbus-run-session": Wrapper("--config-file --dbus-daemon"),
    "ssh-agent": Wrapper("-a -t -P -E"),
    "direnv": Wrapper("", 1),
    "conda": Wrapper("-n -p --name --prefix --cwd"),
    "micromamba": Wrapper("-n -p -e --name --prefix --cwd"),
    "bunx": Wrapper("-p --package"),
    "uvx": Wrapper("-p --from --with --python --index"),
    "pipx": Wrapper("--spec --python"),
}
"""By the name of the program."""
_LOADERS = ("ld-linux*", "ld-musl*", "ld.so*", "ld-2.*", "qemu-*")
"""Names of programs that load another one: the dynamic linker, and emulators."""
_LOADER = Wrapper(
    "--library-path --preload --audit --argv0 --inhibit-rpath --glibc-hwcaps-prepend -L -E -0", 0, "--list"
)
JOINS = {
    "eval": _PLAIN,
    "watch": Wrapper("-n --interval"),
    "hyperfine": Wrapper("-w -m -M -r -s -p -c -n --warmup --runs --min-runs --setup --prepare --cleanup --shell"),
}
"""Programs that run their arguments, joined by blanks, as a command line."""
SPLITS = {
    "env": ("-S", "--split-string"),
    "script": ("-c", "--command"),
    "flock": ("-c", "--command"),
    "su": ("-c", "--command"),
    "sg": ("-c", "--command"),
    "runuser": ("-c", "--command"),
    "npx": ("-c", "--call"),
    "nix-shell": ("--run", "--command"),
    "compgen": ("-C", "--no-long-form"),
    "mapfile": ("-C", "--no-long-form"),
    "readarray": ("-C", "--no-long-form"),
}
"""Options of programs whose value is a command line."""
RUNS = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "conda", "micromamba", "pipx", "op", "doppler"), "run"),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bundle", "mise", "asdf", "rbenv", "pyenv", "direnv", "aws-vault"), "exec"),
}
"""Programs that run another behind this word."""


def wrapper_of(name: str) -> Wrapper | None:
    """How the program of this name runs another; None for one that runs none."""
    if name in WRAPPERS:
        return WRAPPERS[name]
    return _LOADER if any(fnmatchcase(name, each) for each in _LOADERS) else None
