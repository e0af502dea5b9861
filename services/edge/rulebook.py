"""The Triggers there are, read as they change; each is told in its status whether it is followed."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Literal

import structlog

from events.faults import Fault
from events.kinds import TRIGGERS
from events.kube import Changed, Kube, Listed, Lost, Object
from schemas.crds import Condition, Refused, TriggerStatus, read_trigger
from services.edge.evaluators import Ended, Evaluates, TooCostly
from services.edge.followed import Followed
from services.edge.heard import Heard
from services.malformed import MALFORMED

MANAGER = "alate-edge"
FOLLOWED, INVALID, COSTLY = "Followed", "Invalid", "TooCostly"
"""Reasons of the condition Accepted."""
Name = tuple[str, str]
"""Namespace and name."""

log = structlog.get_logger()


class Rulebook:
    """Follows the Triggers of every namespace."""

    def __init__(self, kube: Kube, evaluators: Evaluates, clock: Callable[[], datetime]) -> None:
        self.listed = asyncio.Event()
        """Set once all are known."""
        self._kube = kube
        self._evaluators = evaluators
        self._clock = clock
        self._known: dict[Name, tuple[Followed, Object]] = {}

    def about(self, heard: Heard) -> Iterator[Followed]:
        """Those that listen to where it came in, by name."""
        every = (known for _, (known, _) in sorted(self._known.items(), key=lambda item: item[0]))
        return (each for each in every if each.listens(heard))

    async def switch_off(self, trigger: Followed, why: str) -> None:
        """Follow it no more until it is changed, and tell why in its status."""
        known, item = self._known.get((trigger.tenant, trigger.name), (None, {}))
        if known is trigger:
            self._known.pop(_name(item))
            await self._tell(item, COSTLY, why)

    async def run(self) -> None:
        """Follow them for ever."""
        async for sight in self._kube.watch(TRIGGERS):
            match sight:
                case Listed(items):
                    for gone in self._known.keys() - set(map(_name, items)):
                        del self._known[gone]
                    for item in items:  # until it is read anew it is followed as it was
                        await self._take(item, gone=False)
                    self.listed.set()
                case Changed(item, gone):
                    await self._take(item, gone=gone)
                case Lost(reason):
                    log.warning("kubernetes.unheard", reason=reason)

    async def _take(self, item: Object, *, gone: bool) -> None:
        """One that is of another shape than the API server lets in is not followed, and stops no other."""
        if gone:
            self._known.pop(_name(item), None)
            return
        try:
            await self._read(item)
        except MALFORMED:
            self._known.pop(_name(item), None)
            log.exception("trigger.unreadable", tenant=_name(item)[0], name=_name(item)[1])

    async def _read(self, item: Object) -> None:
        if is_off(item):
            self._known.pop(_name(item), None)
            return
        try:
            followed = Followed(read_trigger(item))
            await self._evaluators.read(followed)
        except (Refused, Ended) as why:
            await self._refuse(item, INVALID, str(why))
        except TooCostly as why:
            await self._refuse(item, COSTLY, str(why))
        else:
            self._known[_name(item)] = (followed, item)
            await self._tell(item, FOLLOWED, "Its rules are followed.")

    async def _refuse(self, item: Object, reason: str, why: str) -> None:
        self._known.pop(_name(item), None)
        log.warning("trigger.refused", tenant=_name(item)[0], name=_name(item)[1], reason=why)
        await self._tell(item, reason, why)

    async def _tell(self, item: Object, reason: str, message: str) -> None:
        computed = status(item, reason, message, self._clock())
        if computed == item.get("status"):
            return
        meta = {"name": item["metadata"]["name"], "namespace": item["metadata"]["namespace"]}
        try:
            told = {"metadata": meta, "status": computed}
            await self._kube.apply(TRIGGERS, told, manager=MANAGER, subresource="status")
        except Fault as why:  # it is told with the next list
            log.warning("trigger.status_unwritten", tenant=meta["namespace"], name=meta["name"], reason=str(why))


def status(item: Object, reason: str, message: str, now: datetime) -> Object:
    """What a Trigger shows; what has not changed keeps its time."""
    holds: Literal["True", "False"] = "True" if reason == FOLLOWED else "False"
    before = _accepted(item)
    accepted = Condition(
        type="Accepted",
        status=holds,
        observed_generation=item["metadata"].get("generation", 0),
        last_transition_time=before["lastTransitionTime"] if before.get("status") == holds else now,
        reason=reason,
        message=message,
    )
    return TriggerStatus(conditions=[accepted]).model_dump(mode="json", by_alias=True, exclude_none=True)


def is_off(item: Object) -> bool:
    """Whether it was found too costly as it is written now."""
    said = _accepted(item)
    seen = said.get("observedGeneration") == item["metadata"].get("generation", 0)
    return said.get("reason") == COSTLY and seen


def _accepted(item: Object) -> Object:
    return next((c for c in item.get("status", {}).get("conditions", ()) if c["type"] == "Accepted"), {})


def _name(item: Object) -> Name:
    return item["metadata"]["namespace"], item["metadata"]["name"]
