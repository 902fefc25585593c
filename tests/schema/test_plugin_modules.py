"""A plugin's SQL file whose head says what it needs is a module: taken in, compared and migrated as those of the engine are.

spec: @plugins @modules @rebuild
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from next_version import NEXT, VERSION, first_build, migrate, next_build, opened

import engine
from engine.plugins import hookimpl, manager
from engine.schema import update
from engine.schema.build import installed
from engine.schema.install import install
from engine.schema.modules import module_of
from engine.schema.objects import objects_of

LOANS = """-- Loans: who has borrowed what.
-- needs: {needs}

create table if not exists loans (id integer primary key, who text not null) strict;

create view loan_list as select who from loans;

create view _proposal_notes_of_loans as select id from proposals;
"""


class Plugin:
    def __init__(self, *files: tuple[str, str]) -> None:
        self._files = files

    @hookimpl
    def engine_sql(self) -> tuple[tuple[str, str], ...]:
        """Its SQL files."""
        return self._files


@pytest.fixture
def plugin() -> Iterator[list[Plugin]]:
    """What is put in here is unregistered again."""
    given: list[Plugin] = []
    yield given
    for each in given:
        manager().unregister(each)
    installed.cache_clear()


def registered(given: list[Plugin], *files: tuple[str, str]) -> None:
    given.append(Plugin(*files))
    manager().register(given[-1])
    installed.cache_clear()


def modules(db: engine.Database) -> list[str]:
    return [row["name"] for row in db.rows("select name from engine_modules order by name")]


def test_a_write_takes_it_in_with_what_it_needs_and_a_look_does_not(plugin: list[Plugin], tmp_path: Path) -> None:
    registered(plugin, ("loans.sql", LOANS.format(needs="rules")))
    with engine.open(tmp_path / "t.db") as db:
        assert db.rows("select * from loan_list") == []
        assert modules(db) == []
        db.execute("insert into loans (who) values ('ada')")
        assert modules(db) == ["loans", "rules"]
        assert sorted(objects_of(db.connection)) == sorted(installed().having(["loans"]).fresh.objects)
    with engine.open(tmp_path / "t.db") as db:
        assert update.is_fresh(db.connection)
        assert db.value("select who from loan_list") == "ada"


def test_a_file_waits_for_a_plugin_that_is_not_there(plugin: list[Plugin], tmp_path: Path) -> None:
    registered(plugin, ("loans.sql", LOANS.format(needs="nothing")))
    with engine.open(tmp_path / "t.db") as db:
        db.execute("insert into loans (who) values ('ada')")
    manager().unregister(plugin.pop())
    installed.cache_clear()
    with engine.open(tmp_path / "t.db") as db:
        assert db.value("select count(*) from loans") == 1
        with pytest.raises(engine.ValidationError, match="loan_list"):
            db.rows("select * from loan_list")
    registered(plugin, ("loans.sql", LOANS.format(needs="nothing")))
    with engine.open(tmp_path / "t.db") as db:
        assert db.value("select who from loan_list") == "ada"


@pytest.mark.parametrize("wrong", ["create view loan_sums as select nothing_there(1);", "create veiw x as select 1;"])
def test_a_wrong_one_is_refused_where_it_is_taken_in_and_nothing_changes(
    plugin: list[Plugin], tmp_path: Path, wrong: str
) -> None:
    registered(plugin, ("loans.sql", LOANS.format(needs="nothing") + wrong))
    with engine.open(tmp_path / "t.db") as db:
        with pytest.raises(engine.ValidationError, match=r"loans\.sql, the SQL file of a plugin"):
            db.execute("insert into loans (who) values ('ada')")
        assert modules(db) == []
        db.execute("insert into personas (name, body) values ('a', 'x')")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"rules.sql": "nothing"}, "another module of that name"),
        ({"my-loans.sql": "nothing"}, "a name as in SQL"),
        ({"loans.sql": "nowhere"}, "needs 'nowhere', but there is no such module"),
        ({"loans.sql": "books", "books.sql": "loans"}, "in a circle"),
    ],
)
def test_names_and_needs_that_cannot_be_are_refused(
    plugin: list[Plugin], tmp_path: Path, files: dict[str, str], said: str
) -> None:
    engine.open(tmp_path / "before.db").close()
    registered(plugin, *((name, LOANS.format(needs=needs)) for name, needs in files.items()))
    with pytest.raises(engine.ValidationError, match=said):
        engine.open(tmp_path / "t.db")
    assert not (tmp_path / "t.db").exists()
    # who only reads is not hindered
    with engine.open(tmp_path / "before.db", read_only=True) as db:
        assert db.rows("select * from run_overview") == []
        assert said in str(db.differs)


def test_the_tables_of_a_module_migrate_in_the_files_that_have_it(tmp_path: Path) -> None:
    old_text, new_text = LOANS.format(needs="nothing"), LOANS.format(needs="nothing").replace("who", "holder")
    steps = (
        (VERSION, "create table loans (id integer primary key, who text not null) strict;"),
        (NEXT, "alter table loans rename column who to holder;"),
    )
    before, after = (
        module_of("loans", (("990_loans.sql", old_text),)),
        module_of("loans", (("990_loans.sql", new_text),)),
    )
    assert before
    assert after
    old = first_build()._replace(offered=(*first_build().offered, before))
    new = next_build()._replace(offered=(*next_build().offered, after._replace(migrations=steps)))
    for name, has_it in (("with.db", True), ("without.db", False)):
        path = tmp_path / name
        engine.open(path).close()
        migrate(path, old)
        with opened(path) as connection:
            if has_it:
                connection.execute("insert into engine_modules (name) values ('loans')")
        if has_it:
            migrate(path, old)
            with opened(path) as connection:
                connection.execute("insert into loans (who) values ('ada')")
        migrate(path, new)
        with opened(path) as connection:
            having = update.build_of(connection, new)
            assert ("loans" in {module.name for module in having.modules}) == has_it
            assert update.inspect(connection, new).is_current
            assert {each.name for each in objects_of(connection)} == {each.name for each in having.fresh.objects}
            if has_it:
                assert connection.execute("select holder from loan_list").get == "ada"


def test_installing_twice_is_harmless(plugin: list[Plugin], tmp_path: Path) -> None:
    registered(plugin, ("loans.sql", LOANS.format(needs="nothing")))
    with engine.open(tmp_path / "t.db") as db:
        for _ in range(2):
            db.install("loans")
        with db.transaction():
            install(db.connection, ["loans"])
        assert modules(db) == ["loans"]
