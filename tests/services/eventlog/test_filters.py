import pytest

from events.bus import Stored
from services.errors import BadInput
from services.eventlog.filters import Which, about
from services.eventlog.record import EventRecord

REQUEST = EventRecord("INTAKE", Stored("cluster.requested", b'{"tenant": "acme", "name": "train"}'))


def said(subject: str, kind: str = "") -> EventRecord:
    return EventRecord("EVENTS", Stored(subject, b"{}", {"ce-type": kind}))


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (said("cluster.ready.acme.train-gpu"), ("acme", "train-gpu")),
        (said("addon.applied.acme.train-gpu_2Ejob"), ("acme", "train-gpu")),
        (said("inventory.nodes.acme.train-gpu.n1"), ("acme", "train-gpu")),
        (said("observed.infra.acme.capi.train-gpu-1"), ("acme", "train-gpu")),
        (said("inventory.offers.aws.us-east-1"), ("", "")),
        (REQUEST, ("acme", "train")),
        (EventRecord("INTAKE", Stored("cluster.requested.acme", b"no json")), ("acme", "")),
    ],
)
def test_a_message_is_about_one_cluster_of_one_tenant(each, expected):
    assert about(each) == expected


def test_what_is_not_given_lets_everything_through():
    assert Which().lets(said("cluster.ready.acme.x"))
    assert Which().lets(EventRecord("HOOKS", Stored("somebody.elses", b"")))


def test_only_what_is_all_that_was_asked_for_is_meant():
    which = Which(tenant="acme", cluster="train-gpu", type="cluster.ready")
    assert which.lets(said("cluster.ready.acme.train-gpu", "dev.alate.cluster.ready"))
    assert not which.lets(said("cluster.ready.other.train-gpu", "dev.alate.cluster.ready"))
    assert not which.lets(said("cluster.ready.acme.other", "dev.alate.cluster.ready"))
    assert not which.lets(said("cluster.ready.acme.train-gpu", "dev.alate.cluster.lost"))


def test_a_tenants_histories_are_chosen_by_the_server():
    assert Which(tenant="a.b").filter("EVENTS") == "*.*.a_2Eb.*"
    assert Which(tenant="a.b").filter("INTAKE") == ">"
    assert Which(subject="cluster.ready.>", tenant="a").filter("EVENTS") == "cluster.ready.>"


@pytest.mark.parametrize("subject", ["timer.cluster.acme.x", "due.cluster.acme.x", "redrive.EVENTS.c.m.cluster.a.t.x"])
def test_timers_and_what_is_told_once_more_are_no_events(subject):
    assert not Which().lets(said(subject))
    assert not Which().lets(EventRecord("INTAKE", Stored("redrive.INTAKE.c.m.cluster.requested", b"")))


@pytest.mark.parametrize(
    "wrong", [Which(("EVENT",)), Which(subject="a..b"), Which(subject=">.a"), Which(subject="a b"), Which(subject="")]
)
def test_what_there_cannot_be_is_refused(wrong):
    with pytest.raises(BadInput, match="must be"):
        wrong.check()
