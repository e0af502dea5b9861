"""The page of a cluster tells of every add-on what it depends on, how it is, and what or who holds it back."""

from datetime import timedelta

import msgspec
import pytest

from events.bus import Message
from events.errors import TryLater
from events.memory.bus import MemoryBus
from schemas import addon
from schemas.profile_addons import ProfileAddons, ReleaseConflict, RolloutMark
from schemas.registry import declared
from schemas.wish import AddonRef
from services.clients.profiles import RolloutHold
from services.edge.page.addons import addons_on_page, histories, shown
from tests.services.edge.page.colonies import Colonies
from tests.services.edge.page.states import BEGAN, addon_state

NFD = addon_state(addon.Applied, "base.nfd", message="")
DRIFT = "Deployment default/web: /spec/replicas is 5 by kubectl-scale and should be 3"
OWNED = ReleaseConflict(addon="base.gpu", release="gpu/gpu", owner="all.base.gpu", priority=100, owner_priority=50)
LEVEL = ProfileAddons(
    tenant="acme", colony="train", cluster="train-gpu", uid="u1", correlation="c",
    addons=(AddonRef("base.nfd", "d1"), AddonRef("base.later", "d1", ("base.nfd", "base.gpu"))), conflicts=(OWNED,),
    rollouts={"base": RolloutMark(revision="r1")},
)  # fmt: skip


def of(*states, level=None, **holds):
    return {each.addon: each for each in shown(histories(states), level, holds)}


def phase(*states, **holds):
    found = list(of(*states, **holds).values())[-1]
    return found.phase, found.message


def test_one_that_waits_names_those_that_are_not_applied():
    waiting = addon_state(addon.Applying, "gpu", after=("base.nfd", "certs"), gated=True, message="waits for certs")
    found = of(NFD, waiting)["gpu"]
    assert (found.phase, found.waits, found.after) == ("waiting", ("certs",), ("base.nfd", "certs"))


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (NFD, ("applied", "")),
        (addon_state(addon.Applied, message=DRIFT), ("drifted", DRIFT)),
        (addon_state(addon.Degraded), ("failed", "no such class")),
        (addon_state(addon.Planned), ("waiting", "")),
        (addon_state(addon.Applying, message="2 of 3 pods are ready"), ("applying", "2 of 3 pods are ready")),
    ],
)
def test_each_state_has_one_word_and_its_reason(state, expected):
    assert phase(state) == expected


def test_what_was_corrected_last_is_still_told():
    again = addon_state(addon.Applying, message=DRIFT, since=BEGAN + timedelta(minutes=1))
    found = of(addon_state(addon.Applied, message=""), again, addon_state(addon.Applied, message=""))["driver"]
    assert (found.phase, found.corrected, found.corrected_at) == ("applied", DRIFT, again.since)


def test_one_whose_release_another_profile_has_says_whose_and_by_which_priority():
    found = of(NFD, level=LEVEL)["base.gpu"]
    assert (found.phase, found.message) == (
        "conflict", "the release gpu/gpu is that of all.base.gpu: priority 50 wins over 100",
    )  # fmt: skip


def test_one_that_is_wanted_and_was_not_begun_is_shown_with_its_dependencies():
    found = of(NFD, level=LEVEL)["base.later"]
    assert (found.phase, found.after, found.waits) == ("waiting", ("base.nfd", "base.gpu"), ("base.gpu",))


def test_a_withdrawn_one_is_not_shown():
    assert of(NFD, addon_state(addon.Withdrawn, "base.nfd", message="")) == {}


@pytest.mark.parametrize(("keeps", "word"), [(True, "held"), (False, "applied")])
def test_one_that_a_rollout_holds_says_so(keeps, word):
    assert phase(NFD, base=RolloutHold("it has not come", keeps=keeps)) == (word, "it has not come")


def test_its_own_trouble_is_told_before_the_rollout():
    failed = addon_state(addon.Degraded, "base.nfd")
    assert phase(failed, base=RolloutHold("it has not come", keeps=True)) == ("failed", "no such class")


PROFILE = {
    "kind": "AddonProfile",
    "metadata": {"name": "base", "namespace": "acme"},
    "spec": {"rollout": {}},
    "status": {"revision": "r2", "conditions": [{"type": "Reconciling", "status": "True", "message": "0 of 2 done"}]},
}


async def read(kube, uid="u1"):
    bus = MemoryBus()
    await bus.publish(Message(declared(ProfileAddons).at("acme", "train-gpu"), msgspec.json.encode(LEVEL)))
    return {each.addon: each for each in await addons_on_page(bus, kube, ("acme", "train-gpu"), [NFD], uid)}


async def test_the_rollout_is_told_as_the_profile_has_it():
    found = (await read(Colonies(PROFILE)))["base.nfd"]
    assert (found.phase, found.message) == (
        "held", "the rollout of AddonProfile base has not come to this cluster: 0 of 2 done",
    )  # fmt: skip


async def test_without_the_kubernetes_api_the_rest_is_shown():
    away = Colonies()
    away.error = TryLater("no answer")
    assert (await read(away))["base.nfd"].phase == "applied"


async def test_nothing_is_told_of_an_earlier_incarnation():
    assert await read(Colonies(), "u2") == {}
