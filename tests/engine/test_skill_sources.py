"""Where added skills come from: folders, files, zips and addresses, and what none of these can do.

1. Each kind, with one skill or many. 2. A zip leads nowhere and unpacks to no more than it may. 3. Links and keys stay out.
4. An address goes through the gate of the web. 5. All or nothing.

spec: @skills
"""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import agents_project as project
import pytest
from engine_cli import engine as command_line
from web_server import web

import engine
from engine.errors import EngineError, NotFound, Overflow, ValidationError
from engine.skills import changing as store
from engine.skills import sources as sources

SKILL = project.skill("release", "Releases it.", "Do it.")


def packed(files: dict[str, str | bytes], **options: int) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", options.get("method", zipfile.ZIP_DEFLATED)) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def zipped(folder: Path, files: dict[str, str | bytes], **options: int) -> Path:
    path = folder / "pack.zip"
    path.write_bytes(packed(files, **options))
    return path


def test_a_folder_a_file_and_a_zip_give_the_same_skill(tmp_path: Path) -> None:
    files = {"SKILL.md": SKILL, "references/x.md": "x\n", "scripts/run.py": "print()\n"}
    for place in (
        project.make(tmp_path / "a" / "release", files),
        project.make(tmp_path / "b", {f"any/release/{name}": text for name, text in files.items()}),
        zipped(tmp_path, {f"release-main/{name}": text for name, text in files.items()}),
    ):
        [found] = sources.of_path(place)
        assert (found.name, found.description, found.body, found.problem) == ("release", "Releases it.", "Do it.", None)
        assert found.files == {"references/x.md": "x\n", "scripts/run.py": "print()\n"}
    (tmp_path / "how-to.md").write_text("# How to\n\nDo it.\n", encoding="utf-8")
    [found] = sources.of_path(tmp_path / "how-to.md")
    assert (found.name, found.description, found.kind) == ("how-to", "How to", "file")
    many = zipped(tmp_path, {"skills/one/SKILL.md": SKILL, "skills/two/SKILL.md": SKILL, "README.md": "no"})
    assert [found.source.rpartition("/")[2] for found in sources.of_path(many)] == ["one", "two"]


SIMPLE = """{
  "name": "researcher", // one agent
  "description": "Deep research  and synthesis",
  "model": "sonnet", "tools": ["search", "get"], "triggers": {"delegation": true},
  "system_prompt": "You look for sources.",
}"""
STEPS = """name: review
description: Review a change
vars: {target: {description: what to review, required: true}}
steps:
  - {id: end, title: Sum up, needs: [look], instruction: Write it down., acceptance: Each finding has a file}
  - {id: look, title: Look, instruction: Read the change.}
"""


def test_objects_are_skills_too(tmp_path: Path, db: engine.Database) -> None:
    root = project.make(tmp_path / "objects", {"researcher.jsonc": SIMPLE, "x.jsonc": "{", "package.json": "{}"})
    simple, broken = sources.of_path(root)
    assert (simple.name, simple.description, simple.kind) == ("researcher", "Deep research and synthesis", "folder")
    assert simple.body == (
        "You look for sources.\n\nIt is meant for a subtask of its own.\n\nThe model that it is meant for: sonnet\n\n"
        "The tools that it is meant for: search, get"
    )
    assert (broken.name, (broken.problem or "")[:7]) == ("x", "line 1:")
    [steps] = sources.of_path(project.make(tmp_path / "w", {"review.yaml": STEPS}) / "review.yaml")
    assert (steps.name, steps.problem) == ("review", None)
    assert "- target: required, what to review\n" in steps.body
    assert steps.body.index("## 1. Look (look)") < steps.body.index("## 2. Sum up (end, after look)")
    assert steps.body.endswith("It is done when:\nEach finding has a file")
    store.add(db, [simple, steps], scope=store.GLOBAL, by="test")
    assert [row["name"] for row in db.rows("select name from skills where problem is null")] == ["researcher", "review"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "not an object"),
        ('{"name": "x", "description": "d"}', "no instruction"),
        ('{"name": "X y", "description": "d", "instruction": "i"}', "its name"),
        ('{"name": "x", "instruction": "i"}', "no description"),
        ('{"name": "x", "description": "d", "type": "workflow"}', "line 1"),
        ('{"name": "x", "description": "d", "steps": [{"id": "a", "instruction": "i", "needs": ["a"]}]}', "line 1"),
        ("PK\3\4", "line 1"),
        ('{"name": 1, "description": "d", "instruction": {}, "tools": 3, "triggers": []}', "no instruction"),
    ],
)
def test_an_object_that_is_wrong_is_told(text: str, problem: str) -> None:
    [found] = sources.of_bytes(packed({"x.jsonc": text}), "zip", "x.zip", "x.zip")
    assert problem in (found.problem or "")


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "\\x", "..\\x", "C:/x", "c:x"])
def test_a_zip_leads_nowhere(name: str, tmp_path: Path) -> None:
    path = zipped(tmp_path, {"SKILL.md": SKILL, name: "x"})
    with pytest.raises(ValidationError, match="would be unpacked outside the zip; nothing was added"):
        sources.of_path(path)
    assert sorted(os.listdir(tmp_path)) == ["pack.zip"]


