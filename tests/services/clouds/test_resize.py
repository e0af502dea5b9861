"""Each back end gives its objects another size: the same each time, its own objects alone, and nothing else of them."""

import msgspec
import pytest

from events.errors import Denied, NotFound
from events.kube.discovery import find
from events.kube.resources import CLUSTERCLASSES, CLUSTERDEPLOYMENTS, CLUSTERS, CONFIGMAPS, MACHINEDEPLOYMENTS
from schemas.placement import Attempt, Placement
from schemas.wish import Wish
from services.clouds.capi import Capi
from services.clouds.k0rdent import K0rdent
from tests.samples import LOT, cluster_class

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


TEMPLATES = (
    ("infrastructure.cluster.x-k8s.io/v1beta2", "DevMachineTemplate"),
    ("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfigTemplate"),
)
"""What else a pool of the template is made of."""
KEPT = "train-a-1-control-plane"
"""Of one of these kinds, and no pool's."""


def with_pools(wish, *names) -> tuple[Wish, Attempt]:
    """A wish, and an attempt that has a lot for each of these pools."""
    (pool,) = wish.need.pools
    need = msgspec.structs.replace(wish.need, pools=tuple(msgspec.structs.replace(pool, name=n) for n in names))
    lots = tuple(msgspec.structs.replace(LOT, pool=name) for name in names)
    placement = Placement(cloud="aws", region="us-east-1", lots=lots)
    return msgspec.structs.replace(wish, need=need), Attempt(number=1, placement=placement)


async def made_of(server):
    """The names of all that pools are made of, by kind."""
    kinds = [MACHINEDEPLOYMENTS, *[await find(server, *each) for each in TEMPLATES]]
    listed = {kind.kind: {each["metadata"]["name"] for each in (await server.list(kind)).items} for kind in kinds}
    return {kind: names - {KEPT} for kind, names in listed.items()}


def all_of(*pools):
    kinds = ("MachineDeployment", *(kind for _, kind in TEMPLATES))
    return {kind: {f"train-a-1-{pool}" for pool in pools} for kind in kinds}


@pytest.fixture
async def capi(server, wish):
    """Cluster API, where two pools were launched."""
    made = Capi(server)
    await made.launch(*with_pools(wish, "workers", "old"), UID)
    return made


async def test_a_pool_is_made_with_all_that_belongs_to_it_and_owned_by_the_cluster(server, capi, wish):
    await capi.resize(*with_pools(wish, "workers", "old", "new"), UID)
    assert await made_of(server) == all_of("workers", "old", "new")
    new = await server.get(MACHINEDEPLOYMENTS, "train-a-1-new", "default")
    cluster = await server.get(CLUSTERS, "train-a-1", "default")
    assert [each["uid"] for each in new["metadata"]["ownerReferences"]] == [cluster["metadata"]["uid"]]
    assert new["metadata"]["labels"]["alate.dev/uid"] == UID


async def test_nothing_of_a_pool_that_is_not_asked_for_stays(server, capi, wish):
    await capi.resize(*with_pools(wish, "workers"), UID)
    assert await made_of(server) == all_of("workers")
    assert await server.get(await find(server, *TEMPLATES[0]), KEPT, "default")


async def test_a_pool_that_was_half_made_when_it_was_not_wanted_any_more_goes_as_well(server, capi, wish):
    await capi.resize(*with_pools(wish, "workers", "old", "new"), UID)
    await server.delete(MACHINEDEPLOYMENTS, "train-a-1-new", "default")
    await capi.resize(*with_pools(wish, "workers", "old"), UID)
    assert await made_of(server) == all_of("workers", "old")


async def test_a_pool_that_was_deleted_by_hand_is_made_again(server, capi, wish):
    await server.delete(MACHINEDEPLOYMENTS, "train-a-1-old", "default")
    await capi.resize(*with_pools(wish, "workers", "old"), UID)
    assert await made_of(server) == all_of("workers", "old")


async def test_pools_of_another_cluster_are_let_alone(server, capi, wish):
    other = msgspec.structs.replace(wish, cluster="b")
    await capi.launch(*with_pools(other, "workers"), UID)
    await capi.resize(*with_pools(wish, "workers"), UID)
    assert await server.get(MACHINEDEPLOYMENTS, "train-b-1-workers", "default")


async def test_nothing_is_made_for_a_cluster_that_is_not_there(server, capi, wish):
    await server.delete(CLUSTERS, "train-a-1", "default")
    with pytest.raises(NotFound):
        await capi.resize(*with_pools(wish, "workers", "new"), UID)
    assert "train-a-1-new" not in (await made_of(server))["MachineDeployment"]


async def test_a_template_for_one_pool_says_that_it_makes_no_second(server, wish):
    text = (await server.get(CONFIGMAPS, "alate-capi-aws", "default"))["data"]["cluster.yaml"]
    patch = {"data": {"cluster.yaml": text.replace("${POOL}", "only")}}
    await server.patch(CONFIGMAPS, "alate-capi-aws", "default", patch)
    with pytest.raises(Denied, match=r"does not mention \$\{POOL\}: it makes one pool a cluster"):
        await Capi(server).launch(*with_pools(wish, "workers", "more"), UID)


async def test_the_pools_of_a_topology_come_and_go_with_its_list(server, wish):
    await server.create(CLUSTERCLASSES, cluster_class())
    made = Capi(server)
    await made.launch(*with_pools(wish, "workers"), UID)
    before = (await server.get(CLUSTERS, "train-a-1", "default"))["spec"]
    for names in (("workers", "new"), ("new",), ("workers",)):
        await made.resize(*with_pools(wish, *names), UID)
        spec = (await server.get(CLUSTERS, "train-a-1", "default"))["spec"]
        assert tuple(each["name"] for each in spec["topology"]["workers"]["machineDeployments"]) == names
    assert spec == before
