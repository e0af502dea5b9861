import json

import msgspec
import pytest

from events.bus import Message
from events.memory.bus import MemoryBus
from schemas import addon, cluster, teardown
from schemas.classified_labels import ClassifiedLabel, ClassifiedLabels
from schemas.registry import declared
from schemas.wish import Wish
from services.cli.placement.explain import show
from services.errors import Failed
from tests.corpus import replayed
from tests.services.gateway.known import SEEN, is_, put_on


@pytest.fixture
async def bus():
    return await replayed("0.1.0")


async def test_a_released_cluster_is_explained_for_people_and_for_programs(bus):
    out: list[str] = []
    await show(bus, "default", "train-gpu", form="table", write=out.append)
    text = "".join(out)
    assert text.startswith("train/gpu is released since ")
    assert "\nreleased because: " in text
    out.clear()
    await show(bus, "default", "train-gpu", form="json", write=out.append)
    told = json.loads("".join(out))
    assert told["state"] == "released"
    assert f"cost so far: ${told['costUsd']:.2f}\n" in text
    assert all(each["ended"] for each in told["attempts"])


async def explained(*said):
    bus, out = MemoryBus(), []
    for names, state in said:
        await bus.publish(Message(declared(type(state)).at("acme", *names), msgspec.json.encode(state)))
    await show(bus, "acme", "train-a", form="table", write=out.append)
    return "".join(out)


NAMED = ("train-a",)
READY = (NAMED, is_(cluster.Ready))
APPLIED = (("train-a.driver",), put_on(addon.Applied))


async def test_one_that_drains_says_so_and_what_it_waits_for():
    end = is_(teardown.Draining, reason="Deleted", blocked="Job default/train still has 2 pods")
    text = await explained(READY, APPLIED, (NAMED, end))
    assert text.startswith("train/a in namespace acme is draining; it was ready since 2026-01-01T11:00:00 UTC\n")
    assert "\nnow Draining: ending since 2026-01-01 11:00:00Z (it was deleted): draining" in text
    assert "Job default/train still has 2 pods; given up at 2026-01-01 12:00:00Z" in text


async def test_one_that_lacks_an_addon_or_is_not_heard_says_so():
    lacking = await explained(READY, (("train-a.driver",), put_on(addon.Degraded)))
    assert "\nnow AddonsDegraded: add-on driver: bad manifest\n" in lacking
    silent = msgspec.structs.replace(SEEN, known=False)
    assert "\nnow Unknown: its API is unreachable" in await explained(READY, APPLIED, (NAMED, silent))


async def test_one_that_is_as_it_shall_be_says_nothing_more():
    assert "\nnow " not in await explained(READY, APPLIED)


async def test_labels_of_classifiers_are_told_with_where_they_come_from():
    labels = {"gpu": ClassifiedLabel("l4", "hardware")}
    level = ClassifiedLabels(cluster="train-a", uid=READY[1].uid, labels=labels)
    assert "\nlabel gpu=l4 by the ClusterClassifier hardware\n" in await explained(READY, APPLIED, (NAMED, level))
    other = msgspec.structs.replace(level, uid="of another incarnation")
    assert "gpu" not in await explained(READY, APPLIED, (NAMED, other))


async def refused(name, *labels):
    """What is said of a cluster that has no history, while Colonies ask for these."""
    bus = MemoryBus()
    for one in labels:
        colony, _, short = one.partition("/")
        wish = msgspec.structs.replace(READY[1].wish, colony=colony, cluster=short)
        await bus.publish(Message(declared(Wish).at("acme", wish.name), msgspec.json.encode(wish)))
    with pytest.raises(Failed) as failed:
        await show(bus, "acme", name, form="table", write=print)
    return str(failed.value)


async def test_a_cluster_that_is_not_there_is_told_with_the_nearest_names():
    none = "there is no cluster {} in namespace acme: ".format
    assert await refused("trian-gpu", "train/gpu", "infer/cpu") == f"{none('trian-gpu')}did you mean train/gpu?"
    assert await refused("x", "train/gpu", "infer/cpu") == f"{none('x')}known are infer/cpu, train/gpu"
    many = await refused("x", *(f"colony-{number:03}/main" for number in range(200)))
    assert many.endswith("colony-024/main and 175 more")
    assert await refused("x") == f"{none('x')}there is none: `alate get clusters -A` shows those of all namespaces"


async def test_a_cluster_that_has_no_history_yet_is_told_as_that():
    told = await refused("train-gpu", "train/gpu")
    assert told.startswith("cluster train/gpu in namespace acme has no history yet")
