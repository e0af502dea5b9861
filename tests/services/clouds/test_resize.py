"""Each back end gives its objects another size: the same each time, its own objects alone, and nothing else of them."""

import msgspec
import pytest

from events.faults import Denied, NotFound
from events.kinds import CLUSTERDEPLOYMENTS, CONFIGMAPS, MACHINEDEPLOYMENTS
from schemas.cluster import Attempt, Placement
from services.clouds.capi import Capi
from services.clouds.k0rdent import K0rdent
from tests.samples import LOT

OBJECTS = {
    Capi: (MACHINEDEPLOYMENTS, "train-a-1-workers", lambda spec: spec["replicas"]),
    K0rdent: (CLUSTERDEPLOYMENTS, "train-a-1", lambda spec: spec["config"]["workersNumber"]),
}
"""Where each keeps the number."""
UID = "u1.1"


def attempt(nodes):
    lots = (msgspec.structs.replace(LOT, nodes=nodes),)
    return Attempt(number=1, placement=Placement(cloud="aws", region="us-east-1", lots=lots))


@pytest.fixture(params=OBJECTS, ids=lambda kind: kind.name)
async def backend(request, server, wish):
    """A back end that has launched two nodes."""
    made = request.param(server)
    await made.launch(wish, attempt(2), UID)
    return made


async def there(server, backend):
    resource, name, _ = OBJECTS[type(backend)]
    return await server.get(resource, name, "default")


async def nodes(server, backend):
    return OBJECTS[type(backend)][2]((await there(server, backend))["spec"])


@pytest.mark.parametrize("size", [5, 1])
async def test_its_objects_have_the_new_size(server, backend, wish, size):
    await backend.resize(wish, attempt(size), UID)
    assert await nodes(server, backend) == size


async def test_nothing_else_of_them_changes(server, backend, wish):
    before = (await there(server, backend))["spec"]
    await backend.resize(wish, attempt(5), UID)
    await backend.resize(wish, attempt(2), UID)
    assert (await there(server, backend))["spec"] == before


async def test_saying_it_again_writes_nothing(server, backend, wish):
    await backend.resize(wish, attempt(5), UID)
    once = (await there(server, backend))["metadata"]["resourceVersion"]
    await backend.resize(wish, attempt(5), UID)
    assert (await there(server, backend))["metadata"]["resourceVersion"] == once


async def test_what_is_not_there_is_not_made(server, backend, wish):
    other = msgspec.structs.replace(wish, cluster="b")
    with pytest.raises(NotFound):
        await backend.resize(other, attempt(5), UID)


async def test_another_incarnations_keep_their_size(server, backend, wish):
    with pytest.raises(Denied, match="not ours"):
        await backend.resize(wish, attempt(5), "u9.9")
    assert await nodes(server, backend) == 2


async def test_a_template_without_replicas_is_told_in_one_sentence(server, wish):
    text = (await server.get(CONFIGMAPS, "alate-capi-aws", "default"))["data"]["cluster.yaml"]
    patch = {"data": {"cluster.yaml": text.replace("${REPLICAS}", "2")}}
    await server.patch(CONFIGMAPS, "alate-capi-aws", "default", patch)
    with pytest.raises(Denied, match=r"does not mention \$\{REPLICAS\}"):
        await Capi(server).resize(wish, attempt(5), UID)
