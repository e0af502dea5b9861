"""When each add-on of the catalog counts as ready, by states as controllers report them, the deceptive ones too."""

import pytest

from schemas.crds.addons import AddonSpec
from services.addons.catalog.build import expand
from services.addons.catalog.files import recipes
from services.addons.objects.health import health
from services.expressions.cel import CompiledExpression, NoValue, bound

NAMES = sorted(recipes())


def seen(kind, status=None, api="apps/v1", **more):
    head = {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "generation": 1}, "spec": {}, **more}
    return head | ({} if status is None else {"status": status})


def deployment(available=1):
    counts = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": available, "availableReplicas": available}
    return seen("Deployment", {"observedGeneration": 1, **counts})


def daemons(wanted, available):
    counts = {"desiredNumberScheduled": wanted, "updatedNumberScheduled": wanted, "numberAvailable": available}
    return seen("DaemonSet", {"observedGeneration": 1, **counts})


def webhooks(*bundles):
    hooks = [
        {"name": "x", "clientConfig": {"service": {}, **({} if one is None else {"caBundle": one})}} for one in bundles
    ]
    return seen("ValidatingWebhookConfiguration", api="admissionregistration.k8s.io/v1", webhooks=hooks)


def cluster_policy(state, reason, status="True"):
    condition = {"type": "Ready", "status": status, "reason": reason, "message": ""}
    error = {"type": "Error", "status": "False" if status == "True" else "True", "reason": "Ready", "message": ""}
    return seen(
        "ClusterPolicy",
        {"state": state, "namespace": "gpu-operator", "conditions": [condition, error]},
        "nvidia.com/v1",
    )


def device_config(desired, available, ready="True"):
    plugin = {"nodesMatchingSelectorNumber": desired, "desiredNumber": desired, "availableNumber": available}
    conditions = [{"type": "Ready", "status": ready, "reason": "OperatorReady", "message": ""}]
    return seen("DeviceConfig", {"devicePlugin": plugin, "conditions": conditions}, "amd.com/v1alpha1")


def prometheus(available, kind="Prometheus"):
    conditions = [{"type": "Available", "status": available}, {"type": "Reconciled", "status": "True"}]
    return seen(kind, {"conditions": conditions}, "monitoring.coreos.com/v1")


def without(one, *path):
    """The object without a field of its status."""
    *parents, last = path
    inner = status = {**one["status"]}
    for name in parents:
        inner[name] = {**inner[name]}
        inner = inner[name]
    inner.pop(last)
    return {**one, "status": status}


