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
from services.edge.heard import Heard
from services.edge.rules import Rules

MANAGER = "alate-edge"
Name = tuple[str, str]
"""Namespace and name."""

log = structlog.get_logger()


class Rulebook:
    """Follows the Triggers of every namespace."""

    def __init__(self, kube: Kube, clock: Callable[[], datetime]) -> None:
        self.listed = asyncio.Event()
        """Set once all are known."""
        self._kube = kube
        self._clock = clock
        self._rules: dict[Name, Rules] = {}

    def about(self, heard: Heard) -> Iterator[Rules]:
        """Those that listen to where it came in, by name."""
        return (rules for _, rules in sorted(self._rules.items(), key=lambda item: item[0]) if rules.listens(heard))

    async def run(self) -> None:
        """Follow them for ever."""
        async for sight in self._kube.watch(TRIGGERS):
            match sight:
                case Listed(items):
                    self._rules.clear()
                    for item in items:
                        await self._read(item)
                    self.listed.set()
                case Changed(item, gone):
                    await (self._forget(item) if gone else self._read(item))
                case Lost(reason):
                    log.warning("kubernetes.unheard", reason=reason)

    async def _forget(self, item: Object) -> None:
        self._rules.pop(_name(item), None)

    async def _read(self, item: Object) -> None:
        try:
            self._rules[_name(item)] = Rules(read_trigger(item))
            await self._tell(item, "")
        except Refused as why:
            self._rules.pop(_name(item), None)
            log.warning("trigger.refused", tenant=_name(item)[0], name=_name(item)[1], reason=str(why))
            await self._tell(item, str(why))

    async def _tell(self, item: Object, mistake: str) -> None:
        computed = status(item, mistake, self._clock())
        if computed == item.get("status"):
            return
        meta = {"name": item["metadata"]["name"], "namespace": item["metadata"]["namespace"]}
        try:
            told = {"metadata": meta, "status": computed}
            await self._kube.apply(TRIGGERS, told, manager=MANAGER, subresource="status")
        except Fault as why:  # it is told with the next list
            log.warning("trigger.status_unwritten", tenant=meta["namespace"], name=meta["name"], reason=str(why))


def status(item: Object, mistake: str, now: datetime) -> Object:
    """What a Trigger shows; what has not changed keeps its time."""
    holds: Literal["True", "False"] = "False" if mistake else "True"
    before: Object = next((c for c in item.get("status", {}).get("conditions", ()) if c["type"] == "Accepted"), {})
    accepted = Condition(
        type="Accepted",
        status=holds,
        observed_generation=item["metadata"].get("generation", 0),
        last_transition_time=before["lastTransitionTime"] if before.get("status") == holds else now,
        reason="Invalid" if mistake else "Followed",
        message=mistake or "Its rules are followed.",
    )
    return TriggerStatus(conditions=[accepted]).model_dump(mode="json", by_alias=True, exclude_none=True)


def _name(item: Object) -> Name:
    return item["metadata"]["namespace"], item["metadata"]["name"]
