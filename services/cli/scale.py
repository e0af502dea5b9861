"""`alate scale` gives pools of a running cluster another number of nodes, and can wait until they are there."""

from collections.abc import Callable
from contextlib import aclosing
from typing import NamedTuple

from events.faults import NotFound
from events.kinds import COLONIES
from events.kube import Kube, Object
from services.bad import BadInput, Failed
from services.cli.ask import current, told
from services.cli.show import Write, dumped
from services.cli.where import Where
from services.scaling import MANAGER, NoSuchPool, scaling

Say = Callable[[str], object]


class Sizes(NamedTuple):
    """What a person asks for."""

    namespace: str
    colony: str
    cluster: str
    nodes: dict[str, int]
    """By pool."""


def read(namespace: str, target: str, sizes: list[str]) -> Sizes:
    """What the words of the command ask for. Raises BadInput."""
    colony, _, cluster = target.partition("/")
    if not colony or not cluster:
        raise BadInput(f"{target} names no cluster: write COLONY/CLUSTER, such as train/main")
    return Sizes(namespace, colony, cluster, dict(_size(each) for each in sizes))


def _size(text: str) -> tuple[str, int]:
    pool, _, nodes = text.partition("=")
    if not pool or not nodes.isdecimal() or int(nodes) < 1:
        raise BadInput(f"{text} is no size: write POOL=NODES with at least one node, such as gpu=3")
    return pool, int(nodes)


async def scale(where: Where, asked: Sizes, *, wait: bool, as_json: bool, write: Write) -> None:
    """Ask for it. Raises BadInput, Failed if there is no such Colony, or if it is refused while it is waited for."""
    tell: Say = (lambda _: None) if as_json else (lambda line: write(f"{line}\n"))
    async with where.kube() as kube:
        colony = await _patched(kube, asked)
        wanted = ", ".join(f"{pool}={nodes}" for pool, nodes in asked.nodes.items())
        tell(f"colony/{asked.colony}: {asked.cluster} shall have {wanted}")
        if wait:
            colony = await _until(kube, colony, asked.cluster, tell)
    if as_json:
        write(dumped(colony))


async def _patched(kube: Kube, asked: Sizes) -> Object:
    name, namespace = asked.colony, asked.namespace
    try:
        patch = scaling(await kube.get(COLONIES, name, namespace), asked.cluster, asked.nodes)
        return await kube.patch(COLONIES, name, namespace, patch, kind="json", manager=MANAGER)
    except NoSuchPool as wrong:
        raise BadInput(str(wrong)) from wrong
    except NotFound as absent:
        raise Failed(f"there is no Colony {name} in namespace {namespace}: see `alate get colonies`") from absent


async def _until(kube: Kube, asked: Object, cluster: str, tell: Say) -> Object:
    """The Colony once the cluster has the size, and nothing is on its way any more."""
    meta = asked["metadata"]
    async with aclosing(told(kube, meta["name"], meta["namespace"], tell)) as sights:
        async for colony in sights:
            conditions = {one["type"]: one for one in current(colony).get("conditions", ())}
            if conditions.get("Accepted", {}).get("status") == "False":
                raise Failed(f"colony/{meta['name']} is not scaled: {conditions['Accepted']['message']}")
            if conditions.get("Resizing", {}).get("status") == "False" and _has_size(colony, cluster):
                return colony
    raise Failed(f"colony/{meta['name']} was deleted while it was waited for")


def _has_size(colony: Object, cluster: str) -> bool:
    shown: Object = next((each for each in colony["status"]["clusters"] if each["name"] == cluster), {})
    return shown.get("phase") == "Ready" and shown.get("nodesReady") == shown.get("nodesWanted")
