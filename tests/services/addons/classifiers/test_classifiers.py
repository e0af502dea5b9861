"""Classifiers give clusters labels, and profiles follow; the service runs as it is composed."""

import asyncio
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from events.bus import Message
from events.kube.resources import CLUSTERCLASSIFIERS
from events.memory.bus import MemoryBus
from schemas.classified_labels import ClassifiedLabel, ClassifiedLabels
from schemas.registry import Stream, declared
from services.addons import service
from services.addons.classifiers.cluster_classifier import ClassifierPorts, ClusterClassifications, ClusterPorts
from services.addons.plan import controller
from services.addons.plan.match import match
from services.addons.plan.target import KnownCluster
from services.expressions.evaluation import EvaluationFailure, FailureReason
from services.expressions.facts import ClusterFacts
from tests.context import context
from tests.services.addons.classifiers.stage import DRIVER, classify, conditions, levels, told
from tests.services.addons.fleet import TENANT, config_map, fleet, now
from tests.services.expressions.here import EvaluatorsHere

pytestmark = pytest.mark.looptime

AWS = {"when": "cluster.cloud == 'aws'", "labels": {"site": "aws-{{ cluster.region }}"}}
ON_AWS = {"matchLabels": {"site": "aws-eu-west-1"}}
COSTLY = {"when": "cluster.name == 'costly'", "labels": {"x": "y"}}


class SlowEvaluators(EvaluatorsHere):
    """Every rule takes a second, and a rule that says so too much."""

    tried = 0

    async def evaluate(self, expressions, variables, tenant=""):
        await asyncio.sleep(1)
        if expressions[0].text == COSTLY["when"]:
            SlowEvaluators.tried += 1
            return (EvaluationFailure(FailureReason.TOO_COSTLY, f"{expressions[0].where}: it takes more than 0.5 s"),)
        return await super().evaluate(expressions, variables, tenant)


@pytest.fixture
async def clusters(monkeypatch):
    monkeypatch.setattr(service, "Evaluators", SlowEvaluators)  # a process would be waited for on virtual time
    async with fleet() as made:
        await made.found("train-a")
        yield made


async def test_a_classifier_labels_clusters_and_a_profile_follows(clusters):
    await clusters.profile("base", DRIVER, clusters=ON_AWS)
    await classify(clusters, "sites", AWS)
    await clusters.has("train-a", "driver")
    assert await told(clusters, "sites", "Ready", "True") == ("Ready", "1 cluster has labels of it.")
    found = (await clusters.management.get(CLUSTERCLASSIFIERS, "sites"))["status"]
    assert (found["matched"], found["observedGeneration"]) == (1, 1)


async def test_a_cluster_that_comes_later_is_planned_with_its_labels_alone(clusters):
    await classify(clusters, "sites", AWS)
    await clusters.profile("base", DRIVER, clusters=ON_AWS)
    none = {"matchExpressions": [{"key": "site", "operator": "DoesNotExist"}]}
    await clusters.profile("other", {"name": "other", "manifests": config_map("other")}, clusters=none)
    await clusters.found("train-b")
    await clusters.has("train-b", "driver")
    assert await clusters.states("train-b", "other.other") == []


async def test_what_a_cluster_is_no_longer_classified_for_is_withdrawn(clusters):
    await clusters.profile("base", DRIVER, clusters={"matchLabels": {"tier": "top"}})
    await classify(clusters, "tiers", {"when": "cluster.labels.grade == 'gold'", "labels": {"tier": "top"}})
    await clusters.say(clusters.ready("train-a", grade="gold"))
    await clusters.has("train-a", "driver")
    await clusters.say(clusters.ready("train-a", grade="iron"))
    await clusters.has("train-a")


async def test_what_a_deleted_classifier_gave_is_withdrawn(clusters):
    await clusters.profile("base", DRIVER, clusters=ON_AWS)
    await classify(clusters, "sites", AWS)
    await clusters.has("train-a", "driver")
    await clusters.management.delete(CLUSTERCLASSIFIERS, "sites")
    await clusters.has("train-a")


async def test_of_two_classifiers_the_first_by_name_counts_and_the_other_says_so(clusters):
    await clusters.profile("base", DRIVER, clusters=ON_AWS)
    await classify(clusters, "z-late", {"when": "true", "labels": {"site": "late"}})
    await classify(clusters, "a-first", AWS)
    await clusters.has("train-a", "driver")
    why = "acme/train-a: site would be late, but has another value by the ClusterClassifier a-first."
    assert await told(clusters, "z-late", "Conflicting", "True") == ("Conflict", why)
    assert (await told(clusters, "z-late", "Ready", "True"))[1] == "0 clusters have labels of it."
    assert (await conditions(clusters, "a-first"))["Conflicting"]["status"] == "False"


async def test_a_label_of_the_cluster_itself_counts_before_that_of_a_classifier(clusters):
    await clusters.found("train-own", site="home")
    await clusters.profile("base", DRIVER, clusters=ON_AWS)
    await classify(clusters, "sites", AWS)
    why = "acme/train-own: site would be aws-eu-west-1, but has another value by the cluster itself."
    assert await told(clusters, "sites", "Conflicting", "True") == ("Conflict", why)
    await clusters.has("train-a", "driver")
    assert await clusters.get("train-own", "driver") is None


