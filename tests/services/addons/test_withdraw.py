"""Of what an add-on has on a cluster all is taken away, and nothing that is not its own."""

import asyncio
from contextlib import suppress

import pytest

from events.errors import Denied, TryLater
from events.kube.discovery import find
from events.kube.resources import COLONIES, CONFIGMAPS, NAMESPACES
from schemas.addon import AddonHealthy, AddonPending
from tests.services.addons.house import CONFIG, INSIDE, KIND, OTHER, SPACE, UNKNOWN, UNSERVED

pytestmark = pytest.mark.looptime

ENDS = pytest.mark.parametrize(
    "how",
    [
        pytest.param({}, id="taken out of the Colony"),
        pytest.param({"dropped": False}, id="the cluster is handed back"),
        pytest.param({"dropped": False, "stays": False}, id="the cluster ends"),
    ],
)
OWNED = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u"}]
NEWER = UNKNOWN.replace("/v1", "/v2")
TWO_VERSIONS = KIND + (
    KIND[KIND.index("  - name: v1") :].replace("v1", "v2").replace("storage: true", "storage: false")
)


async def test_what_the_colony_lists_no_more_is_taken_away_and_the_others_stand(house):
    await house.put_on(driver=f"{CONFIG}---{KIND}", jobs=OTHER)
    assert await house.there() == {
        "settings",
        "theirs",
        "gadgets.example.org",
        "alate-addon-driver",
        "alate-addon-jobs",
    }
    await house.colony(jobs=OTHER)
    assert await house.off() == ""
    assert await house.there() == {"theirs", "alate-addon-jobs"}


async def test_what_it_was_made_of_before_is_taken_away_as_well(house):
    await house.put_on(driver=CONFIG)
    await house.put_on(driver=KIND)
    await house.colony()
    assert await house.off() == ""
    assert await house.there() == set()


async def test_a_kind_that_others_have_objects_of_is_left_and_that_is_said(house):
    await house.put_on(driver=f"{KIND}---{CONFIG}", jobs=UNKNOWN)
    await house.colony(jobs=UNKNOWN)
    told = "CustomResourceDefinition gadgets.example.org is left: 1 objects of that kind are others'"
    assert await house.off() == told
    assert await house.there() == {"gadgets.example.org", "one", "alate-addon-jobs"}


async def test_a_kind_of_which_only_addons_that_go_too_have_objects_is_waited_for(house):
    await house.put_on(driver=KIND, jobs=UNKNOWN)
    await house.colony()
    for _ in range(3):
        with pytest.raises(TryLater, match="1 objects of driver are going"):
            await house.withdraw(dropped=True, stays=True)
    await house.workload.delete(await find(house.workload, "example.org/v1", "Gadget"), "one", "default")
    assert await house.off() == ""
    assert await house.there() == {"alate-addon-jobs"}


async def test_a_kind_whose_object_bears_the_name_of_an_addon_that_is_nowhere_is_left(house):
    await house.put_on(driver=KIND, jobs=UNKNOWN)
    await house.colony()
    assert await house.workload.delete(CONFIGMAPS, "alate-addon-jobs", "kube-system")
    assert "1 objects of that kind are others'" in await house.off()


async def test_where_the_cluster_ends_a_kind_goes_with_all_its_objects(house):
    await house.put_on(driver=KIND, jobs=UNKNOWN)
    assert await house.off(dropped=False, stays=False) == ""
    assert await house.there() == {"alate-addon-jobs"}


async def test_what_another_addon_has_as_well_is_left(house):
    await house.put_on(driver=f"{CONFIG}---{OTHER}", jobs=OTHER)
    await house.colony(jobs=OTHER)
    assert await house.off() == "ConfigMap theirs belongs to another add-on as well"
    assert await house.there() == {"theirs", "alate-addon-jobs"}


@ENDS
@pytest.mark.parametrize("first", ["driver", "jobs"])
async def test_what_two_addons_have_goes_when_both_are_taken_off_whoever_is_first(house, first, how):
    await house.put_on(driver=f"{CONFIG}---{OTHER}", jobs=OTHER)
    await house.colony()
    for addon in sorted(("driver", "jobs"), key=first.__ne__):
        assert await house.off(addon, **how) == ""
    assert await house.there() == set()


