"""Every command of `alate` with its arguments, options, examples and exit codes, from the command line itself."""

import re
from collections.abc import Iterator

from typer import Context
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from schemas.generate.text import table
from services.cli.app import app
from services.cli.errors import BAD_INPUT, FAILED, TIMED_OUT
from services.generate.reference import markdown
from services.generate.reference.markdown import code, section, text

KEEPS = "\b"
"""What typer marks a paragraph with whose lines are to be kept as they are."""
CODES = (
    ("0", "The command did what was asked."),
    (
        str(FAILED),
        "It was understood and failed, as for a cluster that is not there, or a wait ended otherwise than asked.",
    ),
    (str(BAD_INPUT), "Bad input: an option, a file or what cannot be a name; nothing was changed."),
    (str(TIMED_OUT), "The time of `--timeout` was over; what was asked for goes on."),
    ("130", "It was interrupted with Ctrl-C."),
)


def page() -> str:
    """The page."""
    codes = section("Exit codes", table(("Code", "Meaning"), CODES), "Errors are one sentence on standard error.")
    commands = list(_commands(get_command(app), "alate"))
    index = table(("Command", "What it does"), [_entry(each, name) for name, each in commands])
    return markdown.page("Commands", index, codes, *(_section(each, name) for name, each in commands))


def _commands(command: object, path: str) -> Iterator[tuple[str, TyperCommand]]:
    """Every command that does something, by its full name."""
    if isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            yield from _commands(inner, f"{path} {name}")
    elif isinstance(command, TyperCommand) and not command.hidden:
        yield path, command


def _entry(command: TyperCommand, name: str) -> tuple[str, str]:
    return f"[`{name}`](#{name.replace(' ', '-')})", text(_summary(command))


def _summary(command: TyperCommand) -> str:
    return (command.help or "").partition("\n\n")[0]


def _section(command: TyperCommand, name: str) -> str:
    context = Context(command, info_name=name)
    usage = f"```text\n{name} {' '.join(command.collect_usage_pieces(context))}\n```"
    records = [each.get_help_record(context) for each in command.params]
    rows = [(_code(first), text(meaning)) for first, meaning in filter(None, records)]
    options = table(("Argument or option", "Meaning"), rows) if rows else ""
    return section(name, text(_summary(command)), usage, *_details(command.help or ""), options)


def _code(first: str) -> str:
    """`-o, --output <table|json>` as code, with commas for bars."""
    return code(re.sub(r"<([^>]*)>", lambda found: f"<{found[1].replace('|', ', ')}>", first))


def _details(help_text: str) -> Iterator[str]:
    """What follows the summary: indented lines are examples, the others prose."""
    _, _, rest = help_text.partition("\n\n")
    for paragraph in rest.split("\n\n"):
        lines = [line for line in paragraph.split("\n") if line.strip() not in {"", KEEPS}]
        examples = [line for line in lines if line.startswith("  ")]
        prose = [line for line in lines if not line.startswith("  ")]
        if examples:
            margin = min(len(line) - len(line.lstrip()) for line in examples)
            yield "```text\n" + "\n".join(line[margin:] for line in examples) + "\n```"
        if prose:
            yield text(" ".join(prose))
