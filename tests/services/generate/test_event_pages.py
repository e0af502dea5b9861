"""There is a page per event, and it says what is so."""

import re

import msgspec
import pytest

from schemas.cluster import Ready
from schemas.discover import lifecycles
from schemas.registry import declarations, declared
from schemas.requests import ClusterRequest
from services.generate import event_pages
from services.generate.event_pages import OUT, files, hearers, main, page

lifecycles()
EVENTS = declarations()


def test_every_page_says_what_is_declared():
    assert main(["--check"]) == 0


def test_there_is_a_page_for_every_event_and_the_index_leads_to_all():
    index = files()["README.md"]
    assert re.findall(r"\((\S+)\.md\)", index) == [each.type for each in EVENTS]
    assert {path.stem for path in OUT.glob("*.md")} == {"README", *(each.type for each in EVENTS)}


@pytest.mark.parametrize("event", EVENTS, ids=lambda each: each.type)
def test_an_example_is_one_and_its_schema_is_there(event):
    shown = page(event)
    example = shown.partition("```json\n")[2].partition("```")[0]
    assert isinstance(msgspec.json.decode(example, type=event.struct), event.struct)
    assert (OUT / re.search(r"\((\S+\.json)\)", shown)[1]).is_file()


@pytest.mark.parametrize(
    ("struct", "services"),
    [(Ready, ["addons", "teardown", "edge", "outbound"]), (ClusterRequest, ["gateway"])],
)
def test_who_hears_it_is_who_has_a_place_for_it(struct, services):
    assert hearers(declared(struct)) == services


def test_how_long_it_is_kept_is_its_streams_business():
    assert "on `INTAKE`: 14 days" in page(declared(ClusterRequest))
    assert "until `ALATE_RETENTION_DAYS` after" in page(declared(Ready))


def test_a_page_that_differs_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(event_pages, "OUT", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    assert main(["--check"]) == 0
    (tmp_path / "dev.alate.cluster.ready.md").write_text("nobody knows")
    assert main(["--check"]) == 1
    assert capsys.readouterr().err == (
        "dev.alate.cluster.ready.md differs from what is declared: run `make generate`\n"
    )
