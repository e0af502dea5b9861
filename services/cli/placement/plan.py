"""`alate plan` shows where a Colony's clusters would be created now, and what was left out; it creates nothing."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from events.errors import Denied, NotFound
from events.kube.client import Object
from schemas.crds import read_colony
from schemas.wish import Adopt, Wish
from services.cli.connection import Connection
from services.cli.output.render import Form, TextWriter, document
from services.cli.placement.market import Stand, stand
from services.cli.placement.tables import planned
from services.clouds.port import backend_for, reachable_elsewhere
from services.errors import BadInput
from services.gateway.wishes import wishes
from services.process.settings import BadSetting, load
from services.provisioning.preview import (
    CloudReach,
    Plan,
    adoption_plan,
    impossible_plan,
    knowledge_after,
    nothing_to_adopt,
    plan,
)
from services.queries.item import Item

EGRESS = "prices are those of the machines: moving data to them (egress) is in no catalog, and is left out"
ASKED = "the management cluster was asked on which clouds its back ends can create clusters"
NOT_ASKED = "no management cluster was asked: every cloud of the catalogs counts as reachable"


def asked(colonies: Sequence[Object]) -> list[Wish]:
    """One wish per cluster; what founds those that do not say is what the services are told. Raises BadInput."""
    try:
        backend = load().backend
    except BadSetting as wrong:
        raise BadInput(str(wrong)) from wrong
    return [wish for colony in colonies for wish in wishes(read_colony(colony), backend)]


async def show(
    where: Connection, wanted: Sequence[Wish], catalogs: Sequence[str], *, form: Form, write: TextWriter
) -> bool:
    """Show it; whether there is a placement for every cluster. Raises BadInput, Failed."""
    async with stand(where, catalogs) as here:
        found = await plans(here, wanted)
    told = {
        "offersFrom": here.source,
        "notes": [EGRESS, NOT_ASKED if here.clouds is None else ASKED, *here.troubles],
        "clusters": [_item(wish, each) for wish, each in zip(wanted, found, strict=True)],
    }
    write(planned(told) if form == "table" else document(told, form))
    return all(each.choices for each in found)


def _item(wish: Wish, found: Plan) -> Item:
    plain: Item = msgspec.to_builtins(found)
    return plain | {"name": f"{wish.colony}/{wish.cluster}"}


async def plans(here: Stand, wanted: Sequence[Wish]) -> list[Plan]:
    """One after the other: what the first of them would get, the next ones cannot have."""
    found: list[Plan] = []
    for wish in wanted:
        try:
            found.append(await _planned(here, wish, found))
        except Denied as denied:
            found.append(impossible_plan(wish, denied.reason, denied.message))
    return found


async def _planned(here: Stand, wish: Wish, before: Sequence[Plan]) -> Plan:
    """Raises Denied."""
    if wish.need.adopt is not None:
        return await _taken_in(here, wish, wish.need.adopt, before)
    others = await reachable_elsewhere(wish, here.clouds or {})
    known = replace(knowledge_after(here.known(wish), before), elsewhere=others)
    return plan(wish, here.market, await _reach(here, wish), known)


async def _taken_in(here: Stand, wish: Wish, adopt: Adopt, before: Sequence[Plan]) -> Plan:
    if here.clouds is None:
        return impossible_plan(wish, "NotAsked", f"whether {adopt.name} stands was not asked: give --kubeconfig")
    try:
        there = await backend_for(wish, here.clouds).read_existing(wish.tenant, adopt.name)
    except NotFound as missing:
        told = nothing_to_adopt(adopt, missing.message)
        return impossible_plan(wish, told.reason, told.message)
    same = (each.name for each in before if each.choices and _same(each, wish))
    return adoption_plan(wish, there._replace(adopted_as=next(same, there.adopted_as)), here.market)


def _same(one: Plan, wish: Wish) -> bool:
    """Whether both take in the same."""
    asked = (wish.tenant, wish.need.backend, wish.need.adopts)
    return (one.tenant, one.need.backend, one.need.adopts) == asked


async def _reach(here: Stand, wish: Wish) -> CloudReach:
    if here.clouds is None:
        return dict.fromkeys(here.market.clouds, True)
    return await backend_for(wish, here.clouds).reach(wish)
