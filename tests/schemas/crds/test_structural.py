"""An API server takes our CRD: its schema is structural, and its server fills in no status."""

from typing import Annotated

import pytest
from pydantic import Field

from schemas.crds import COLONY, CRDS, Colony, ColonyStatus, structural
from schemas.crds.model import CrdModel

TYPES = {"object", "array", "string", "integer", "number", "boolean"}
FORBIDDEN = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "const", "nullable", "title", "uniqueItems"}


def parts(schema, path=""):
    """Every schema in a schema, with its path."""
    yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from parts(part, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from parts(schema[key], f"{path}[]")


ALL = [(f"{crd.kind}{path}", part) for crd in CRDS for path, part in parts(crd.schema())]


def test_every_part_is_typed():
    assert {path for path, part in ALL if part.get("type") not in TYPES} == set()


def test_nothing_is_said_that_a_structural_schema_may_not_say():
    assert {path for path, part in ALL if FORBIDDEN & part.keys()} == set()


def test_every_object_says_what_is_in_it():
    said = {"properties", "additionalProperties", "x-kubernetes-preserve-unknown-fields"}
    bare = {p for p, part in ALL if part["type"] == "object" and not said & part.keys()}
    assert bare == {f"{crd.kind}.metadata" for crd in CRDS}
    free = {p for p, part in ALL if "x-kubernetes-preserve-unknown-fields" in part}
    values = (
        "Colony.spec.clusters[].addons[].values",
        "AddonProfile.spec.addons[].values",
        "ClusterAddonProfile.spec.addons[].values",
    )
    assert free == {f"Trigger.spec.rules[].{each}" for each in ("colony", "profile", "job")} | {*values}


def test_every_list_says_what_is_in_it_and_how_its_items_are_told_apart():
    lists = [part for _, part in ALL if part["type"] == "array"]
    assert lists
    assert all({"items", "x-kubernetes-list-type"} <= part.keys() for part in lists)


def test_the_key_of_a_list_map_is_always_there():
    maps = [part for _, part in ALL if part.get("x-kubernetes-list-type") == "map"]
    for part in maps:
        (key,) = part["x-kubernetes-list-map-keys"]
        assert key in part["items"].get("required", ()) or "default" in part["items"]["properties"][key]


def test_what_is_required_is_declared():
    assert {
        path for path, part in ALL if not set(part.get("required", ())) <= part.get("properties", {}).keys()
    } == set()


def test_every_field_people_write_is_described():
    own = [(path, part) for path, part in ALL if (".spec" in path or ".status" in path) and path[-2:] != "[]"]
    assert {path for path, part in own if not part.get("description")} == set()


def test_the_api_server_fills_nothing_into_a_status():
    assert [path for path, part in parts(structural(ColonyStatus)) if "default" in part] == []


def test_a_price_of_nothing_is_refused_as_openapi_3_0_says_it():
    cluster = COLONY.schema()["properties"]["spec"]["properties"]["clusters"]["items"]["properties"]
    price = cluster["maxPricePerHour"]
    assert (price["type"], price["minimum"], price["exclusiveMinimum"]) == ("number", 0, True)


def test_a_field_of_two_types_cannot_be_narrowed():
    class Either(CrdModel):
        value: Annotated[int, Field(ge=1)] | str

    with pytest.raises(ValueError, match="too many values"):
        structural(Either)


def test_the_manifest_names_the_kind_as_kubectl_asks_for_it():
    spec = COLONY.manifest()["spec"]
    assert spec["names"] == {
        "kind": "Colony",
        "listKind": "ColonyList",
        "plural": "colonies",
        "singular": "colony",
        "shortNames": ["col"],
    }
    assert (COLONY.name, spec["scope"]) == ("colonies.alate.dev", "Namespaced")
    (version,) = spec["versions"]
    assert (version["name"], version["subresources"]) == ("v1alpha1", {"status": {}})
    assert f"{spec['group']}/{version['name']}" == Colony.model_fields["api_version"].default


def test_every_printer_column_shows_a_field_that_exists():
    columns = COLONY.manifest()["spec"]["versions"][0]["additionalPrinterColumns"]
    shown = [column["name"] for column in columns if not column.get("priority")]
    assert shown == ["Phase", "Ready", "Accelerators", "Offer", "Price/h", "Age", "Message"]
    paths = {path.removeprefix("Colony") for path, _ in ALL} | {".metadata.creationTimestamp"}
    assert {column["jsonPath"] for column in columns} <= paths


def test_kubectl_shows_a_colonys_message_as_it_is_and_its_end_when_asked_for_more():
    """A column of the type date is printed as an age: of a time to come that is `<invalid>`."""
    shown = {each["name"]: each for each in COLONY.manifest()["spec"]["versions"][0]["additionalPrinterColumns"]}
    assert shown["Message"] == {"name": "Message", "type": "string", "jsonPath": ".status.message"}
    end = {"name": "Expires", "type": "string", "jsonPath": ".status.expiresAt", "priority": 1}
    assert shown["Expires"] == end


@pytest.mark.parametrize("crd", CRDS, ids=lambda crd: crd.kind)
def test_every_column_shows_a_field_that_the_schema_has(crd):
    ours = [column.path for column in crd.columns if not column.path.startswith(".metadata.")]
    known = {path.partition(".")[2].rstrip("[]") for path, _ in parts(crd.schema(), crd.kind)}
    assert {path.partition("[")[0].strip(".") for path in ours} <= known
