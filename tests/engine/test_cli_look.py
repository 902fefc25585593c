"""The commands that look: runs, show, log, packet, context, config, sql, shell; help, version, exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from audit import audit
from engine_cli import READ_AND_ANSWER, database, engine, on_terminal, run_command, script

import engine as library
from engine.cli import groups as grouped
from engine.cli import main as cli
from engine.cli.tree import COMMANDS, FIRST

MOST_MODULES = 260
"""There are fewer that `engine --help` imports over a bare Python 3.11."""


def words_of(group: Any, called: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Each command of the command line, and each below one, by its words."""
    for name in group.list_commands(None):
        each = group.get_command(None, name)
        yield (*called, name)
        if hasattr(each, "list_commands"):
            yield from words_of(each, (*called, name))


EVERY = [*words_of(cli.command_line())]
GROUPS = sorted({words[:-1] for words in EVERY if len(words) > 1})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the run `demo` read notes.md and answered; the tests only look."""
    root = tmp_path_factory.mktemp("look") / "folder"
    root.mkdir()
    (root / "notes.md").write_text("The port is 8080.\n", encoding="utf-8")
    engine(root, "run", "--model", script(root.parent / "s.jsonl", READ_AND_ANSWER), "--run", "demo", "Which port?")
    audit(database(root))
    return root


# --- help


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_has_an_example_in_its_help(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = engine(tmp_path, *words, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert f"engine {' '.join(words)}" in done.stdout.partition("Example")[2]
    assert engine(tmp_path, "help", *words).stdout == done.stdout


def test_the_first_screen_has_the_commands_of_every_day(tmp_path: Path) -> None:
    listed = engine(tmp_path, "--help").stdout.partition("\nWork:\n")[2]
    assert re.findall("^  ([a-z]+)", listed, re.MULTILINE) == [name for names in FIRST.values() for name in names]
    assert 15 <= len(re.findall("^  [a-z]", listed, re.MULTILINE)) <= 20
    assert "engine help --all" in listed
    assert "..." not in listed


def test_help_all_lists_every_command_whole(tmp_path: Path) -> None:
    listed = engine(tmp_path, "help", "--all").stdout
    assert "..." not in listed
    for name, place in COMMANDS.items():
        for word, line in ((name, place.line), *((word, each.line) for word, each in place.below.items())):
            assert f"{word} {line}" in " ".join(listed.split()), word


def test_what_lists_say_of_a_command_begins_its_help() -> None:
    group = cli.command_line()
    for name, place in COMMANDS.items():
        command = group.get_command(None, name)
        assert " ".join(command.help.split()).startswith(place.line), name
        for word, below in place.below.items():
            assert " ".join(command.get_command(None, word).help.split()).startswith(below.line), (name, word)


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_the_help_of_a_group_cuts_no_sentence(tmp_path: Path, words: tuple[str, ...]) -> None:
    listed = engine(tmp_path, *words, "--help").stdout.partition("\nCommands:\n")[2]
    assert {each[-1] for each in EVERY if each[:-1] == words} <= set(listed.split())
    assert "..." not in listed


def test_a_command_with_many_options_shows_those_of_every_day_first(tmp_path: Path) -> None:
    told = engine(tmp_path, "run", "--help").stdout
    titles = re.findall("^([A-Z][a-z]+):$", told.partition("Options:")[2], re.MULTILINE)
    assert titles[:6] == ["Model", "Limits", "Safety", "Output", "Delegation", "Checks"]
    daily = told.partition("\nOptions:\n")[2].partition("\n\n")[0]
    assert len(re.findall("^  -", daily, re.MULTILINE)) == 10
    group = cli.command_line().get_command(None, "run")
    assert all(option in told for each in group.params if each.param_type_name == "option" for option in each.opts)
    assert "Model:" not in engine(tmp_path, "resume", "--help").stdout


def test_help_for_an_unknown_command_names_the_nearest(tmp_path: Path) -> None:
    done = engine(tmp_path, "help", "runs", "renme")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'engine runs rename'?" in done.stderr
    assert "did you mean 'engine runs rename'?" in engine(tmp_path, "rename", "a", "b").stderr
    assert "has no commands below it" in engine(tmp_path, "help", "show", "demo").stderr


def test_a_narrow_screen_has_every_sentence_of_the_help(tmp_path: Path) -> None:
    listed = engine(tmp_path, "--help", env={"COLUMNS": "40"}).stdout.partition("\nWork:\n")[2]
    assert "Run an agent on PROMPT and print its answer." in " ".join(listed.split())
    assert "..." not in listed
    assert max(map(len, engine(tmp_path, "--help", env={"COLUMNS": "40"}).stdout.splitlines())) <= 40


def test_help_finds_commands_by_a_word_of_their_help(tmp_path: Path) -> None:
    assert re.findall("^  (.*?)  ", engine(tmp_path, "help", "TEMPERATURE").stdout, re.MULTILINE) == ["run", "config"]
    assert re.findall("^  (.*?)  ", engine(tmp_path, "help", "rename").stdout, re.MULTILINE)[-1] == "runs rename"
    done = engine(tmp_path, "help", "zebra")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("name", ["run", "undo", "rewind"])
def test_exit_codes_fit_on_a_usual_screen(tmp_path: Path, name: str) -> None:
    codes = engine(tmp_path, name, "--help").stdout.partition("Exit codes:\n")[2].partition("\n\n")[0]
    assert max(map(len, codes.splitlines())) <= 80


def test_version_is_that_of_the_package(tmp_path: Path) -> None:
    done = engine(tmp_path, "--version")
    assert (done.returncode, done.stdout) == (0, f"engine {library.__version__}\n")


def test_a_command_imports_no_module_of_another(tmp_path: Path) -> None:
    code = (
        "import sys; from engine.cli.main import main; main(['costs', '--help']); "
        "print(*sorted(name for name in sys.modules if name.startswith('engine.commands.')), file=sys.stderr)"
    )
    imported = run_command(tmp_path, sys.executable, "-c", code).stderr.split()
    assert "engine.commands.look.costs" in imported
    modules = {f"engine.commands.{place.module}" for place in COMMANDS.values()} - {"engine.commands.look.costs"}
    assert modules & set(imported) == set()


def test_a_value_that_is_taken_as_it_is_is_what_typer_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [*parameters(made_anew())]
    monkeypatch.setattr(grouped, "take_as_given", lambda _: None)
    compared = 0
    for own, given in zip(parameters(made_anew()), ours, strict=True):
        reader = getattr(own, "get_runtime_param", None)
        if reader is None:
            pytest.skip("this version of typer reads by click")
        several = own.multiple or own.nargs == -1
        for value in (None, own.default, *([(), ("a", "-"), ("1",)] if several else ["a", "", "-", "no/such", "1"])):
            compared += 1
            assert read(given.get_runtime_param(), value, given) == read(reader(), value, own), (own.name, value)
    assert compared > 1000


def made_anew() -> Any:
    return typer.main.get_command(cli.app)


def parameters(command: Any) -> Iterator[Any]:
    """The parameters of a command and of those below it."""
    context = command.make_context(command.name, [], resilient_parsing=True)
    yield from command.get_params(context)
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            yield from parameters(command.get_command(context, name))


def read(reader: Any, value: Any, parameter: Any) -> Any:
    """What a parameter makes of a value, with the types; or the error."""
    try:
        found = reader.coerce(value, param=parameter, ctx=None)
    except typer.BadParameter as error:
        return error.message
    # where nothing is given, a list and a tuple of nothing are the same to a command
    return (type(found), found) if found else None if found in ((), [], None) else found


def test_help_imports_little(tmp_path: Path) -> None:
    # what it costs in milliseconds is measured by `make bench`
    code = (
        "import sys; bare = set(sys.modules); from engine.cli.main import main; main(['--help']); "
        "print(*set(sys.modules) - bare, file=sys.stderr); "
        "main(['log', 'demo', '--json', '--db', 'none.db']); assert 'pydantic' not in sys.modules"
    )
    done = run_command(tmp_path, sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr[-300:]
    imported = done.stderr.split()
    heavy = {
        "asyncio",
        "http",
        "importlib.metadata",
        "jinja2",
        "lxml",
        "pydantic",
        "regex",
        "rich",
        "sqlglot",
        "urllib",
        "wcmatch",
        "xllamacpp",
    }
    assert {"typer", "engine.cli.main"} <= set(imported)
    assert heavy & set(imported) == set()
    assert len(imported) <= MOST_MODULES


@pytest.mark.parametrize(
    "arguments",
    [["nope"], ["run"], ["log", "--nope"], ["sql", "--json", "--csv", "select 1"], ["run", "--temperature", "9", "x"],
     ["log", "nope"], ["packet", "demo", "99"], ["abort", "nope"], ["fork", "demo", "--at", "9"],
     ["packet", "demo", f"{10**20}"], ["log", "demo", "--turn", f"{10**20}"],
     ["run", "--run", "a b", "x"], ["run", "--context-limit", f"{10**20}", "x"], ["run", "--max-turns", f"{10**20}", "x"],
     ["files", "--json", "rm", "x"], ["config", "nope"], ["run", "--persona", "nobody", "x"]],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_exits_2_with_one_clear_line(folder: Path, arguments: list[str]) -> None:
    model = ["--model", f"scripted:{folder.parent / 's.jsonl'}"] if arguments[0] == "run" else []
    done = engine(folder, arguments[0], *model, *arguments[1:])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "what", "is", "this"], "starting with 'is'; put a text of several words, or a pattern, into quotes"),
        (["entry", "get", "demo", "a.py", "b.py"], "starting with 'b.py'"),
        (["log", "demo", "--turn", "9"], "run 'demo': there is no turn 9; 'engine show demo' lists its turns"),
        (["undo", "demo", "--turn", "9"], "run demo: there is no turn 9; 'engine log demo' shows its turns"),
        (["relations", "show", "nope"], "node 'nope': not found in the whole database"),
        (["skills", "search", " "], "the text is empty; say what the skill should do"),
        (["log", "demo", "--turn", "x"], "'--turn': 'x' is not a whole number"),
        (["run", "--max-turns", "0", "Hi"], "'--max-turns': must be 1 or more, not 0"),
        (["run", "--temperature", "2.5", "Hi"], "'--temperature': must be 2 or less, not 2.5"),
        (["run", "--temperature", "warm", "Hi"], "'--temperature': 'warm' is not a number"),
        (["costs", "--by", "week"], "'--by': 'week' is not one of 'day', 'model', 'run'"),
        (["log", "demmo"], "run 'demmo': there is no such run; did you mean demo?"),
        (["fork", "demo@1", "--at", "2"], "leave one out"),
        (["fork", "demo", "twin"], "'--as NAME' gives a name"),
        (["config", "set", "max_turns", "3"], "'engine config max_turns=3'"),
        (["config", "unset", "max_turns"], "'engine config --unset max_turns' does that"),
        (["runs", "output", "demo", "--cancel"], "give the PATH of the command to stop"),
        (["fork", "@1"], "'@1' is not RUN or RUN@TURN"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_a_slip_is_told_with_the_way_to_say_it(folder: Path, arguments: list[str], told: str) -> None:
    done = engine(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in " ".join(done.stderr.split())


LISTS = [
    *(["files"], ["models"], ["skills"], ["personas"], ["allow", "policy"], ["allow", "threads"]),
    *(["cache"], ["relations"], ["keys"], ["workflow"]),
]


@pytest.mark.parametrize("group", LISTS, ids=" ".join)
def test_a_group_of_commands_without_one_lists(folder: Path, group: list[str]) -> None:
    listed = engine(folder, *group, "list")
    assert listed.returncode == 0
    bare = engine(folder, *group)
    assert (bare.returncode, bare.stdout, bare.stderr) == (0, listed.stdout, listed.stderr)
    assert json.loads(engine(folder, *group, "--json").stdout) == json.loads(
        engine(folder, *group, "list", "--json").stdout
    )
    misplaced = engine(folder, *group, "--json", "list")
    assert (misplaced.returncode, misplaced.stdout) == (2, "")
    assert "put options after the subcommand" in misplaced.stderr


def test_what_was_changed_is_told_to_programs(folder: Path, tmp_path: Path) -> None:
    aborted = json.loads(engine(folder, "abort", "demo", "--json").stdout)
    assert aborted == {"run": "demo", "aborted": False, "status": 200, "queued": 0}
    assert json.loads(engine(folder, "abort", "demo", "--loop", "1", "--json").stdout) == aborted
    assert (
        "run 'demo': has no prompt 9; see the view loop_list" in engine(folder, "abort", "demo", "--loop", "9").stderr
    )
    policy = json.loads(engine(tmp_path, "allow", "policy", "add", "pytest *", "--accept", "--json").stdout)
    assert policy == json.loads(engine(tmp_path, "allow", "policy", "--json").stdout)[0]
    assert json.loads(engine(tmp_path, "cache", "clear", "--json").stdout) == {"forgotten": 0}
    assert json.loads(engine(tmp_path, "rules", "devmode", "on", "--json").stdout) == {"run": None, "devmode": True}


def test_paths_are_shown_as_a_person_reads_them(tmp_path: Path) -> None:
    answers = [
        '<set path="known://größe/日本">two</set><set path="known://日">x</set><update status="102">on</update>',
        '<update status="200">Done.</update>',
    ]
    told = engine(tmp_path, "run", "--no-repo", "--model", script(tmp_path / "s.jsonl", answers), "--run", "demo", "Go")
    assert "[1] set known://größe/日本" in told.stderr.splitlines()
    looks = (
        ["context"],
        ["context", "--diff", "1", "2"],
        ["entry", "get", "demo", "known://**"],
        ["log"],
        ["find", "two"],
    )
    for words in (*looks, ["entry", "set", "demo", "known://größe/日本", "three"]):
        shown = engine(tmp_path, *words).stdout
        assert "known://größe/日本" in shown
        assert "%E6" not in shown
    assert engine(tmp_path, "context", "demo", "known://größe/日本").stdout == "three\n"
    assert (
        "turn 2, known://größe/日本"
        in engine(tmp_path, "context", "demo", "known://größe/日本", "--diff", "1", "2").stdout
    )
    rows = json.loads(engine(tmp_path, "context", "demo", "--json").stdout)
    assert "known://%E6%97%A5" in [row["path"] for row in rows], "programs get the path"


def test_a_path_that_is_shown_is_taken(tmp_path: Path) -> None:
    answers = [
        '<set path="größe.md">two\n</set><update status="102">on</update>',
        '<update status="200">Done.</update>',
    ]
    told = engine(tmp_path, "run", "--model", script(tmp_path / "s.jsonl", answers), "--run", "demo", "Go").stderr
    (line,) = (line.split() for line in told.splitlines() if line.startswith("  engine accept"))
    assert line[:4] == ["engine", "accept", "demo", "'log://turn_1/set/größe.md'"]
    assert "log://turn_1/set/größe.md" in engine(tmp_path, "proposals").stdout
    done = engine(tmp_path, *line[1:3], line[3].strip("'"), *line[4:])
    assert (done.returncode, done.stdout) == (0, "Done.\n")


def test_a_piped_table_is_padded_by_cells(folder: Path) -> None:
    query = "select '日本語' as a, 1 as b union all select 'abc', 2 order by b"
    assert engine(folder, "sql", query).stdout.splitlines() == ["a       b", "日本語  1", "abc     2"]


def test_looking_where_there_is_no_database_says_how_to_get_one(tmp_path: Path) -> None:
    for command in ("runs", "show", "log", "packet", "context", "proposals", "resume", "shell"):
        done = engine(tmp_path, command)
        assert done.returncode == 2
        assert "engine run PROMPT" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_where_an_error_came_from(folder: Path) -> None:
    with pytest.raises(library.NotFound):
        engine(folder, "log", "nope", env={"ENGINE_DEBUG": "1"})


# --- looking at a run


def test_runs_lists_status_turns_and_answer(folder: Path) -> None:
    rows = json.loads(engine(folder, "runs", "--json").stdout)
    assert [(row["run"], row["status"], row["turns"], row["answer"]) for row in rows] == [
        ("demo", 200, 2, "The port is 8080.")
    ]
    header, line = engine(folder, "runs").stdout.splitlines()
    assert header.split() == ["run", "status", "loops", "turns", "cost", "updated", "title", "answer"]
    assert line.startswith("demo  done")
    assert " 0.0030 " in line


def test_costs_are_drawn_by_day_model_or_run(folder: Path) -> None:
    header, line = engine(folder, "costs").stdout.splitlines()
    assert header.split() == ["day", "calls", "in", "out", "cost"]
    assert line.split()[1:] == ["2", "900", "20", "0.0030", "█" * 10]
    (row,) = json.loads(engine(folder, "costs", "demo", "--by", "run", "--json").stdout)
    assert (row["run"], row["calls"], row["cost"], row["unknown_prices"]) == ("demo", 2, 0.003, 0)
    assert engine(folder, "costs", "nope").returncode == 2


def test_the_costs_of_a_run_that_gave_work_away_are_summed(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    # the child's script is the parent's: it answers with the second line
    answers = ["<subtask>Look</subtask>", {"text": '<update status="200">ok</update>', "usage": {"cost": 0.25}}]
    model = script(tmp_path / "tree.jsonl", answers)
    engine(root, "run", "--no-repo", "--max-depth", "1", "--model", model, "--run", "demo", "Go")
    told = engine(root, "costs", "demo").stdout.splitlines()[-1]
    calls = sum(row["calls"] for row in json.loads(engine(root, "costs", "--by", "run", "--json").stdout))
    assert calls > 2
    assert told.startswith(f"with the runs below demo: {calls} calls, price unknown")
    assert "with the runs below" not in engine(root, "costs", "demo-1").stdout


def test_a_price_that_nobody_told_is_unknown_in_every_table(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    for name, usage in {"dear": {"cost": 0.5}, "unpriced": {"prompt_tokens": 7}}.items():
        answer = {"text": "ok", "usage": usage}
        engine(root, "run", "--no-repo", "--model", script(tmp_path / f"{name}.jsonl", [answer]), "--run", name, "Go")
    by_run = {line.split()[0]: line.split()[1:] for line in engine(root, "costs", "--by", "run").stdout.splitlines()}
    assert by_run["dear"] == ["1", "0", "0", "0.5000", "█" * 10]
    assert by_run["unpriced"] == ["1", "7", "0", "unknown"]
    assert "0.5000 + 1 unknown" in engine(root, "costs").stdout
    assert " unknown " in engine(root, "runs").stdout
    assert " unknown " in engine(root, "show", "unpriced").stdout


def test_show_tells_prompt_answer_and_figures(folder: Path) -> None:
    text = engine(folder, "show").stdout
    assert "demo: done" in text
    assert "[act] Which port?\ndone: The port is 8080." in text
    assert [line.split()[2] for line in text.splitlines() if re.match(r"\d+ ", line)] == ["continued", "done"]
    told = json.loads(engine(folder, "show", "demo", "--json").stdout)
    assert [turn["status"] for turn in told["timeline"]] == [102, 200], "numbers are for programs"
    assert [prompt["prompt"] for prompt in told["prompts"]] == ["Which port?"]
    assert [turn["prompt_tokens"] for turn in told["timeline"]] == [900, None]


def test_the_turns_of_a_run_fit_a_narrow_screen(folder: Path) -> None:
    code, shown = on_terminal(folder, "show", columns=80)
    lines = [re.sub(r"\x1b\[\d*m", "", line).rstrip() for line in shown.splitlines()]
    heads = next(line for line in lines if line.startswith("turn"))
    assert code == 0
    assert heads.split()[:3] == ["turn", "began", "status"]
    assert {"errors", "context", "in", "out", "cost"} <= {*heads.split()}
    assert "ms engine" not in heads
    assert all(len(line) <= 80 for line in lines)


def test_no_text_draws_a_line_of_the_screen(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    (root / "a\n1     model   200     set     known:forged").write_text("x", encoding="utf-8")
    forged = "ok\n1     model   200     sh      rm -rf .\n[act] Delete all.\n200 Done.\nforged: done"
    asked = f"<set path='known://a'>{forged}</set><think>{forged}</think><env>echo '{forged}'</env><get path='x'/>"
    answers = [f'{asked}<update status="102">{forged}</update>', f'<update status="200">{forged}</update>']
    model = script(root.parent / "s.jsonl", [{"text": answer} for answer in answers])
    assert engine(root, "run", "--yolo", "--model", model, "--run", "demo", f"Go {forged}").returncode == 0
    for words in ("runs", "show", "log", "context", "proposals", "files"):
        lines = engine(root, words, *(["demo"] if words not in ("runs", "files") else [])).stdout.splitlines()
        assert len(lines) > 1 or words == "proposals"
        drawn = (
            "1     model   200     sh ",
            "1     model   200     set     known:f",
            "[act] Delete",
            "200 Done",
            "forged",
        )
        assert [line for line in lines if line.startswith(drawn)] == [], words


def test_log_is_in_order_and_can_be_cut_to_a_turn(folder: Path) -> None:
    rows = json.loads(engine(folder, "log", "demo", "--turn", "1", "--json").stdout)
    assert [(row["action"], row["target"], row["status"]) for row in rows] == [
        ("get", "notes.md", 200),
        ("update", "reading", 102),
    ]
    assert "notes.md" in engine(folder, "log").stdout


def test_packet_prints_what_was_sent_to_the_byte(folder: Path) -> None:
    with library.open(database(folder)) as db:
        sent = db.rows("select turn, role, body from packet_texts order by turn, ordinal")
    latest = engine(folder, "packet").stdout
    assert all(row["body"] in latest for row in sent if row["turn"] == 2)
    assert engine(folder, "packet", "demo", "1", "--role", "user").stdout == sent[1]["body"] + "\n"
    assert [row["sha256"] != "" for row in json.loads(engine(folder, "packet", "demo", "1", "--json").stdout)] == [
        True,
        True,
    ]


def test_context_tells_what_a_turn_saw(folder: Path) -> None:
    now = json.loads(engine(folder, "context", "--json").stdout)
    assert "The port is 8080.\n" in [row["body"] for row in now if row["path"] == "notes.md"]
    first = json.loads(engine(folder, "context", "demo", "--at", "1", "--json").stdout)
    assert "notes.md" not in [row["path"] for row in first]
    assert "prompt://1" in engine(folder, "context", "--at", "2").stdout


def test_a_person_chooses_what_a_run_sees(folder: Path) -> None:
    def seen(*options: str) -> dict[str, str]:
        rows = json.loads(engine(folder, "context", "demo", *options, "--json").stdout)
        return {row["path"]: row["visibility"] for row in rows}

    before = seen()
    assert before["notes.md"] == "visible"
    after = seen("--summarized", "*.md", "--archived", "log://**")
    assert after["notes.md"] == "summarized"
    assert not [path for path in after if path.startswith("log://")]
    assert seen("--visible", "log://**", "--visible", "notes.md") == before
    refused = engine(folder, "context", "demo", "--archived", "notes.md", "--archived", "nothing.md")
    assert refused.returncode == 2
    assert "nothing.md not found" in refused.stderr
    assert seen() == before, "all or nothing"
    assert "403" in engine(folder, "context", "demo", "--archived", "prompt://1").stderr
    assert "engine fork" in engine(folder, "context", "demo", "--at", "1", "--archived", "notes.md").stderr


def test_a_finished_run_has_nothing_to_resume_or_abort(folder: Path) -> None:
    assert (engine(folder, "resume").returncode, engine(folder, "resume", "demo").returncode) == (7, 7)
    done = engine(folder, "abort", "demo")
    assert done.returncode == 0
    assert "nothing was aborted" in done.stderr
    assert json.loads(engine(folder, "runs", "--json").stdout)[0]["status"] == 200


# --- sql and shell


def test_sql_lists_the_views_with_what_they_show(folder: Path) -> None:
    """Spec: @people_views."""
    rows = json.loads(engine(folder, "sql", "--views", "--json").stdout)
    shows = {row["view"]: row["shows"] for row in rows}
    assert shows["processes"].startswith("The shell commands that were started")
    assert {view for view, sentence in shows.items() if not re.fullmatch(r"[A-Z].{12,}[^.:]\.", sentence)} == set()
    assert {view for view, sentence in shows.items() if "select " in sentence} == set()
    assert [*shows] == sorted(shows)
    assert not {"_begin_turn", "_answers", "_invariant_history"} & set(shows)
    table = engine(folder, "sql", "--views").stdout
    assert re.search(r"^processes +The shell commands that were started", table, re.MULTILINE)
    assert engine(folder, "sql").returncode == 2
    assert engine(folder, "sql", "--views", "select 1").returncode == 2


def test_sql_prints_a_table_json_or_csv(folder: Path) -> None:
    query = "select 1 as a, 'x,\"y\nz' as b, null as c, x'00ff' as d"
    assert engine(folder, "sql", query).stdout == "a  b      c  d\n1  x,\"y…     x'00ff'\n"
    assert json.loads(engine(folder, "sql", "--json", query).stdout) == [
        {"a": 1, "b": 'x,"y\nz', "c": None, "d": "x'00ff'"}
    ]
    rows = list(csv.reader(io.StringIO(engine(folder, "sql", "--csv", query).stdout)))
    assert rows == [["a", "b", "c", "d"], ["1", 'x,"y\nz', "", "x'00ff'"]]
    assert engine(folder, "sql", "-", stdin="select 2 as two").stdout == "two\n2\n"


def test_sql_cuts_at_the_row_limit_and_says_so(folder: Path) -> None:
    numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) select i from n"
    done = engine(folder, "sql", "--json", numbers)
    assert len(json.loads(done.stdout)) == 1000
    assert "--limit 0" in done.stderr
    assert len(json.loads(engine(folder, "sql", "--json", "--limit", "0", numbers).stdout)) == 5000


def test_sql_ends_what_takes_too_long(folder: Path) -> None:
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    done = engine(folder, "sql", "--timeout", "0.2", endless)
    assert done.returncode == 1
    assert "longer than 0.2 s" in done.stderr


def test_sql_sends_commands_with_a_dot_to_the_shell(folder: Path) -> None:
    done = engine(folder, "sql", ".tables")
    assert (done.returncode, done.stdout) == (2, "")
    assert "commands with a dot, such as .tables, are those of 'engine shell'" in done.stderr


@pytest.mark.parametrize("query", ["delete from runs", "pragma user_version = 9", "attach 'x.db' as x"])
def test_sql_changes_nothing(folder: Path, query: str) -> None:
    before = database(folder).read_bytes()
    done = engine(folder, "sql", query)
    assert (done.returncode, done.stdout) == (1, "")
    assert "only reading is allowed" in done.stderr
    assert database(folder).read_bytes() == before
    assert not (folder / "x.db").exists()


def test_shell_answers_statements_and_dot_commands(folder: Path) -> None:
    typed = ".tables\nselect run,\n  status from run_overview;\n.schema _next_steps\n.help\n.quit\nselect 1;\n"
    done = engine(folder, "shell", stdin=typed)
    assert done.returncode == 0
    assert "run_overview" in done.stdout
    assert "run   status\ndemo  200" in done.stdout
    assert "CREATE VIEW _next_steps" in done.stdout
    assert "\ndoors\n" in done.stdout
    assert "  _" not in done.stdout.partition("run   status")[0]
    assert ".quit" in done.stdout


def test_shell_goes_on_after_an_error_and_tells_it_in_the_end(folder: Path) -> None:
    done = engine(folder, "shell", stdin="select * from nope;\n.nope\ndrop table runs;\nselect 7 as seven")
    assert done.returncode == 1
    assert done.stdout == "seven\n7\n"
    assert len(done.stderr.splitlines()) == 3


def test_json_and_errors_hold_nothing_that_acts_on_a_terminal(folder: Path) -> None:
    text = "\x1b[31m \x9b31m \u202e \x7f é"
    done = engine(folder, "sql", "select 'x' || char(0x1b, 0x9b, 0x202e, 0x7f, 0xe9) as body", "--json")
    assert json.loads(done.stdout)[0]["body"] == "x\x1b\x9b\u202e\x7fé"
    assert "\\u009b\\u202e\\u007fé" in done.stdout
    refused = engine(folder, "context", "--visible", text)
    assert refused.returncode != 0
    assert not set(text[:-1]) & set(refused.stderr) - set("[31m ")


def test_a_table_at_a_terminal_keeps_every_column_and_the_width(folder: Path) -> None:
    query = "select 1 as turn, 'set' as action, printf('%.300c', 'x') as body"
    lines = [line.rstrip() for line in on_terminal(folder, "sql", query, columns=60, NO_COLOR="1")[1].splitlines()]
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in lines]
    assert [line.split()[:2] for line in lines] == [["turn", "action"], ["1", "set"]]
    assert lines[1].endswith("x…")
    assert max(map(len, lines)) <= 60


def test_a_last_column_that_is_left_little_room_stands_below_the_others(folder: Path) -> None:
    query = "select 7 as turn, 'said' as action, printf('%.14c', '語') || ' ' || printf('%.14c', '本') as body"
    said = on_terminal(folder, "sql", query, columns=40, NO_COLOR="1")[1]
    assert re.sub(r"\x1b\[\d*m", "", said).splitlines() == [
        "turn  action",
        "  body",
        "   7  said",
        f"  {'語' * 14}",
        f"  {'本' * 14}",
    ]


def test_a_row_that_is_too_wide_for_the_terminal_stands_in_lines_of_its_own(folder: Path) -> None:
    query = (
        "select 7 as turn, printf('%.39c', '語') as path, 'the last column is read whole' as body "
        "union all select 8, '', ''"
    )
    code, said = on_terminal(folder, "sql", query, columns=40)
    assert code == 0
    assert said.splitlines() == [
        "turn  7",
        f"path  {'語' * 17}",
        f"      {'語' * 17}",
        f"      {'語' * 5}",
        "body  the last column is read whole",
        "",
        "turn  8",
    ]