@ENDS
@pytest.mark.parametrize("seed", range(8))
async def test_what_two_addons_have_goes_when_both_are_taken_off_at_once(house, how, seed):
    await house.put_on(driver=OTHER, jobs=OTHER)
    await house.colony()
    house.uneven(seed)
    assert await asyncio.gather(house.off("driver", **how), house.off("jobs", **how)) == ["", ""]
    assert await house.there() == set()


@ENDS
@pytest.mark.parametrize("at", range(1, 25))
async def test_a_crash_at_any_call_changes_nothing_of_what_is_left(house, how, at):
    await house.put_on(driver=f"{KIND}---{OTHER}", jobs=f"{OTHER}---{UNKNOWN}", stays=CONFIG)
    await house.colony(stays=CONFIG)
    house.cut(at)
    assert await asyncio.gather(house.off("driver", **how), house.off("jobs", **how)) == ["", ""]
    assert await house.there() == {"settings", "alate-addon-stays"}


async def test_what_two_addons_have_goes_where_the_colony_that_lists_them_goes(house):
    await house.put_on(driver=OTHER, jobs=OTHER)
    await house.management.patch(COLONIES, "train", "default", {"metadata": {"finalizers": ["alate.dev/clusters"]}})
    await house.management.delete(COLONIES, "train", "default")
    assert await house.off() == ""
    assert await house.there() == {"alate-addon-jobs"}


async def test_where_the_cluster_is_handed_back_a_colony_that_lists_an_addon_holds_nothing(house):
    await house.put_on(driver=OTHER, jobs=OTHER)
    assert await house.off(dropped=False) == ""
    assert await house.there() == {"alate-addon-jobs"}


async def test_what_two_addons_have_goes_with_the_last_of_them(house):
    await house.put_on(driver=OTHER, jobs=OTHER)
    await house.colony(jobs=OTHER)
    assert await house.off() == "ConfigMap theirs belongs to another add-on as well"
    await house.colony()
    assert await house.off("jobs") == ""
    assert await house.there() == set()


async def test_what_moves_to_another_addon_is_left_before_that_one_has_it(house):
    await house.put_on(driver=OTHER, jobs=CONFIG)
    await house.colony(jobs=f"{CONFIG}---{OTHER}")
    assert await house.off() == "ConfigMap theirs belongs to another add-on as well"
    assert await house.there() == {"settings", "theirs", "alate-addon-jobs"}


async def test_what_another_addon_had_once_and_asks_for_no_more_is_not_held_by_it(house):
    await house.put_on(driver=OTHER, jobs=OTHER)
    await house.colony(jobs=CONFIG)
    assert await house.off() == ""
    assert await house.there() == {"alate-addon-jobs"}


async def test_one_object_by_two_versions_of_its_kind_belongs_to_both(house):
    await house.put_on(own=TWO_VERSIONS, driver=UNKNOWN, jobs=NEWER)
    await house.colony(own=TWO_VERSIONS, jobs=NEWER)
    assert await house.off() == "Gadget one belongs to another add-on as well"


async def test_while_the_colony_cannot_be_read_nothing_is_taken_that_may_be_anothers(house):
    await house.put_on(driver=OTHER, jobs=OTHER)
    await house.colony(jobs="{")
    with pytest.raises(TryLater, match=r"add-on jobs of the Colony default/train: manifests is .*: must be YAML"):
        await house.withdraw(dropped=True, stays=True)
    assert "theirs" in await house.there()


async def test_without_a_colony_it_is_still_known_what_there_is(house):
    await house.put_on(driver=CONFIG)
    await house.management.delete(COLONIES, "train", "default")
    assert await house.off(dropped=False, stays=False) == ""
    assert await house.there() == set()


