"""Has git commit the files that a run has edited, and nothing else: never what somebody else has staged or changed.

All of it is one script in the sandbox that the commands of the run have: git runs the hooks and the filters of the
repository, and a command of the run may have put some there. `--sandbox off` is off for git, too.

spec: @commits
"""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import sandbox
from engine.functions.terminals import terminal_text
from engine.processes.shell import run_process
from engine.system.secrets import clean_environment

from .confinement import confinements

if TYPE_CHECKING:
    import threading
    from contextlib import AbstractContextManager

    from engine.db.database import Row, Store

_SECONDS = 600.0
_MOST_FILES = 500
_MOST_REASON = 2_000
_MOST_OUTPUT = 200_000
_CHOICE = "select choice from _sandbox_choices where command_id = ?"
_LEFT_OUT = {
    "ignored": "is ignored by git",
    "yours": "had changes that were not committed",
    "staged": "is staged",
    "since": "was changed since",
}
_SCRIPT = r"""
export GIT_LITERAL_PATHSPECS=1 GIT_EDITOR=true GIT_TERMINAL_PROMPT=0 LC_ALL=C
exec 3>&1 1>&2
git rev-parse --git-dir > /dev/null || exit 90
for name in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD rebase-merge rebase-apply; do
    if test -e "$(git rev-parse --git-path "$name")"; then echo "middle $name" >&3; exit 0; fi
done
folder=$(mktemp -d) || exit 91
trap 'rm -rf "$folder"' EXIT
: > "$folder/paths"; : > "$folder/new"
hash() { sha256sum | cut -c1-64; }
look() {
    number=$1 path=$2 after=$3; shift 3
    if GIT_LITERAL_PATHSPECS=0 git check-ignore -q -- "$path"; then echo "out $number ignored" >&3; return; fi
    head=-
    if git cat-file -e "HEAD:$path" 2> /dev/null; then head=$(git cat-file --filters "HEAD:$path" | hash); fi
    case " $* " in *" $head "*) ;; *) echo "out $number yours" >&3; return ;; esac
    if ! git diff --cached --quiet -- "$path"; then echo "out $number staged" >&3; return; fi
    now=-
    if test -f "$path" && ! test -L "$path"; then now=$(hash < "$path"); fi
    if test "$now" != "$after"; then echo "out $number since" >&3; return; fi
    if test "$now" = "$head"; then return; fi
    if test -z "$(git ls-files -- "$path")"; then printf '%s\0' "$path" >> "$folder/new"; fi
    printf '%s\0' "$path" >> "$folder/paths"
}
finish() {
    if ! test -s "$folder/paths"; then echo nothing >&3; exit 0; fi
    if test -s "$folder/new"; then git add -N --pathspec-from-file="$folder/new" --pathspec-file-nul || exit 92; fi
    if git commit -q --cleanup=whitespace --only -F - --pathspec-from-file="$folder/paths" --pathspec-file-nul; then
        echo "hash $(git rev-parse HEAD)" >&3
    else
        code=$?
        if test -s "$folder/new"; then git rm -q --cached --pathspec-from-file="$folder/new" --pathspec-file-nul; fi
        exit "$code"
    fi
}
"""


def perform(db: Store, stopped: threading.Event, effect: Row) -> dict[str, Any]:
    """Commit the files of an effect; returns the columns of its `_finish_effect`. That git refuses fails nothing."""
    detail = json.loads(effect["detail"])
    files = detail["files"]
    root = effect["root"] and Path(effect["root"])
    top = root and next((each for each in (root, *root.parents) if (each / ".git").exists()), None)
    if root is None or top is None:
        return _told(reason=f"{root or 'this run'} is in no git repository")
    if len(files) > _MOST_FILES:
        return _told(reason=f"{len(files)} files are too many; {_MOST_FILES} is the most")
    looks = [_look(number, file) for number, file in enumerate(files)]
    said: dict[int, list[str]] = {1: [], 2: []}
    environment = {name: value for name, value in clean_environment(os.environ).items() if not _is_about_git(name)}
    with _place(db, effect["command_id"], top) as confined, tempfile.TemporaryFile() as message:
        message.write(detail["message"].encode())
        message.seek(0)
        result = run_process(
            "\n".join([_SCRIPT, *looks, "finish"]),
            cwd=root,
            timeout_s=_SECONDS,
            on_start=lambda _: None,
            on_output=lambda channel, text: said[channel].append(text),
            cancelled=stopped,
            environment=environment,
            max_output=_MOST_OUTPUT,
            confined=confined,
            given=message.fileno(),
        )
    errors = terminal_text("".join(said[2])).strip()[-_MOST_REASON:]
    return _read("".join(said[1]), files, result.message or errors or f"git exits with {result.exit_code}")


def _look(number: int, file: dict[str, Any]) -> str:
    """The line of the script that looks at a file."""
    words = [f"./{file['path']}", file["after"], *file["known"]]
    return " ".join(["look", str(number), *map(shlex.quote, words)])


def _is_about_git(name: str) -> bool:
    """Whether a variable leads git to another repository or index, as in one of its hooks."""
    return name.startswith("GIT_") and not name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG_GLOBAL"))


def _place(db: Store, command_id: int, top: Path) -> AbstractContextManager[Any]:
    """The sandbox in which the repository may be written; `auto` does without where there is none."""
    choice = db.value(_CHOICE, (command_id,))
    if choice == "off":
        return nullcontext()
    found, reason = sandbox.find(choice)
    if found is not None:
        return found.confine(confinements(db)(top, ""))
    if choice != "auto":
        raise sandbox.SandboxMissing(f"it needs a sandbox, and none is available ({reason})")
    return nullcontext()


def _read(printed: str, files: list[dict[str, Any]], reason: str) -> dict[str, Any]:
    """What the script said, as the columns of `_finish_effect`."""
    left_out: dict[str, str] = {}
    for line in printed.splitlines():
        match line.split(" "):
            case ["out", number, why]:
                left_out[files[int(number)]["path"]] = _LEFT_OUT[why]
            case ["hash", found]:
                return _told(hash=found, left_out=left_out)
            case ["middle", what]:
                return _told(
                    reason=f"git is in the middle of a {_word(what)}; finish it, and the next commit holds this"
                )
            case ["nothing"]:
                return _told(left_out=left_out, reason="no file is left" if left_out else None)
    return _told(reason=reason, left_out=left_out)


def _word(name: str) -> str:
    return (
        name.removesuffix("_HEAD").lower().replace("_", "-").split("-", 1)[0]
        if name != "CHERRY_PICK_HEAD"
        else "cherry-pick"
    )


def _told(**detail: Any) -> dict[str, Any]:
    return {"state": "resolved", "message": "", "detail": {key: value for key, value in detail.items() if value}}
