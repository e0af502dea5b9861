"""`alate request` and `alate delete` write to the management cluster as kubectl would, and can wait for the result."""

import asyncio
from contextlib import aclosing

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from services.cli.connection import Connection
from services.cli.get.labels import in_namespace
from services.cli.wait import Outcome, Progress, current, follow, limited
from services.clients.colonies import delete_colony
from services.errors import Failed

MANAGER = "alate-cli"
NOT_NOW = {
    "Stalled": "will not become ready as it is",
    "Invalid": "will not become ready as it is",
    "Released": "will not become ready as it is",
    "Stuck": "will not become ready as it is",
    "AddonsDegraded": "is tried again every few minutes, or until `alate delete`",
    "Waiting": "is tried again until there is capacity, or until `alate delete`",
}
"""Phases that waiting does not end soon, and what becomes of the Colony then."""


async def request(connection: Connection, colonies: list[Object], outcome: Outcome) -> None:
    """Create Colonies, or change those that exist. Raises Failed if one of them cannot become ready, TimedOut."""
    shown = outcome.begin()
    async with connection.kube() as kube:
        written = [await _apply(kube, colony, shown) for colony in colonies]
        if ended := [each for colony in written for each in _ended(colony)]:
            cure = ", ".join(f"`alate recreate {each}`" for each in ended)
            raise Failed(f"{', '.join(ended)} has ended, and no edit creates it again: {cure} does")
        if outcome.wait:
            async with limited(shown, outcome.limit, f"{_named(written)} not ready"):
                written = list(await asyncio.gather(*(_until_ready(kube, each, shown) for each in written)))
    names = [each["metadata"]["name"] for each in written]
    outcome.end(names, written[0] if len(written) == 1 else {"items": written})


def _named(colonies: list[Object]) -> str:
    names = ", ".join(f"colony/{each['metadata']['name']}" for each in colonies)
    return f"{names} {'is' if len(colonies) == 1 else 'are'}"


async def _apply(kube: Kube, colony: Object, progress: Progress) -> Object:
    """Write a Colony, and say as kubectl does what became of it."""
    meta = colony["metadata"]
    try:
        before = await kube.get(COLONIES, meta["name"], meta["namespace"])
    except NotFound:
        before = None
    written = await kube.apply(COLONIES, colony, manager=MANAGER)
    did = "created" if before is None else "unchanged" if _content(before) == _content(written) else "configured"
    progress.say(f"colony/{meta['name']} {did}{in_namespace(meta['namespace'])}")
    return written


def _content(colony: Object) -> tuple[object, ...]:
    """What a person writes of it."""
    meta = colony["metadata"]
    return meta.get("uid"), colony.get("spec"), meta.get("labels"), meta.get("annotations")


async def delete(connection: Connection, name: str, namespace: str, outcome: Outcome, *, force: bool) -> None:
    """Delete a Colony; forced, that waits for nothing in its clusters. Raises Failed if it does not exist, TimedOut."""
    shown = outcome.begin()
    async with connection.kube() as kube:
        try:
            await delete_colony(kube, namespace, name, force=force)
        except NotFound as absent:
            raise Failed(f"there is no Colony {name} in namespace {namespace}: see `alate get colonies`") from absent
        shown.say(f"colony/{name} is being deleted{in_namespace(namespace)}")
        if outcome.wait:
            async with limited(shown, outcome.limit, f"colony/{name} is not deleted"):
                async for _ in follow(kube, name, namespace, shown):
                    pass
            shown.say(f"colony/{name} deleted")
    outcome.end([name], {"name": name, "namespace": namespace, "deleted": outcome.wait})


async def _until_ready(kube: Kube, asked: Object, progress: Progress) -> Object:
    name, namespace = asked["metadata"]["name"], asked["metadata"]["namespace"]
    async with aclosing(follow(kube, name, namespace, progress)) as sights:
        async for colony in sights:
            if why := _hopeless(current(colony)):
                raise Failed(f"colony/{name} {why}")
            if _ready(colony):
                return colony
    raise Failed(f"colony/{name} was deleted while it was waited for")


def _ended(colony: Object) -> list[str]:
    """The clusters that have ended and are not asked for again, as COLONY/CLUSTER."""
    of, shown = colony["metadata"]["name"], colony.get("status", {}).get("clusters", ())
    over = {each["name"] for each in shown if each.get("phase") == "Released"}
    return [f"{of}/{each['name']}" for each in colony["spec"]["clusters"] if each["name"] in over - _dated(colony)]


def _dated(colony: Object) -> set[str]:
    """The clusters that say when they were asked for: a later time there creates them again."""
    return {each["name"] for each in colony["spec"]["clusters"] if each.get("askedAt")}


def _hopeless(status: Object) -> str:
    """Why it does not become ready now; empty as long as it may. One cluster that has ended is enough."""
    phase = str(status.get("phase", ""))
    if phase in NOT_NOW:
        return f"is {phase} and {NOT_NOW[phase]}: {status.get('message', '')}"
    accepted: Object = next((one for one in status.get("conditions", ()) if one["type"] == "Accepted"), {})
    if accepted.get("status") == "False":
        return f"is not as asked: {accepted['message']}"
    over = (each for each in status.get("clusters", ()) if each["phase"] == "Released")
    reasons = (f"{NOT_NOW['Released']}: {each['name']}: {each.get('message', '')}" for each in over)
    return "" if phase == "Deleting" else next(reasons, "")


def _ready(colony: Object) -> bool:
    conditions = current(colony).get("conditions", ())
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)
