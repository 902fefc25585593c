"""A project's folder: what may be touched in it, and that reading and writing keep every byte.

Which files are members is in test_membership.py.
"""

import hashlib
import os
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import Conflict, EngineError, NotFound, PermissionDenied, ValidationError
from engine.project.membership import KeyFiles
from engine.project.workspace import FileRead, Workspace

NOBODY = 65534


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def without_privileges(*owned: Path) -> Iterator[None]:
    """As a user whom modes stop, as root is not: the owner of `owned`, let through the folders above."""
    if os.geteuid() != 0:
        yield
        return
    modes = {above: above.stat().st_mode for above in owned[0].parents}
    for path in owned:
        os.chown(path, NOBODY, NOBODY)
    for above, mode in modes.items():
        above.chmod(mode | 0o011)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        for above, mode in modes.items():
            above.chmod(mode)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(root)


# --- the root


def test_a_missing_root_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"404 no such folder: .*none.*create it"):
        Workspace(tmp_path / "none")


def test_a_relative_root_is_that_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "work").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / name)
        assert Workspace.at("work", tmp_path / "a.db").root == (tmp_path / name / "work").resolve()


def test_a_file_as_root_is_a_validation_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValidationError, match="400 not a folder"):
        Workspace(tmp_path / "file")


def test_an_unreadable_root_is_refused(root: Path) -> None:
    root.chmod(0)
    with without_privileges(root), pytest.raises(PermissionDenied, match=r"403 cannot read the folder"):
        Workspace(root)
    root.chmod(0o700)


def test_a_linked_root_is_its_real_folder(tmp_path: Path, root: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    workspace = Workspace(tmp_path / "link")
    assert workspace.root == root
    workspace.write("a", "x", before=None)
    assert (root / "a").read_text() == "x"


# --- resolve


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "/", "//", "/etc/passwd", "..", "../root", "../root-x/a", "a/../../b", "a/../b", "a/.."),
        *("a\0b", "a\ud800", "a\udcff"),
        *(".git", ".git/config", "sub/.git/hooks/pre-commit", ".engine/agent.db", "./.engine", ".GIT/config"),
    ],
)
def test_a_path_that_leaves_the_root_is_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(PermissionDenied, match=r"403 .*only files inside the root") as refused:
        workspace.resolve(path)
    assert repr(path) in refused.value.message


@pytest.mark.parametrize("path", ["a", "./a", "a//b", "a/b/c.txt", ".gitignore", ".github/x", "a..b", "...", "ä b"])
def test_a_path_inside_resolves(workspace: Workspace, root: Path, path: str) -> None:
    assert workspace.resolve(path) == root / path


def test_an_absolute_path_into_the_root_is_refused(workspace: Workspace, root: Path) -> None:
    with pytest.raises(PermissionDenied):
        workspace.resolve(str(root / "a"))


