"""What this build decides is held against what was stored, field by field; what cannot be is said to be so."""

import json
from collections import Counter
from datetime import datetime, timedelta

import msgspec
import pytest

from services.cli.events.shadow import ReplayOutcome, look_again
from services.eventlog.record import EventRecord
from tests.corpus import RELEASES, corpus


def told(record: EventRecord, **fields) -> EventRecord:
    """The same message, had it said something else."""
    data = json.dumps(json.loads(record.stored.data) | fields).encode()
    return EventRecord(record.stream, msgspec.structs.replace(record.stored, data=data))


def states(release: str = "0.1.0") -> list[EventRecord]:
    return [record for record in corpus(release) if record.stream == "EVENTS"]


def others(release: str = "0.1.0") -> list[EventRecord]:
    return [record for record in corpus(release) if record.stream != "EVENTS"]


def changed(event: str, **fields) -> tuple[list[EventRecord], EventRecord]:
    """A history in which one state said something else."""
    history = states()
    place = next(at for at, record in enumerate(history) if record.type == f"dev.alate.{event}")
    history[place] = told(history[place], **fields)
    return history, history[place]


@pytest.mark.parametrize("release", RELEASES)
def test_this_build_can_decide_on_every_state_that_a_release_stored(release):
    found = Counter(look.found for look in look_again(states(release), others(release)))
    assert found[ReplayOutcome.UNREADABLE] == found[ReplayOutcome.UNLAWFUL] == found[ReplayOutcome.REPLACED] == 0
    assert found[ReplayOutcome.SAME] >= len(states(release)) / 2


def test_another_word_is_found_with_its_field():
    history, record = changed("cluster.ready", kubeconfig="another")
    look = next(look for look in look_again(history, others()) if look.record == record)
    assert look.found is ReplayOutcome.DIFFERS
    assert look.changed == {"kubeconfig": ("another", "train-gpu-1-kubeconfig")}


@pytest.mark.parametrize(("later", "found"), [(0.3, ReplayOutcome.SAME), (30.0, ReplayOutcome.DIFFERS)])
def test_times_that_were_reckoned_from_one_moment_are_no_difference(later, found):
    provisioned = next(record for record in states() if record.type == "dev.alate.cluster.provisioned")
    deadline = datetime.fromisoformat(json.loads(provisioned.stored.data)["deadline"]) + timedelta(seconds=later)
    history, record = changed("cluster.provisioned", deadline=deadline.isoformat())
    assert next(look.found for look in look_again(history, others()) if look.record == record) is found


def test_what_led_to_it_is_not_guessed_where_it_is_not_kept():
    looks = list(look_again(states()))
    replaced = {look.record.cause for look in looks if look.found is ReplayOutcome.REPLACED}
    assert replaced.isdisjoint({record.id for record in states()})
    assert any(look.found is ReplayOutcome.REPLACED for look in looks)


def test_a_way_this_build_does_not_know_is_found():
    without = [record for record in states() if record.type != "dev.alate.cluster.launching"]
    wrong = [look for look in look_again(without, others()) if look.found is ReplayOutcome.UNLAWFUL]
    assert [look.record.type for look in wrong] == ["dev.alate.cluster.provisioned"]


def test_a_state_this_build_cannot_read_is_found():
    history, record = changed("cluster.ready", attempt="no attempt")
    (wrong, *_) = [look for look in look_again(history, others()) if look.found is ReplayOutcome.UNREADABLE]
    assert wrong.record == record
    assert "attempt" in wrong.why


@pytest.mark.parametrize(("later", "found"), [(0, ReplayOutcome.SAME), (30, ReplayOutcome.DIFFERS)])
def test_a_waiting_cluster_may_ask_the_market_sooner_because_of_a_level_that_does_not_name_it(later, found):
    offers = next(record for record in others() if record.type == "dev.alate.inventory.offers")
    waiting = next(record for record in states() if record.type == "dev.alate.cluster.waiting")
    before = told(waiting, until="2030-01-01T00:10:00Z")
    asks = told(before, revision=3, since="2030-01-01T00:01:00Z", until=f"2030-01-01T00:02:{later:02}Z")
    caused = asks.stored.headers | {"ce-causationid": offers.id, "ce-id": f"{waiting.id}.again"}
    asks = EventRecord(asks.stream, msgspec.structs.replace(asks.stored, headers=caused))
    assert [look.found for look in look_again([before, asks], [offers])][1] is found


@pytest.mark.parametrize(("cost", "found"), [(0.02, ReplayOutcome.SAME), (2.0, ReplayOutcome.DIFFERS)])
def test_a_cost_that_grew_between_decision_and_storing_is_no_difference(cost, found):
    ready = next(record for record in states() if record.type == "dev.alate.cluster.ready")
    history, record = changed("cluster.ready", costUsd=json.loads(ready.stored.data).get("costUsd", 0.0) + cost)
    assert next(look.found for look in look_again(history, others()) if look.record == record) is found
