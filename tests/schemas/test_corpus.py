"""Whatever an earlier release stored can be read by this one, for ever."""

import msgspec
import pytest

from events.cloudevents import decode
from schemas.discover import lifecycles
from schemas.registry import named
from tests.corpus import RELEASES, corpus

lifecycles()
MESSAGES = [pytest.param(said, id=f"{release} {said.place}") for release in RELEASES for said in corpus(release)]
OURS = [each for each in MESSAGES if each.values[0].stored.subject.split(".")[0] != "dlq"]


def lost(written: object, again: object, path: str = "") -> list[str]:
    """What was written and is not said again; a default need not be."""
    match written, again:
        case dict(), dict():
            return [each for name in written for each in lost(written[name], again.get(name), f"{path}.{name}")]
        case list(), list() if len(written) == len(again):
            pairs = enumerate(zip(written, again, strict=True))
            return [each for at, pair in pairs for each in lost(*pair, f"{path}[{at}]")]
    return [] if written == again or (again is None and written in DEFAULTS) else [path]


DEFAULTS = (None, "", 0, False, [], {}, "preferred")
MAIN_JOB = {
    "cluster": ("request", "pending", "launching", "provisioned", "ready", "releasing", "released", "waiting"),
    "addon": ("planned", "applying", "applied", "withdrawing", "withdrawn"),
    "teardown": ("armed", "warned", "draining", "cleaning", "releasing", "verifying", "gone"),
    "observed": ("wish", "infra"),
    "inventory": ("nodes", "cluster", "offers", "catalog"),
}
"""What is said when nothing goes wrong."""


@pytest.mark.parametrize("said", MESSAGES)
def test_every_stored_message_is_a_cloudevent_of_a_declared_type(said):
    event = decode(said.stored.headers, said.stored.data)
    assert event.id
    assert named(event.type)


@pytest.mark.parametrize("said", OURS)
def test_every_stored_payload_is_read_and_none_of_it_is_lost(said):
    shape = named(said.type).struct
    value = msgspec.json.decode(said.stored.data, type=shape)
    assert lost(msgspec.json.decode(said.stored.data), msgspec.json.decode(msgspec.json.encode(value))) == []


@pytest.mark.parametrize("release", RELEASES)
def test_a_corpus_holds_the_whole_main_job(release):
    met = {said.type for said in corpus(release)}
    assert {f"dev.alate.{domain}.{event}" for domain, events in MAIN_JOB.items() for event in events} <= met
