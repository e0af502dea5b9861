"""An add-on's objects are written in order and only where they differ, and pruned only after every write."""

import asyncio

import pytest

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube
from events.kube.discovery import find
from events.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, NAMESPACES, SECRETS
from services.addons.objects.apply_set import ID, KINDS, PART_OF, TOOLING, set_id
from services.addons.objects.faults import DeletionLimit, MissingPrerequisite, OwnedByAnother, RecreateRefused
from services.addons.objects.ignoring import Ignore
from services.addons.record import NAMESPACE, addon_set, record_name
from tests.services.addons.house import CONFIG, DEPLOYMENT, INSIDE, KIND, OTHER, SPACE, UNKNOWN
from tests.services.addons.objects.steps import Hand

pytestmark = pytest.mark.looptime

KEYS = """
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {token: abc}
"""
FIXED = """
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed}
immutable: true
data: {size: small}
"""
LARGE = CONFIG.replace("small", "large")
BAD = CONFIG.replace("settings", "No_Such")
ALL = f"{CONFIG}---{OTHER}---{KEYS}---{DEPLOYMENT}---{SPACE}---{INSIDE}---{KIND}---{UNKNOWN}"


@pytest.fixture
def hand(house):
    return Hand(house.workload)


async def settings(hand, name="settings"):
    return await hand.plain.get(CONFIGMAPS, name, "default")


async def test_what_is_as_wanted_is_read_and_not_written(hand):
    first = await hand.apply(ALL)
    assert {each.changed for each in first.objects} == {True}
    hand.road.forget()
    again = await hand.apply(ALL)
    assert hand.road.writes == []
    assert {each.changed for each in again.objects} == {False}
    assert len(again.objects) == len(first.objects) == 8


async def test_only_the_object_that_differs_is_written(hand):
    await hand.apply(ALL)
    hand.road.forget()
    await hand.apply(ALL.replace("small", "large"))
    assert hand.road.writes == ["PATCH settings", "PATCH theirs"]


async def test_kinds_and_namespaces_come_first_and_custom_resources_last(hand):
    written = await hand.apply(f"{UNKNOWN}---{INSIDE}---{DEPLOYMENT}---{KIND}---{SPACE}")
    kinds = [each.object["kind"] for each in written.objects]
    assert kinds == ["Namespace", "CustomResourceDefinition", "ConfigMap", "Deployment", "Gadget"]


async def test_objects_that_name_no_namespace_are_in_that_of_the_addon(hand, house):
    await house.has("Namespace", "space")
    await hand.apply(CONFIG, namespace="space")
    assert await hand.exist(CONFIGMAPS, "space") == {"settings"}


async def test_the_record_is_the_parent_of_a_set_as_kubectl_knows_it(hand):
    await hand.apply(f"{CONFIG}---{DEPLOYMENT}")
    parent = await hand.plain.get(CONFIGMAPS, record_name("driver"), NAMESPACE)
    own = set_id("alate-addon-driver", "kube-system")
    assert parent["metadata"]["labels"][ID] == own == addon_set("driver")
    assert parent["metadata"]["annotations"][KINDS] == "ConfigMap,Deployment.apps"
    assert parent["metadata"]["annotations"][TOOLING].startswith("alate/")
    members = await hand.plain.list(CONFIGMAPS, labels=f"{PART_OF}={own}")
    assert [each["metadata"]["name"] for each in members.items] == ["settings"]


async def test_nothing_is_pruned_unless_all_was_written(hand):
    await hand.apply(f"{CONFIG}---{OTHER}")
    with pytest.raises(Denied, match="No_Such"):
        await hand.apply(f"{CONFIG}---{BAD}")
    assert {"settings", "theirs"} <= await hand.exist(CONFIGMAPS)
    await hand.apply(CONFIG)
    assert "theirs" not in await hand.exist(CONFIGMAPS)


async def test_what_is_refused_does_not_keep_others_of_its_class_from_being_written(hand):
    with pytest.raises(Denied, match="No_Such"):
        await hand.apply(f"{BAD}---{CONFIG}---{DEPLOYMENT}")
    assert "settings" in await hand.exist(CONFIGMAPS)
    with pytest.raises(NotFound):
        await hand.plain.get(DEPLOYMENTS, "driver", "kube-system")


async def test_more_deletions_than_are_allowed_wait_for_approval(hand):
    four = "---".join(CONFIG.replace("settings", f"s{number}") for number in range(4))
    await hand.apply(four)
    with pytest.raises(DeletionLimit, match="3 of the 4 objects of driver would be deleted: more than 50 % need"):
        await hand.apply(CONFIG.replace("settings", "s0"), deletion_limit=50)
    assert {f"s{number}" for number in range(4)} <= await hand.exist(CONFIGMAPS)
    await hand.apply(CONFIG.replace("settings", "s0"), deletion_limit=100)
    assert await hand.exist(CONFIGMAPS) & {f"s{number}" for number in range(4)} == {"s0"}