OPERATOR = deployment()
GPUS = cluster_policy("ready", "Reconciled")
AMD = device_config(2, 2)
STATES = {
    "node-feature-discovery": (
        {"on two nodes": [OPERATOR, daemons(2, 2)]},
        {"without a node": [OPERATOR, daemons(0, 0)], "on one of two nodes": [OPERATOR, daemons(2, 1)],
         "before its first report": [OPERATOR, seen("DaemonSet")]},
    ),
    "dcgm-exporter": (
        {"on a node with GPUs": [daemons(1, 1)]},
        {"without a node with GPUs": [daemons(0, 0)], "before its first report": [seen("DaemonSet")]},
    ),
    "csi-driver-nfs": (
        {"on two nodes": [OPERATOR, daemons(2, 2)]},
        {"without a node": [OPERATOR, daemons(0, 0)]},
    ),
    "nvidia-gpu-operator": (
        {"with GPUs": [OPERATOR, GPUS]},
        {
            "without nodes that have GPUs": [OPERATOR, cluster_policy("ready", "NoGPUNodes")],
            "without the labels of node-feature-discovery": [OPERATOR, cluster_policy("ready", "NFDLabelsMissing")],
            "while drivers are compiled": [OPERATOR, cluster_policy("notReady", "OperandNotReady", "False")],
            "with another policy that counts": [OPERATOR, cluster_policy("ignored", "Reconciled")],
            "before its first report": [OPERATOR, seen("ClusterPolicy", api="nvidia.com/v1")],
            "without a state": [OPERATOR, without(GPUS, "state")],
            "without conditions": [OPERATOR, without(GPUS, "conditions")],
            "without a policy": [OPERATOR],
        },
    ),
    "amd-gpu-operator": (
        {"with GPUs": [OPERATOR, AMD]},
        {
            "without nodes that have GPUs": [OPERATOR, device_config(0, 0)],
            "with a device plugin that does not run yet": [OPERATOR, device_config(2, 1)],
            "with an error": [OPERATOR, device_config(2, 2, "False")],
            "before its first report": [OPERATOR, seen("DeviceConfig", api="amd.com/v1alpha1")],
            "without a count": [OPERATOR, without(AMD, "devicePlugin", "availableNumber")],
            "without a device plugin": [OPERATOR, without(AMD, "devicePlugin")],
        },
    ),
    "kube-prometheus-stack": (
        {"with all": [OPERATOR, prometheus("True"), prometheus("True", "Alertmanager")],
         "without an Alertmanager": [OPERATOR, prometheus("True")]},
        {
            "with its operator alone": [OPERATOR],
            "while Prometheus starts": [OPERATOR, prometheus("False")],
            "with a degraded Prometheus": [OPERATOR, prometheus("Degraded")],
            "before the first report": [OPERATOR, seen("Prometheus", api="monitoring.coreos.com/v1")],
            "while Alertmanager starts": [OPERATOR, prometheus("True"), prometheus("False", "Alertmanager")],
        },
    ),
}  # fmt: skip
"""From each recipe with rules of its own to states in which it is ready, and in which it is not."""
WELL = [(name, state) for name, (well, _) in STATES.items() for state in well]
NOT_WELL = [(name, state) for name, (_, wrong) in STATES.items() for state in wrong]


def is_ready(name, objects):
    rules = expand(AddonSpec(name=name, catalog=name)).ready
    return all(health(each).well for each in objects) and all(holds(rule, objects) for rule in rules)


def holds(rule, objects):
    try:
        return CompiledExpression(rule, "ready").of(bound({"objects": objects})) is True
    except NoValue:
        return False


def well(name):
    return next(iter(STATES[name][0].values())) if name in STATES else [OPERATOR]


@pytest.mark.parametrize(("name", "state"), WELL)
def test_an_add_on_that_works_is_ready(name, state):
    assert is_ready(name, STATES[name][0][state])


@pytest.mark.parametrize(("name", "state"), NOT_WELL)
def test_an_add_on_that_only_seems_to_work_is_not_ready(name, state):
    assert not is_ready(name, STATES[name][1][state])


@pytest.mark.parametrize(("name", "state"), [one for one in NOT_WELL if one[0].endswith("gpu-operator")])
def test_the_rules_of_gpu_operators_see_through_it_without_the_health_of_objects(name, state):
    assert not all(holds(rule, STATES[name][1][state]) for rule in recipes()[name].ready)


@pytest.mark.parametrize("name", NAMES)
def test_an_add_on_is_ready_only_with_its_operator(name):
    assert is_ready(name, well(name))
    assert not is_ready(name, [*well(name), deployment(0)])


@pytest.mark.parametrize("name", [name for name in NAMES if recipes()[name].webhooks])
def test_webhooks_that_the_api_server_cannot_verify_are_not_ready(name):
    assert is_ready(name, [*well(name), webhooks("Q0E=", "Q0E=")])
    assert is_ready(name, [*well(name), webhooks()])
    for bundles in ((None,), ("",), ("Q0E=", None)):
        assert not is_ready(name, [*well(name), webhooks(*bundles)])


def test_every_recipe_with_rules_of_its_own_has_recorded_states():
    assert {name for name in NAMES if recipes()[name].ready} == STATES.keys()


def test_rules_give_a_value_for_every_recorded_state():
    for name, groups in STATES.items():
        for states in groups:
            for objects in states.values():
                for rule in recipes()[name].ready:
                    assert CompiledExpression(rule, "ready").of(bound({"objects": objects})) in (True, False)
