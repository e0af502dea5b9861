"""What a Colony asks for, read as wishes, and the annotations that name the event it was made of."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta

from events.kube.port import Object
from events.telemetry import TRACEPARENT, TRACESTATE, Trace, extract
from schemas.cluster import ClusterState, Released, Releasing
from schemas.crds import AdoptSpec, ClusterSpec, Colony, InvalidResource, NetworkSpec, PoolSpec, addon_ref, read_colony
from schemas.infra import InfraSeen, Remains
from schemas.wish import Adopt, ClusterNetwork, Limits, Need, Pool, PoolTaint, Wish
from services.kubernetes.labels import FORCE, GROUP

EVENT_ANNOTATION = "alate.dev/event-id"
"""The annotation that names the event a Colony was made of."""
RELEASE_ANNOTATION = "alate.dev/release-id"
"""The annotation that names the event that released a Colony."""


def wishes(colony: Colony, backend: str) -> tuple[Wish, ...]:
    """One wish per cluster of the Colony, in its order; `backend` is the default back end."""
    meta = colony.metadata
    return tuple(
        Wish(
            tenant=meta.namespace,
            colony=meta.name,
            cluster=cluster.name,
            uid=meta.uid,
            generation=meta.generation,
            deleting=meta.deletion_timestamp is not None,
            force=meta.deletion_timestamp is not None and is_forced(meta.annotations),
            need=_need(cluster, backend),
            limits=_limits(cluster),
            addons=tuple(map(addon_ref, cluster.addons)),
            labels=tuple(sorted(cluster.labels.items())),
            annotations=tuple(sorted(cluster.annotations.items())),
            asked_at=cluster.asked_at,
            event=meta.annotations.get(EVENT_ANNOTATION, ""),
            release=meta.annotations.get(RELEASE_ANNOTATION, "") if meta.deletion_timestamp else "",
            commit=colony.spec.commit or "",
        )
        for cluster in colony.spec.clusters
    )


class WishReader:
    """Reads the wishes of each Colony once per version, as parsing a large one blocks the event loop for seconds."""

    def __init__(self, backend: str) -> None:
        """`backend` is the default back end."""
        self._backend = backend
        self._read: dict[tuple[str, str], tuple[object, tuple[Wish, ...] | InvalidResource]] = {}
        """By namespace and name: the version that was read, and its wishes or why it is invalid."""

    def read(self, colony: Object) -> tuple[Wish, ...]:
        """The wishes of a Colony. Raises Refused."""
        meta = colony["metadata"]
        name = (meta["namespace"], meta["name"])
        version = (meta["uid"], meta["generation"], meta.get("deletionTimestamp"), meta.get("annotations"))
        known = self._read.get(name)
        if known is None or known[0] != version:
            known = self._read[name] = (version, self._parsed(colony))
        if isinstance(known[1], InvalidResource):
            raise known[1]
        return known[1]

    def forget(self, name: tuple[str, str]) -> None:
        """Drop the wishes of a Colony that is gone."""
        self._read.pop(name, None)

    def _parsed(self, colony: Object) -> tuple[Wish, ...] | InvalidResource:
        try:
            return wishes(read_colony({key: value for key, value in colony.items() if key != "status"}), self._backend)
        except InvalidResource as invalid:
            return invalid


def with_dropped_addons(wish: Wish, last: Wish | None) -> Wish:
    """The wish, with the add-ons that the last wish asked for and this one does not."""
    if last is None or last.uid != wish.uid:
        return wish
    asked = {addon.name for addon in wish.addons}
    before = dict.fromkeys((*last.dropped, *(addon.name for addon in last.addons)))
    return wish.but(dropped=tuple(name for name in before if name not in asked))


def released_wish(wish: Wish, generation: int, *, force: bool = False) -> Wish:
    """The wish that a cluster be deleted."""
    generation, force = max(generation, wish.generation), force or wish.force
    return wish.but(deleting=True, generation=generation, force=force)


def asks_again(state: ClusterState, wish: Wish) -> bool:
    """Whether a wish asks for a cluster that has ended, or is ending, to be created again."""
    return isinstance(state, Releasing | Released) and wish.asks_anew(state.wish)


def is_forced(annotations: Mapping[str, str]) -> bool:
    """Whether the teardown of a Colony's clusters shall wait for nothing in them."""
    return annotations.get(FORCE) == "true"


def _need(cluster: ClusterSpec, backend: str) -> Need:
    return Need(
        pools=tuple(_pool(pool) for pool in cluster.pools),
        clouds=tuple(cluster.clouds),
        regions=tuple(cluster.regions),
        residency=tuple(cluster.residency),
        max_price_per_hour=cluster.max_price_per_hour,
        kubernetes_version=cluster.kubernetes_version,
        backend=cluster.backend or backend,
        template=cluster.template or "",
        hibernate=cluster.hibernate,
        scaled_by=cluster.scaled_by,
        adopt=_adopt(cluster.adopt) if cluster.adopt else None,
        network=_network(cluster.network) if cluster.network else None,
    )


