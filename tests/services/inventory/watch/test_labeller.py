"""Labels of ours come, follow what is there and go; nobody else's is ever touched, and at rest nothing is written."""

import pytest

from events.errors import Denied
from events.kube.resources import NODES
from schemas.inventory import ClusterSeen
from services.inventory.read.labels import labels_of
from services.inventory.watch.labeller import REFUSED

pytestmark = [pytest.mark.looptime]
OURS = {
    "alate.dev/accelerator": "H100",
    "alate.dev/accelerator-count": "8",
    "alate.dev/accelerator-memory-mib": "81559",
    "alate.dev/accelerator-source": "gfd",
    "alate.dev/accelerator.H100": "8",
}


async def put(stage, node) -> None:
    meta = {key: node["metadata"][key] for key in ("name", "labels")}
    await stage.kube.apply(NODES, {"metadata": meta, "spec": {}}, manager="kubelet")
    written = {"metadata": {"name": meta["name"]}, "status": node["status"]}
    await stage.kube.apply(NODES, written, manager="kubelet", subresource="status")


async def labels(stage, name="n1") -> dict:
    return (await stage.kube.get(NODES, name))["metadata"].get("labels", {})


@pytest.fixture
async def labelled(stage, make):
    foreign = {"zone": "a", "alate.dev/team": "vision"}
    await put(stage, make.node("n1", labels=make.H100 | foreign))
    await stage.watch(labels=labels_of)
    return stage


async def test_a_node_is_given_its_labels_beside_those_of_others(labelled, make):
    await labelled.settled()
    assert await labels(labelled) == make.H100 | {"zone": "a", "alate.dev/team": "vision"} | OURS


async def test_labels_follow_what_the_node_offers(labelled, make):
    await labelled.settled()
    node = make.node("n1", gpus="4")
    await put(labelled, node)
    await labelled.settled()
    assert (await labels(labelled))["alate.dev/accelerator.H100"] == "4"


async def test_a_label_of_ours_that_somebody_took_or_changed_is_put_right(labelled, make):
    await labelled.settled()
    for value in (None, "mine"):
        patch = {"metadata": {"labels": {"alate.dev/accelerator": value}}}
        await labelled.kube.patch(NODES, "n1", None, patch, manager="kubectl")
        await labelled.settled()
        assert (await labels(labelled))["alate.dev/accelerator"] == "H100"


async def test_at_rest_and_after_a_restart_no_label_is_written_again(labelled):
    await labelled.settled()
    version = (await labelled.kube.get(NODES, "n1"))["metadata"]["resourceVersion"]
    await labelled.stop()
    await labelled.watch(labels=labels_of)
    await labelled.settled(400)
    assert (await labelled.kube.get(NODES, "n1"))["metadata"]["resourceVersion"] == version


async def test_switched_off_ours_are_taken_off_and_no_others(labelled, make):
    await labelled.settled()
    await labelled.stop()
    await labelled.watch()
    await labelled.settled()
    assert await labels(labelled) == make.H100 | {"zone": "a", "alate.dev/team": "vision"}


async def test_never_switched_on_no_node_is_written_to(stage, make):
    await put(stage, make.node("n1"))
    before = await stage.kube.get(NODES, "n1")
    await stage.watch()
    await stage.settled()
    assert await stage.kube.get(NODES, "n1") == before


async def test_a_refusal_is_told_once_and_tried_again_later(stage, make, monkeypatch):
    await put(stage, make.node("n1"))
    apply, tries = stage.kube.apply, []

    async def refused(*args, **more):
        tries.append(args)
        if len(tries) == 1:
            raise Denied("nodes is forbidden: no right to patch", "Forbidden")
        return await apply(*args, **more)

    monkeypatch.setattr(stage.kube, "apply", refused)
    await stage.watch(labels=labels_of)
    await stage.settled()
    assert [each.reason for each in (await stage.last(ClusterSeen)).degraded] == ["Unlabelled"]
    await stage.settled(REFUSED)
    assert (await labels(stage))["alate.dev/accelerator"] == "H100"
    assert (await stage.last(ClusterSeen)).degraded == ()


async def test_a_node_that_has_just_gone_is_not_brought_back_by_its_labels(stage, make, monkeypatch):
    await put(stage, make.node("n1"))
    apply = stage.kube.apply

    async def late(*args, **more):
        await stage.kube.delete(NODES, "n1")
        return await apply(*args, **more)

    monkeypatch.setattr(stage.kube, "apply", late)
    await stage.watch(labels=labels_of)
    await stage.settled(100)
    assert (await stage.kube.list(NODES)).items == ()
