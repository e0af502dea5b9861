"""What is read quickly is what Typer reads, and what cannot be is refused in Typer's words."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer import Context
from typer.main import get_command

from services.cli.values import read_quickly


class Colour(StrEnum):
    RED = "red"


def command(
    *,
    text: str = "",
    texts: Annotated[list[str] | None, typer.Option("--more")] = None,
    number: int = 0,
    small: Annotated[int, typer.Option(max=9)] = 0,
    price: float | None = None,
    colour: Colour = Colour.RED,
    path: Path | None = None,
    flag: bool = False,
) -> None:
    pass


def parsed(words, *, quickly):
    app = typer.Typer()
    app.command()(command)
    made = get_command(app)
    if quickly:
        read_quickly(made.get_params(Context(made)))
    try:
        return made.make_context("x", list(words)).params
    except typer.BadParameter as refused:
        return refused.message


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--text", "16", "--flag"),
        ("--more", "a", "--more", "b"),
        ("--number", "16", "--small", "9"),
        ("--number", "-3", "--price", "1e3"),
        ("--price", "2.50", "--colour", "red"),
        ("--path", "/tmp"),  # noqa: S108 - it exists
        ("--path", "/no/such/file"),
        ("--number", "many"),
        ("--number", "9" * 5000),
        ("--small", "16"),
        ("--price", "1.2.3"),
        ("--colour", "blue"),
    ],
)
def test_values_are_those_that_typer_reads(words):
    quick, slow = parsed(words, quickly=True), parsed(words, quickly=False)
    assert quick == slow
    assert isinstance(quick, str) or list(map(type, quick.values())) == list(map(type, slow.values()))
