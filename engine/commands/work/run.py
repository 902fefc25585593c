"""`engine run`: gives a prompt to a run and drives it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from engine.cli.completion import complete_model, complete_persona, complete_run
from engine.cli.databases import open_to_write, use_keys
from engine.cli.model_options import model_options
from engine.cli.options import (
    DbOption,
    DemoOption,
    EffortOption,
    JsonOption,
    KeepOutputOption,
    KeyFromOption,
    MaxCallsOption,
    MaxCostOption,
    MaxTokensOption,
    ModelOption,
    ModelOptionOption,
    OutputOption,
    RootOption,
    SandboxOption,
    WaitOption,
)
from engine.cli.run_argument import fork_point
from engine.display import demo_mode as hiding
from engine.models.availability import absolute_model
from engine.terminal.driver import drive
from engine.terminal.output_forms import output_form
from engine.terminal.printing import say
from engine.terminal.standard_input import piped_text

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.contract import Asked
    from engine.terminal.event_lines import EventLines
    from engine.terminal.input_lines import InputLines


def run(
    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT", help="The task or the question; - reads it from stdin.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="NAME",
            help="Continue the run of this name, or start a new run with this name.",
            autocompletion=complete_run,
        ),
    ] = None,
    root: RootOption = None,
    model: ModelOption = None,
    act: Annotated[
        bool, typer.Option("--act/--ask", help="With --act the model may propose changes; with --ask it only reads.")
    ] = True,
    yolo: Annotated[
        bool,
        typer.Option(
            "--yolo",
            help="Accept every proposal, including shell commands. Together with --ask: accept only commands of "
            "the tool env.",
        ),
    ] = False,
    persona: Annotated[
        str | None,
        typer.Option("--persona", metavar="NAME", help="The persona of the model.", autocompletion=complete_persona),
    ] = None,
    system_prompt: Annotated[
        str | None,
        typer.Option("--system-prompt", metavar="TEXT", help="Add TEXT to the model's instructions in this run."),
    ] = None,
    max_turns: Annotated[
        int | None, typer.Option("--max-turns", metavar="N", min=1, help="Stop after this many turns.")
    ] = None,
    max_depth: Annotated[
        int | None,
        typer.Option(
            "--max-depth",
            metavar="N",
            min=0,
            max=8,
            help="Let the run delegate to child runs, at most N levels deep; 0: none.",
        ),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option("--max-seconds", metavar="N", min=0, help="Stop after this many seconds; 0: no limit."),
    ] = None,
    max_cost: MaxCostOption = None,
    max_tokens: MaxTokensOption = None,
    max_calls: MaxCallsOption = None,
    context_limit: Annotated[
        int | None, typer.Option("--context-limit", metavar="N", min=256, help="Context window in tokens.")
    ] = None,
    condense_ratio: Annotated[
        float | None,
        typer.Option(
            "--condense-ratio",
            metavar="N",
            min=0,
            max=1,
            help="Summarize old tool results when a packet is fuller than this, from 0 to 1; 0: never.",
        ),
    ] = None,
    narrow_tools: Annotated[
        int | None,
        typer.Option(
            "--narrow-tools",
            metavar="N",
            min=0,
            max=100,
            help="Show the model only the N tools that best fit the prompt, and the core tools; 0: all tools.",
        ),
    ] = None,
    cache: Annotated[
        bool | None,
        typer.Option("--cache/--no-cache", help="Reuse the answer to a similar earlier prompt; see 'engine cache'."),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="N", min=0, max=2, help="Sampling temperature, 0 to 2.")
    ] = None,
    effort: EffortOption = None,
    option: ModelOptionOption = None,
    fallback: Annotated[
        list[str] | None,
        typer.Option(
            "--fallback",
            metavar="NAME",
            help="Ask this model if the model fails. May be repeated.",
            autocompletion=complete_model,
        ),
    ] = None,
    no_repo: Annotated[bool, typer.Option("--no-repo", help="Hide the files of the folder from the run.")] = False,
    no_web: Annotated[
        bool, typer.Option("--no-web", help="Do not let the model search the web or read web pages.")
    ] = False,
    no_interaction: Annotated[
        bool, typer.Option("--no-interaction", help="Do not let the model ask you questions.")
    ] = False,
    no_proposals: Annotated[
        bool, typer.Option("--no-proposals", help="Do not let the model propose anything that needs your decision.")
    ] = False,
    overwrite_unseen: Annotated[
        bool, typer.Option("--overwrite-unseen", help="Let the run overwrite files that it has not read.")
    ] = False,
    sandbox: SandboxOption = None,
    network: Annotated[bool, typer.Option("--network", help="Let shell commands reach the whole network.")] = False,
    domains: Annotated[
        str | None,
        typer.Option(
            "--domains", metavar="LIST", help="Let shell commands reach these domains: example.org,*.example.net:8080"
        ),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(
            "--accept", metavar="TEXT", help="A condition that the result must meet; another model checks it."
        ),
    ] = None,
    accept_command: Annotated[
        str | None,
        typer.Option(
            "--accept-command",
            metavar="LINE",
            help="Accept the result only if this command, such as 'make test', exits with 0.",
        ),
    ] = None,
    accept_attempts: Annotated[
        int | None,
        typer.Option(
            "--accept-attempts", metavar="N", min=1, help="Let the model try at most N times to pass the checks."
        ),
    ] = None,
    accept_model: Annotated[
        str | None,
        typer.Option(
            "--accept-model",
            metavar="NAME",
            help="The model that checks the result against --accept.",
            autocompletion=complete_model,
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema", metavar="FILE", help="Make the answer JSON that matches the JSON Schema in this file."
        ),
    ] = None,
    output_attempts: Annotated[
        int | None,
        typer.Option(
            "--output-attempts", metavar="N", min=1, help="Let the model try at most N times to match the schema."
        ),
    ] = None,
    fork: Annotated[
        str | None,
        typer.Option(
            "--fork",
            metavar="RUN[@N]",
            help="Start from a copy of another run, as it is now or as it was at turn N.",
            autocompletion=complete_run,
        ),
    ] = None,
    attach: Annotated[
        list[Path] | None,
        typer.Option(
            "--attach", "--image", metavar="FILE", help="Attach a picture, PDF, sound or text file. May be repeated."
        ),
    ] = None,
    handoff: Annotated[
        list[str] | None,
        typer.Option(
            "--handoff",
            metavar="NAME",
            help="Let the model hand the prompt over to this persona. May be repeated.",
            autocompletion=complete_persona,
        ),
    ] = None,
    key_from: KeyFromOption = None,
    stdin: Annotated[
        bool | None,
        typer.Option(
            "--stdin/--no-stdin",
            help="Read stdin, or ignore it. Default: read stdin if it is a pipe or a file.",
        ),
    ] = None,
    keep_output: KeepOutputOption = None,
    wait: WaitOption = True,
    output: OutputOption = "text",
    input_: Annotated[
        str,
        typer.Option(
            "--input", metavar="FORM", help="Read text, or stream-json: one prompt or decision per line of stdin."
        ),
    ] = "text",
    demo: DemoOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Run an agent on PROMPT and print its answer. Progress goes to stderr.

    File changes, shell commands and questions to you are proposals. On a terminal you decide at once. Without a
    terminal the run waits: the command prints how to accept or reject the proposals, and the exit code is 6. Ctrl-C
    stops the run; 'engine resume' continues it.

    Piped text is added to the prompt (long text as an attachment). If no text arrives for 10 seconds, the pipe is
    ignored. Use --no-stdin inside a shell loop that reads stdin.

    \b
    Examples:
      engine run "Which port does the server listen on?"
      engine run --ask --model openai/gpt-5 "Where is the retry logic?"
      make test 2>&1 | engine run "Why does it fail?"
      engine run --run review - < task.md
      engine run --image shot.png "What is wrong on this page?"
      engine run --fork review@3 "Now look at the tests"
      engine run --model openai/gpt-5 --key-from openai=env:WORK_KEY "Where is the retry logic?"
      engine run --sandbox require --domains pypi.org,files.pythonhosted.org "Update the dependencies"
      engine run --accept-command "make test" --accept "each new function has a test" "Add the option --quiet"
      engine run --output stream-json "Fix the typo" | jq -r 'select(.type == "delta").text'
      engine run --schema order.json --json "Read the order" < mail.txt
      engine run --yolo --max-turns 40 --max-seconds 900 --condense-ratio 0.75 "Make the tests pass"
      engine run --yolo --max-cost 0.50 "Make the tests pass"
      engine run --model openai/gpt-5 --fallback anthropic/claude-sonnet-4-5 "Where is the retry logic?"
      engine run --option top_p=0.2 --option seed=7 "Which port does the server listen on?"

    \b
    Exit codes:
      0 answered, 1 failed or not accepted, 2 usage, 3 cannot be done,
      4 aborted, 5 too large, 6 waits for a decision,
      8 answer does not match --schema, 130 interrupted
    """
    from engine.contract import Asked
    from engine.errors import ValidationError
    from engine.models.protocol import storable
    from engine.processes.kept_output import opened as output_file

    if demo:
        hiding.begin_here()
    lines, as_json = output_form(output, as_json)
    inputs = _input_lines(input_, lines)
    text, piped = _given(prompt, stdin, inputs)
    text, piped = storable(text), storable(piped)
    if not text.strip():
        raise ValidationError("the prompt is empty; write what the run should do")
    parent, at = (None, None) if fork is None else fork_point(fork)
    options = Asked(
        output=None if schema is None else _schema_in(schema),
        output_attempts=output_attempts,
        model=None if model is None else absolute_model(model),
        root=root,
        mode="act" if act else "ask",
        persona=persona,
        system_prompt=system_prompt,
        model_options=model_options(option),
        fallback_models=[absolute_model(each) for each in fallback] if fallback else None,
        effort=effort,
        context_limit=context_limit,
        max_turns=max_turns,
        max_depth=max_depth,
        max_seconds=max_seconds,
        max_cost=max_cost,
        max_tokens=max_tokens,
        max_calls=max_calls,
        condense_ratio=condense_ratio,
        narrow_tools=narrow_tools,
        answer_cache=cache,
        yolo=yolo,
        no_repo=no_repo,
        no_web=no_web,
        no_interaction=no_interaction,
        no_proposals=no_proposals,
        overwrite_unseen=overwrite_unseen,
        sandbox=sandbox,
        network=_network(network, domains),
        accept=accept,
        accept_command=accept_command,
        accept_attempts=accept_attempts,
        accept_model=None if accept_model is None else absolute_model(accept_model),
        fork=parent,
        at=at,
        attachments=attach,
        handoffs=handoff,
    )
    if temperature is not None:
        options["temperature"] = temperature
    _rehearse(db, text, run, options, piped, key_from)
    with (
        open_to_write(db) as database,
        output_file(database, keep_output, run or parent, root or Path.cwd()) as kept,
    ):
        use_keys(database, key_from)
        alias, loop = _prompt(database, text, run, options, piped)
        if lines is not None and inputs is not None:
            from engine.terminal.conversation import converse

            more = cast(
                "Asked", {key: value for key, value in options.items() if key not in ("fork", "at", "attachments")}
            )

            def give(text: str) -> int:
                return _prompt(database, text, alias, more, "")[1]

            converse(database, alias, loop, inputs, lines, give, given=db, yolo=yolo, kept=kept, wait=wait)
        drive(database, alias, loop, given=db, yolo=yolo, as_json=as_json, lines=lines, kept=kept, wait=wait)


