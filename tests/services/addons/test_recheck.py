"""An add-on that was applied is looked at again and again: what is gone is missed, what is only not seen is not."""

import asyncio
from contextlib import suppress

import pytest

from events.errors import TryLater
from events.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS
from schemas.addon import AddonLost, CheckAddon
from services.addons import recheck
from services.addons.recheck import EVERY, KEPT_PERIODS, UNHEALTHY_CHECKS, Rechecks
from tests.services.addons.house import CONFIG, DEPLOYMENT, KIND, UNKNOWN


async def applied(house, manifests):
    await house.colony(manifests)
    await house.on("driver", manifests)
    assert await house.check() == EVERY


async def ready(house, replicas):
    counts = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": replicas}
    status = {"status": {"observedGeneration": 1, **counts}}
    await house.workload.patch(DEPLOYMENTS, "driver", "kube-system", status, subresource="status")


async def test_what_is_there_is_looked_at_again_in_a_minute(house):
    await applied(house, CONFIG)
    assert [await house.check() for _ in range(3)] == [EVERY] * 3


async def test_what_somebody_deleted_is_missed_at_the_next_look(house):
    await applied(house, CONFIG)
    await house.workload.delete(CONFIGMAPS, "settings", "default")
    assert await house.check() == (AddonLost(house.digest, "ConfigMap settings is not there any more"),)


async def test_what_the_kind_of_was_taken_away_is_missed(house):
    await applied(house, f"{KIND}---{UNKNOWN}")
    await house.workload.delete(CRDS, "gadgets.example.org")
    gone = "CustomResourceDefinition gadgets.example.org is not there any more"
    assert await house.check() == (AddonLost(house.digest, gone),)


async def test_what_is_unhealthy_for_a_while_is_missed_and_not_at_once(house):
    await house.colony(DEPLOYMENT)
    with suppress(TryLater):
        await house.apply()
    await ready(house, 1)
    await house.on("driver", DEPLOYMENT)
    assert await house.check() == EVERY
    await ready(house, 0)
    looks = [await house.check() for _ in range(UNHEALTHY_CHECKS)]
    why = "Deployment kube-system/driver: 0 of 1 pods ready"
    assert looks == [EVERY] * (UNHEALTHY_CHECKS - 1) + [(AddonLost(house.digest, why),)]


async def test_what_is_healthy_again_in_between_is_not_missed(house):
    await house.colony(DEPLOYMENT)
    with suppress(TryLater):
        await house.apply()
    for replicas in (1, 0, 0, 1, 0, 0):
        await ready(house, replicas)
        if replicas and await house.check() != EVERY:
            raise AssertionError("it is missed")
        assert await house.check() == EVERY


async def test_a_cluster_that_cannot_be_seen_misses_nothing(house):
    await applied(house, CONFIG)

    async def away():
        raise TryLater("away", 0.1)

    house.meets(away)
    assert [await house.check() for _ in range(UNHEALTHY_CHECKS + 1)] == [EVERY] * (UNHEALTHY_CHECKS + 1)


async def test_of_a_cluster_that_ends_nothing_is_missed(house):
    await applied(house, CONFIG)
    await house.workload.delete(CONFIGMAPS, "settings", "default")
    house.ends = True
    assert await house.check() == EVERY


async def test_an_addon_of_other_contents_is_not_missed(house):
    await applied(house, CONFIG)
    before = house.digest
    await house.colony(CONFIG.replace("small", "large"))
    house.digest = before
    await house.workload.delete(CONFIGMAPS, "settings", "default")
    assert await house.check() == EVERY


async def nothing(*_, **__):
    """There is nothing to compare."""


async def test_of_very_many_each_is_looked_at_less_often(monkeypatch):
    monkeypatch.setattr(recheck, "CHECKS_PER_SECOND", 1 / EVERY)
    checks = Rechecks(nothing, nothing, lambda *_: False)
    waits = []
    for number in range(4):
        with pytest.raises(TryLater) as later:
            await checks.check(CheckAddon("acme", "train", f"c{number}", "driver", "d", "k"))
        waits.append(later.value.after)
    assert waits == [EVERY, EVERY, 2 * EVERY, 3 * EVERY]


@pytest.mark.looptime
async def test_what_is_looked_at_no_more_is_forgotten():
    checks = Rechecks(nothing, nothing, lambda *_: True)
    for number in (1, 2):
        with suppress(TryLater):
            await checks.check(CheckAddon("acme", "train", f"c{number}", "driver", "d", "k"))
        await asyncio.sleep((KEPT_PERIODS + 1) * EVERY)
    assert [name[1] for name in checks._checked] == ["c2"]