async def test_as_many_deletions_as_are_allowed_need_no_approval(hand):
    await hand.apply(f"{CONFIG}---{OTHER}")
    await hand.apply(CONFIG, deletion_limit=50)
    assert "theirs" not in await hand.exist(CONFIGMAPS)


async def test_an_immutable_field_changes_by_recreation_where_that_is_allowed(hand):
    await hand.apply(FIXED)
    before = await settings(hand, "fixed")
    changed = FIXED.replace("small", "large")
    with pytest.raises(RecreateRefused, match="recreate: true"):
        await hand.apply(changed)
    assert await settings(hand, "fixed") == before
    await hand.apply(changed, recreate=True)
    after = await settings(hand, "fixed")
    assert after["data"] == {"size": "large"}
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def test_what_would_be_refused_anyway_is_not_deleted_to_be_created_again(hand):
    await hand.apply(CONFIG)
    before = await settings(hand)
    with pytest.raises(Denied) as refused:
        await hand.apply(CONFIG + "immutable: 5\n", recreate=True)
    assert not isinstance(refused.value, RecreateRefused)
    assert await settings(hand) == before


async def test_an_object_that_is_held_while_it_is_deleted_is_created_again_later(hand):
    await hand.apply(FIXED)
    held = {"metadata": {"finalizers": ["example.org/held"]}}
    await hand.plain.patch(CONFIGMAPS, "fixed", "default", held)
    changed = FIXED.replace("small", "large")
    for _ in range(2):
        with pytest.raises(TryLater, match="is being deleted"):
            await hand.apply(changed, recreate=True)
    await hand.plain.patch(CONFIGMAPS, "fixed", "default", {"metadata": {"finalizers": None}})
    await hand.apply(changed, recreate=True)
    assert (await settings(hand, "fixed"))["data"] == {"size": "large"}


async def test_the_first_owner_keeps_an_object_and_is_named_to_the_second(hand):
    await hand.apply(CONFIG)
    with pytest.raises(OwnedByAnother, match="ConfigMap settings belongs to the add-on driver") as refused:
        await hand.apply(LARGE, "jobs")
    assert refused.value.owner == "driver"
    assert (await settings(hand))["data"] == {"size": "small"}


async def test_two_addons_that_want_the_same_of_an_object_share_it(hand):
    await hand.apply(SPACE)
    hand.road.forget()
    await hand.apply(SPACE, "jobs", priority=1)
    assert hand.road.writes == ["PATCH alate-addon-jobs"]