def _input_lines(form: str, lines: EventLines | None) -> InputLines | None:
    """What reads stdin line by line, if `form` (--input) asks for it."""
    if form not in ("text", "stream-json"):
        raise typer.BadParameter("give text or stream-json", param_hint="--input")
    if form == "text":
        return None
    if lines is None:
        raise typer.BadParameter("--input stream-json needs --output stream-json", param_hint="--input")
    from engine.terminal.input_lines import InputLines

    return InputLines(lines)


def _given(prompt: str | None, stdin: bool | None, inputs: InputLines | None) -> tuple[str, str]:
    """The prompt, and the text that is piped to it; with --input the prompt may be the first of its lines."""
    if inputs is None:
        if prompt is None:
            raise typer.BadParameter("give a PROMPT, or - to read it from stdin", param_hint="PROMPT")
        return (sys.stdin.read(), "") if prompt == "-" else (prompt, piped_text(stdin))
    if prompt == "-":
        raise typer.BadParameter(
            "with --input stream-json, prompts come from stdin; leave PROMPT out", param_hint="PROMPT"
        )
    inputs.begin()
    if prompt is None:
        inputs.wait(lambda: inputs.prompts)
    return prompt or (inputs.prompts.popleft() if inputs.prompts else ""), ""


def _network(everything: bool, domains: str | None) -> str | None:
    """What commands reach, as the option `network`."""
    if everything and domains:
        raise typer.BadParameter("--network allows every domain; use --network or --domains", param_hint="--domains")
    return "all" if everything else domains


