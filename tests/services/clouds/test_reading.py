"""What both back ends' objects show, read the same way: reachable when it is so, and never before."""

import pytest

from schemas.infra import InfraSeen
from services.clouds.capi import Capi
from services.clouds.k0rdent import K0rdent

LABELS = {"alate.dev/cluster": "train-a", "alate.dev/uid": "u1", "alate.dev/attempt": "2"}
STOCKOUT = "failed to run machine: InsufficientInstanceCapacity: no p5.48xlarge in use1-az1"


def condition(kind, status="True", message="", reason="R", **more):
    return {"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": 1} | more


def seen(*conditions, generation=1, labels=LABELS, **status):
    meta = {"name": "train-a-2", "namespace": "acme", "generation": generation, "labels": labels}
    return {"metadata": meta, "status": {"observedGeneration": 1, "conditions": list(conditions)} | status}


def capi(probe="True", *others, initialised=True, **more):
    start = {"initialization": {"controlPlaneInitialized": initialised}}
    return seen(condition("RemoteConnectionProbe", probe), *others, **start, **more)


def lent(ready="True", release="True", **more):
    shown = seen(condition("Ready", ready), condition("HelmReleaseReady", release), **more)
    return shown | {"metadata": shown["metadata"] | {"annotations": {"alate.dev/kubeconfig": "theirs"}}}


def k0rdent(ready="True", beneath="True", **more):
    return seen(condition("Ready", ready), condition("CAPIClusterSummary", beneath), **more)


@pytest.mark.parametrize(("read", "shown"), [(Capi.read, capi()), (K0rdent.read, k0rdent())], ids=["capi", "k0rdent"])
class TestBoth:
    def test_it_knows_whose_attempt_it_is(self, read, shown):
        assert read(shown) == InfraSeen(cluster="train-a", uid="u1", attempt=2, reachable=True)

    @pytest.mark.parametrize("labels", [{}, LABELS | {"alate.dev/attempt": "two"}, {"alate.dev/cluster": "train-a"}])
    def test_what_is_not_ours_says_nothing(self, read, shown, labels):
        other = shown | {"metadata": shown["metadata"] | {"labels": labels}}
        assert read(other) is None

    def test_what_answers_to_an_older_generation_is_not_reachable(self, read, shown):
        newer = shown | {"metadata": shown["metadata"] | {"generation": 2}}
        assert not read(newer).reachable

    def test_what_is_being_deleted_is_going_and_not_reachable(self, read, shown):
        going = shown | {"metadata": shown["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
        assert (read(going).reachable, read(going).deleting) == (False, True)

    def test_what_is_being_deleted_tells_whose_leave_it_waits_for(self, read, shown):
        meta = shown["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.b/c", "d.e/f"]}
        told = "train-a-2 is kept by its finalizers a.b/c, d.e/f"
        assert read(shown | {"metadata": meta}).message.startswith(told)
        assert "finalizers" not in read(shown | {"metadata": meta | {"deletionTimestamp": None}}).message

    def test_what_shows_nothing_yet_is_neither_reachable_nor_failed(self, read, shown):
        bare = {"metadata": shown["metadata"]}
        assert read(bare) == InfraSeen(cluster="train-a", uid="u1", attempt=2)


@pytest.mark.parametrize(
    ("told", "url"),
    [
        ({"host": "10.0.0.1", "port": 6443}, "https://10.0.0.1:6443"),
        ({"host": "fd00::1", "port": 443}, "https://[fd00::1]:443"),
        ({"host": "", "port": 0}, ""),
        (None, ""),
    ],
)
def test_capi_tells_where_the_api_server_is_once_that_is_known(told, url):
    assert Capi.read(capi() | {"spec": {"controlPlaneEndpoint": told}}).endpoint == url


@pytest.mark.parametrize("shown", [capi("Unknown"), capi("False"), capi(initialised=False), seen()])
def test_capi_is_reachable_only_with_a_control_plane_that_answers(shown):
    assert not Capi.read(shown).reachable


@pytest.mark.parametrize(
    "shown",
    [
        k0rdent("Unknown"),
        k0rdent("False"),
        k0rdent("True", "Unknown"),
        k0rdent("True", "False"),
        seen(condition("Ready")),
        seen(condition("CAPIClusterSummary")),
    ],
)
def test_k0rdent_is_reachable_only_if_what_is_beneath_is_ready_too(shown):
    assert not K0rdent.read(shown).reachable


def test_a_cluster_that_is_lent_is_reachable_by_its_own_kubeconfig_once_k0rdent_knows_it():
    told = K0rdent.read(lent())
    assert (told.reachable, told.kubeconfig) == (True, "theirs")


FIRST = [condition(kind, "Unknown") for kind in ("CredentialReady", "HelmReleaseReady", "TemplateReady", "Ready")]


@pytest.mark.parametrize(
    "shown",
    [
        lent("Unknown", "Unknown"),
        lent("True", "Unknown"),
        lent("False"),
        lent(generation=2),
        lent() | {"status": {"observedGeneration": 1, "conditions": FIRST}},
        lent() | {"status": {"observedGeneration": 1, "conditions": [condition("Ready")]}},
    ],
    ids=["at first", "not made", "not ready", "edited", "all unknown", "a dry run"],
)
def test_a_cluster_that_is_lent_is_never_reachable_before(shown):
    assert not K0rdent.read(shown).reachable


def test_a_stockout_at_capi_is_no_capacity_and_its_message_is_told():
    shown = capi("Unknown", condition("WorkersAvailable", "False", STOCKOUT), initialised=False)
    assert (Capi.read(shown).failure, Capi.read(shown).message) == ("NoCapacity", STOCKOUT)


def test_a_stockout_beneath_k0rdent_is_no_capacity_and_its_message_is_told():
    shown = seen(condition("Ready", "False"), condition("CAPIClusterSummary", "False", STOCKOUT))
    assert (K0rdent.read(shown).failure, K0rdent.read(shown).message) == ("NoCapacity", STOCKOUT)


@pytest.mark.parametrize(
    ("worker", "zoneless"), [({}, True), ({"availabilityZone": "use1-az1"}, False), ({"zone": "b"}, False)]
)
def test_a_stockout_beneath_k0rdent_is_in_one_zone_only_where_that_was_asked_for(worker, zoneless):
    shown = seen(condition("Ready", "False"), condition("CAPIClusterSummary", "False", STOCKOUT))
    assert K0rdent.read(shown | {"spec": {"config": {"worker": worker}}}).zoneless is zoneless
    assert not K0rdent.read(k0rdent()).zoneless


def test_what_k0rdent_has_given_up_is_failed():
    shown = seen(condition("Ready", "False", "timed out", reason="Failed"), condition("CAPIClusterSummary", "False"))
    assert (K0rdent.read(shown).failure, K0rdent.read(shown).message) == ("Failed", "timed out")


def test_an_old_stockout_of_a_cluster_that_is_whole_is_no_failure():
    assert Capi.read(capi("True", condition("WorkersAvailable", "True", STOCKOUT))).failure == ""
    assert K0rdent.read(seen(condition("Ready"), condition("CAPIClusterSummary", "True", STOCKOUT))).failure == ""


def test_capi_tells_the_most_telling_condition_that_is_not_true():
    shown = capi(
        "Unknown",
        condition("Available", "False", "not available"),
        condition("InfrastructureReady", "False", "waiting for the network"),
        condition("WorkersAvailable", "Unknown"),
    )
    assert Capi.read(shown).message == "waiting for the network"
