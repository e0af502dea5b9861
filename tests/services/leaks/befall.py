"""What befalls the insides of clusters: work and what it costs, add-ons, and an API that dies, or opens to nobody."""

import asyncio
from collections.abc import Iterator

from schemas.wish import Limits
from tests.services.leaks.asked import Asked
from tests.services.leaks.history import Step
from tests.services.leaks.record import Record
from tests.services.leaks.road import NEVER
from tests.services.leaks.work import ADDONS, GRACES, balancer, claim, haunting, work
from tests.services.leaks.world import World

SPANS = (60.0, 900.0, 3600.0, NEVER)
"""Seconds that an API may be away, or refuse."""
LIMITS = (
    Limits(time_to_live_seconds=300.0),
    Limits(time_to_live_seconds=3600.0, drain_timeout_seconds=30.0),
    Limits(idle_after_seconds=600.0, clean_timeout_seconds=1800.0),
    Limits(drain_timeout_seconds=1800.0, clean_timeout_seconds=30.0),
    Limits(),
)
GUARDED = (("pods",), ("jobs", "deployments", "statefulsets"), ("services", "persistentvolumeclaims"))


class Befalls:
    """Each step by its name."""

    def __init__(self, world: World, asked: Asked, record: Record) -> None:
        self._world, self._asked, self._record, self._inside = world, asked, record, world.inside

    async def work(self, step: Step) -> None:
        """Somebody has something run that holds GPUs."""
        for place in await self._living(step):
            grace = GRACES[step.dice // 10 % len(GRACES)]
            await self._inside.put(place, *work(step.dice, f"work-{step.dice}", grace))

    async def pay(self, step: Step) -> None:
        """Somebody has the cloud make a load balancer, or a volume, that may take its time to go."""
        for place in await self._living(step):
            grace = GRACES[step.dice // 10 % len(GRACES)]
            made = (balancer, claim)[step.dice % 2](f"paid-{step.dice}", grace)
            await self._inside.put(place, *made)

    async def haunt(self, step: Step) -> None:
        """Somebody's operator makes its pod again whenever it is gone; nobody can tell whose it is."""
        for place in await self._living(step):
            self._inside.haunted[place] = haunting(f"haunt-{step.dice}")
            await self._inside.put(place, *haunting(f"haunt-{step.dice}"))

    async def fit(self, step: Step) -> None:
        """An add-on more, or other contents."""
        name = tuple(ADDONS)[step.dice % len(ADDONS)]
        await self._change(step.who, {**self._asked.addons.get(step.who, {}), name: ADDONS[name](step.dice)})

    async def unfit(self, step: Step) -> None:
        """An add-on less."""
        addons = self._asked.addons.get(step.who, {})
        if addons:
            dropped = tuple(addons)[step.dice % len(addons)]
            await self._change(step.who, {name: text for name, text in addons.items() if name != dropped})

    async def _change(self, who: str, addons: dict[str, str]) -> None:
        self._asked.addons[who] = addons
        await self._again(who)

    async def limit(self, step: Step) -> None:
        """How long it may live, or be idle."""
        self._asked.limits[step.who] = LIMITS[step.dice % len(LIMITS)]
        await self._again(step.who)

    async def _again(self, who: str) -> None:
        wish = self._world.wishes.get(who)
        if wish is not None and not wish.deleting:
            await self._asked.wish(who, nodes=wish.need.nodes or 1, hibernate=wish.need.hibernate)

    async def deaden(self, step: Step) -> None:
        """Its API dies: it refuses connections, or lets them hang; some come back."""
        for place in self._places(step):
            way = self._inside.ways[place]
            way.dead_until, way.hangs = self._until(step), bool(step.dice % 2)

    async def revive(self, step: Step) -> None:
        """Its API is back, with what was asked of it before."""
        for place in self._places(step):
            await self._inside.revive(place)

    async def flaky(self, step: Step) -> None:
        """Connections to its API break."""
        for place in self._places(step):
            self._inside.ways[place].flaky_until = min(self._until(step), self._now() + 3600)

    async def guard(self, step: Step) -> None:
        """Admission lets nobody delete what it guards."""
        for place in self._places(step):
            way = self._inside.ways[place]
            way.guarded, way.guarded_until = GUARDED[step.dice % len(GUARDED)], self._until(step)

    async def key(self, step: Step) -> None:
        """Its kubeconfig is lost, spoilt, replaced by another with the Secret behind, or set right."""
        for place in self._places(step):
            match step.dice % 4:
                case 0:
                    await self._inside.lose_key(place)
                case 1:
                    await self._inside.key(place, "nonsense")
                case 2:
                    self._inside.ways[place].key += 1
                case 3:
                    await self._inside.key(place)

    async def _living(self, step: Step) -> list[str]:
        """Those that people have been given, and were not asked to end."""
        state = await self._world.state(step.who)
        known = getattr(state, "kubeconfig", "")
        ending = state is not None and self._record.ending(step.who, state.uid)
        return [place for place in self._places(step) if known == f"{place}-kubeconfig" and not ending]

    def _places(self, step: Step) -> Iterator[str]:
        named = tuple(name for name, thing in self._world.ours.items() if thing.cluster == step.who)
        return (name for name in named if name in self._inside.ways)

    def _until(self, step: Step) -> float:
        return self._now() + SPANS[step.dice // 4 % len(SPANS)]

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