async def test_what_an_object_cannot_be_written_for_was_noted_before(house):
    await house.colony(f"{CONFIG}---{UNKNOWN}")
    assert await house.apply() == (AddonPending(house.digest, UNSERVED),)
    await house.colony()
    assert await house.off() == ""
    assert await house.there() == set()


async def test_a_namespace_goes_with_all_that_is_the_addons_own(house):
    await house.put_on(driver=f"{SPACE}---{INSIDE}")
    await house.colony()
    assert await house.off() == ""
    assert await house.there() == set()


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "Gadget"])
async def test_a_namespace_with_anything_of_others_in_it_is_left_and_that_is_said(house, kind):
    await house.put_on(driver=f"{SPACE}---{INSIDE}", jobs=KIND)
    await house.colony(jobs=KIND)
    await house.has(kind, "theirs")
    assert await house.off() == "Namespace space is left: 1 objects in it are others'"
    there = await house.there()
    assert "space" in there
    assert "inside" not in there


@pytest.mark.parametrize(
    ("kind", "name", "more"),
    [
        ("ServiceAccount", "default", {}),
        ("ConfigMap", "kube-root-ca.crt", {}),
        ("Lease", "leader", {}),
        ("Secret", "token", {"type": "kubernetes.io/service-account-token"}),
        ("ConfigMap", "owned", {"metadata": {"ownerReferences": OWNED}}),
        ("ConfigMap", "copied", {"metadata": {"labels": {"alate.dev/addon": "driver"}}}),
    ],
)
async def test_a_namespace_is_not_held_by_what_is_in_it_of_itself(house, kind, name, more):
    await house.put_on(driver=SPACE)
    await house.colony()
    with suppress(Denied):  # Kubernetes was faster
        await house.has(kind, name, **more)
    assert await house.off() == ""
    assert await house.there() == set()


async def test_a_namespace_in_which_another_addon_has_something_is_left(house):
    await house.put_on(driver=SPACE, jobs=INSIDE)
    await house.colony(jobs=INSIDE)
    assert await house.off() == "Namespace space belongs to another add-on as well"
    assert await house.there() == {"space", "inside", "alate-addon-jobs"}


@pytest.mark.parametrize("seed", range(8))
async def test_a_namespace_in_which_an_addon_has_something_that_goes_too_goes(house, seed):
    await house.put_on(driver=SPACE, jobs=INSIDE)
    await house.colony()
    house.uneven(seed)
    assert await asyncio.gather(house.off("driver"), house.off("jobs")) == ["", ""]
    assert await house.there() == set()


async def test_where_the_cluster_ends_a_namespace_goes_with_all_that_is_in_it(house):
    await house.put_on(driver=SPACE)
    await house.has("ConfigMap", "theirs")
    assert await house.off(dropped=False, stays=False) == ""
    assert await house.there() == set()


@ENDS
async def test_a_namespace_that_was_there_before_is_left_without_a_trace(house, how):
    await house.has("Namespace", "space")
    before = await house.workload.get(NAMESPACES, "space")
    for _ in range(2):
        await house.put_on(driver=f"{SPACE}---{INSIDE}")
        await house.colony()
        assert await house.off(**how) == "Namespace space is left: it was there before"
        assert await house.there() == {"space"}
    after = await house.workload.get(NAMESPACES, "space")
    assert after["metadata"]["labels"] == before["metadata"]["labels"]


async def test_what_was_there_before_two_addons_had_it_outlives_both(house):
    await house.has("Namespace", "space")
    await house.put_on(driver=SPACE)
    await house.put_on(driver=SPACE, jobs=SPACE)
    await house.colony(jobs=SPACE)
    assert await house.off() == "Namespace space belongs to another add-on as well"
    await house.colony()
    assert await house.off("jobs") == "Namespace space is left: it was there before"


async def test_what_a_cluster_comes_with_is_left_though_an_addon_writes_it(house):
    mine = INSIDE.replace("inside", "coredns").replace(" space", " kube-system")
    await house.workload.create(CONFIGMAPS, {"metadata": {"name": "coredns", "namespace": "kube-system"}})
    await house.put_on(driver=mine)
    await house.colony()
    assert await house.off() == "ConfigMap coredns is left: it was there before"
    assert await house.there() == {"coredns"}


