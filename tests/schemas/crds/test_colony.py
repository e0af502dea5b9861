"""A Colony means the same to people, to the API server and to us."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from schemas.accelerators import ACCELERATORS
from schemas.crds import (
    COLONY,
    AddonSpec,
    AddonStatus,
    ClusterSpec,
    ClusterStatus,
    Colony,
    ColonySpec,
    ColonyStatus,
    ConditionStatus,
    Metadata,
    OfferStatus,
    PoolSpec,
    TeardownStatus,
    read_colony,
)
from schemas.crds.network import NetworkSpec
from schemas.crds.nodes import TaintSpec
from schemas.durations import LONGEST
from schemas.wish import Spot

CHECK = Draft4Validator(COLONY.schema())
"""OpenAPI 3.0, and so a CRD, has `exclusiveMinimum` as draft 4 has it."""

LABELS = st.from_regex(r"\A[a-z0-9]([-a-z0-9]{0,14}[a-z0-9])?\Z")
MOMENTS = st.integers(0, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
SPANS = st.timedeltas(min_value=timedelta(microseconds=1), max_value=LONGEST)
PRICES = st.floats(min_value=0.01, max_value=1e6)
WORDS = st.text(max_size=12)
MANIFESTS = LABELS.map(lambda name: f'apiVersion: v1\nkind: Pod\nmetadata: {{name: "{name}"}}\n---\n')


def made(model, **fields):
    """Not `st.builds`: that would fill in required fields again, under their camelCase names."""
    return st.fixed_dictionaries(fields).map(lambda given: model(**given))


def maybe(strategy):
    return st.none() | strategy


def named(strategy, *, least=0, most=3):
    return st.lists(strategy, min_size=least, max_size=most, unique_by=lambda item: item.name)


POOLS = made(
    PoolSpec,
    name=LABELS,
    accelerator=st.sampled_from(sorted(ACCELERATORS)),
    accelerators_per_node=st.integers(1, 16),
    nodes=st.integers(1, 1024),
    spot=st.sampled_from(Spot),
    cpu=maybe(st.integers(1, 1024)),
    memory_gib=maybe(st.integers(1, 65536)),
    labels=st.dictionaries(LABELS, LABELS, max_size=2),
    taints=st.lists(made(TaintSpec, key=LABELS, value=LABELS), max_size=2, unique_by=lambda taint: taint.key),
)
CLUSTERS = made(
    ClusterSpec,
    name=LABELS,
    pools=named(POOLS, least=1),
    clouds=st.lists(LABELS, max_size=3, unique=True),
    regions=st.lists(LABELS, max_size=3, unique=True),
    max_price_per_hour=maybe(PRICES),
    kubernetes_version=st.from_regex(r"\Av1\.[0-9]{1,2}\.[0-9]{1,2}\Z"),
    network=maybe(st.just(NetworkSpec(pods=["10.8.0.0/14", "fd01::/64"], services=["10.96.0.0/16"]))),
    backend=st.sampled_from(["k0rdent", "capi", None]),
    template=maybe(LABELS),
    time_to_live=maybe(SPANS),
    idle_after=maybe(SPANS),
    warn_before=st.timedeltas(min_value=timedelta(0), max_value=LONGEST),
    addons=named(made(AddonSpec, name=LABELS, manifests=MANIFESTS)),
)
STATUSES = made(
    ColonyStatus,
    phase=maybe(WORDS),
    observed_generation=maybe(st.integers(0, 9)),
    price_per_hour=maybe(PRICES),
    conditions=st.lists(
        made(
            ConditionStatus,
            type=LABELS,
            status=st.sampled_from(["True", "False", "Unknown"]),
            last_transition_time=MOMENTS,
            reason=LABELS,
            message=WORDS,
        ),
        max_size=2,
        unique_by=lambda condition: condition.type,
    ),
    clusters=named(
        made(
            ClusterStatus,
            name=LABELS,
            since=maybe(MOMENTS),
            offer=maybe(made(OfferStatus, cloud=maybe(WORDS), spot=maybe(st.booleans()))),
            nodes_ready=maybe(st.integers(0, 9)),
            addons=named(made(AddonStatus, name=LABELS, phase=maybe(WORDS))),
            teardown=maybe(made(TeardownStatus, phase=maybe(WORDS), at=maybe(MOMENTS))),
            expires_at=maybe(MOMENTS),
        )
    ),
)
COLONIES = made(
    Colony,
    metadata=made(Metadata, name=LABELS, namespace=LABELS, labels=st.dictionaries(LABELS, LABELS, max_size=2)),
    spec=made(ColonySpec, clusters=named(CLUSTERS, least=1)),
    status=maybe(STATUSES),
)


@given(COLONIES)
@settings(max_examples=60)
def test_any_colony_is_taken_by_the_api_servers_schema_and_read_as_the_same(colony):
    written = colony.model_dump(mode="json", exclude_none=True)
    CHECK.validate(written)
    assert read_colony(written) == colony


@given(COLONIES)
@settings(max_examples=20)
def test_a_colony_is_written_in_json(colony):
    assert Colony.model_validate_json(colony.model_dump_json(exclude_none=True)) == colony


def test_what_is_left_out_is_what_the_crd_says_it_is(written):
    filled = read_colony(written).spec.clusters[0]
    schema = COLONY.schema()["properties"]["spec"]["properties"]["clusters"]["items"]["properties"]
    pool = schema["pools"]["items"]["properties"]
    assert filled.kubernetes_version == schema["kubernetesVersion"]["default"]
    assert filled.model_dump(mode="json")["warnBefore"] == schema["warnBefore"]["default"] == "5m"
    assert filled.pools[0].name == pool["name"]["default"]
    assert filled.pools[0].spot == pool["spot"]["default"]


def test_an_accelerator_is_read_to_its_canonical_name(written, pool):
    pool["accelerator"] = "NVIDIA-H100-80GB-HBM3"
    assert read_colony(written).spec.clusters[0].pools[0].accelerator == "H100"


def test_durations_are_read_as_time(written, cluster):
    cluster |= {"timeToLive": "1h30m", "idleAfter": "90s", "warnBefore": "0s"}
    read = read_colony(written).spec.clusters[0]
    expected = (timedelta(minutes=90), timedelta(seconds=90), timedelta(0))
    assert (read.time_to_live, read.idle_after, read.warn_before) == expected


def test_status_times_are_whole_seconds_of_utc():
    at = datetime.fromisoformat("2026-01-31T13:00:00.9+01:00")
    shown = ClusterStatus(name="gpu", since=at).model_dump(mode="json", exclude_none=True)
    assert shown["since"] == "2026-01-31T12:00:00Z"