def _adopt(asked: AdoptSpec) -> Adopt:
    return Adopt(name=asked.name, on_release=asked.on_release, node_price_per_hour=asked.node_price_per_hour)


def _network(asked: NetworkSpec) -> ClusterNetwork:
    return ClusterNetwork(pods=tuple(asked.pods), services=tuple(asked.services))


def _pool(pool: PoolSpec) -> Pool:
    return Pool(
        name=pool.name,
        accelerator=pool.accelerator,
        accelerators_per_node=pool.accelerators_per_node,
        nodes=pool.nodes,
        min_nodes=pool.min_nodes or 0,
        max_nodes=pool.max_nodes or 0,
        spot=pool.spot,
        cpu=pool.cpu or 0,
        memory_gib=pool.memory_gib or 0,
        pod_cpu=pool.pod_cpu or 0.0,
        pod_memory_gib=pool.pod_memory_gib or 0.0,
        disk_gib=pool.disk_gib or 0,
        zones=tuple(pool.zones),
        labels=tuple(pool.labels.items()),
        taints=tuple(PoolTaint(key=each.key, value=each.value, effect=each.effect) for each in pool.taints),
    )


def _limits(cluster: ClusterSpec) -> Limits:
    return Limits(
        time_to_live_seconds=_seconds(cluster.time_to_live),
        idle_after_seconds=_seconds(cluster.idle_after),
        warn_before_seconds=cluster.warn_before.total_seconds(),
        drain_timeout_seconds=cluster.drain_timeout.total_seconds(),
        clean_timeout_seconds=cluster.clean_timeout.total_seconds(),
    )


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


FindObjects = Callable[[str, str], tuple[InfraSeen, ...]]
"""From a cluster's tenant and name to its objects in the back ends."""


def with_remains(colony: Object, wish: Wish, found: Iterable[InfraSeen]) -> Wish:
    """The wish, with the objects that are left of a cluster without a history."""
    left = Remains(found=tuple(map(_bare, found)), ended=shown_end(colony, wish))
    return wish.but(remains=left) if left != Remains() else wish


def shown_end(colony: Object, wish: Wish) -> str:
    """Why a cluster has ended that its Colony still names, as the status shows; empty if it shows no end."""
    shown = next((one for one in _shown_clusters(colony) if one.get("name") == wish.cluster), {})
    if shown.get("phase") != "Released" or wish.deleting:
        return ""
    return (shown.get("teardown") or {}).get("reason") or "Ended"


def _shown_clusters(colony: Object) -> Iterable[Object]:
    return colony.get("status", {}).get("clusters") or ()


def _bare(seen: InfraSeen) -> InfraSeen:
    """The object without fields that change while it exists."""
    return InfraSeen(
        cluster=seen.cluster, uid=seen.uid, attempt=seen.attempt, backend=seen.backend, adopted=seen.adopted,
        reachable=seen.reachable, kubeconfig=seen.kubeconfig,
    )  # fmt: skip


MANAGER = "alate-gateway"
"""The field manager of the gateway."""


def event_annotations(event: str, trace: Trace) -> Mapping[str, str]:
    """The annotations of a Colony made of this event, which came in this trace; deterministic."""
    return _without_empty(
        {EVENT_ANNOTATION: event, _event_header(TRACEPARENT): trace.parent, _event_header(TRACESTATE): trace.state}
    )


def release_annotations(event: str, trace: Trace) -> Mapping[str, str]:
    """The annotations of a Colony that this event releases; deterministic."""
    return _without_empty(
        {
            RELEASE_ANNOTATION: event,
            _release_header(TRACEPARENT): trace.parent,
            _release_header(TRACESTATE): trace.state,
        }
    )


def trace_of(meta: Object) -> Trace:
    """The trace of the event that a Colony was made of, by its metadata; `NOWHERE` if it was made by hand."""
    return _trace(meta, _event_header)


def release_trace_of(meta: Object) -> Trace:
    """The trace of the event that released a Colony; `NOWHERE` if it was deleted by hand."""
    return _trace(meta, _release_header)


def _without_empty(annotations: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in annotations.items() if value}


def _trace(meta: Object, name: Callable[[str], str]) -> Trace:
    written = meta.get("annotations", {})
    return extract({header: written.get(name(header), "") for header in (TRACEPARENT, TRACESTATE)})


def _event_header(header: str) -> str:
    return f"{GROUP}/{header}"


def _release_header(header: str) -> str:
    return f"{GROUP}/release-{header}"
