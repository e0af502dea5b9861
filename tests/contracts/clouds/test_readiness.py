"""Ready is said when it is so: never in a back end's first seconds, and withdrawn by what is lost alone.

`capi_cluster.jsonl` is how the Cluster of a real life changed (Cluster API v1.12.3, in-memory provider): each line what
is new at `t` seconds, as a merge patch. Its workers are scaled from 3 to 1 to 2, then it is deleted.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from events.kube.client import Object
from schemas.attempts import AttemptGone
from schemas.changes import Resized
from schemas.cluster import Placing, Provisioned, Ready
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Placement, Ranked
from schemas.wish import Need, Pool, Wish
from services.clouds.capi import Capi
from services.clouds.k0rdent import K0rdent
from services.gateway.infra_watch import _gone
from services.provisioning.lifecycle.decide import decide
from tests.samples import LOT

T0 = datetime(2026, 1, 1, tzinfo=UTC)
LIFE = Path(__file__).parents[2] / "data" / "capi_cluster.jsonl"
WISH = Wish(
    tenant="acme", colony="burst", cluster="a", uid="c1", generation=1,
    need=Need(pools=(Pool(name=LOT.pool, accelerator="H100", accelerators_per_node=8, nodes=3),)),
)  # fmt: skip
LABELS = {"alate.dev/cluster": "burst-a", "alate.dev/uid": "c1.1", "alate.dev/attempt": "1"}


def sized(nodes, generation):
    pool = msgspec.structs.replace(WISH.need.pools[0], nodes=nodes)
    return msgspec.structs.replace(WISH, generation=generation, need=Need(pools=(pool,)))


def launching(nodes=3):
    lot = msgspec.structs.replace(LOT, nodes=nodes)
    state = decide.decide(None, sized(nodes, 1), T0)
    return decide.decide(state, Ranked((Placement(cloud="aws", region="r", lots=(lot,)),)), T0)


def counted(nodes):
    return ClusterSeen(cluster="burst-a", uid="c1.1", attempt=1, nodes=nodes, accelerators=8 * nodes)


def merged(old: Object, patch: Object) -> Object:
    inner = {
        key: merged(old.get(key) or {}, value) if isinstance(value, dict) else value for key, value in patch.items()
    }
    return {key: value for key, value in (old | inner).items() if value is not None}


def recorded():
    """When, and what the Cluster showed, as if it were ours; None once it is gone."""
    shown: Object = {}
    for line in LIFE.read_text().splitlines():
        change = json.loads(line)
        shown = merged(shown, change)
        deleting = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if shown["deleted"] else {}
        status = {key: shown[key] for key in ("observedGeneration", "initialization", "workers") if key in shown}
        status["conditions"] = [{"type": kind} | told for kind, told in shown["conditions"].items()]
        meta = {"name": "burst-a-1", "generation": shown["generation"], "labels": LABELS} | deleting
        yield change["t"], {"metadata": meta, "status": status}, "gone" in change


def heard(state, t, shown, *, gone):
    """What the services make of one sight: what is wished, what is seen from above, what is counted within."""
    now, workers = T0 + timedelta(seconds=t), shown["status"]["workers"]
    wanted, seen = workers.get("desiredReplicas", 3), Capi.read(shown)
    if isinstance(state, Ready) and wanted != state.wish.need.nodes:
        state = decide.decide(state, sized(wanted, state.wish.generation + 1), now)
        state = decide.decide(state, Resized(1, state.attempt.placement.lots), now)
    state = decide.decide(state, _gone(seen) if gone else seen, now)
    return decide.decide(state, counted(workers["readyReplicas"]), now) if "readyReplicas" in workers else state


def test_in_a_recorded_life_ready_is_said_once_all_is_there_and_withdrawn_when_it_is_deleted():
    state, told = launching(), []
    for t, shown, gone in recorded():
        was, state = state, heard(state, t, shown, gone=gone)
        if type(state) is not type(was):
            told.append((round(t), type(state).__name__))
            if isinstance(state, Ready):
                assert shown["status"]["workers"]["readyReplicas"] == 3
                assert {each["type"]: each["status"] for each in shown["status"]["conditions"]}["Available"] == "True"
    assert told == [(32, "Provisioned"), (34, "Ready"), (127, "Provisioned"), (127, "Placing")]
    (lost,) = state.failed_attempts
    assert (lost.reason, lost.failed_at) == ("Lost", T0 + timedelta(seconds=127.27))


def k0rdent(ready, beneath, observed=1, generation=1):
    conditions = [{"type": "Ready", "status": ready, "reason": "R", "observedGeneration": observed}]
    conditions += [{"type": "CAPIClusterSummary", "status": beneath, "observedGeneration": observed}] if beneath else []
    meta = {"name": "burst-a-1", "generation": generation, "labels": LABELS}
    return {"metadata": meta, "status": {"observedGeneration": observed, "conditions": conditions}}


FIRST_SECONDS = (
    {"metadata": {"name": "burst-a-1", "generation": 1, "labels": LABELS}},
    k0rdent("Unknown", None),
    k0rdent("True", None),  # template, credential and chart are right: true of nothing yet
    k0rdent("Unknown", "Unknown"),
    k0rdent("False", "False"),
    k0rdent("True", "Unknown"),
    k0rdent("Unknown", "True"),
    k0rdent("True", "True", generation=2),  # of the generation before
)


def test_in_its_first_seconds_k0rdent_makes_no_cluster_ready_nor_reachable():
    state = launching()
    for shown in FIRST_SECONDS:
        assert decide.decide(decide.decide(state, K0rdent.read(shown), T0), counted(3), T0) is state
    up = decide.decide(state, K0rdent.read(k0rdent("True", "True", observed=2, generation=2)), T0)
    assert isinstance(up, Provisioned)
    assert isinstance(decide.decide(up, counted(3), T0), Ready)


@pytest.fixture
def ready():
    up = decide.decide(launching(), InfraSeen(cluster="burst-a", uid="c1.1", attempt=1, reachable=True), T0)
    return decide.decide(up, counted(3), T0)


@pytest.mark.parametrize("shown", [k0rdent("Unknown", "Unknown"), k0rdent("False", "False"), k0rdent("True", None)])
def test_what_a_back_end_does_not_know_for_a_while_withdraws_nothing(ready, shown):
    assert decide.decide(ready, K0rdent.read(shown), T0) is ready
    assert decide.decide(ready, msgspec.structs.replace(counted(0), known=False), T0) is ready


def test_a_lost_cluster_is_withdrawn_with_its_time_and_reason(ready):
    now = T0 + timedelta(hours=1)
    lost = decide.decide(ready, _gone(K0rdent.read(k0rdent("True", "True"))), now)
    assert isinstance(lost, Placing)
    assert [(attempt.reason, attempt.failed_at) for attempt in lost.failed_attempts] == [("Lost", now)]
    assert decide.decide(lost, AttemptGone(1), now) == lost
