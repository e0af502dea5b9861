"""Whoever waits for a Colony is told once it is ready, or why waiting no longer makes it so."""

from contextlib import asynccontextmanager
from io import StringIO

import pytest

from events.kube.client import Changed, Listed
from services.cli.request.submit import NOT_NOW, delete, request
from services.cli.wait import Outcome, Progress
from services.errors import Failed

ASKED = {
    "metadata": {"name": "train", "namespace": "default", "generation": 2},
    "spec": {"clusters": [{"name": "a"}, {"name": "b"}]},
}
READY = {"phase": "Ready", "conditions": [{"type": "Ready", "status": "True"}]}
OVER = "it has ended (TimeToLive): no edit creates it again, but `alate recreate train/b` does, or a later askedAt"
BOTH = [{"name": "a", "phase": "Ready"}, {"name": "b", "phase": "Released", "message": OVER}]


def shown(status, generation=2):
    return ASKED | {"status": status | {"observedGeneration": generation}}


class Here:
    """A management cluster whose one Colony comes to look like this, then this, and changes no more."""

    def __init__(self, first, *others):
        self._first, self._others = first, others

    @asynccontextmanager
    async def kube(self):
        yield self

    async def get(self, resource, name, namespace):
        return self._first

    async def apply(self, resource, colony, *, manager):
        return colony

    async def watch(self, resource, namespace):
        yield Listed((self._first,), "1")
        for each in self._others:
            yield Changed(each)
        raise TimeoutError("it waits for ever")


async def waited(*looks):
    await request(Here(*looks), [ASKED], Outcome(wait=True, progress=Progress(StringIO())))


async def test_it_waits_until_all_of_what_was_asked_last_is_ready():
    going = {"phase": "Launching", "clusters": [{"name": "a", "phase": "Launching"}]}
    await waited(shown(READY, 1), shown(going), shown(READY))


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"phase": "Ready", "clusters": BOTH}, f"colony/train will not become ready as it is: b: {OVER}"),
        (
            {"phase": "Released", "message": f"b: {OVER}", "clusters": BOTH[1:]},
            f"colony/train is Released and will not become ready as it is: b: {OVER}",
        ),
        (
            {"phase": "Stalled", "message": "a: too dear"},
            "colony/train is Stalled and will not become ready as it is: a: too dear",
        ),
        (
            {"phase": "AddonsDegraded", "message": "a: no such kind"},
            f"colony/train is AddonsDegraded and {NOT_NOW['AddonsDegraded']}: a: no such kind",
        ),
    ],
    ids=["one of two is over", "it is over", "stalled", "an add-on cannot be applied"],
)
async def test_what_no_waiting_makes_ready_is_told_with_what_does(status, told):
    with pytest.raises(Failed) as failed:
        await waited(shown({"phase": "Pending"}), shown(status))
    assert str(failed.value) == told


async def test_an_amendment_that_is_refused_is_no_success():
    refused = {"type": "Accepted", "status": "False", "message": "a: regions cannot change"}
    status = READY | {"conditions": [*READY["conditions"], refused]}
    with pytest.raises(Failed, match=r"^colony/train is not as asked: a: regions cannot change$"):
        await waited(shown(READY, 1), shown(status))


async def test_what_has_ended_is_reported_at_once_for_no_edit_creates_it_again():
    ended, lines = ASKED | shown({"phase": "Released", "clusters": BOTH[1:]}), StringIO()
    told = "^train/b has ended, and no edit creates it again: `alate recreate train/b` does$"
    with pytest.raises(Failed, match=told):
        await request(Here(ended), [ended], Outcome(progress=Progress(lines)))
    assert lines.getvalue() == "colony/train unchanged\n"
    again = ended | {"spec": {"clusters": [{"name": "b", "askedAt": "2026-01-01T00:00:00Z"}]}}
    await request(Here(again), [again], Outcome(progress=Progress(lines)))


async def test_what_was_over_before_it_was_asked_for_again_is_waited_for():
    before = shown({"phase": "Ready", "clusters": BOTH}, 1)
    pending = {"phase": "Pending", "clusters": [BOTH[0], {"name": "b", "phase": "Pending"}]}
    await waited(before, shown(pending), shown(READY))


class Going:
    """A management cluster that notes what is written, and in which order."""

    def __init__(self):
        self.done = []

    @asynccontextmanager
    async def kube(self):
        yield self

    async def patch(self, resource, name, namespace, patch, *, manager):
        self.done.append((name, namespace, patch["metadata"]["annotations"]))

    async def delete(self, resource, name, namespace):
        self.done.append((name, namespace, "deleted"))


@pytest.mark.parametrize("force", [True, False])
async def test_force_is_written_before_the_colony_is_deleted_and_only_where_it_is_said(force):
    here = Going()
    await delete(here, "train", "acme", Outcome(progress=Progress(StringIO())), force=force)
    forced = [("train", "acme", {"alate.dev/force": "true"})] if force else []
    assert here.done == [*forced, ("train", "acme", "deleted")]
