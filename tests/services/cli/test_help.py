"""Help names every command in the order of use, whole, and shows an example of each."""

from collections.abc import Iterator
from typing import Any

import pytest
from typer import Context, Typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from services.cli.app import app
from services.cli.help import ORDER
from services.cli.options import OutcomeOptions, PlaceOptions, grouped

MAIN: Any = get_command(app)


def commands(group: TyperGroup, path: str) -> Iterator[tuple[str, TyperCommand]]:
    for name, each in group.commands.items():
        yield from commands(each, f"{path} {name}") if isinstance(each, TyperGroup) else [(f"{path} {name}", each)]


EVERY = dict(commands(MAIN, "alate"))


def test_commands_are_listed_in_the_order_of_use():
    assert tuple(MAIN.list_commands(Context(MAIN))) == ORDER


def test_no_summary_is_cut_off():
    shown = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert "..." not in shown.replace("[ARGS]...", "")
    assert "Create a cluster again that has ended because its time was over or it was idle." in shown


@pytest.mark.parametrize("name", EVERY)
def test_every_command_has_an_example_and_every_option_a_meaning(name):
    assert any(line.strip().startswith((name, "kubectl")) for line in EVERY[name].help.splitlines())
    context = Context(EVERY[name])
    records = [each.get_help_record(context) for each in EVERY[name].params]
    assert [record for record in records if record and not record[1].strip()] == []


def test_the_release_is_shown_by_an_option_and_by_a_command():
    runner = CliRunner()
    assert runner.invoke(app, ["--version"]).output == runner.invoke(app, ["version"]).output


def test_a_group_of_options_is_read_as_one_value():
    told = []

    def command(cluster: str, outcome: OutcomeOptions, place: PlaceOptions) -> None:
        told.append((cluster, outcome, place))

    single = Typer()
    single.command()(grouped(command))
    CliRunner().invoke(single, ["train/main", "--wait", "-n", "acme"], catch_exceptions=False)
    assert told == [("train/main", OutcomeOptions(wait=True), PlaceOptions("acme"))]
