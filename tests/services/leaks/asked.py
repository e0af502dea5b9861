"""What people ask of clusters, generation by generation, and the Colonies that hold their add-ons' manifests."""

from typing import Any

import msgspec

from schemas.wish import AddonRef, Adopt, Limits, Need, Pool, Spot, Wish, digest
from services.gateway.wishes import released_wish, with_dropped_addons
from tests.services.crash.conftest import clock
from tests.services.leaks.history import CLUSTERS, THEIRS
from tests.services.leaks.inside import TENANT
from tests.services.leaks.world import World

ELASTIC = {"train-b": (1, 4), "infer-a": (2, 5)}
"""The fewest and the most nodes of those whose pools follow their pods."""
FIRST = "v1.34.0"
"""The version of Kubernetes that is asked for first."""


class Asked:
    """Says it, as the gateway would."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.limits: dict[str, Limits] = {}
        """By cluster."""
        self.addons: dict[str, dict[str, str]] = {}
        """By cluster, each with its manifests."""

    async def wish(self, name: str, *, again: bool = False, **need: Any) -> None:
        """The next generation of what is wanted; of another Colony, once the last one's is over.

        `again`: it is asked for now, so that it is founded if it is over. `need`: see `_need`.
        """
        over, before = await self._world.over(name), self._world.wishes.get(name)
        last = None if over else before
        colony, part = name.split("-")
        wish = Wish(
            tenant=TENANT, colony=colony, cluster=part, uid=last.uid if last else f"c{len(self._world.said)}",
            generation=last.generation + 1 if last else 1,
            asked_at=clock() if again else before and before.asked_at,
            limits=self.limits.get(name, Limits()),
            addons=tuple(AddonRef(addon, digest(text)) for addon, text in self.addons.get(name, {}).items()),
            need=_need(name, before, last, **need),
        )  # fmt: skip
        await self._say(name, with_dropped_addons(wish, last))

    async def end(self, name: str, *, force: bool = False) -> None:
        """It is asked for no more, if it is not over; `force`: and nothing in it is to be waited for."""
        if not await self._world.over(name):
            last, state = self._world.wishes[name], await self._world.state(name)
            if state is not None and state.wish.uid != last.uid:  # of a Colony long gone, whose wish was heard late
                await self._world.say(released_wish(state.wish, state.wish.generation), TENANT, name)
            else:
                await self._say(name, released_wish(last, last.generation + 1, force=force))

    async def _say(self, name: str, wish: Wish) -> None:
        self._world.wishes[name] = wish
        await self._write(wish.colony)
        await self._world.say(wish, TENANT, name)

    async def _write(self, colony: str) -> None:
        """The Colony, as people have it now: what is asked for no more is not in it."""
        wishes = {name: self._world.wishes.get(name) for name in CLUSTERS if name.startswith(f"{colony}-")}
        clusters = [
            {"name": wish.cluster, "addons": [{"name": addon, "manifests": text} for addon, text in addons.items()]}
            for name, wish in wishes.items()
            if wish is not None and not wish.deleting and (addons := self.addons.get(name, {}))
        ]
        await self._world.inside.write(colony, {"clusters": clusters})


def _need(
    name: str,
    before: Wish | None,
    last: Wish | None,
    *,
    nodes: int = 2,
    hibernate: bool = False,
    wide: bool = False,
    adopt: str | None = None,
    version: str = "",
) -> Need:
    """`version`: of Kubernetes; empty: as before. `adopt`: what others made that shall be taken in; empty: nothing;
    None: as before. `wide`: it has a second pool.
    """
    least, most = ELASTIC.get(name, (0, 0))
    pool = Pool(
        name="gpu", accelerator="H100", accelerators_per_node=8, nodes=max(nodes, least), min_nodes=least,
        max_nodes=most, spot=Spot.PREFERRED,
    )  # fmt: skip
    more = msgspec.structs.replace(pool, name="more", nodes=1, min_nodes=0, max_nodes=0)
    return Need(
        pools=(pool, more) if wide else (pool,), backend="fake", hibernate=hibernate, adopt=_adopt(adopt, before),
        kubernetes_version=version or (last.need.kubernetes_version if last else FIRST),
    )  # fmt: skip


def _adopt(name: str | None, before: Wish | None) -> Adopt | None:
    if name is None:
        return before.need.adopt if before is not None else None
    return Adopt(name=name, on_release=THEIRS[name], node_price_per_hour=1.0) if name else None