async def test_what_a_newer_version_names_no_more_is_taken_away(house):
    await house.put_on(driver=f"{CONFIG}---{OTHER}", jobs=INSIDE.replace(" space", " default"))
    await house.put_on(driver=CONFIG)
    assert await house.there() == {"settings", "inside", "alate-addon-driver", "alate-addon-jobs"}


async def test_a_newer_version_is_there_once_what_it_names_no_more_is_gone(house):
    await house.put_on(driver=f"{CONFIG}---{OTHER}")
    held = {"metadata": {"finalizers": ["example.org/held"]}}
    await house.workload.patch(CONFIGMAPS, "theirs", "default", held)
    await house.colony(CONFIG)
    for _ in range(2):
        with pytest.raises(TryLater, match="1 objects of driver are going"):
            await house.apply()
    await house.workload.patch(CONFIGMAPS, "theirs", "default", {"metadata": {"finalizers": None}})
    assert await house.apply() == (AddonHealthy(house.digest),)


async def test_what_moves_from_one_addon_to_another_is_never_taken_away(house):
    await house.put_on(driver=f"{CONFIG}---{OTHER}", jobs=INSIDE.replace(" space", " default"))
    before = await house.workload.get(CONFIGMAPS, "theirs", "default")
    await house.put_on(driver=CONFIG, jobs=OTHER)
    after = await house.workload.get(CONFIGMAPS, "theirs", "default")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert await house.there() == {"settings", "theirs", "alate-addon-driver", "alate-addon-jobs"}


@pytest.mark.parametrize("seed", range(8))
async def test_what_one_addon_names_no_more_and_another_took_along_goes_when_both_happens_at_once(house, seed):
    await house.put_on(driver=f"{CONFIG}---{OTHER}", jobs=OTHER)
    await house.colony(CONFIG)
    house.uneven(seed)
    await asyncio.gather(house.on("driver", CONFIG), house.off("jobs"))
    assert await house.there() == {"settings", "alate-addon-driver"}


@pytest.mark.parametrize(
    ("before", "after", "stands"),
    [
        (f"{SPACE}---{INSIDE}", CONFIG, {"settings"}),
        (f"{SPACE}---{INSIDE}", INSIDE, {"space", "inside"}),
        (f"{KIND}---{UNKNOWN}", CONFIG, {"settings"}),
        (f"{KIND}---{UNKNOWN}", UNKNOWN, {"gadgets.example.org", "one"}),
        (TWO_VERSIONS + "---" + UNKNOWN, TWO_VERSIONS + "---" + NEWER, {"gadgets.example.org", "one"}),
        (SPACE + "  namespace: nonsense", SPACE, {"space"}),
    ],
)
async def test_of_an_older_version_there_stays_what_the_newer_one_rests_on(house, before, after, stands):
    await house.put_on(driver=before)
    await house.put_on(driver=after)
    assert await house.there() == stands | {"alate-addon-driver"}


async def test_what_somebody_makes_under_a_name_that_is_free_again_is_left(house):
    await house.has("Namespace", "space")
    await house.put_on(driver=f"{CONFIG}---{INSIDE}")
    await house.put_on(driver=CONFIG)
    await house.has("ConfigMap", "inside")
    await house.put_on(driver=f"{CONFIG}---{OTHER}")
    await house.colony()
    assert await house.off() == ""
    assert await house.there() == {"space", "inside"}


@pytest.mark.parametrize("at", range(1, 40))
async def test_a_crash_at_any_call_changes_nothing_of_what_a_newer_version_is(house, at):
    await house.put_on(driver=f"{SPACE}---{INSIDE}---{OTHER}", jobs=OTHER)
    await house.colony(f"{CONFIG}---{KIND}", jobs=OTHER)
    house.cut(at)
    await house.on("driver", f"{CONFIG}---{KIND}")
    there = {"settings", "gadgets.example.org", "theirs", "alate-addon-driver", "alate-addon-jobs"}
    assert await house.there() == there
