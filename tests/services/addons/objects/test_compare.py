"""An add-on's objects are compared with the cluster without a write: missing, drifted, refused, unhealthy."""

import pytest

from events.errors import TryLater
from events.kube.client import Kube
from events.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, NAMESPACES
from services.addons.objects.apply_set import PART_OF
from services.addons.objects.compare import HELM
from services.addons.objects.drift import FieldChange
from services.addons.objects.ignoring import Ignore
from tests.services.addons.house import CONFIG, DEPLOYMENT, INSIDE, KIND, OTHER, SPACE, UNKNOWN
from tests.services.addons.objects.steps import Hand, documents

pytestmark = pytest.mark.looptime

ALL = f"{CONFIG}---{DEPLOYMENT}---{KIND}---{UNKNOWN}---{SPACE}---{INSIDE}"
FIXED = CONFIG + "immutable: true\n"
RELEASED = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: default}
data: {size: small}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: test, annotations: {helm.sh/hook: test}}
"""


@pytest.fixture
def hand(house):
    return Hand(house.workload)


async def edit(hand, data, manager="kubectl-edit"):
    await hand.plain.patch(CONFIGMAPS, "settings", "default", {"data": data}, manager=manager)


async def test_what_was_applied_is_as_wanted_and_costs_one_read_each(hand):
    await hand.apply(ALL)
    hand.road.forget()
    compared = await hand.compare(ALL)
    assert compared.as_wanted
    assert {each.method for each in hand.road.sent} == {"GET"}
    assert len(hand.road.sent) == 6 + 1
    assert [each.message for each in compared.unhealthy] == [
        "Deployment kube-system/driver: its controller has not looked at it yet"
    ]
    assert len(compared.seen) == 6


async def test_a_changed_field_is_told_with_both_values_and_its_manager(hand):
    await hand.apply(CONFIG)
    await edit(hand, {"size": "large"})
    ((drifted),) = (await hand.compare(CONFIG)).drifted
    assert drifted.changes == (FieldChange("/data/size", "large", "small", "kubectl-edit"),)
    assert str(drifted) == "ConfigMap settings: /data/size is large by kubectl-edit and should be small"


async def test_drift_is_corrected_by_an_apply_and_then_it_is_as_wanted(hand):
    await hand.apply(CONFIG)
    await edit(hand, {"size": "large"})
    await hand.apply(CONFIG)
    assert (await hand.compare(CONFIG)).as_wanted


async def test_fields_that_others_add_are_no_drift(hand):
    await hand.apply(CONFIG)
    await edit(hand, {"color": "red"})
    assert (await hand.compare(CONFIG)).as_wanted


async def test_what_others_write_as_well_and_leave_as_it_is_is_no_drift(hand):
    await hand.apply(CONFIG)
    same = {"metadata": {"name": "settings", "namespace": "default"}, "data": {"size": "small"}}
    await hand.plain.apply(CONFIGMAPS, same, manager="somebody")
    assert (await hand.compare(CONFIG)).as_wanted


async def test_ignored_fields_are_no_drift(hand):
    await hand.apply(CONFIG)
    await edit(hand, {"size": "large"})
    assert (await hand.compare(CONFIG, ignore=(Ignore(("/data/size",)),))).as_wanted


async def test_what_is_gone_is_missing_its_kind_and_its_namespace_included(hand):
    await hand.apply(f"{CONFIG}---{KIND}---{UNKNOWN}---{SPACE}---{INSIDE}")
    await hand.plain.delete(CONFIGMAPS, "settings", "default")
    await hand.plain.delete(CRDS, "gadgets.example.org")
    await hand.plain.delete(NAMESPACES, "space")
    compared = await hand.compare(f"{CONFIG}---{KIND}---{UNKNOWN}---{SPACE}---{INSIDE}")
    assert {"ConfigMap settings", "Namespace space", "ConfigMap inside"} <= set(map(str, compared.missing))
    assert not compared.as_wanted


async def test_what_the_manifests_name_no_more_is_surplus(hand):
    await hand.apply(f"{CONFIG}---{OTHER}")
    assert [str(each) for each in (await hand.compare(CONFIG)).surplus] == ["ConfigMap theirs"]


async def test_what_could_not_be_written_says_why(hand):
    await hand.apply(FIXED)
    compared = await hand.compare(FIXED.replace("small", "large"))
    assert len(compared.refused) == 1
    assert "immutable" in compared.refused[0]


async def test_a_new_manifest_is_missing_before_it_is_applied_and_nothing_is_written(hand):
    compared = await hand.compare(f"{CONFIG}---{UNKNOWN}")
    assert sorted(map(str, compared.missing)) == ["ConfigMap settings", "Gadget one"]
    assert hand.road.writes == []


async def test_the_set_label_that_earlier_releases_did_not_write_is_no_drift(hand):
    await hand.apply(CONFIG)
    without = {"metadata": {"labels": {PART_OF: None}}}
    await hand.plain.patch(CONFIGMAPS, "settings", "default", without)
    assert (await hand.compare(CONFIG)).as_wanted


async def test_the_label_of_the_owner_is_drift_where_somebody_took_it_away(hand):
    await hand.apply(CONFIG)
    without = {"metadata": {"labels": {"alate.dev/addon": None}}}
    await hand.plain.patch(CONFIGMAPS, "settings", "default", without)
    ((drifted),) = (await hand.compare(CONFIG)).drifted
    assert [each.path for each in drifted.changes] == ["/metadata/labels/alate.dev~1addon"]


async def test_an_object_shared_with_another_addon_is_as_wanted_for_both(hand):
    await hand.apply(SPACE)
    await hand.apply(SPACE, "jobs")
    assert (await hand.compare(SPACE)).as_wanted
    assert (await hand.compare(SPACE, "jobs")).as_wanted


async def test_a_helm_release_is_compared_as_helm_wrote_it_without_its_hooks(hand):
    wanted, _ = documents(RELEASED)
    wanted["metadata"]["namespace"] = "default"
    await hand.plain.apply(CONFIGMAPS, wanted, manager="helm")
    hand.road.forget()
    assert (await hand.compare(RELEASED, manager=HELM)).as_wanted
    await edit(hand, {"size": "large"})
    ((drifted),) = (await hand.compare(RELEASED, manager=HELM)).drifted
    assert drifted.changes == (FieldChange("/data/size", "large", "small", "kubectl-edit"),)
    assert hand.road.writes == []


async def test_an_object_that_is_written_between_two_looks_is_looked_at_again(house):
    hand = Hand(house.workload)
    await hand.apply(CONFIG)
    await edit(hand, {"size": "large"})

    class Busy:
        writes, most = 0, 2

        async def send(self, request):
            if "dryRun" in request.query and Busy.writes < Busy.most:
                Busy.writes += 1
                await edit(hand, {"n": str(Busy.writes)})
            return await house.workload.transport.send(request)

    busy = Hand(Kube(Busy(), random=lambda: 0.5))
    assert len((await busy.compare(CONFIG)).drifted) == 1
    Busy.writes, Busy.most = 0, 9
    with pytest.raises(TryLater, match="written by others all the time"):
        await busy.compare(CONFIG)


async def test_a_deployment_that_was_scaled_says_who_did_it(hand):
    await hand.apply(DEPLOYMENT + "  replicas: 2\n")
    scaled = {"spec": {"replicas": 5}}
    await hand.plain.patch(DEPLOYMENTS, "driver", "kube-system", scaled, manager="scaler")
    ((drifted),) = (await hand.compare(DEPLOYMENT + "  replicas: 2\n")).drifted
    assert drifted.changes == (FieldChange("/spec/replicas", 5, 2, "scaler"),)
