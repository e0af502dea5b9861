"""What a Colony says is what its wishes ask for, field by field."""

from datetime import UTC, datetime

import msgspec
import pytest

from events.telemetry import NOWHERE, Trace
from schemas.crds import InvalidResource, read_colony
from schemas.wish import AddonRef, ClusterNetwork, Limits, Need, Pool, PoolTaint, Spot, Wish, digest
from services.gateway.wishes import (
    WishReader,
    event_annotations,
    release_annotations,
    release_trace_of,
    released_wish,
    trace_of,
    wishes,
    with_dropped_addons,
)

MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n"
FULL = {
    "name": "a",
    "pools": [
        {
            "name": "big", "accelerator": "h100-sxm", "acceleratorsPerNode": 8,
            "nodes": 2, "minNodes": 1, "maxNodes": 4,
            "spot": "only", "cpu": 96, "memoryGiB": 512,
            "labels": {"example.com/team": "blue"}, "taints": [{"key": "gpu"}],
        }
    ],
    "clouds": ["aws", "gcp"], "regions": ["us-east-1"], "maxPricePerHour": 99.5, "kubernetesVersion": "v1.33.1",
    "network": {"pods": ["10.8.0.0/14"], "services": ["10.96.0.0/16", "fd00::/112"]},
    "backend": "capi", "template": "mine", "timeToLive": "2h", "idleAfter": "10m", "warnBefore": "30s",
    "addons": [{"name": "driver", "manifests": MANIFEST}],
}  # fmt: skip
SMALL = {"name": "b", "pools": [{"accelerator": "L4", "acceleratorsPerNode": 1, "nodes": 1}]}


def colony(*clusters, **meta):
    return read_colony({
        "apiVersion": "alate.dev/v1alpha1",
        "kind": "Colony",
        "metadata": {"name": "train", "namespace": "acme", "uid": "c1", "generation": 4} | meta,
        "spec": {"clusters": list(clusters)},
    })  # fmt: skip


def test_a_wish_names_the_commit_that_is_told_how_it_stands():
    commit = f"github:acme/models@{'a' * 40}"
    written = colony(SMALL)
    asked = written.model_copy(update={"spec": written.spec.model_copy(update={"commit": commit})})
    assert [wish.commit for wish in (*wishes(asked, "capi"), *wishes(written, "capi"))] == [commit, ""]


@pytest.mark.parametrize(("said", "force"), [("true", True), ("false", False), ("", False), (None, False)])
def test_force_is_an_annotation_of_a_colony_that_is_deleted(said, force):
    notes = {} if said is None else {"annotations": {"alate.dev/force": said}}
    going = colony(FULL, SMALL, **notes, deletionTimestamp="2026-01-01T00:00:00Z")
    assert [wish.force for wish in wishes(going, "capi")] == [force, force]
    assert [wish.force for wish in wishes(colony(FULL, SMALL, **notes), "capi")] == [False, False]


def test_how_long_an_end_may_take_is_five_minutes_a_step_unless_it_is_said():
    (small,) = wishes(colony(SMALL), "capi")
    assert (small.limits.drain_timeout_seconds, small.limits.clean_timeout_seconds) == (300.0, 300.0)
    (patient,) = wishes(colony(SMALL | {"drainTimeout": "2h", "cleanTimeout": "0s"}), "capi")
    assert (patient.limits.drain_timeout_seconds, patient.limits.clean_timeout_seconds) == (7200.0, 0.0)


def test_force_is_news_though_it_makes_no_generation_of_its_own():
    (going,) = wishes(colony(SMALL, deletionTimestamp="2026-01-01T00:00:00Z"), "capi")
    forced = msgspec.structs.replace(going, force=True)
    assert (forced.newer_than(going), going.newer_than(forced), forced.newer_than(forced)) == (True, False, False)


def test_an_addon_that_was_asked_for_once_is_dropped_until_it_is_asked_for_again():
    with_it, without = wishes(colony(FULL), "capi") + wishes(colony(FULL | {"addons": []}), "capi")
    first = with_dropped_addons(with_it, None)
    assert first.dropped == ()
    second = with_dropped_addons(without, first)
    assert second.dropped == ("driver",)
    assert with_dropped_addons(without, second) == second
    assert with_dropped_addons(with_it, second).dropped == ()


def test_what_an_earlier_colony_of_the_name_asked_for_is_not_dropped():
    (before,) = wishes(colony(FULL, uid="c0"), "capi")
    (now,) = wishes(colony(FULL | {"addons": []}), "capi")
    assert with_dropped_addons(now, before) == now


def test_a_wish_names_the_event_that_asked_for_it():
    asked, written = colony(SMALL, annotations={"alate.dev/event-id": "run-4711"}), colony(SMALL)
    assert [wish.event for wish in (*wishes(asked, "capi"), *wishes(written, "capi"))] == ["run-4711", ""]


def test_every_field_of_a_cluster_is_in_its_wish():
    (wish,) = wishes(colony(FULL), "k0rdent")
    pool = Pool(
        name="big",
        accelerator="H100",
        accelerators_per_node=8,
        nodes=2,
        min_nodes=1,
        max_nodes=4,
        spot=Spot.ONLY,
        cpu=96,
        memory_gib=512,
        labels=(("example.com/team", "blue"),),
        taints=(PoolTaint(key="gpu"),),
    )
    need = Need(
        pools=(pool,), clouds=("aws", "gcp"), regions=("us-east-1",), max_price_per_hour=99.5,
        kubernetes_version="v1.33.1", backend="capi", template="mine",
        network=ClusterNetwork(pods=("10.8.0.0/14",), services=("10.96.0.0/16", "fd00::/112")),
    )  # fmt: skip
    assert wish == Wish(
        tenant="acme", colony="train", cluster="a", uid="c1", generation=4, need=need,
        limits=Limits(time_to_live_seconds=7200.0, idle_after_seconds=600.0, warn_before_seconds=30.0),
        addons=(AddonRef("driver", digest(MANIFEST)),),
    )  # fmt: skip


