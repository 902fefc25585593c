"""The list of commands that `engine --help` prints, by what people want to do, and what a command says of words too many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from shutil import get_terminal_size
from typing import Any

from typer import BadParameter, Typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from engine.terminal.printing import shown_error

from .tree import COMMANDS, ELSEWHERE, FIRST, OPTIONS, Place
from .values import take_as_given

_WRONG_USAGE: Any = BadParameter.__mro__[1]
"""`UsageError`: that of click, or of the copy of click that newer versions of typer bring along."""
CLICK = _WRONG_USAGE.__module__.rpartition(".")[0]
"""The name of that package."""

SENTENCE = 500
"""Characters of a first sentence; it is not cut."""

MORE = (
    "'engine COMMAND -h' explains a command. 'engine help --all' lists all commands. 'engine help WORD' finds commands "
    "by a word."
)
"""What the first screen says of the other commands."""

_MEANT = {
    "int_parsing": "{value!r} is not a whole number",
    "float_parsing": "{value!r} is not a number",
    "greater_than_equal": "must be {ge:g} or more, not {value}",
    "less_than_equal": "must be {le:g} or less, not {value}",
}
"""What is wrong with a value, by pydantic's name for it."""


class _Nearest(TyperGroup):
    """Commands; a name that none of them has is an error that names the nearest one, or all where they are few."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names; a usage error says what may be meant."""
        name = args[0] if args else ""
        if name.startswith("-") or self.get_command(ctx, name) is not None or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        return ctx.fail(f"There is no command {name[:100]!r}; {self._meant(ctx, name)}")

    def _meant(self, ctx: Any, name: str) -> str:
        from difflib import get_close_matches

        names = self.list_commands(ctx)
        if ctx.parent is None and " " in name.strip():
            return 'to run an agent on a prompt: engine run "…"'
        meant = ELSEWHERE.get(name) if ctx.parent is None else None
        near = [meant] if meant else get_close_matches(name.lower(), names, 1, _NEAR)
        if near:
            return f"did you mean '{ctx.command_path} {near[0]}'?"
        if len(names) <= _FEW:
            return f"the commands are {', '.join(names)}"
        return "'engine help --all' lists all commands" if ctx.parent is None else f"'{ctx.command_path} -h' lists them"


_NARROW = 52
"""Columns; click lays out no help that is narrower."""
_NEAR = 0.6
"""From this likeness on a name is taken for a slip."""
_MANY = 14
"""With more options than these a command lists them in groups."""
_FEW = 12
"""So many commands are all named."""