def test_a_link_that_leaves_is_refused_wherever_it_stands(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "root-x"
    outside.mkdir()
    (outside / "secret").write_text("hush")
    (outside / "back").symlink_to(workspace.root)
    (workspace.root / "folder").symlink_to(outside)
    (workspace.root / "file").symlink_to(outside / "secret")
    (workspace.root / "dangling").symlink_to("../none")
    (workspace.root / "chain").symlink_to("folder")
    for path in (
        "folder",
        "folder/secret",
        "folder/new",
        "file",
        "dangling",
        "chain/secret",
        "folder/back/a",
    ):
        for touch in (
            lambda path: workspace.resolve(path),
            lambda path: workspace.read(path, 100),
            lambda path: workspace.write(path, "x", before=sha("hush")),
            lambda path: workspace.delete(path, before=sha("hush")),
        ):
            with pytest.raises(PermissionDenied, match="a symbolic link in it leads elsewhere"):
                touch(path)
    assert (outside / "secret").read_text() == "hush"
    assert not (tmp_path / "none").exists()


def test_a_link_into_a_protected_folder_is_refused(workspace: Workspace, root: Path) -> None:
    (root / ".git").mkdir()
    (root / "alias").symlink_to(".git")
    with pytest.raises(PermissionDenied, match=r"leads into .git or .engine"):
        workspace.write("alias/config", "x", before=None)


def test_a_link_inside_resolves_to_its_target(workspace: Workspace, root: Path) -> None:
    (root / "real").mkdir()
    (root / "alias").symlink_to(root / "real")
    (root / "self").symlink_to(".")
    assert workspace.resolve("alias/a") == root / "real/a"
    assert workspace.resolve("self/self/a") == root / "a"
    with pytest.raises(PermissionDenied, match="the root itself"):
        workspace.resolve("self")


@given(st.text(alphabet="./a\0\\~ \ud800é", max_size=12))
def test_whatever_resolves_lies_in_the_root(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    workspace = Workspace(tmp_path_factory.getbasetemp())
    try:
        place = workspace.resolve(path)
    except PermissionDenied:
        return
    assert place != workspace.root
    assert place.is_relative_to(workspace.root)


# --- read


@pytest.mark.parametrize(
    "data",
    [b"", b"a", b"a\n", b"a\r\nb\rc\n", "\ufeffä€😀".encode()],
    ids=["empty", "no newline", "newline", "mixed newlines", "byte order mark"],
)
def test_text_is_read_and_written_byte_for_byte(workspace: Workspace, root: Path, data: bytes) -> None:
    (root / "in").write_bytes(data)
    read = workspace.read("in", 100_000)
    assert read.kind == "text"
    assert read.text is not None
    assert (read.sha256, read.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert read.mtime_ns == (root / "in").stat().st_mtime_ns
    assert workspace.write("out", read.text, before=None) == read.sha256
    assert (root / "out").read_bytes() == data


@given(st.text(max_size=60))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("any"))
    workspace.write("a", text, before=None)
    read = workspace.read("a", 1000)
    assert read.text == text or "\0" in text


@pytest.mark.parametrize("data", [b"a\0b", b"x" * 9000 + b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xc3"])
def test_what_is_no_text_is_binary(workspace: Workspace, root: Path, data: bytes) -> None:
    (root / "a").write_bytes(data)
    read = workspace.read("a", 10_000)
    assert (read.kind, read.text, read.sha256) == ("binary", None, hashlib.sha256(data).hexdigest())


def test_a_file_above_the_limit_is_not_read(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("12345")
    assert workspace.read("a", 5).kind == "text"
    read = workspace.read("a", 4)
    assert (read.kind, read.text, read.sha256, read.size) == ("too_large", None, None, 5)


def test_a_missing_file_is_missing(workspace: Workspace, root: Path) -> None:
    (root / "a").touch()
    assert workspace.read("none", 5) == workspace.read("a/b", 5) == FileRead("missing")


def test_what_is_no_file_is_unreadable_and_not_waited_for(workspace: Workspace, root: Path) -> None:
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to("loop")
    for path in ("folder", "pipe", "loop"):
        assert workspace.read(path, 5) == FileRead("unreadable")


def test_a_file_without_permission_is_unreadable(root: Path) -> None:
    (root / "a").write_text("x")
    (root / "a").chmod(0)
    workspace = Workspace(root)
    with without_privileges(root, root / "a"):
        assert workspace.read("a", 5) == FileRead("unreadable")


# --- write


def test_a_write_makes_folders_and_leaves_nothing_else(workspace: Workspace, root: Path) -> None:
    assert workspace.write("a/b/c.txt", "x\n", before=None) == sha("x\n")
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*")) == ["a", "a/b", "a/b/c.txt"]


def test_a_write_needs_the_hash_before(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("mine")
    for before in (None, sha("theirs")):
        with pytest.raises(Conflict, match="409 file changed on disk: 'a'"):
            workspace.write("a", "new", before=before)
    with pytest.raises(Conflict, match="'b', it was removed"):
        workspace.write("b", "new", before=sha("old"))
    assert (root / "a").read_text() == "mine"
    assert os.listdir(root) == ["a"]
    workspace.write("a", "new", before=sha("mine"))
    assert (root / "a").read_text() == "new"


def test_a_write_that_is_done_already_is_a_success(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("new")
    stamp = (root / "a").stat().st_mtime_ns
    assert workspace.write("a", "new", before=sha("old")) == sha("new")
    assert workspace.write("a", "new", before=None) == sha("new")
    assert (root / "a").stat().st_mtime_ns == stamp
    with pytest.raises(Conflict):
        workspace.write("a", "new", before=sha("old"), after_ok=False)


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664])
def test_a_write_keeps_the_mode(workspace: Workspace, root: Path, mode: int) -> None:
    (root / "a").write_text("x")
    (root / "a").chmod(mode)
    workspace.write("a", "y", before=sha("x"))
    assert stat.S_IMODE((root / "a").stat().st_mode) == mode


def test_a_new_file_follows_the_umask(workspace: Workspace, root: Path) -> None:
    (root / "usual").touch()
    workspace.write("a", "x", before=None)
    assert (root / "a").stat().st_mode == (root / "usual").stat().st_mode


def test_a_write_through_a_link_inside_names_the_file_that_it_leads_to(workspace: Workspace, root: Path) -> None:
    (root / "real").write_text("x")
    (root / "alias").symlink_to("real")
    (root / "dangling").symlink_to("made")
    (root / "folder").symlink_to(".")
    for path, before in (("alias", sha("x")), ("dangling", None), ("folder/made", None)):
        with pytest.raises(Conflict, match=r"409 .* is a symbolic link to '(real|made)'; change '\1' instead"):
            workspace.write(path, "z", before=before)
    with pytest.raises(Conflict, match="409 'folder/real' is a symbolic link to 'real'"):
        workspace.delete("folder/real", before=sha("x"))
    assert workspace.read("alias", 10).leads_to == "real"
    workspace.write("alias", "y", before=sha("x"), leads_to="real")
    assert (root / "alias").is_symlink()
    assert (root / "real").read_text() == "y"
    with pytest.raises(
        Conflict, match="409 'real' was a link to 'alias' when the change was proposed, and leads to 'real' now"
    ):
        workspace.write("real", "z", before=sha("y"), leads_to="alias")
    assert not (root / "made").exists()


def test_another_name_of_the_same_file_keeps_the_old_text(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("x")
    os.link(root / "a", root / "twin")
    workspace.write("a", "y", before=sha("x"))
    assert (root / "twin").read_text() == "x"


def test_what_stands_in_the_way_is_a_conflict(workspace: Workspace, root: Path) -> None:
    (root / "folder").mkdir()
    (root / "file").touch()
    os.mkfifo(root / "pipe")
    for path in ("folder", "file/below", "pipe"):
        with pytest.raises(Conflict, match=f"409 cannot write '{path}'"):
            workspace.write(path, "x", before=None)
    with pytest.raises(Conflict, match="409 cannot delete 'folder'"):
        workspace.delete("folder", before=None)


def test_a_read_only_file_is_refused(root: Path) -> None:
    (root / "a").write_text("x")
    (root / "a").chmod(0o444)
    workspace = Workspace(root)
    read_only = pytest.raises(PermissionDenied, match="403 cannot write 'a': the file is read-only")
    with without_privileges(root, root / "a"), read_only:
        workspace.write("a", "y", before=sha("x"))
    assert (root / "a").read_text() == "x"


def test_a_folder_without_permission_is_refused(root: Path) -> None:
    (root / "a").write_text("x")
    root.chmod(0o555)
    workspace = Workspace(root)
    with without_privileges(root, root / "a"):
        with pytest.raises(PermissionDenied, match="403 cannot write 'b'"):
            workspace.write("b", "y", before=None)
        with pytest.raises(PermissionDenied, match="403 cannot delete 'a'"):
            workspace.delete("a", before=sha("x"))
    root.chmod(0o755)


def test_a_name_the_system_refuses_is_an_error_that_names_it(workspace: Workspace) -> None:
    with pytest.raises(EngineError, match=r"500 cannot write 'xxx.*too long"):
        workspace.write("x" * 300, "y", before=None)
    assert workspace.read("x" * 300, 5).kind == "unreadable"


def test_text_that_is_not_unicode_is_a_validation_error(workspace: Workspace, root: Path) -> None:
    with pytest.raises(ValidationError, match="400 cannot write 'a': character 1"):
        workspace.write("a", "x\ud800", before=None)
    assert os.listdir(root) == []


def test_a_reader_never_sees_half_a_file(workspace: Workspace, root: Path) -> None:
    texts = ["a" * 300_000, "b" * 200_000]
    now = workspace.write("f", texts[0], before=None)
    seen: set[str | None] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.add(workspace.read("f", 1_000_000).text)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for turn in range(1, 30):
        now = workspace.write("f", texts[turn % 2], before=now)
    done.set()
    watcher.join()
    assert seen <= set(texts)


def test_a_kill_leaves_the_old_or_the_new_text_and_can_be_redone(workspace: Workspace, root: Path) -> None:
    script = textwrap.dedent("""
        import hashlib, sys
        from pathlib import Path
        from engine.project.workspace import Workspace

        workspace, now = Workspace(Path(sys.argv[1])), None
        print("ready", flush=True)
        for turn in range(100_000):
            now = workspace.write("f", str(turn % 10) * 200_000, before=now)
    """)
    for _ in range(3):
        (root / "f").unlink(missing_ok=True)
        writer = subprocess.Popen([sys.executable, "-c", script, root], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        threading.Event().wait(0.15)
        writer.kill()
        writer.wait()
        writer.stdout.close()
        read = workspace.read("f", 1_000_000)
        assert read.kind == "missing" or (read.text and read.text == read.text[0] * 200_000)
        assert workspace.write("f", "redone", before=read.sha256) == sha("redone")
        assert workspace.write("f", "redone", before=read.sha256) == sha("redone")


# --- delete


def test_a_delete_needs_the_hash_before_and_may_be_repeated(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("x")
    for before in (None, sha("y")):
        with pytest.raises(Conflict, match="409 file changed on disk: 'a'"):
            workspace.delete("a", before=before)
    workspace.delete("a", before=sha("x"))
    workspace.delete("a", before=sha("x"))
    workspace.delete("none/below", before=None)
    assert os.listdir(root) == []


def test_a_delete_of_a_link_keeps_its_target(workspace: Workspace, root: Path) -> None:
    (root / "real").write_text("x")
    (root / "alias").symlink_to("real")
    workspace.delete("alias", before=sha("x"))
    assert os.listdir(root) == ["real"]


def test_files_are_read_together_as_each_is_read_alone(tmp_path: Path) -> None:
    """Links, folders that are links, pictures, keys, other names of keys and files that are gone among others."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub/a.txt").write_bytes(b"one\r\n")
    (root / "b.bin").write_bytes(b"\0\1")
    (root / "run.sh").write_text("x\n")
    (root / "run.sh").chmod(0o755)
    (root / "long.txt").write_text("x" * 101)
    (root / ".env").write_text("KEY=1\n")
    (root / "other.txt").hardlink_to(root / ".env")
    (root / "link.txt").symlink_to("sub/a.txt")
    (root / "out.txt").symlink_to("/etc/hostname")
    (root / "way").symlink_to("sub")
    (tmp_path / "outside").mkdir()
    (root / "led").symlink_to(tmp_path / "outside")
    workspace = Workspace(root, tmp_path / "t.db")
    names = [
        "sub/a.txt",
        "sub/none.txt",
        "b.bin",
        "run.sh",
        "long.txt",
        ".env",
        "other.txt",
        "link.txt",
        "out.txt",
        "way/a.txt",
    ]
    names += ["led/x", "sub", ".git/config", "../x", "none/x.txt"]
    keys = KeyFiles(root, [])

    def alone(name: str) -> FileRead:
        try:
            return workspace.read(name, 100, added=keys)
        except PermissionDenied:
            return FileRead("unreadable")

    together = dict(workspace.read_all(names, 100, added=keys))
    # of a link that cannot be followed, the time of the link and the reason come with it
    assert "outside the project" in (together["out.txt"].reason or "")
    together["out.txt"] = replace(together["out.txt"], reason=None, mtime_ns=0)
    assert together == {name: alone(name) for name in names}