def test_who_sets_the_size_between_the_bounds_is_in_the_wish():
    pools = [SMALL["pools"][0] | {"maxNodes": 4}]
    theirs, ours = wishes(colony(SMALL | {"pools": pools, "scaledBy": "ClusterAutoscaler"}, FULL), "capi")
    assert (theirs.need.autoscaled, ours.need.autoscaled) == (True, False)


def test_what_is_not_said_is_left_to_the_defaults_and_the_installation():
    (wish,) = wishes(colony(SMALL), "k0rdent")
    assert (wish.need.backend, wish.need.template, wish.need.max_price_per_hour) == ("k0rdent", "", None)
    assert (wish.limits.time_to_live_seconds, wish.limits.idle_after_seconds, wish.limits.warn_before_seconds) == (
        None,
        None,
        300.0,
    )
    assert wish.need.pools[0].spot is Spot.PREFERRED


def test_there_is_one_wish_per_cluster_in_the_colonys_order():
    assert [wish.name for wish in wishes(colony(SMALL, FULL), "capi")] == ["train-b", "train-a"]


def test_a_colony_that_is_going_wants_nothing_any_more():
    gone = colony(FULL, SMALL, deletionTimestamp=datetime(2026, 1, 1, tzinfo=UTC).isoformat())
    assert all(wish.deleting for wish in wishes(gone, "capi"))


def test_the_contents_of_an_addon_are_named_not_sent():
    assert MANIFEST not in str(wishes(colony(FULL), "capi"))
    assert digest(MANIFEST) != digest(MANIFEST + " ")


def test_a_cluster_asked_for_no_more_is_a_newer_wish_that_it_goes():
    (wish,) = wishes(colony(SMALL), "capi")
    gone = released_wish(wish, 7)
    assert (gone.deleting, gone.generation) == (True, 7)
    assert gone.newer_than(wish)
    assert released_wish(wish, 2).generation == 4
    assert released_wish(wish, 2).newer_than(wish)


@pytest.fixture
def parses(monkeypatch):
    """The generations that were parsed, one after another."""
    found = []

    def counted(written):
        found.append(written["metadata"]["generation"])
        return read_colony(written)

    monkeypatch.setattr("services.gateway.wishes.read_colony", counted)
    return found


def written(clusters=(SMALL,), status=None, **meta):
    known = {"name": "train", "namespace": "acme", "uid": "c1", "generation": 4, "resourceVersion": "7"} | meta
    whole = {"apiVersion": "alate.dev/v1alpha1", "kind": "Colony", "metadata": known}
    return whole | {"spec": {"clusters": list(clusters)}} | ({"status": status} if status else {})


def test_a_colony_is_parsed_once_per_version_whatever_its_status_shows(parses):
    reader = WishReader("capi")
    first = reader.read(written())
    assert reader.read(written(resourceVersion="8", status={"phase": "Ready"})) is first
    assert parses == [4]
    (newer,) = reader.read(written(generation=5, resourceVersion="9"))
    assert (newer.generation, parses) == (5, [4, 5])


@pytest.mark.parametrize(
    "change",
    [{"uid": "c2"}, {"annotations": {"alate.dev/force": "true"}}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}],
)
def test_it_is_parsed_again_for_whatever_of_its_metadata_a_wish_depends_on(parses, change):
    reader = WishReader("capi")
    before = reader.read(written())
    assert reader.read(written(**change)) is not before
    assert parses == [4, 4]


def test_an_invalid_colony_is_parsed_once_and_refused_each_time(parses):
    reader = WishReader("capi")
    for _ in range(2):
        with pytest.raises(InvalidResource, match="pools"):
            reader.read(written(({"name": "b", "pools": []},)))
    assert parses == [4]


def test_a_colony_that_is_gone_is_forgotten(parses):
    reader = WishReader("capi")
    reader.read(written())
    reader.forget(("acme", "train"))
    reader.read(written())
    assert parses == [4, 4]


TRACE = Trace(f"00-{'1' * 32}-{'b' * 16}-01", "vendor=1")


@pytest.mark.parametrize("trace", [TRACE, Trace(TRACE.parent), NOWHERE])
def test_the_trace_that_is_written_is_the_trace_that_is_read(trace):
    assert trace_of({"annotations": event_annotations("e-1", trace)}) == trace


def test_the_trace_of_its_end_is_another_than_that_of_its_beginning():
    end = Trace(TRACE.parent.replace("1", "2"))
    meta = {"annotations": {**event_annotations("e-1", TRACE), **release_annotations("e-2", end)}}
    assert (trace_of(meta), release_trace_of(meta)) == (TRACE, end)
    assert meta["annotations"]["alate.dev/release-id"] == "e-2"


def test_what_came_in_no_trace_bears_its_event_alone():
    assert event_annotations("e-1", NOWHERE) == {"alate.dev/event-id": "e-1"}


@pytest.mark.parametrize("meta", [{}, {"annotations": {"alate.dev/traceparent": "whatever a person wrote"}}])
def test_what_a_person_wrote_is_in_no_trace(meta):
    assert trace_of(meta) == NOWHERE
