"""`alate request` and `alate delete` say to the management cluster what kubectl would say, and can wait for it."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from events.errors import NotFound
from events.kube.client import Changed, Kube, Listed, Lost, Object
from events.kube.resources import COLONIES
from services.cli.connection import Where
from services.clouds.labels import FORCE
from services.errors import Failed

MANAGER = "alate-cli"
FORCED: Object = {"metadata": {"annotations": {FORCE: "true"}}}
NOT_NOW = {
    "Stalled": "will not become ready as it is",
    "Invalid": "will not become ready as it is",
    "Released": "will not become ready as it is",
    "Stuck": "will not become ready as it is",
    "AddonsDegraded": "is tried again every few minutes, or until `alate delete`",
    "Waiting": "goes on being asked for until there is room, or until `alate delete`",
}
"""Phases that no longer waiting ends soon, and what becomes of the Colony then."""
Say = Callable[[str], object]


def say(line: str) -> None:
    """One line for people."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def request(where: Where, colonies: list[Object], *, wait: bool, tell: Say = say) -> None:
    """Ask for Colonies, or amend those that are there. Raises Failed if one of them has no hope for now."""
    async with where.kube() as kube:
        ended: list[str] = []
        for colony in colonies:
            there = await kube.apply(COLONIES, colony, manager=MANAGER)
            meta = there["metadata"]
            tell(f"colony/{meta['name']} requested in namespace {meta['namespace']}")
            ended += _ended(there)
        if ended:
            again = ", ".join(f"`alate again {each}`" for each in ended)
            raise Failed(f"{', '.join(ended)} has ended, and no edit founds it anew: {again} does")
        if wait:
            await asyncio.gather(*(_until_ready(kube, colony, tell) for colony in colonies))


async def delete(  # noqa: PLR0913 - which, how, and to whom it is told
    where: Where, name: str, namespace: str, *, wait: bool, force: bool, tell: Say = say
) -> None:
    """Ask for a Colony's end, which waits for nothing in its clusters if forced. Raises Failed if there is none."""
    async with where.kube() as kube:
        try:
            if force:
                await kube.patch(COLONIES, name, namespace, FORCED, manager=MANAGER)
            await kube.delete(COLONIES, name, namespace)
        except NotFound as absent:
            raise Failed(f"there is no Colony {name} in namespace {namespace}: see `alate get colonies`") from absent
        tell(f"colony/{name} is going")
        if wait:
            await _until_gone(kube, name, namespace, tell)


async def _until_ready(kube: Kube, asked: Object, tell: Say) -> None:
    name, namespace = asked["metadata"]["name"], asked["metadata"]["namespace"]
    async with aclosing(told(kube, name, namespace, tell)) as sights:
        async for colony in sights:
            if why := _hopeless(current(colony)):
                raise Failed(f"colony/{name} {why}")
            if _ready(colony):
                return
    raise Failed(f"colony/{name} was deleted while it was waited for")


async def _until_gone(kube: Kube, name: str, namespace: str, tell: Say) -> None:
    async for _ in told(kube, name, namespace, tell):
        pass
    tell(f"colony/{name} is gone")


async def told(kube: Kube, name: str, namespace: str, tell: Say) -> AsyncGenerator[Object]:
    """A Colony as it changes, until it is not there; each time it reads differently, that is told."""
    last = ""
    async with aclosing(_sights(kube, name, namespace)) as sights:
        async for colony in sights:
            if colony is None:
                return
            if (line := _line(colony)) != last and "status" in colony:
                tell(line)
                last = line
            yield colony


async def _sights(kube: Kube, name: str, namespace: str) -> AsyncGenerator[Object | None]:
    """One Colony as it changes; None once it is not there."""
    async for sight in kube.watch(COLONIES, namespace):
        match sight:
            case Listed(items):
                yield next((item for item in items if item["metadata"]["name"] == name), None)
            case Changed(colony, gone) if colony["metadata"]["name"] == name:
                yield None if gone else colony
            case Lost(reason):
                raise Failed(f"the management cluster cannot be heard: {reason}")


def _line(colony: Object) -> str:
    status = colony.get("status", {})
    parts = (status.get("phase"), status.get("accelerators"), status.get("offer"), status.get("message"))
    return f"colony/{colony['metadata']['name']}  " + "  ".join(str(part) for part in parts if part)


def current(colony: Object) -> Object:
    """The status, if it answers to what is asked now; else empty."""
    status: Object = colony.get("status", {})
    return status if status.get("observedGeneration", 0) >= colony["metadata"].get("generation", 0) else {}


def _ended(colony: Object) -> list[str]:
    """The clusters whose own end had come before, and that are not asked for once more, as ``COLONY/CLUSTER``."""
    of, shown = colony["metadata"]["name"], colony.get("status", {}).get("clusters", ())
    over = {each["name"] for each in shown if each.get("phase") == "Released"}
    return [f"{of}/{each['name']}" for each in colony["spec"]["clusters"] if each["name"] in over - _anew(colony)]


def _anew(colony: Object) -> set[str]:
    """The clusters that say when they were asked for: who writes a later time founds them."""
    return {each["name"] for each in colony["spec"]["clusters"] if each.get("askedAt")}


def _hopeless(status: Object) -> str:
    """Why it does not become ready now, for people; empty as long as it may. One cluster that is over is enough."""
    phase = str(status.get("phase", ""))
    if phase in NOT_NOW:
        return f"is {phase} and {NOT_NOW[phase]}: {status.get('message', '')}"
    accepted: Object = next((one for one in status.get("conditions", ()) if one["type"] == "Accepted"), {})
    if accepted.get("status") == "False":
        return f"is not as asked: {accepted['message']}"
    over = (each for each in status.get("clusters", ()) if each["phase"] == "Released")
    told = (f"{NOT_NOW['Released']}: {each['name']}: {each.get('message', '')}" for each in over)
    return "" if phase == "Deleting" else next(told, "")


def _ready(colony: Object) -> bool:
    conditions = current(colony).get("conditions", ())
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)