async def test_a_lower_priority_number_takes_an_object_over_without_deleting_it(hand):
    await hand.apply(CONFIG)
    before = await settings(hand)
    await hand.apply(LARGE, "jobs", priority=50)
    after = await settings(hand)
    assert after["data"] == {"size": "large"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["labels"]["alate.dev/addon"] == "jobs"
    with pytest.raises(OwnedByAnother, match="belongs to the add-on jobs"):
        await hand.apply(CONFIG)


async def test_whoever_is_second_takes_over_once_the_owner_has_left(hand):
    await hand.apply(CONFIG)
    with pytest.raises(OwnedByAnother):
        await hand.apply(LARGE, "jobs")
    before = await settings(hand)
    await hand.apply(OTHER)
    assert (await settings(hand))["metadata"]["uid"] == before["metadata"]["uid"]
    await hand.apply(LARGE, "jobs")
    assert (await settings(hand))["data"] == {"size": "large"}
    assert (await settings(hand))["metadata"]["uid"] == before["metadata"]["uid"]


async def test_an_object_of_a_helm_release_is_left_to_it(hand):
    meta = {"name": "settings", "namespace": "default", "annotations": {"meta.helm.sh/release-name": "web"}}
    await hand.plain.create(CONFIGMAPS, {"metadata": meta})
    with pytest.raises(OwnedByAnother, match="ConfigMap settings belongs to the Helm release default/web"):
        await hand.apply(CONFIG)


async def test_fields_that_others_may_change_are_left_as_they_are(hand):
    ignore = (Ignore(("/data/size",), kind="ConfigMap"),)
    await hand.apply(CONFIG, ignore=ignore)
    await hand.plain.patch(CONFIGMAPS, "settings", "default", {"data": {"size": "huge"}})
    await hand.apply(CONFIG.replace("{size: small}", "{size: small, more: x}"), ignore=ignore)
    assert (await settings(hand))["data"] == {"size": "huge", "more": "x"}
    await hand.apply(CONFIG)
    assert (await settings(hand))["data"] == {"size": "small"}


async def test_a_kind_that_nobody_brings_is_missing_by_its_name(hand):
    with pytest.raises(MissingPrerequisite, match="does not serve example"):
        await hand.apply(UNKNOWN)


async def test_texts_of_a_secret_are_compared_where_the_server_keeps_them(hand):
    await hand.apply(KEYS)
    hand.road.forget()
    await hand.apply(KEYS)
    assert hand.road.writes == []
    assert (await hand.plain.get(SECRETS, "keys", "default"))["data"] == {"token": "YWJj"}


async def test_many_objects_are_written_at_the_same_time(house):
    class Slow:
        most = now = 0

        async def send(self, request):
            Slow.now += 1
            Slow.most = max(Slow.most, Slow.now)
            await asyncio.sleep(1)
            Slow.now -= 1
            return await house.workload.transport.send(request)

    slow = Hand(Kube(Slow(), random=lambda: 0.5))
    began = asyncio.get_running_loop().time()
    await slow.apply("---".join(CONFIG.replace("settings", f"s{number}") for number in range(40)))
    assert Slow.most == 8
    assert asyncio.get_running_loop().time() - began < 20


async def test_an_addon_with_a_long_name_is_known_by_its_digest(hand):
    long = f"all.{'p' * 63}.{'a' * 60}"
    await hand.apply(SPACE, long)
    label = (await hand.plain.get(NAMESPACES, "space"))["metadata"]["labels"]["alate.dev/addon"]
    assert len(label) == 63
    with pytest.raises(OwnedByAnother, match=label):
        await hand.apply(SPACE + "  labels: {a: b}\n", "driver")


async def test_a_kind_of_an_addon_with_a_long_name_goes_with_its_own_objects(hand):
    long = f"all.{'p' * 63}.{'a' * 60}"
    await hand.apply(f"{KIND}---{UNKNOWN}---{CONFIG}", long)
    await hand.apply(CONFIG, long)
    with pytest.raises(NotFound):
        await hand.plain.get(CRDS, "gadgets.example.org")


async def test_a_tie_keeps_the_owner_and_who_falls_behind_it_loses_the_object(hand):
    await hand.apply(CONFIG, priority=50)
    with pytest.raises(OwnedByAnother):
        await hand.apply(LARGE, "jobs", priority=50)
    await hand.apply(CONFIG, priority=150)
    await hand.apply(LARGE, "jobs", priority=50)
    assert (await settings(hand))["data"] == {"size": "large"}


async def test_an_account_writes_and_deletes_what_it_may_and_no_more(hand):
    account = hand.tenant()
    with pytest.raises(Denied, match="system:serviceaccount:default:tenant") as refused:
        await hand.apply(CONFIG, kube=account)
    assert refused.value.reason == "Forbidden"
    await may(hand, "configmaps", "get", "patch", "create")
    await hand.apply(f"{CONFIG}---{OTHER}", kube=account)
    with pytest.raises(Denied, match="cannot delete"):
        await hand.apply(CONFIG, kube=account)
    await may(hand, "configmaps", "get", "patch", "create", "delete")
    await hand.apply(CONFIG, kube=account)
    assert "theirs" not in await hand.exist(CONFIGMAPS)
    with pytest.raises(Denied, match="cannot get resource"):
        await hand.compare(f"{CONFIG}---{SPACE}", kube=account)


async def test_no_request_for_an_object_is_in_our_own_name_where_an_account_counts(hand):
    await may(hand, "configmaps", "get", "patch", "create", "delete")
    await hand.apply(f"{CONFIG}---{OTHER}", kube=hand.tenant())
    await hand.apply(CONFIG, kube=hand.tenant())
    of_objects = [each for each in hand.road.sent if "/namespaces/default/configmaps" in each.path]
    assert {each.headers.get("Impersonate-User") for each in of_objects} == {"system:serviceaccount:default:tenant"}


async def may(hand, resource, *verbs):
    """The account ``tenant`` may do this in the namespace ``default``."""
    meta = {"name": "tenant", "namespace": "default"}
    rules = [{"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}]
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"}
    subjects = [{"kind": "ServiceAccount", "name": "tenant", "namespace": "default"}]
    for kind, body in (("Role", {"rules": rules}), ("RoleBinding", {"roleRef": ref, "subjects": subjects})):
        resource = await find(hand.plain, "rbac.authorization.k8s.io/v1", kind)
        await hand.plain.apply(resource, {"metadata": meta, **body}, manager="me")
