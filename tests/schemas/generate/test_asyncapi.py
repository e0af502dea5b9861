"""The AsyncAPI document holds together, and says who sends what where."""

import pytest
import yaml

from schemas.discover import lifecycles
from schemas.generate.asyncapi import document, files
from schemas.registry import declarations


@pytest.fixture
def lamp_api(lamps):
    return yaml.safe_load(files(lamps)["asyncapi.yaml"])


@pytest.fixture
def our_api():
    lifecycles()
    return yaml.safe_load(files(declarations())["asyncapi.yaml"])


def resolve(api, reference):
    place = api
    for part in reference.removeprefix("#/").split("/"):
        place = place[part]
    return place


def references(part):
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for inner in part.values():
            yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


@pytest.fixture(params=["lamp_api", "our_api"])
def api(request):
    return request.getfixturevalue(request.param)


def test_it_is_asyncapi_3(api):
    assert api["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= api["info"].keys()


def test_every_reference_leads_somewhere(api):
    found = list(references(api))
    assert found
    for reference in found:
        assert resolve(api, reference)


def test_every_operation_sends_or_receives_messages_of_its_own_channel(api):
    for operation in api["operations"].values():
        assert operation["action"] in {"send", "receive"}
        channel = operation["channel"]["$ref"]
        assert all(message["$ref"].startswith(f"{channel}/messages/") for message in operation["messages"])


def test_every_parameter_of_an_address_is_described_and_no_other(api):
    for channel in api["channels"].values():
        parts = [part.strip("{}") for part in channel["address"].split(".") if part.startswith("{")]
        assert list(channel.get("parameters", {})) == parts


def test_every_channel_has_one_operation_and_says_its_stream(api):
    asked = [operation["channel"]["$ref"] for operation in api["operations"].values()]
    assert sorted(asked) == sorted(f"#/channels/{name}" for name in api["channels"])
    assert {channel["x-stream"] for channel in api["channels"].values()} <= {"EVENTS", "LEVELS", "INTAKE"}


def test_every_message_has_its_cloudevents_headers(api):
    trait = api["components"]["messageTraits"]["cloudevent"]["headers"]
    assert {"ce-specversion", "ce-id", "ce-source", "ce-type"} == set(trait["required"])
    for name, message in api["components"]["messages"].items():
        assert message["headers"]["properties"]["ce-type"] == {"const": name}
        assert message["traits"] == [{"$ref": "#/components/messageTraits/cloudevent"}]


def test_every_message_of_ours_is_in_it(our_api):
    assert set(our_api["components"]["messages"]) == {it.type for it in declarations()}


def test_a_state_is_sent_by_its_owner(lamp_api):
    sent = lamp_api["operations"]["janitor.lamp.lit.tenant.name"]
    assert (sent["action"], sent["tags"]) == ("send", [{"name": "janitor"}])
    assert lamp_api["channels"]["lamp.lit.tenant.name"]["address"] == "lamp.lit.{tenant}.{name}"


def test_intake_is_received_on_each_of_its_subjects(lamp_api):
    received = {name for name, operation in lamp_api["operations"].items() if operation["action"] == "receive"}
    assert received == {"anyone.lamp.wanted", "anyone.lamp.wanted.tenant"}


def test_a_payload_refers_to_the_structs_it_is_made_of(lamp_api):
    lit = resolve(lamp_api, lamp_api["components"]["messages"]["dev.alate.lamp.lit"]["payload"]["$ref"])
    room = resolve(lamp_api, lit["properties"]["room"]["$ref"])
    assert room["properties"]["floors"]["default"] == [1, 2]


def test_two_structs_of_one_name_are_told_apart(own_registry):
    import msgspec  # noqa: PLC0415 - only here

    for module in ("one", "other"):
        struct = msgspec.defstruct("Same", [(module, int)], module=module)
        own_registry.state("lamp", module, owner="janitor")(struct)
    assert len(document(own_registry.declarations())["components"]["schemas"]) == 2