def _schema_in(file: Path) -> str:
    """The text of a JSON Schema; raises `NotFound` (404) for a file, `ValidationError` (400) for no text."""
    from engine.errors import NotFound, ValidationError

    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFound(
            f"schema {str(file)!r}: cannot be read ({error.strerror}); name a file with a JSON Schema"
        ) from None
    except UnicodeDecodeError:
        raise ValidationError(f"schema {str(file)!r}: is not UTF-8 text; name a file with a JSON Schema") from None


def _rehearse(
    db: Path | None, text: str, run: str | None, options: Asked, piped: str, key_from: list[str] | None
) -> None:
    """Where there is no database yet, try the prompt in one in memory: a prompt that is refused creates no file."""
    import engine
    from engine.system.locate import database_to_write

    if not database_to_write(db, Path.cwd()).exists():
        with engine.open(":memory:", config=True) as rehearsal:
            use_keys(rehearsal, key_from)
            _prompt(rehearsal, text, run, options, piped)


def _prompt(db: Database, text: str, run: str | None, options: Asked, piped: str) -> tuple[str, int]:
    """Give the prompt to the run. The folder of a new run is the current one unless --root names another."""
    from engine.driving import prompts

    is_new = not db.value("select 1 from runs where alias = ?", (run,))
    if is_new and options.get("fork") is None and options.get("root") is None:
        options = {**options, "root": Path.cwd()}
    alias, loop = prompts.prompt(db, text, run, options, piped)
    if db.path.exists():
        say(f"run {alias}, {'prompt ' + str(loop) + ', ' if loop > 1 else ''}{_model_of(db, alias)}", dim=True)
    return alias, loop


def _model_of(db: Database, run: str) -> str:
    return str(db.value("select model from loop_list where run = ? order by loop desc limit 1", (run,)))
