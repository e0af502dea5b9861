"""Help pages: every command with its whole summary, in the order in which commands are used."""

from typing import TYPE_CHECKING

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

ORDER = (
    "demo",
    "up",
    "request",
    "get",
    "explain",
    "plan",
    "kubeconfig",
    "scale",
    "extend",
    "upgrade",
    "hibernate",
    "wake",
    "recreate",
    "delete",
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

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write one row per command: its name and the first paragraph of its help."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, summary(command.help or "")) for name, command in commands if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def summary(text: str) -> str:
    """The first paragraph of a help text, in one line."""
    return " ".join(text.partition("\n\n")[0].split())