def test_a_bomb_is_never_unpacked(tmp_path: Path) -> None:
    large = b"a" * (sources.FILE_BYTES * 50)
    [found] = sources.of_path(zipped(tmp_path, {"SKILL.md": SKILL, "large.md": large}))
    assert (found.files, found.left_out) == ({}, 1)
    many = {
        f"{number}.md": large[: sources.FILE_BYTES + 1] for number in range(sources.MOST_BYTES // sources.FILE_BYTES)
    }
    with pytest.raises(Overflow, match="unpacks to more than"):
        sources.of_path(zipped(tmp_path, {"SKILL.md": SKILL, **many}))
    with pytest.raises(Overflow, match="more than 5,000 files"):
        sources.of_path(zipped(tmp_path, {str(number): "" for number in range(sources.MOST_FILES + 1)}))
    [found] = sources.of_path(zipped(tmp_path, {"SKILL.md": SKILL, **{f"{n:03}.md": "x" for n in range(300)}}))
    assert (len(found.files), found.left_out) == (sources.FILES_OF_SKILL, 100)


def test_what_is_no_zip_or_no_skill_is_told(tmp_path: Path) -> None:
    good = packed({"SKILL.md": SKILL, "x.md": "x" * 500}, method=zipfile.ZIP_STORED)
    for data, error, message in (
        (good[:100], ValidationError, "is not a skill|broken zip"),
        (good.replace(b"xxxx", b"yyyy", 1), ValidationError, "broken zip"),
        (packed({"SKILL.md": SKILL}, method=zipfile.ZIP_LZMA), ValidationError, "unknown compression"),
        (packed({"README.md": "x"}), NotFound, "contains no SKILL.md"),
        (b"\x89PNG\0", ValidationError, "is not a skill"),
        (b"root:x:0:0", ValidationError, "is not a skill"),
        (b"x" * (sources.FILE_BYTES + 1), Overflow, "at most"),
    ):
        (tmp_path / "x.zip").write_bytes(data)
        with pytest.raises(error, match=message):
            sources.of_path(tmp_path / "x.zip")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EngineError, match="cannot be read, it is not a regular file"):
        sources.of_path(tmp_path / "pipe")


