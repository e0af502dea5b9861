"""Colonies through the Kubernetes API: what they show of a cluster, and the changes that operators make on the page."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, TypeVar

import msgspec

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from schemas import durations
from services.clients.colonies import apply_edit, delete_colony
from services.colony import edits
from services.colony.edits import NoSuchPool, Patch, WrongPhase
from services.edge.http.problem import Problem, not_now

T = TypeVar("T")
MAX_NODES = 10_000
FORBIDDEN = "this edge may not change Colonies: deploy/rbac.yaml grants it by the ClusterRole alate-edge-actions"


class ActionOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The body of an action; each one has its own options."""

    time_to_live: str = ""
    """To extend: so long at least, from when the cluster was first ready."""
    nodes: dict[str, Annotated[int, msgspec.Meta(ge=1, le=MAX_NODES)]] = {}
    """To scale: nodes by pool."""


Edit = Callable[[Object], Patch]
ACTIONS: Mapping[str, Callable[[str, ActionOptions, datetime], Edit]] = {
    "extend": lambda cluster, options, _: partial(edits.extending, cluster=cluster, life=_life(options)),
    "scale": lambda cluster, options, _: partial(edits.scaling, cluster=cluster, nodes=_nodes(options)),
    "hibernate": lambda cluster, _, __: partial(edits.hibernating, cluster=cluster, hibernate=True),
    "wake": lambda cluster, _, __: partial(edits.hibernating, cluster=cluster, hibernate=False),
    "recreate": lambda cluster, _, now: partial(edits.recreating, cluster=cluster, now=now),
}


class ColonyView(msgspec.Struct, frozen=True, rename="camel"):
    """What a Colony asks of one cluster and shows of it, in the fields of the CRD; add-ons without their manifests."""

    clusters: tuple[str, ...]
    """Every cluster of the Colony: they are deleted together."""
    conditions: tuple[Object, ...]
    """Of the Colony."""
    spec: Object
    status: Object


class Colonies:
    """Reads and changes Colonies."""

    def __init__(self, kube: Kube, clock: Callable[[], datetime]) -> None:
        self.kube = kube
        self._clock = clock

    async def view(self, tenant: str, colony: str, cluster: str) -> ColonyView | None:
        """What a Colony says of a cluster; None if that cannot be read now, or is not there any more."""
        try:
            return view_of(await self.kube.get(COLONIES, colony, tenant), cluster)
        except (NotFound, TryLater, Denied):
            return None

    async def change(self, tenant: str, colony: str, cluster: str, action: str, options: ActionOptions) -> bool:
        """Carry out an action; False if the cluster is as asked already. Raises Problem 403, 404, 409, 422, 503."""
        if action not in ACTIONS:
            raise Problem(404, f"there is no such action: expected one of {', '.join(ACTIONS)}")
        edit = ACTIONS[action](cluster, options, self._clock())
        _, changed = await self._carry_out(apply_edit(self.kube, tenant, colony, edit), colony)
        return changed

    async def delete(self, tenant: str, colony: str, *, force: bool) -> None:
        """Delete a Colony with all of its clusters. Raises Problem 403, 404, 409, 503."""
        await self._carry_out(delete_colony(self.kube, tenant, colony, force=force), colony)

    async def _carry_out(self, change: Awaitable[T], colony: str) -> T:
        try:
            return await change
        except NoSuchPool as wrong:
            raise Problem(404, str(wrong)) from wrong
        except WrongPhase as late:
            raise Problem(409, str(late)) from late
        except NotFound as absent:
            raise Problem(404, f"there is no Colony {colony}") from absent
        except Denied as no:
            raise Problem(403, FORBIDDEN) if no.reason == "Forbidden" else Problem(409, str(no)) from no
        except TryLater as away:
            raise not_now(503, "the Kubernetes API does not answer: try again", away.after) from away


def view_of(colony: Object, cluster: str) -> ColonyView:
    """What a Colony says of one of its clusters."""
    spec: Object = next((each for each in colony["spec"]["clusters"] if each["name"] == cluster), {})
    status = colony.get("status", {})
    return ColonyView(
        clusters=tuple(each["name"] for each in colony["spec"]["clusters"]),
        conditions=tuple(status.get("conditions", ())),
        spec={name: value for name, value in spec.items() if name != "addons"},
        status=next((each for each in status.get("clusters", ()) if each["name"] == cluster), {}),
    )


def _life(options: ActionOptions) -> timedelta:
    try:
        return durations.parse(options.time_to_live)
    except ValueError as wrong:
        raise Problem(422, f"timeToLive is {options.time_to_live!r}: {wrong}", "timeToLive") from wrong


def _nodes(options: ActionOptions) -> Mapping[str, int]:
    if not options.nodes:
        raise Problem(422, "nodes is missing: expected the number of nodes of each pool, by name", "nodes")
    return options.nodes
