"""A scratch folder that has the files of a project as they were at a clock of the record.

Only what a scan or an edit has stored can be brought back. Of a file without a stored text the bytes are taken from the
project's own folder, if they are still the same there.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.db.database import Row

    from .recording import Recording

_TAKE_OVER = """
    update projects
    set root = :place,
        root_names = json_set(:names, '$.names', json((
            select json_group_array(value)
            from (
                select value
                from json_each(:names, '$.names')
                union all
                select p.root
                from projects as p
                where p.id = :project
                union all
                select j.value
                from projects as p
                cross join json_each(p.root_names, '$.names') as j
                where p.id = :project
            )
        )))
    where id = :project
"""
_PICTURE = "select body from pictures where sha256 = ?"
_STATES = """
    select
        e.path, coalesce(s.attributes ->> '$.kind', 'text') as kind, s.attributes ->> '$.leads_to' as leads_to, s.hash,
        b.body, s.is_executable
    from _file_states as s
    join entries as e on e.id = s.entry_id
    left join contents as b on b.id = s.content_id
    where s.scope = :scope
        and s.began <= :until
        and case
            when :after is null then s.ended > :until
            else s.began > :after and not exists (
                select 1
                from proposals as p
                where p.target = e.path
                    and p.state = 'resolved'
                    and case p.kind
                        when 'file_write' then p.content_id = s.content_id
                        when 'file_delete' then s.hash is null
                    end
            )
        end
    order by e.path, s.began
"""
"""The files at the clock `until`; with `after` what scans found since then that no edit had made: the work of shell
commands, and of others. Of a file the last row counts.
"""


class Folder:
    """The scratch folder `place` for the project of a recorded run; `notes` says what could not be brought back."""

    def __init__(self, recording: Recording, place: Path) -> None:
        self._db = recording.db
        self.place = place
        self.notes: dict[str, str] = {}
        project = self._db.row(
            "select p.id, p.root from runs as r join projects as p on p.id = r.project_id where r.id = ?",
            (recording.run_id,),
        )
        assert project is not None, "a run has a project"
        # a run that was imported has a folder no more, but its files have their history
        self.root: str | None = project["root"] or self._asked_root(recording)
        self._scope = f"project:{project['id']}"
        if self.root is not None:
            self._take_over(project["id"])

    def _asked_root(self, recording: Recording) -> str | None:
        asked = "select max(attributes ->> '$.attributes.root') from commands where run_id = ? and turn_id is null"
        root: str | None = self._db.value(asked, (recording.run_id,))
        return root

    def _take_over(self, project: int) -> None:
        """Let the project have the scratch folder; its files are still found by the paths that the old one has."""
        from engine.project.root_names import root_names

        assert self.root is not None, "a project without a folder has no files"
        names = root_names(str(self.place), [])
        self._db.execute(_TAKE_OVER, {"place": str(self.place), "names": names, "project": project})

    def bring(self, clock: int) -> None:
        """Make the folder what the project was at a clock, nothing else."""
        if self.root is None:
            return
        states = self._states(None, clock)
        for path in [*self._there()]:
            if path not in states:
                self._remove(path)
        for row in states.values():
            self._make(row)

    def bring_found(self, after: int, until: int) -> None:
        """Make the changes that scans found between two clocks."""
        if self.root is None:
            return
        for row in self._states(after, until).values():
            self._make(row)

    def _states(self, after: int | None, until: int) -> dict[str, Row]:
        rows = self._db.rows(_STATES, {"scope": self._scope, "after": after, "until": until})
        return {row["path"]: row for row in rows}

    def _there(self) -> list[str]:
        found = []
        for folder, _, names in os.walk(self.place):
            found += [(Path(folder) / name).relative_to(self.place).as_posix() for name in names]
        return found

    def _remove(self, path: str) -> None:
        with suppress(OSError):
            (self.place / path).unlink()

    def _make(self, row: Row) -> None:
        """Write a file as a row says. The path comes from a file that may be anybody's: it must stay in the folder."""
        path = row["path"]
        target = self.place / path
        if row["kind"] == "missing":
            self._remove(path)
            return
        if ".." in Path(path).parts or not Path(os.path.realpath(target.parent)).is_relative_to(self.place):
            self.notes[path] = f"{path}: leads out of the folder"
            return
        content = self._content(row)
        if content is None:
            self.notes[path] = f"{path}: its bytes are not in the file, and the folder has them no more"
            return
        self.notes.pop(path, None)
        target.parent.mkdir(parents=True, exist_ok=True)
        self._remove(path)
        target.write_bytes(content)
        target.chmod(0o755 if row["is_executable"] else 0o644)

    def _content(self, row: Row) -> bytes | None:
        """The bytes of a file, from its text or from the project's folder, by their hash; None where they are gone."""
        if row["leads_to"] is None and row["body"] is not None:
            content: bytes = str(row["body"]).encode("utf-8", "surrogatepass")
            if row["hash"] in (None, hashlib.sha256(content).hexdigest()):
                return content
        picture = self._db.value(_PICTURE, (row["hash"],)) if self._db.has("pictures") else None
        if isinstance(picture, bytes):
            return picture
        assert self.root is not None, "a project without a folder has no files"
        with suppress(OSError):
            place = Path(self.root) / row["path"]
            # a pipe would never end
            there: bytes = place.read_bytes() if place.is_file() else b""
            if row["hash"] == hashlib.sha256(there).hexdigest():
                return there
        body: str | None = row["body"]
        return None if body is None else body.encode("utf-8", "surrogatepass")
