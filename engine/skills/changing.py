"""Adds skills to a file, removes them, finds those of a project's folders, and searches in them."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from engine.errors import NotFound, ValidationError, error_for
from engine.system.installing import how_to_install
from engine.system.places import config_folder, home_folder

if TYPE_CHECKING:
    from engine.db.database import Row, Store
    from engine.skills.sources import SkillText

GLOBAL = "global"
"""The scope of skills that all projects of a file have."""
_HOMES = (".agents/skills", ".claude/skills", ".codex/skills", ".gemini/skills", ".cursor/skills", ".copilot/skills")
_CONFIGS = ("agents/skills", "opencode/skills", "goose/skills", "amp/skills")
_BLOB = re.compile(r"https://github\.com/([^/]+/[^/]+)/blob/(.+)")


def home_folders() -> list[Path]:
    """The folders in the user's home in which agents keep skills, those that are there."""
    configs = [config_folder() / "skills", *(config_folder().parent / name for name in _CONFIGS)]
    return [folder for folder in (*configs, *(home_folder() / name for name in _HOMES)) if folder.is_dir()]


def read(db: Store, source: str) -> list[SkillText]:
    """The skills at a path or an address. Raises what `skill_sources.of_path` raises, and `EngineError` for an address that
    is refused, broken or out of reach.
    """
    from engine.skills.sources import of_path

    if re.match(r"https?://", source, re.IGNORECASE):
        return _of_address(db, source)
    if not source.strip():
        raise ValidationError("the source is empty; for the current folder, write .")
    # the home of a user that there is not stays as it is written
    return of_path(Path(os.path.expanduser(source)))


def add(db: Store, skills: Iterable[SkillText], *, scope: str, by: str) -> list[SkillText]:
    """Add skills to a scope, all or none of them; returns them. One of the same name is replaced.

    Raises `ValidationError` (400) where one of them has a problem.
    """
    found = list(skills)
    if broken := next((each for each in found if each.problem), None):
        raise ValidationError(f"{broken.source!r}: {broken.problem}; nothing was added")
    with db.transaction():
        for each in found:
            db.insert(
                "verb_write_skill",
                scope=scope,
                name=each.name,
                description=each.description,
                kind=each.kind,
                origin="added",
                source=each.source,
                made_of=each.made_of,
                left_out=each.left_out,
                body=each.body,
                files=json.dumps(each.files),
                added_by=by,
            )
    return found


def remove(db: Store, name: str, scopes: Iterable[str]) -> Row:
    """Remove a skill that a person added, from the first of `scopes` that has it; returns its row.

    Raises `NotFound` (404) where there is none, `ValidationError` (400) for one that was found in the project's folders.
    """
    found = db.row(
        "select s.* from json_each(?) as w join _skills as s on s.scope = w.value and s.name = ? order by w.key limit 1",
        (json.dumps(list(scopes)), name),
    )
    if found is None:
        raise NotFound(f"skill {name!r}: not found; 'engine skills list' lists the skills")
    if found["origin"] == "found":
        raise ValidationError(
            f"skill {name!r}: was found in {found['source']!r}; remove the skill there, or remove that folder "
            "from the setting skill_folders"
        )
    db.insert("verb_forget_skill", scope=found["scope"], name=name)
    return found


def find(db: Store, root: Path) -> None:
    """Read the skills in the folders of the project at `root`, as the scan before a prompt does."""
    from engine.effects.files import look_at_skills

    look_at_skills(db, project_of(db, root), root)


def search(db: Store, words: str, scopes: Iterable[str]) -> tuple[list[Row], str | None]:
    """The skills that are about `words`, the best first: by their names, descriptions and texts.

    Second: why the embedder failed, so that words alone were searched; else None.
    """
    from engine.discovery.finding import discover_or_words

    found, failure = discover_or_words(db, words, kinds=("skill",), scopes=scopes, limit=50)
    return [
        {**row, "found_by": hit["found_by"]}
        for hit in found
        for row in db.rows(
            "select name, description from _skills where name = :name and scope = :scope",
            {"name": hit["name"], "scope": hit["scope"]},
        )
    ], failure


def project_of(db: Store, root: Path) -> int:
    """The id of the project in the folder `root`, made where it is new."""
    db.execute(
        "insert into projects (name, root, created_at) values (:root, :root, now()) on conflict do nothing",
        {"root": str(root)},
    )
    return int(db.value("select id from projects where root = ?", (str(root),)))


def _of_address(db: Store, address: str) -> list[SkillText]:
    from engine.effects.pages import missing_library

    if missing := missing_library():
        raise error_for(415, f"skills from URLs need the extra 'web': {how_to_install('web')} ({missing})")
    from engine.skills.sources import of_bytes
    from engine.web.addresses import Policy
    from engine.web.failures import WebFailure
    from engine.web.fetching import ARCHIVES, Limits, fetch
    from engine.web.network import Deadline

    settings = {
        row["name"]: row["value"] for row in db.rows("select name, value from settings where name glob 'web_*'")
    }
    blob = _BLOB.fullmatch(address)
    try:
        answer = fetch(
            f"https://raw.githubusercontent.com/{blob[1]}/{blob[2]}" if blob else address,
            limits=Limits(int(settings["web_max_bytes"]), int(settings["web_max_redirects"])),
            policy=Policy.of_user(settings["web_hosts"]),
            deadline=Deadline(float(settings["web_timeout"]), threading.Event()),
            also=ARCHIVES,
        )
    except WebFailure as failure:
        status = db.value("select status from outcomes where name = ?", (failure.outcome.partition(":")[0],))
        raise error_for(int(status or 500), f"skill at {address!r}: {failure.message}") from failure
    if answer.content_type in ("text/html", "application/xhtml+xml"):
        raise error_for(415, f"{address!r}: is a web page, not Markdown or a zip; give the URL of the raw file")
    name = PurePosixPath(answer.url.partition("?")[0]).name
    if name.lower() in ("skill.md", "index.md"):
        name = PurePosixPath(answer.url.partition("?")[0]).parent.name
    return of_bytes(answer.body or b"", "url", address, name)
