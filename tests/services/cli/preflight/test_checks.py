"""Every mistake that facts may show has its sentence, and what is within the limits has none."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from schemas.market import CatalogSeen
from services.cli.preflight.checks import findings
from services.cli.preflight.facts import (
    KubernetesFacts,
    MissingRight,
    NatsFacts,
    PreflightFacts,
    StreamDifference,
    ahead,
)

NOW = datetime(2026, 11, 23, tzinfo=UTC)
SOUND = PreflightFacts(
    KubernetesFacts(version=(1, 34), skew=0.0),
    NatsFacts("nats://a:1", version="2.14.0", max_payload=1 << 20, storage_left=1 << 30, skew=-2.0),
    {},
    NOW,
)
STALE = CatalogSeen(cloud="aws", observed_at=NOW, freshness="stale")
KUBERNETES = {
    "may not list, watch pods: apply": {
        "missing_rights": tuple(MissingRight("alate/a", v, "pods") for v in ("watch", "list"))
    },
    "you may not create pods, which": {"missing_rights": (MissingRight("", "create", "pods"),)},
    "cannot be checked (forbidden): run": {"rights_unknown": "forbidden"},
    "a.alate.dev does not serve version v1alpha1": {"unserved_crds": ("a.alate.dev",)},
    "cannot be asked (it is away)": {"unreachable": "it is away"},
    "runs Kubernetes 1.30, and": {"version": (1, 30)},
    "clock of the API server is 3 s behind this": {"skew": -3.0},
}
NATS = {
    "is NATS 2.9.1, and alate needs 2.12": {"version": "2.9.1"},
    "the clock of NATS at nats://a:1 is 5 s ahead of this": {"skew": 5.0},
    "the stream EVENTS has one replica": {"clustered": True, "single_streams": ("EVENTS",)},
    "has max_age 1 instead of 0: run": {"differences": (StreamDifference("EVENTS", "max_age", 1, 0),)},
    "has 3 MiB of storage left": {"storage_left": 3 << 20},
    "the stream HOOKS is missing": {"missing_streams": ("HOOKS",)},
    "cannot be read (denied): run": {"unread": "denied"},
    "catalog of aws cannot be read: correct": {"catalogs": (STALE,)},
}


def test_what_is_within_the_limits_is_no_finding():
    assert findings(SOUND) == ()


def test_one_replica_on_one_server_is_no_finding():
    assert findings(replace(SOUND, nats=replace(SOUND.nats, single_streams=("EVENTS",)))) == ()


def test_a_catalog_that_was_removed_is_no_finding():
    gone = CatalogSeen(cloud="aws", observed_at=NOW - timedelta(days=90), freshness="gone")
    assert findings(replace(SOUND, nats=replace(SOUND.nats, catalogs=(gone,)))) == ()


@pytest.mark.parametrize("sentence", KUBERNETES)
def test_a_mistake_of_the_management_cluster_has_its_sentence(sentence):
    [found] = findings(replace(SOUND, kubernetes=replace(SOUND.kubernetes, **KUBERNETES[sentence])))
    assert sentence in found.message


@pytest.mark.parametrize("sentence", NATS)
def test_a_mistake_of_nats_has_its_sentence(sentence):
    [found] = findings(replace(SOUND, nats=replace(SOUND.nats, **NATS[sentence])))
    assert sentence in found.message


@pytest.mark.parametrize(("theirs", "skew"), [(-9.0, -9.0), (-0.5, 0.0), (0.5, 0.0), (2.5, 0.0), (9.0, 6.0)])
def test_a_clock_that_may_agree_within_the_answers_time_is_not_ahead(theirs, skew):
    told = ahead(NOW + timedelta(seconds=theirs), NOW, NOW + timedelta(seconds=3), 1.0)
    assert told == (skew + 1.0 if skew < 0 else skew)
