"""Whoever waits for a change waits until the cluster's status shows it, and asks for nothing that is nonsense."""

import asyncio
from contextlib import asynccontextmanager
from io import StringIO

import pytest

from events.kube.client import Changed, Listed
from services.cli.change.edit import ANSWERED, POLL, change, extend, scale, upgrade
from services.cli.wait import Outcome, Progress
from services.errors import BadInput, Failed

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
    assert extend("default", "train/main", "12h").reached(shown) is reached


@pytest.mark.parametrize(
    ("shown", "reached"),
    [({"kubernetesVersion": "v1.35.1"}, True), ({"kubernetesVersion": "v1.34.0"}, False), ({}, False)],
    ids=["all of it", "not all of it", "no API"],
)
def test_a_version_is_there_once_all_of_the_cluster_runs_it(shown, reached):
    assert upgrade("default", "train/main", "v1.35.1").reached(shown) is reached


@pytest.mark.parametrize("version", ["1.35.1", "v1.35", "v1.35.1+k0s.0", "newest"])
def test_what_is_no_version_is_told_with_what_would_be_right(version):
    with pytest.raises(BadInput, match=r"is no version of Kubernetes: write v1\.MINOR\.PATCH, such as v1\.35\.1"):
        upgrade("default", "train/main", version)


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
    shown = {"name": "main", "phase": phase, "message": "it has ended", "nodesReady": 1, "nodesWanted": 2}
    conditions = [{"type": "Resizing", "status": "False"}]
    return {
        "metadata": {"name": "train", "namespace": "default", "generation": 1},
        "spec": {"clusters": [{"name": "main", "pools": pools}]},
        "status": {"observedGeneration": 1, "conditions": conditions, "clusters": [shown]},
    }


async def test_a_change_of_what_comes_to_its_end_meanwhile_is_waited_for_no_more():
    asked = scale("default", "train/main", ["gpu=2"])
    with pytest.raises(Failed, match="train/main is Released: it has ended"):
        await change(
            Here("Ready", "Releasing", "Released"),
            asked,
            Outcome("json", wait=True, write=lambda _: None, progress=Progress(StringIO())),
        )


class Answers(Here):
    """A management cluster that shows the looks one after the other, and then the last."""

    def __init__(self, *looks):
        self._looks, self.asked = [*looks], 0

    async def get(self, resource, name, namespace):
        self.asked += 1
        return self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]


REFUSED = "main: 9 nodes of what it runs on cost 90 USD per hour, more than maxPricePerHour 20"


def answered(refusal="", *, seen=2, of=2, reason="Refused"):
    """After a second generation: its owner has answered `of`, the whole shows `seen`."""
    made = colony("Ready")
    made["metadata"]["generation"] = 2
    accepted = {"type": "Accepted", "status": str(not refusal), "reason": reason, "message": refusal}
    made["status"] |= {"observedGeneration": seen, "conditions": [accepted]}
    made["status"]["clusters"][0]["conditions"] = [{"type": "Resizing", "observedGeneration": of}]
    return made


async def written(*looks):
    """What a person reads of a change that is not waited for, and after how many seconds."""
    here, lines, since = Answers(*looks), StringIO(), asyncio.get_running_loop().time()
    asked = scale("default", "train/main", ["gpu=9"])
    await change(here, asked, Outcome(write=print, progress=Progress(lines)))
    return lines.getvalue().splitlines(), asyncio.get_running_loop().time() - since, here.asked


@pytest.mark.looptime
async def test_a_change_that_its_owner_refuses_fails_though_nobody_waits_for_it():
    looks = answered(of=1, seen=1), answered(of=1), answered(REFUSED)
    with pytest.raises(Failed, match=f"^colony/train is refused: {REFUSED}$"):
        await written(*looks)
    with pytest.raises(Failed, match="is refused: no such field"):
        await written(answered(of=1), answered("no such field", reason="Invalid"))


@pytest.mark.looptime
async def test_a_change_that_its_owner_takes_is_through_once_that_has_answered():
    lines, took, asked = await written(answered(of=1, seen=1), answered(of=1), answered())
    assert (lines, asked) == (["train/main is scaled to gpu=9"], 3)
    assert took == pytest.approx(2 * POLL)


@pytest.mark.looptime
async def test_a_change_that_nobody_answers_is_written_all_the_same():
    lines, took, _ = await written(answered(of=1, seen=1))
    assert (len(lines), took) == (1, pytest.approx(ANSWERED, abs=POLL))


@pytest.mark.looptime
async def test_a_change_is_not_refused_for_what_is_amiss_with_another_cluster():
    lines, _, _ = await written(answered("other: regions cannot change"))
    assert len(lines) == 1