def test_links_and_keys_stay_out(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret", encoding="utf-8")
    root = project.make(
        tmp_path / "release",
        {"SKILL.md": SKILL, "x.md": "x", ".env": "K=1", "keys/server.pem": "K", ".git/config": "c"},
    )
    os.symlink(secret, root / "link.md")
    os.symlink(tmp_path, root / "up")
    os.mkfifo(root / "pipe.md")
    (root / "logo.png").write_bytes(b"\x89\0")
    (root / os.fsdecode(b"bad\xff.md")).write_text("x", encoding="utf-8")
    (root / "two\nlines.md").write_text("x", encoding="utf-8")
    [found] = sources.of_path(root)
    assert (found.files, found.left_out) == ({"x.md": "x"}, 1)
    link = zipfile.ZipInfo("release/link.md")
    link.external_attr = 0o120777 << 16
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("release/SKILL.md", SKILL)
        archive.writestr(link, "/etc/passwd")
    [found] = sources.of_bytes(data.getvalue(), "zip", "x.zip", "x.zip")
    assert found.files == {}


def test_an_address_goes_through_the_gate(db: engine.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with web() as server:
        server.routes["/release/SKILL.md"] = lambda page: page.give(200, SKILL.encode(), Content_Type="text/markdown")
        server.routes["/pack.zip"] = lambda page: page.give(
            200, packed({"a/SKILL.md": SKILL, "a/x.md": "x"}), Content_Type="application/zip"
        )
        server.routes["/page"] = lambda page: page.give(200, b"<html>", Content_Type="text/html")
        server.routes["/video"] = lambda page: page.give(200, b"x", Content_Type="video/mp4")
        with pytest.raises(EngineError, match="is not a public address"):
            store.read(db, f"{server.url}/pack.zip")
        monkeypatch.setenv("ENGINE_WEB_ALLOW", f"127.0.0.1:{server.port}")
        [one], [other] = store.read(db, f"{server.url}/release/SKILL.md"), store.read(db, f"{server.url}/pack.zip")
        assert (one.name, one.kind, other.files) == ("release", "url", {"x.md": "x"})
        for path, status in (("page", 415), ("video", 415), ("gone", 404)):
            with pytest.raises(EngineError) as told:
                store.read(db, f"{server.url}/{path}")
            assert told.value.status == status
        db.execute("update settings set value = '100' where name = 'web_max_bytes'")
        with pytest.raises(EngineError, match="more than 100 bytes"):
            store.read(db, f"{server.url}/pack.zip")


def test_all_are_added_or_none(db: engine.Database, tmp_path: Path) -> None:
    root = project.make(tmp_path / "many", {"one/SKILL.md": SKILL, "two/SKILL.md": "---\nname: two\n---\nBody"})
    with pytest.raises(ValidationError, match="nothing was added"):
        store.add(db, sources.of_path(root), scope=store.GLOBAL, by="test")
    assert db.rows("select * from skills") == []


def test_an_index_makes_a_skill_of_a_folder_and_of_folders(tmp_path: Path) -> None:
    one = tmp_path / "one"
    (one / "more").mkdir(parents=True)
    (one / "index.md").write_text("Use it\n\nBody")
    (one / "more" / "index.md").write_text("A page of it")
    (found,) = sources.of_path(one)
    assert (found.name, sorted(found.files)) == ("one", ["more/index.md"])
    many = tmp_path / "many"
    for name in ("alpha", "beta"):
        (many / name).mkdir(parents=True)
        (many / name / "index.md").write_text(f"# About {name}\n\nBody")
    assert [(each.name, each.description) for each in sources.of_path(many)] == [
        ("alpha", "About alpha"),
        ("beta", "About beta"),
    ]
    for folder, names in ((one, ["one"]), (many, ["alpha", "beta"])):
        packed = tmp_path / f"{folder.name}.zip"
        with zipfile.ZipFile(packed, "w") as file:
            for path in sorted(folder.rglob("*.md")):
                file.write(path, path.relative_to(tmp_path))
        assert [each.name for each in sources.of_path(packed)] == names


def test_what_a_skill_says_besides_is_named_when_it_is_added(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: x\ndescription: d\nallowed-tools: Bash\n---\nBody")
    (tmp_path / "y.jsonc").write_text(
        '{"name": "y", "description": "d", "instruction": "Do", "model": "m", "triggers": {"delegation": true}, "icon": 1}'
    )
    assert sources.of_path(tmp_path / "SKILL.md")[0].others == ("allowed-tools",)
    assert sources.of_path(tmp_path / "y.jsonc")[0].others == (
        "model (told in words)",
        "triggers (told in words)",
        "icon",
    )
    folder = tmp_path / "work"
    folder.mkdir()
    said = command_line(folder, "skills", "add", str(tmp_path / "SKILL.md"), str(tmp_path / "y.jsonc")).stderr
    assert "not taken: allowed-tools of x" in said
    assert "not taken: triggers (told in words) of y" in said
