"""A message is declared once, and found by its type and by its struct."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from schemas.crds import COLONY
from schemas.discover import lifecycles
from schemas.generate.anything import anything
from schemas.registry import WireStruct, declarations, wire_name
from schemas.wish import Limits


class Up(msgspec.Struct):
    """It is up.

    And this is not part of the first line.
    """


class Also(msgspec.Struct):
    """It is up, too."""


def test_a_type_declared_twice_fails_at_import(own_registry):
    own_registry.state("lamp", "up", owner="janitor")(Up)
    with pytest.raises(ValueError, match=r"dev\.alate\.lamp\.up is declared twice: by Up and Also"):
        own_registry.state("lamp", "up", owner="somebody")(Also)


def test_a_duplicate_leaves_the_first_declaration_alone(own_registry):
    own_registry.state("lamp", "up", owner="janitor")(Up)
    with pytest.raises(ValueError, match="twice"):
        own_registry.level("lamp.up.{room}", owner="somebody")(Also)
    assert own_registry.named("dev.alate.lamp.up").struct is Up
    assert own_registry.declarations() == (own_registry.declared(Up),)


def test_a_state_travels_on_its_entitys_history(own_registry):
    own_registry.state("lamp", "up", owner="janitor")(Up)
    up = own_registry.declared(Up)
    assert (up.type, up.subject) == ("dev.alate.lamp.up", "lamp.up.{tenant}.{name}")
    assert (up.domain, up.event, up.owner, up.doc) == ("lamp", "up", "janitor", "It is up.")


def test_intake_is_one_message_on_several_subjects(own_registry):
    own_registry.intake("lamp.wish", "lamp.wanted", "lamp.wanted.{tenant}")(Up)
    wish = own_registry.declared(Up)
    subjects = ("lamp.wanted", "lamp.wanted.{tenant}")
    assert (wish.type, wish.subject, wish.subjects) == ("dev.alate.lamp.wish", "lamp.wanted", subjects)
    assert wish.owner == "anyone"


def test_a_type_that_is_not_ours_is_nobodys(own_registry):
    assert own_registry.named("dev.alate.lamp.up") is None


def test_a_struct_that_is_never_said_has_no_declaration(own_registry):
    with pytest.raises(KeyError):
        own_registry.declared(Up)


lifecycles()
SCHEMAS = {each.type: msgspec.json.schema(each.struct, schema_hook=anything) for each in declarations()}


def fields(schema: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Every field anywhere in a JSON Schema, with its own schema."""
    if isinstance(schema, Mapping):
        yield from schema.get("properties", {}).items()
    inner = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    for each in inner:
        yield from fields(each)


CRD = dict(fields(COLONY.manifest()))
DURATIONS = {name for name, schema in CRD.items() if "(h|m|s|ms)" in str(schema.get("pattern"))}


def types(schema: Mapping[str, Any]) -> set[object]:
    return {schema.get("type"), *(each.get("type") for each in schema.get("anyOf", ()))} - {None, "null"}


@pytest.mark.parametrize(("attribute", "field"), [
    ("name", "name"), ("price_per_hour", "pricePerHour"), ("cost_usd", "costUsd"), ("memory_gib", "memoryGiB"),
    ("pod_memory_gib", "podMemoryGiB"), ("memory_mib", "memoryMiB"),
])  # fmt: skip
def test_an_attribute_is_spelled_as_the_crd_spells_it(attribute, field):
    assert wire_name(attribute) == field


def test_the_crd_has_durations():
    assert {"timeToLive", "idleAfter", "warnBefore", "drainTimeout", "cleanTimeout"} <= DURATIONS


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_field_is_camel_case_and_a_name_of_the_crd_is_spelled_alike(kind):
    lowered = {name.lower() for name in CRD}
    names = {name for name, _ in fields(SCHEMAS[kind])}
    assert [name for name in names if "_" in name or (name.lower() in lowered and name not in CRD)] == []


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_duration_is_written_as_in_the_crd_and_a_number_of_seconds_says_so(kind):
    durations = [(name, types(schema)) for name, schema in fields(SCHEMAS[kind]) if name in DURATIONS]
    assert [each for each in durations if each[1] != {"string"}] == []


def test_every_message_is_a_wire_struct():
    assert [each.type for each in declarations() if not issubclass(each.struct, WireStruct)] == []


def test_intake_and_states_share_no_type_and_no_subject():
    intake = {each for each in declarations() if each.stream == "INTAKE"}
    states = {each for each in declarations() if each.stream == "EVENTS"}
    assert not {each.type for each in intake} & {each.type for each in states}
    assert not {each.event for each in intake} & {each.event for each in states}
    assert not {each.struct.__name__ for each in intake} & {each.struct.__name__ for each in states}


def test_a_message_is_repeated_with_other_values_in_some_fields():
    wish = Limits(idle_after_seconds=60.0)
    assert wish.but(idle_after_seconds=None) == Limits()
    with pytest.raises(TypeError):
        wish.but(unknown=1)
