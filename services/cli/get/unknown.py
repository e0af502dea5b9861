"""Says of a name that nothing has which names there are, in one sentence."""

from collections.abc import Iterable

from events.bus import Bus
from events.streams import is_tombstone
from schemas.registry import Stream
from schemas.subjects import token
from services.cli.get.kinds import WISHES
from services.cli.get.labels import ClusterLabels
from services.kubernetes.name_list import nearest


async def unknown_cluster(bus: Bus, tenant: str, name: str) -> str:
    """A namespace has no cluster of a name, or that has no history yet."""
    labels = ClusterLabels()
    for stored in await bus.read(Stream.LEVELS, WISHES.format(tenant=token(tenant))):
        if not is_tombstone(stored):
            labels.read(stored)
    known = labels.clusters
    if name in known:
        return f"cluster {known[name]} in namespace {tenant} has no history yet: `alate get clusters -w` shows it"
    hint = nearest(name, known.values()) or "there is none: `alate get clusters -A` shows those of all namespaces"
    return f"there is no cluster {name} in namespace {tenant}: {hint}"


def unknown_name(word: str, name: str, known: Iterable[str]) -> str:
    """A kind has nothing of a name, or nothing else that is asked of it; `known` are the names that there are."""
    names = set(known)
    hint = "" if name in names else nearest(name, names)
    return f"there is no {name} among the {word}: {hint or f'`alate get {word}` shows what there is'}"
