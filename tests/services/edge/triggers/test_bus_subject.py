"""A Trigger names transitions and levels, and what matches none of them is refused by its place."""

import pytest

from events.cloudevents import Malformed
from schemas.crds import HeardSpec, InvalidResource
from services.edge.triggers.bus_subject import (
    EVENTS_CONSUMER,
    LEVELS,
    LEVELS_CONSUMER,
    OBJECT,
    check_heard,
    kinds,
    read_subject,
)


@pytest.mark.parametrize(
    ("subject", "wanted", "heard"),
    [
        ("cluster.ready.acme.train-gpu", {"event": "cluster.ready"}, True),
        ("cluster.ready.acme.train-gpu", {"event": "cluster.*"}, True),
        ("cluster.ready.acme.train-gpu", {"event": "*.*"}, True),
        ("cluster.ready.acme.train-gpu", {"event": "addon.*"}, False),
        ("cluster.ready.acme.train-gpu", {"level": "inventory.*"}, False),
        ("inventory.nodes.acme.train-gpu.n1", {"level": "inventory.nodes"}, True),
        ("inventory.nodes.acme.train-gpu.n1", {"event": "*.*"}, False),
    ],
)
def test_a_pattern_matches_both_parts_of_a_kind(subject, wanted, heard):
    assert read_subject(subject).matches(HeardSpec.model_validate(wanted)) is heard


@pytest.mark.parametrize(
    ("subject", "named"),
    [
        ("cluster.ready.acme.train-gpu", {"cluster": "train-gpu", "name": "train-gpu"}),
        ("addon.applied.acme.train-gpu_2Ebase_2Edriver", {"cluster": "train-gpu", "name": "train-gpu.base.driver"}),
        ("inventory.cluster.acme.train-gpu", {"cluster": "train-gpu"}),
        ("inventory.nodes.acme.train-gpu.n1", {"cluster": "train-gpu", "node": "n1"}),
        ("inventory.storage.acme.train-gpu.fast", {"cluster": "train-gpu", "storage": "fast"}),
    ],
)
def test_rules_see_the_names_in_a_subject(subject, named):
    kind = ".".join(subject.split(".")[:2])
    assert read_subject(subject).variables() == {"subject": subject, "kind": kind, "tenant": "acme", **named}


@pytest.mark.parametrize("subject", ["inventory.offers.aws.eu", "cluster.ready.acme", "observed.wish.acme.a", "x"])
def test_what_is_of_no_cluster_is_never_heard(subject):
    with pytest.raises(Malformed, match="is no subject of an entity or of a cluster's inventory"):
        read_subject(subject)


def test_what_matches_no_message_is_refused_with_what_would():
    check_heard([HeardSpec(event="*.ready"), HeardSpec(level="inventory.*")])
    with pytest.raises(
        InvalidResource, match=r"spec\.messages\[1\]\.event is cluster\.redy: must match one of cluster\."
    ):
        check_heard([HeardSpec(event="cluster.*"), HeardSpec(event="cluster.redy")])
    with pytest.raises(InvalidResource, match=r"spec\.messages\[0\]\.level is inventory\.offers: must match one of"):
        check_heard([HeardSpec(level="inventory.offers")])


def test_the_consumers_receive_what_can_be_heard():
    assert {kind.split(".")[0] for kind in kinds()} == {each.split(".")[0] for each in EVENTS_CONSUMER.filters}
    assert {".".join(each.split(".")[:2]) for each in LEVELS_CONSUMER.filters} == {*LEVELS, OBJECT}