class Lazy(_Nearest):
    """A group whose commands are imported and made when one of them is asked for; lists have their lines by `tree`."""

    below: Mapping[str, Place]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's own signature
        """The names of the commands."""
        return [*self.below]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's own signature
        """The command of that name, made once; None where there is none."""
        if cmd_name not in self.below:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = made(cmd_name, self.below[cmd_name])
        return self.commands[cmd_name]

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The names that begin so, and options."""
        item = import_module(f"{CLICK}.shell_completion").CompletionItem
        found = [item(name, help=place.line) for name, place in self.below.items() if name.startswith(incomplete)]
        return [*found, *TyperCommand.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - click's own signature
        """Write the list of the commands."""
        write_list(formatter, "Commands", self.below, max(map(len, self.below)))


class Grouped(Lazy):
    """The commands of the engine; its help lists those of every day, by what people want to do.

    An error of usage repeats an argument as other errors do: cut where it is long, with escapes for what a terminal obeys.
    """

    below = COMMANDS

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the command line as far as the command; on a narrow terminal the help is as narrow."""
        if (columns := get_terminal_size().columns) < _NARROW:
            options["terminal_width"] = max(columns, 20)
        with _readable_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Read the rest of the command line, and run the command."""
        with _readable_errors():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - click's own signature
        """Write a list for each group, with the first columns aligned over all of them."""
        width = max(len(name) for names in FIRST.values() for name in names)
        for title, names in FIRST.items():
            write_list(formatter, title, {name: COMMANDS[name] for name in names}, width)
        formatter.write_paragraph()
        formatter.write_text(MORE)


def write_list(formatter: Any, title: str, places: Mapping[str, Place], width: int) -> None:
    """Write a titled list of commands, the names padded to `width` characters."""
    with formatter.section(title):
        formatter.write_dl([(name.ljust(width), place.line) for name, place in places.items()])


def made(name: str, place: Place) -> Any:
    """The command of a place, imported and made."""
    found = getattr(import_module(f"engine.commands.{place.module}"), place.name)
    holder = Typer(rich_markup_mode=None)
    holder.callback()(_nothing)
    if isinstance(found, Typer):
        holder.add_typer(found, name=name, cls=Listed)
    elif place.below:
        group = Typer(rich_markup_mode=None)
        group.callback(invoke_without_command=True)(found)
        holder.add_typer(group, name=name, cls=Lazy)
    else:
        holder.command(name, cls=Quoted)(found)
    command: Any = get_command(holder)
    command = command.commands[name]
    if place.below:
        command.below = place.below
    take_as_given(command)
    return command


def _nothing() -> None:
    """What makes a holder a group."""


class Listed(_Nearest):
    """The commands below one command; its help has the whole first sentence of each, on several lines where it is long."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of the commands."""
        known = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(SENTENCE)) for name, command in known if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Quoted(TyperCommand):
    """A command; one that gets more words than it takes says that a text or a pattern is quoted."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words; those that are too many end in a usage error."""
        ctx.allow_extra_args = True
        rest = self._parse_without_run(ctx, args) if self._lacks_run(ctx, args) else super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            first = rest[0] if len(rest[0]) <= 100 else f"{rest[0][:100]}…"
            ctx.fail(f"Too many arguments, starting with {first!r}; {self._meant()}")
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options; of many options those of every day first, the rest in groups."""
        told = [(each, each.get_help_record(ctx)) for each in self.get_params(ctx)]
        shown = [(each, record) for each, record in told if record is not None]
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], **{name: [] for name in OPTIONS}}
        is_long = sum(each.param_type_name == "option" for each, _ in shown) > _MANY
        for each, record in shown:
            title = "Arguments" if each.param_type_name == "argument" else "Options"
            if is_long:
                title = next((name for name, options in OPTIONS.items() if options & {*each.opts}), title)
            sections[title].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def _lacks_run(self, ctx: Any, args: list[str]) -> bool:
        """Whether the words leave RUN out: one that is needed is missing, or the first is a path or the number of a turn."""
        first, second, *more = [*(each for each in self.params if each.param_type_name == "argument"), None, None]
        if first is None or first.name != "run" or first.required or second is None or ctx.resilient_parsing:
            return False
        words, left, _ = self.make_parser(ctx).parse_args(args=[*args])
        if words.get("help"):
            return False
        given = [each for each in (first, second, *more) if each is not None and isinstance(words.get(each.name), str)]
        lists = [each for each in (second, *more) if each is not None and each.nargs == -1 and words.get(each.name)]
        named = str(words[first.name]) if first in given else ""
        if any(each.required and each not in given + lists for each in (second, *more) if each is not None):
            return named.isdecimal() or not _takes_number(second)
        return not left and ("/" in named or (second not in given and named.isdecimal() and _takes_number(second)))

    def _parse_without_run(self, ctx: Any, args: list[str]) -> list[str]:
        own = self.params
        self.params = [each for each in own if each.name != "run"]
        try:
            rest = super().parse_args(ctx, args)
        finally:
            self.params = own
        ctx.params["run"] = None
        return rest

    def _meant(self) -> str:
        """What to do about words too many: quote a text, or name the option that takes one."""
        names = {name for parameter in self.params for name in parameter.opts}
        if "--as" in names:
            return "'--as NAME' gives a name"
        return "put a text of several words, or a pattern, into quotes"


def _takes_number(parameter: Any) -> bool:
    """Whether a parameter takes a whole number."""
    kind = getattr(parameter, "type_descriptor", None)  # older versions of typer have the type itself
    return "int" in str(parameter.type if kind is None else kind.annotation).lower()


@contextmanager
def _readable_errors() -> Iterator[None]:
    try:
        yield
    except _WRONG_USAGE as error:
        error.message = shown_error(_plain(error))
        raise


def _plain(error: Any) -> str:
    """What is wrong with a value, with the value: newer versions of typer repeat the words of pydantic, without it."""
    reasons = getattr(error.__cause__, "errors", None)
    if reasons is None:
        return str(error.message)
    first = reasons()[0]
    meant = _MEANT.get(first["type"])
    if meant is None:
        return str(error.message).removeprefix("Value error, ")
    return meant.format(value=first["input"], **first.get("ctx", {}))
