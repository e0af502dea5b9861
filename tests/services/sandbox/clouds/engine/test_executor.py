"""Doing a change twice is doing it once."""

import pytest

from events.kube.resources import CLUSTERS, MACHINES
from services.sandbox.clouds.engine.cache import Cache
from services.sandbox.clouds.engine.executor import Executor
from services.sandbox.clouds.model.actions import (
    Create,
    Delete,
    PatchBoth,
    PatchStatus,
    RecordMachine,
    RemoveNode,
    StopApi,
)
from services.sandbox.clouds.model.billing import machines_ever

pytestmark = pytest.mark.looptime

LINE = '{"machine":"m","instance":"i","spot":true,"at":"2030-01-01T00:00:0%dZ"}'
MACHINE = {"metadata": {"name": "m", "namespace": "default"}, "spec": {"clusterName": "c"}}


@pytest.fixture
def hands(sandbox):
    return Executor(sandbox.kube, sandbox.world, Cache(lambda _: None))


async def test_a_bill_keeps_the_first_time_it_was_told(sandbox, hands):
    cluster = {"metadata": {"name": "c", "namespace": "default", "uid": "u"}}
    for second in (1, 2):
        await hands.do(RecordMachine(cluster, {"m.start": LINE % second}))
    for second in (3, 4):
        await hands.do(RecordMachine(cluster, {"m.end": f"2030-01-01T00:00:0{second}Z"}))
    (only,) = await machines_ever(sandbox.kube)
    assert (only.start.second, only.end.second) == (1, 3)


async def test_what_is_there_is_as_good_as_made_and_what_is_gone_as_good_as_ended(sandbox, hands):
    assert await hands.do(Create(MACHINES, MACHINE))
    assert await hands.do(Create(MACHINES, MACHINE))
    (machine,) = await sandbox.all(MACHINES)
    for _ in range(2):
        assert await hands.do(Delete(MACHINES, machine))
    assert not await sandbox.all(MACHINES)
    await hands.do(PatchStatus(MACHINES, machine, {"phase": "Running"}))
    for change in (StopApi("default.nowhere"), RemoveNode("default.nowhere", "n")):
        await hands.do(change)


async def test_a_change_to_an_old_shape_is_not_made(sandbox, hands):
    await sandbox.kube.create(MACHINES, MACHINE)
    (old,) = await sandbox.all(MACHINES)
    await sandbox.kube.patch(MACHINES, "m", "default", {"spec": {"version": "v2"}})
    assert await hands.do(PatchStatus(MACHINES, old, {"phase": "Running"}))  # news: somebody else was faster
    (now,) = await sandbox.all(MACHINES)
    assert "status" not in now


async def test_both_parts_of_a_write_are_made(sandbox, hands):
    await sandbox.kube.create(MACHINES, MACHINE)
    (old,) = await sandbox.all(MACHINES)
    write = PatchBoth(MACHINES, old, {"spec": {"version": "v2"}}, {"phase": "Running"})
    assert await hands.do(write)
    (now,) = await sandbox.all(MACHINES)
    assert (now["spec"]["version"], now["status"]["phase"]) == ("v2", "Running")
    assert await hands.do(write)  # of a shape that is old by now
    assert await sandbox.all(MACHINES) == (now,)


async def test_of_a_write_to_an_old_shape_neither_part_is_made(sandbox, hands):
    await sandbox.kube.create(MACHINES, MACHINE)
    (old,) = await sandbox.all(MACHINES)
    await sandbox.kube.patch(MACHINES, "m", "default", {"spec": {"version": "v2"}})
    before = await sandbox.all(MACHINES)
    assert await hands.do(PatchBoth(MACHINES, old, {"spec": {"version": "v3"}}, {"phase": "Running"}))
    assert await sandbox.all(MACHINES) == before


async def test_another_incarnation_is_never_deleted(sandbox, hands):
    await sandbox.kube.create(MACHINES, MACHINE)
    (machine,) = await sandbox.all(MACHINES)
    predecessor = machine | {"metadata": machine["metadata"] | {"uid": "another"}}
    await hands.do(Delete(MACHINES, predecessor))
    assert len(await sandbox.all(MACHINES)) == 1
    assert not await sandbox.all(CLUSTERS)
