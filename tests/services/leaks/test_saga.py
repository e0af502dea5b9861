"""What one history of each kind comes to, told out: the world pushes back, and the end comes all the same."""

import pytest

from events.kube.resources import PODS
from schemas.teardown import Gone
from tests.services.leaks.history import Step
from tests.services.leaks.play import Play, own_time
from tests.services.leaks.road import NEVER
from tests.services.leaks.work import OWNERS, balancer, claim, haunting, work

CLUSTER, PLACE = "train-a", "train-a-1"
KINDS = (*(resource.kind for resource in OWNERS), "Pod")
OVER = 2000.0
"""Seconds after which any end is over, those included that its back end takes."""


async def living() -> Play:
    """A cluster that is ready, in a world where every back end works."""
    scene = Play(seed=0)
    scene.world.kind = True
    await scene.start()
    await scene.happen(Step("ask", CLUSTER, 120.0, 1))
    return scene


async def pods(scene: Play) -> list[str]:
    return [pod["metadata"]["name"] for pod in (await scene.world.inside.kube(PLACE).list(PODS)).items]


async def ended(scene: Play) -> Gone:
    """The proof; nothing of the cluster stands then, and nothing was told that is not so."""
    try:
        await scene.happen(Step("end", CLUSTER, OVER, 0))
        (end,) = (end for end in scene.record.ends.values() if end.name == CLUSTER)
        assert (await scene.wrongs(), scene.world.ours, scene.record.going()) == ([], {}, [])
        assert isinstance(end.last, Gone)
        return end.last
    finally:
        await scene.stop()


def told(story) -> Gone:
    with own_time() as runner:
        return runner.run(story)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_a_cluster_whose_work_still_runs_ends_all_the_same(kind):
    async def story() -> Gone:
        scene = await living()
        await scene.world.inside.put(PLACE, *work(kind, "train", 0.0))
        return await ended(scene)

    assert told(story()).skipped == ()


@pytest.mark.parametrize("kind", range(len(OWNERS)), ids=KINDS[:-1])
def test_in_such_histories_controllers_make_their_pods_again(kind):
    async def story() -> tuple[list[str], list[str]]:
        scene = await living()
        try:
            await scene.world.inside.put(PLACE, *work(kind, "train", 0.0))
            await scene.happen(Step("pass", "", 10.0, 0))
            before = await pods(scene)
            for name in before:
                await scene.world.inside.kube(PLACE).delete(PODS, name, "default")
            await scene.happen(Step("pass", "", 10.0, 0))
            return before, await pods(scene)
        finally:
            await scene.stop()

    before, after = told(story())
    assert len(before) == len(after) == 2


def test_work_that_is_made_again_by_nobody_knows_whom_does_not_hold_the_machines():
    async def story() -> Gone:
        scene = await living()
        scene.world.inside.haunted[PLACE] = haunting("operator")
        await scene.world.inside.put(PLACE, *haunting("operator"))
        return await ended(scene)

    assert told(story()).skipped == ()  # what waits for a node holds nothing


@pytest.mark.parametrize("hangs", [False, True])
def test_a_cluster_whose_api_is_dead_is_given_back_and_what_may_be_left_is_named(hangs):
    async def story() -> Gone:
        scene = await living()
        await scene.world.inside.put(PLACE, *balancer("web", 0.0))
        await scene.happen(Step("pass", "", 10.0, 0))
        way = scene.world.inside.ways[PLACE]
        way.dead_until, way.hangs = NEVER, hangs
        return await ended(scene)

    assert {skipped.step for skipped in told(story()).skipped} == {"Draining", "Cleaning"}


@pytest.mark.parametrize("what", ["lost", "spoilt", "replaced"])
def test_a_cluster_that_nobody_can_open_any_more_is_given_back_and_what_may_be_left_is_named(what):
    async def story() -> Gone:
        scene = await living()
        await scene.world.inside.put(PLACE, *claim("data", 0.0))
        await scene.happen(Step("key", CLUSTER, 10.0, ("lost", "spoilt", "replaced").index(what)))
        return await ended(scene)

    assert any("volumes" in skipped.left for skipped in told(story()).skipped)


def test_a_volume_whose_finalizer_hangs_for_ever_is_named():
    async def story() -> Gone:
        scene = await living()
        await scene.world.inside.put(PLACE, *claim("data", NEVER))
        return await ended(scene)

    assert [skipped.step for skipped in told(story()).skipped] == ["Cleaning"]


def test_volumes_and_load_balancers_are_gone_from_the_cloud_before_their_cluster():
    async def story() -> tuple[int, Gone, int]:
        scene = await living()
        await scene.world.inside.put(PLACE, *claim("data", 30.0))
        await scene.world.inside.put(PLACE, *balancer("web", 30.0))
        await scene.happen(Step("pass", "", 10.0, 0))
        paid = len(scene.world.inside.paid)
        return paid, await ended(scene), len(scene.world.inside.paid)

    before, gone, after = told(story())
    assert (before, gone.skipped, after) == (2, (), 0)
