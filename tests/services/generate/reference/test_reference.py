"""The reference is what the code says, and says something of each thing."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from schemas.discover import lifecycles
from schemas.registry import declarations
from services.cli.app import app
from services.generate.reference import __main__ as reference
from services.generate.reference.log_events import logged
from services.generate.reference.markdown import code, text
from services.generate.reference.metric_names import declared, kinds
from services.generate.reference.setting_names import FIELDS


@cache
def pages() -> dict[str, str]:
    return reference.files()


def rows(page: str) -> list[list[str]]:
    lines = [line for line in pages()[page].split("\n") if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_every_page_is_what_the_code_says_and_nothing_else_lies_beside_them():
    assert {path.name: path.read_text() for path in reference.OUT.iterdir()} == pages()


def test_a_page_that_differs_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reference, "OUT", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert reference.main([]) == 0
    (tmp_path / "settings.md").write_text("something else")
    assert reference.main(["--check"]) == 1
    assert capsys.readouterr().err == "settings.md differs from the code: run `make generate`\n"


@pytest.mark.parametrize("page", [name for name in reference.PAGES if name not in {"events.md", "commands.md"}])
def test_every_row_has_a_meaning(page):
    assert [row[0] for row in rows(page) if page != "log-events.md" and not row[-1]] == []


def test_every_event_has_a_section():
    lifecycles()
    assert re.findall(r"^## (\S+)$", pages()["events.md"], re.MULTILINE) == [each.type for each in declarations()]


def test_every_command_has_a_section():
    group: Any = get_command(app)
    commands = group.commands
    assert {name.split()[1] for name in re.findall(r"^## (alate .*)$", pages()["commands.md"], re.MULTILINE)} == set(
        commands
    )


def test_every_setting_has_a_row():
    assert [row[0] for row in rows("settings.md")] == [f"`ALATE_{name.upper()}`" for name, _ in FIELDS]


def test_every_metric_that_a_dashboard_or_an_alert_asks_for_has_a_row():
    deploy = Path(__file__).parents[4] / "deploy"
    texts = [path.read_text() for path in (*deploy.rglob("*.json"), deploy / "prometheus" / "rules.yaml")]
    asked = {name for each in texts for name in re.findall(r"\b(?:alate|messaging)_[a-z_]+(?=[\[{) ])", each)}
    bases = {re.sub(r"_(bucket|count|sum)$", "", name) for name in asked}
    labels = {name for name in bases if name.startswith("messaging_destination")}
    known = {row[1].strip("`") for row in rows("metrics.md")}
    assert len(bases) > 20
    assert bases - labels - known == set()


def test_a_metric_is_of_the_kind_it_is_counted_as():
    of = {name: kinds().get(name, "gauge") for name in declared()}
    assert of["alate.hooks"] == "counter"
    assert of["alate.state.duration"] == "histogram"
    assert of["alate.entities"] == "gauge"


def test_a_log_event_has_its_levels_fields_and_places():
    found = logged()["bus.unavailable"]
    assert {"debug", "warning"} <= found.levels
    assert "reason" in found.fields
    assert len(found.places) > 1


def test_a_text_is_shown_as_it_is_written_and_backticks_are_code():
    assert text("one_two <name> and `a_b <c>`\n  here") == "one\\_two &lt;name> and `a_b <c>` here"
    assert code("a|b") == "`a, b`"
