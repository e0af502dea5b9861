"""Follows at the start of a process what the add-ons refer to that were applied, or degraded, before it."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from events.errors import Fault
from schemas.addon import AddonState, CheckAddon, Withdrawing, Withdrawn
from schemas.entity import State
from schemas.subjects import Key
from services.addons.descriptions import Descriptions
from services.runtime.read_model import ReadModel


@dataclass(frozen=True)
class ReferencesAtStart:
    """Looks for each description once, which has what it refers to followed."""

    descriptions: Descriptions
    addons: ReadModel[Key, State]
    known: asyncio.Event
    """Set once every profile and every add-on is known."""

    async def run(self) -> None:
        """One after another: a start asks the management cluster for enough."""
        await self.known.wait()
        for _, state in self.addons:
            if isinstance(state, AddonState) and not isinstance(state, Withdrawing | Withdrawn):
                with suppress(Fault):  # then it is followed when the add-on is checked or tried again
                    await self.descriptions.find(_about(state))


def _about(state: AddonState) -> CheckAddon:
    return CheckAddon(state.tenant, state.colony, state.cluster, state.addon, state.digest, state.kubeconfig)
