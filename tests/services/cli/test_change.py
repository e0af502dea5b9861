"""Whoever waits for a change waits until the cluster's status shows it, and asks for nothing that is nonsense."""

from contextlib import asynccontextmanager

import pytest

from events.kube import Changed, Listed
from services.bad import BadInput, Failed
from services.cli.change import change, longer, risen, sizes

END, OLD = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"


def warned(reason: str, at: str) -> dict:
    return {"expiresAt": END, "teardown": {"phase": "Warned", "reason": reason, "at": at}}


@pytest.mark.parametrize(
    ("shown", "reached"),
    [
        ({"expiresAt": END}, True),
        ({"expiresAt": END, "teardown": {"phase": "Armed"}}, True),
        (warned("TimeToLive", OLD), False),
        (warned("TimeToLive", END), True),
        (warned("Idle", OLD), True),
    ],
    ids=["no end in sight", "armed", "an older end", "the new end", "idle"],
)
def test_a_longer_life_is_there_once_no_warning_tells_an_older_end(shown, reached):
    assert longer("default", "train/main", "12h").reached(shown) is reached


@pytest.mark.parametrize(
    ("shown", "reached"),
    [({"kubernetesVersion": "v1.35.1"}, True), ({"kubernetesVersion": "v1.34.0"}, False), ({}, False)],
    ids=["all of it", "not all of it", "no API"],
)
def test_a_version_is_there_once_all_of_the_cluster_runs_it(shown, reached):
    assert risen("default", "train/main", "v1.35.1").reached(shown) is reached


@pytest.mark.parametrize("version", ["1.35.1", "v1.35", "v1.35.1+k0s.0", "newest"])
def test_what_is_no_version_is_told_with_what_would_be_right(version):
    with pytest.raises(BadInput, match=r"is no version of Kubernetes: write v1\.MINOR\.PATCH, such as v1\.35\.1"):
        risen("default", "train/main", version)


class Here:
    """A management cluster whose one cluster goes through these phases, and then stays."""

    def __init__(self, *phases):
        self._looks = [colony(phase) for phase in phases]

    @asynccontextmanager
    async def kube(self):
        yield self

    async def get(self, resource, name, namespace):
        return self._looks[0]

    async def patch(self, resource, name, namespace, patch, *, kind, manager):
        return self._looks[0]

    async def watch(self, resource, namespace):
        yield Listed((self._looks[0],), "1")
        for each in self._looks[1:]:
            yield Changed(each)
        raise TimeoutError("it waits for ever")


def colony(phase):
    pools = [{"name": "gpu", "nodes": 1}]
    shown = {"name": "main", "phase": phase, "message": "its end has come", "nodesReady": 1, "nodesWanted": 2}
    conditions = [{"type": "Resizing", "status": "False"}]
    return {
        "metadata": {"name": "train", "namespace": "default", "generation": 1},
        "spec": {"clusters": [{"name": "main", "pools": pools}]},
        "status": {"observedGeneration": 1, "conditions": conditions, "clusters": [shown]},
    }


async def test_a_change_of_what_comes_to_its_end_meanwhile_is_waited_for_no_more():
    asked = sizes("default", "train/main", ["gpu=2"])
    with pytest.raises(Failed, match="colony/train: main is Released: its end has come"):
        await change(Here("Ready", "Releasing", "Released"), asked, wait=True, as_json=True, write=lambda _: None)
