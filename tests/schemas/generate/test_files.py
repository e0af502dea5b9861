"""The same declarations give the same bytes, and every noun gets its files."""

import json

import yaml
from jsonschema import Draft202012Validator

from schemas.crds import CRDS, manifest
from schemas.generate import files
from schemas.generate.text import MARK


def test_every_declaration_gets_its_files(lamps, life):
    assert set(files(lamps, [life], CRDS)) == {
        "asyncapi.yaml",
        *(f"crds/{crd.name}.yaml" for crd in CRDS),
        "jsonschema/dev.alate.lamp.dark.json",
        "jsonschema/dev.alate.lamp.lit.json",
        "jsonschema/dev.alate.lamp.wish.json",
        "jsonschema/dev.alate.seen.light.json",
        "states/lamp.md",
        "subjects.md",
    }


def test_twice_generated_is_the_same(lamps, life):
    assert files(lamps, [life], CRDS) == files(lamps, [life], CRDS)


def test_every_file_says_that_it_is_generated(lamps, life):
    assert all(MARK in text and text.endswith("\n") for text in files(lamps, [life], CRDS).values())


def test_a_json_schema_takes_what_the_struct_takes(lamps, life):
    schema = json.loads(files(lamps, [life], CRDS)["jsonschema/dev.alate.lamp.lit.json"])
    Draft202012Validator.check_schema(schema)
    check = Draft202012Validator(schema)
    assert check.is_valid({"room": {"name": "hall"}, "since": 1.5})
    assert not check.is_valid({"room": {"name": 3}})


def test_a_payload_that_another_schema_describes_takes_anything(lamps, life):
    schema = json.loads(files(lamps, [life], CRDS)["jsonschema/dev.alate.lamp.wish.json"])
    assert Draft202012Validator(schema).is_valid({"spec": {"clusters": [1, "two", None]}})


def test_the_crd_file_is_the_manifest(lamps, life):
    assert yaml.safe_load(files(lamps, [life], CRDS)["crds/colonies.alate.dev.yaml"]) == manifest()


def test_the_subject_table_has_a_row_per_subject_and_keeps_its_columns(lamps, life):
    lines = files(lamps, [life], CRDS)["subjects.md"].splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [
        "lamp.dark.{tenant}.{name}",
        "lamp.lit.{tenant}.{name}",
        "lamp.wanted",
        "lamp.wanted.{tenant}",
        "seen.light.{room}",
    ]
    lit = "| `lamp.lit.{tenant}.{name}` | `dev.alate.lamp.lit` | janitor | EVENTS | It gives light \\| or should. |"
    assert lit in rows


def test_a_states_page_draws_the_life_and_explains_the_states(lamps, life):
    page = files(lamps, [life], CRDS)["states/lamp.md"]
    assert f"```mermaid\n{life.mermaid()}```" in page
    assert "| `dark` | It gives none. |" in page
