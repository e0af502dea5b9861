"""Help pages: every command with its whole summary, in the order in which commands are used."""

from typing import TYPE_CHECKING

from typer.core import TyperGroup

from services.cli.values import read_quickly

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

ORDER = (
    "demo",
    "up",
    "preflight",
    "request",
    "get",
    "explain",
    "plan",
    "diff",
    "kubeconfig",
    "scale",
    "extend",
    "upgrade",
    "hibernate",
    "wake",
    "recreate",
    "delete",
    "addons",
    "events",
    "trigger",
    "outbound",
    "adopt",
    "import",
    "replay",
    "completion",
    "version",
)
"""The commands of `alate` itself."""


class Commands(TyperGroup):
    """A group of commands whose help names them all in order and cuts nothing off."""

    def list_commands(self, ctx: "Context") -> list[str]:
        """The names: those of `ORDER` first, others as they were added."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Read the options of the group itself; what is left over names a command."""
        read_quickly(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: "Context", args: list[str]) -> tuple[str | None, "Command | None", list[str]]:
        """The command that the first word names, ready to read its values, and the words after it."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            read_quickly(command.get_params(ctx))
        return name, command, rest

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write one row per command: its name and the first paragraph of its help."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, summary(command.help or "")) for name, command in commands if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def summary(text: str) -> str:
    """The first paragraph of a help text, in one line."""
    return " ".join(text.partition("\n\n")[0].split())