async def test_a_label_that_a_cluster_gives_itself_counts_at_once():
    bus, given = (
        MemoryBus(clock=now),
        {"site": ClassifiedLabel("aws", "sites"), "tier": ClassifiedLabel("top", "sites")},
    )
    level = ClassifiedLabels(cluster="train-a", uid="u1", labels=given)
    await bus.publish(Message(declared(ClassifiedLabels).at(TENANT, "train-a"), msgspec.json.encode(level)))
    nothing: Any = None
    means, ports = ClassifierPorts(nothing, nothing), ClusterPorts(tuple, nothing, nothing)
    classifications = ClusterClassifications(context(bus, now), nothing, means, ports)
    await classifications.load()
    facts = ClusterFacts("train-a", TENANT, labels={"site": "home"})
    own = KnownCluster(TENANT, "train-a", "train", "u1", "c", "kubeconfig", facts)
    assert classifications.labelled(own).facts.labels == {"site": "home", "tier": "top"}
    assert classifications.labelled(replace(own, uid="u2")) == replace(own, uid="u2")


@pytest.mark.parametrize(
    ("when", "reason", "why"),
    [
        ("1 +", "Invalid", "spec.rules[0].when is no CEL expression: line 1, column 4"),
        ("cluster.nodes", "NoValue", "acme/train-a: spec.rules[0].when gives 0: must give true or false."),
    ],
    ids=["does not compile", "fails"],
)
async def test_a_rule_that_cannot_be_evaluated_is_one_condition_and_the_others_count(clusters, when, reason, why):
    await clusters.profile("base", DRIVER, clusters=ON_AWS)
    await classify(clusters, "broken", {"when": when, "labels": {"x": "y"}})
    await classify(clusters, "sites", AWS)
    await clusters.has("train-a", "driver")
    given = await told(clusters, "broken", "Ready", "False")
    assert (given[0], given[1][: len(why)]) == (reason, why)
    assert (await conditions(clusters, "broken"))["Stalled"]["status"] == "True"


async def test_a_rule_that_costs_too_much_is_tried_no_more_in_that_namespace_until_its_classifier_is_changed(clusters):
    await clusters.profile("base", DRIVER, clusters=ON_AWS)
    await classify(clusters, "broken", COSTLY)
    await classify(clusters, "sites", AWS)
    await clusters.has("train-a", "driver")
    why = "acme/train-a: spec.rules[0].when: it takes more than 0.5 s."
    assert await told(clusters, "broken", "Stalled", "True") == ("TooCostly", why)
    tried = SlowEvaluators.tried
    await clusters.found("train-b")
    await clusters.has("train-b", "driver")
    await asyncio.sleep(5)
    assert SlowEvaluators.tried == tried
    why = why.replace("train-a", "train-a and 1 more")
    assert await told(clusters, "broken", "Stalled", "True") == ("TooCostly", why)
    await classify(clusters, "broken", COSTLY | {"when": "true"})
    await told(clusters, "broken", "Stalled", "False")


async def test_a_rule_that_costs_too_much_in_one_namespace_counts_in_another(clusters):
    """What a tenant has in its clusters turns nothing off for others."""
    await classify(clusters, "hardware", COSTLY)
    await told(clusters, "hardware", "Stalled", "True")
    tried, other = SlowEvaluators.tried, clusters.ready("lab-a")
    await clusters.say(msgspec.structs.replace(other, wish=msgspec.structs.replace(other.wish, tenant="umbra")))

    async def again():
        return SlowEvaluators.tried > tried

    await clusters.until(again)


async def test_a_rule_that_becomes_broken_withdraws_nothing_and_neither_does_a_restart(clusters):
    await clusters.profile("base", DRIVER, clusters=ON_AWS)
    await classify(clusters, "sites", AWS)
    await clusters.has("train-a", "driver")
    await classify(clusters, "sites", AWS | {"when": "cluster.nope"})
    await told(clusters, "sites", "Ready", "False")
    await clusters.stop()
    await clusters.start()
    await asyncio.sleep(60)
    await clusters.has("train-a", "driver")
    assert await clusters.states("train-a", "base.driver") == ["applying", "applied"]


async def test_a_change_of_a_classifier_plans_only_the_clusters_whose_labels_change(clusters, monkeypatch):
    await clusters.found("train-b", grade="gold")
    await clusters.profile("base", DRIVER, clusters=ON_AWS)
    await classify(clusters, "sites", AWS)
    for name in ("train-a", "train-b"):
        await clusters.has(name, "driver")
    await asyncio.sleep(30)
    planned: list[str] = []

    def noted(target, *rest, **more):
        planned.append(target.name)
        return match(target, *rest, **more)

    monkeypatch.setattr(controller, "match", noted)
    await classify(clusters, "sites", AWS, {"when": "'grade' in cluster.labels", "labels": {"tier": "top"}})
    await clusters.until(lambda: is_labelled(clusters, "train-b", "tier"))
    await asyncio.sleep(30)
    assert planned == ["train-b"]


async def is_labelled(clusters, name, label):
    said = await clusters.bus.last(Stream.LEVELS, declared(ClassifiedLabels).at(TENANT, name))
    return said is not None and label in msgspec.json.decode(said.data, type=ClassifiedLabels).labels


async def test_a_restart_writes_nothing(clusters):
    await clusters.profile("base", DRIVER, clusters=ON_AWS)
    await classify(clusters, "sites", AWS)
    await classify(clusters, "z-late", {"when": "true", "labels": {"site": "late"}})
    await clusters.has("train-a", "driver")
    await told(clusters, "sites", "Ready", "True")
    await told(clusters, "z-late", "Conflicting", "True")
    await asyncio.sleep(60)
    before = clusters.writes, await levels(clusters)
    await clusters.stop()
    await clusters.start()
    await asyncio.sleep(300)
    assert (clusters.writes, await levels(clusters)) == before
