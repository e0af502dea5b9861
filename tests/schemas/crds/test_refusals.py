"""Each mistake in a Colony is told in one sentence: where, what, and what would be right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.crds import InvalidResource, read_colony

CLUSTER = "spec.clusters[0]"
POOL = f"{CLUSTER}.pools[0]"


def refusal(written):
    with pytest.raises(InvalidResource) as refused:
        read_colony(written)
    return str(refused.value)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("acceleratorsPerNode", -8, "is -8: must be at least 1"),
        ("acceleratorsPerNode", 17, "is 17: must be at most 16"),
        ("acceleratorsPerNode", "8", 'is "8": must be a whole number'),
        ("acceleratorsPerNode", True, "is true: must be a whole number"),
        ("nodes", 0, "is 0: must be at least 1"),
        ("nodes", 1.5, "is 1.5: must be a whole number"),
        ("nodes", 1025, "is 1025: must be at most 1024"),
        ("spot", "always", "is \"always\": must be 'never', 'preferred' or 'only'"),
        ("accelerator", "H1000", 'is "H1000": must be a known accelerator, such as H100, H200, H100-NVL'),
        ("accelerator", None, "is missing: must be given"),
        ("memoryGiB", 0, "is 0: must be at least 1"),
    ],
)
def test_a_mistake_in_a_pool(written, pool, field, value, sentence):
    pool[field] = value
    assert refusal(written) == f"{POOL}.{field} {sentence}"


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        (
            "name",
            "GPU_1",
            ' is "GPU_1": must be lower-case letters, digits and hyphens, beginning and ending with a letter or digit',
        ),
        ("pools", [], ": must not be empty"),
        ("pools", {"gpu": {}}, ": must be a list"),
        ("pools", ["gpu"], '[0] is "gpu": must be a mapping'),
        ("clouds", "aws", ' is "aws": must be a list'),
        ("clouds", ["aws", "gcp", "aws"], ": each item must be unique, but aws is there more than once"),
        ("regions", [""], '[0] is "": must not be empty'),
        ("maxPricePerHour", 0, " is 0: must be more than 0"),
        ("maxPricePerHour", -1.5, " is -1.5: must be more than 0"),
        ("maxPricePerHour", "40", ' is "40": must be a number'),
        ("maxPricePerHour", float("nan"), " is NaN: must be a finite number"),
        ("kubernetesVersion", "1.34", ' is "1.34": must be a Kubernetes version such as v1.34.0'),
        (
            "backend",
            "EKS",
            ' is "EKS": must be lower-case letters, digits and hyphens, beginning and ending with a letter or digit',
        ),
        ("timeToLive", "5 minutes", ' is "5 minutes": must be a duration such as 90s or 1h30m'),
        ("timeToLive", 300, " is 300: must be a duration such as 90s or 1h30m"),
        ("timeToLive", "0s", ' is "0s": must be longer than nothing, such as 90s or 1h30m'),
        ("idleAfter", "999999h", ' is "999999h": must be at most 87600h'),
        ("warnBefore", "-5m", ' is "-5m": must be a duration such as 90s or 1h30m'),
    ],
)
def test_a_mistake_in_a_cluster(written, cluster, field, value, sentence):
    cluster[field] = value
    assert refusal(written) == f"{CLUSTER}.{field}{sentence}"


def pod(meta, kind="kind: Pod", version="v1"):
    return f"apiVersion: {version}\n{kind}\nmetadata: {meta}"


TEXTS = "that are no mapping from text to text"
MISSHAPEN = [
    (
        pod("{name: ../../../x, namespace: ../kube-system}"),
        "has the metadata.name '../../../x', which",
    ),
    (pod("{name: x, namespace: ../kube-system}"), "document 1 has the metadata.namespace '../kube-system', which"),
    (pod("{name: ..}"), "has the metadata.name '..', which Kubernetes does not take"),
    (pod("{name: a%2f}"), "has the metadata.name 'a%2f', which"),
    (pod("{name: x, namespace: 5}"), "document 1 has the metadata.namespace 5, which Kubernetes does not take"),
    (pod("{name: x, labels: [1]}"), f"document 1 has metadata.labels {TEXTS}"),
    (pod("{name: x, labels: {a: 1}}"), f"document 1 has metadata.labels {TEXTS}"),
    (pod("{name: x, annotations: x}"), f"document 1 has metadata.annotations {TEXTS}"),
    (pod("{name: x}", version="../v1"), "has the apiVersion '../v1', which Kubernetes does not take"),
    (pod("{name: x}", kind="kind: ../x"), "has the kind '../x', which Kubernetes does not take"),
    (pod("{name: x, ~: 1}"), "must be YAML that JSON can say as well, but has: "),
]
"""Each would ask for another object than it names, or end who reads it."""


@pytest.mark.parametrize(
    ("manifests", "sentence"),
    [
        ("a: [", "must be YAML, but at line 2: did not find expected node content"),
        ("a: *b", "must be YAML, but at line 1: found undefined alias"),
        ("a: !!python/object:os.system x", "could not determine a constructor for the tag"),
        ("\x00", "must be YAML, but it has what cannot be read: unacceptable character #x0000: control characters"),
        ("at: !!timestamp 2026-99-99", "must be YAML, but it has what cannot be read: month must be in 1..12"),
        ("---\n", "must hold at least one Kubernetes object"),
        ("- 1", "must hold Kubernetes objects, but document 1 has no apiVersion, kind, metadata.name"),
        ("apiVersion: v1\nkind: Pod\nmetadata: x", "document 1 has no metadata.name"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\nkind: Pod",
            "document 2 has no apiVersion, metadata.name",
        ),
        ("a: " + "[" * 100_000, "must be YAML, but it is nested more than 100 deep"),
        ("a: " + "[" * 200 + "]" * 200, "must be YAML, but it is nested more than 100 deep"),
        ("a: &a [*a]", "must be YAML, but the alias a stands within what it stands for"),
        *MISSHAPEN,
        (
            "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)),
            "must be YAML, but it comes to more than 1000000 values once its aliases are written out",
        ),
    ],
    ids=range(13 + len(MISSHAPEN)),
)
def test_a_mistake_in_an_addons_manifests(written, cluster, manifests, sentence):
    cluster["addons"][0]["manifests"] = manifests
    said = refusal(written)
    assert said.startswith(f"{CLUSTER}.addons[0].manifests")
    assert sentence in said
    assert "\n" not in said


@pytest.mark.parametrize(
    "commit",
    [
        "acme/models@main",
        *(f"{named}@{'a' * 40}" for named in ("github:acme", "svn:acme/models", "github:../..", "github:acme/..")),
        "github:acme/models@" + "a" * 39,
    ],
)
def test_a_commit_is_named_by_forge_repository_and_whole_hash(written, commit):
    written["spec"]["commit"] = commit
    assert refusal(written) == (
        f'spec.commit is "{commit}": must be github: or gitlab:, the repository, @ and the commit\'s whole hash, '
        "such as github:acme/models@…"
    )


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({"example.com/": "x"}, '.example.com/ is "example.com/": must be a name such as team or example.com/team'),
        ({"team": "a b"}, '.team is "a b": must be letters, digits, hyphens, underscores and dots, beginning'),
        ({"a.k8s.io/gpu": ""}, '.a.k8s.io/gpu is "a.k8s.io/gpu": must not be in a.k8s.io: a node may give itself'),
    ],
)
def test_a_mistake_in_a_pools_labels(written, pool, labels, sentence):
    pool["labels"] = labels
    assert refusal(written).startswith(f"{POOL}.labels{sentence}")


def test_a_mistake_in_a_pools_taints(written, pool):
    pool["taints"] = [{"key": "gpu", "effect": "Never"}]
    assert refusal(written) == (
        f"{POOL}.taints[0].effect is \"Never\": must be 'NoSchedule', 'PreferNoSchedule' or 'NoExecute'"
    )


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("minNodes", 0, ".minNodes is 0: must be at least 1"),
        ("minNodes", 99, ": minNodes 99 is more than nodes 2: must be at most that"),
        ("maxNodes", 1, ": maxNodes 1 is less than nodes 2: must be at least that"),
    ],
)
def test_a_pool_begins_with_as_many_nodes_as_it_may_have(written, pool, field, value, sentence):
    pool |= {"nodes": 2, field: value}
    assert refusal(written) == f"{POOL}{sentence}"


def test_of_one_accelerator_one_pool_grows(written, cluster, pool):
    pool |= {"nodes": 2, "maxNodes": 4}
    cluster["pools"] = [pool, pool | {"name": "other"}]
    sentence = f"pools with {pool['accelerator']} have minNodes or maxNodes more than once: only one of them may"
    assert refusal(written) == f"{CLUSTER}: {sentence}"


@pytest.mark.parametrize(
    ("more", "sizes", "sentence"),
    [
        ({}, {}, "pool gpu has no room to grow: scaledBy ClusterAutoscaler needs its maxNodes"),
        ({}, {"maxNodes": 2}, "pool gpu has no room to grow: scaledBy ClusterAutoscaler needs its maxNodes"),
        (
            {},
            {"minNodes": 1, "maxNodes": 4},
            "pool gpu would begin with nodes 2, and scaledBy ClusterAutoscaler with minNodes 1: must be the same",
        ),
        (
            {"hibernate": True},
            {"maxNodes": 4},
            "hibernate cannot be with scaledBy ClusterAutoscaler: must be left out, or scaledBy Alate",
        ),
        (
            {"adopt": {"name": "theirs"}},
            {"maxNodes": 4},
            "adopt cannot be with scaledBy ClusterAutoscaler: must be left out, or scaledBy Alate",
        ),
    ],
)
def test_what_an_autoscaler_would_undo_or_not_know_is_refused(written, cluster, more, sizes, sentence):
    cluster |= {"scaledBy": "ClusterAutoscaler"} | more
    cluster["pools"][0] |= {"name": "gpu", "nodes": 2} | sizes
    assert refusal(written) == f"{CLUSTER}: {sentence}"


def test_of_one_accelerator_an_autoscaler_may_have_many_pools(written, cluster, pool):
    pool |= {"nodes": 2, "maxNodes": 4}
    cluster |= {"scaledBy": "ClusterAutoscaler", "pools": [pool, pool | {"name": "other"}]}
    assert len(read_colony(written).spec.clusters[0].pools) == 2


def test_an_unknown_field_is_refused_with_the_nearest_known_one(written, pool):
    pool["acceleratorPerNode"] = 8
    assert refusal(written) == f"{POOL}.acceleratorPerNode is no known field: did you mean acceleratorsPerNode?"


def test_an_unknown_field_like_none_is_answered_with_all_that_are_known(written):
    written["spec"]["flavour"] = "large"
    assert refusal(written) == "spec.flavour is no known field: known here are clusters, commit"


def test_a_field_is_written_in_camel_case_or_not_at_all(written, cluster):
    cluster["max_price_per_hour"] = 3
    assert refusal(written) == f"{CLUSTER}.max_price_per_hour is no known field: did you mean maxPricePerHour?"


def test_an_unknown_field_of_the_status_is_a_newer_releases(written):
    written["status"] = {"phase": "Ready", "mood": "sunny", "clusters": [{"name": "gpu", "mood": "sunny"}]}
    assert read_colony(written).status.phase == "Ready"


def test_null_is_absent_as_an_api_server_has_it(written, cluster, pool):
    cluster |= {"clouds": None, "timeToLive": None, "kubernetesVersion": None}
    pool["spot"] = None
    read = read_colony(written).spec.clusters[0]
    assert (read.clouds, read.time_to_live, read.kubernetes_version) == ([], None, "v1.34.0")
    assert read.pools[0].spot == "preferred"


def test_two_clusters_of_one_name_are_refused(written, cluster):
    written["spec"]["clusters"] = [cluster, cluster]
    assert refusal(written) == "spec.clusters: each name must be unique, but gpu is there more than once"


def test_two_pools_that_both_leave_their_name_out_are_refused(written, cluster, pool):
    cluster["pools"] = [pool, pool]
    assert refusal(written) == f"{CLUSTER}.pools: each name must be unique, but gpu is there more than once"


def test_what_is_adopted_may_not_be_called_as_what_is_made(written, cluster):
    cluster["adopt"] = {"name": "theirs"}
    assert read_colony(written).spec.clusters[0].adopt.on_release == "keep"
    cluster["adopt"] = {"name": f"train-{cluster['name']}-7"}
    assert refusal(written) == (
        f"{CLUSTER}.adopt.name is train-{cluster['name']}-7, as alate calls what it makes for this cluster: "
        "must be another, so call the Colony or its cluster otherwise"
    )


def test_a_combined_name_of_fifty_characters_is_taken_and_one_more_is_not(written, cluster):
    cluster["name"] = "x" * 44
    assert len(read_colony(written).spec.clusters[0].name) == 44
    cluster["name"] = "x" * 45
    assert refusal(written) == (
        f"{CLUSTER}.name makes the combined name train-{'x' * 45}, which has 51 characters: must have at most 50"
    )


def test_a_name_that_is_no_label_is_refused_because_objects_are_named_after_it(written):
    written["metadata"]["name"] = "train.eu"
    assert refusal(written).startswith('metadata.name is "train.eu": must be lower-case letters')


def test_another_kind_is_refused(written):
    written |= {"apiVersion": "v1", "kind": "Pod"}
    assert refusal(written) == "apiVersion is \"v1\": must be 'alate.dev/v1alpha1'; kind is \"Pod\": must be 'Colony'"


@pytest.mark.parametrize("missing", ["metadata", "spec"])
def test_what_has_to_be_there_is_missed(written, missing):
    del written[missing]
    assert refusal(written) == f"{missing} is missing: must be given"


def test_every_mistake_is_told_at_once(written, cluster, pool):
    cluster["maxPricePerHour"] = 0
    pool["nodes"] = 0
    assert refusal(written).split("; ") == [
        f"{POOL}.nodes is 0: must be at least 1",
        f"{CLUSTER}.maxPricePerHour is 0: must be more than 0",
    ]


def test_mistakes_beyond_the_tenth_are_counted(written):
    written["spec"] |= {f"x{number}": 1 for number in range(30)}
    told = refusal(written).split("; ")
    assert len(told) == 11
    assert told[-1] == "and 20 more"


def test_a_value_is_shown_only_so_far(written, cluster):
    cluster["timeToLive"] = "x" * 100_000
    assert len(refusal(written)) < 160


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["clusters", "name", "pools", "accelerator", "nodes", "spot", "addons", "manifests", "idleAfter"]
)
NONSENSE = st.recursive(
    ANYTHING, lambda inner: st.dictionaries(FIELDS, inner | st.lists(inner, max_size=2)), max_leaves=12
)


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "kind", "bogus"]), NONSENSE))
def test_nonsense_is_refused_and_never_crashes(nonsense):
    with pytest.raises(InvalidResource) as refused:
        read_colony({"apiVersion": "nonsense"} | nonsense)
    assert str(refused.value).startswith(("apiVersion", "kind", "metadata", "spec"))
