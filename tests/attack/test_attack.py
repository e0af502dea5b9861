"""While one tenant and strangers attack a running stack, another tenant's work goes on, and nothing of it is read.

ALATE_TEST_ATTACK_SECONDS says for how long: 15 by itself, 60 in `make test-long`, 3600 for the whole hour.

Every day each attack fails by itself: `tests/story/test_edge_strangers.py`, `tests/services/edge`,
`tests/deploy/test_nats_accounts.py`, `tests/events/kube/test_memory.py`.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import count
from random import random
from time import perf_counter

import aiohttp
import pytest

from events.kube.auth import transport
from events.kube.client import Kube
from events.kube.resources import COLONIES, SECRETS, TRIGGERS
from tests.attack.attackers import ATTACKS
from tests.attack.field import HOSTILE, VICTIM, Field, colony, until
from tests.attack.hostile_api import serving
from tests.bench.figure import quantile

SECONDS = float(os.environ.get("ALATE_TEST_ATTACK_SECONDS", "15"))
QUIET = min(max(SECONDS / 3, 15.0), 120.0)
MOST_TIMES = 1.5
"""How many times as long the victim's work may take at its 99th percentile: held from `MEASURED` seconds on."""
SHORT = {"webhook": 0.25, "wish": 1.0}
"""Seconds that count as no longer than the quiet phase's: on a machine that attackers share, less says nothing."""
MEASURED = 60.0
GROWTH = 200.0
"""MiB by which a process may grow."""
LIFE = 120.0
"""Seconds in which a cluster must be founded, or gone, whatever happens."""

pytestmark = [pytest.mark.stack, pytest.mark.timeout(int(SECONDS + QUIET + 600))]

Times = dict[str, list[float]]


@pytest.fixture
async def field(stack) -> AsyncIterator[Field]:
    async with AsyncExitStack() as held:
        kube = Kube(await transport(str(stack.kubeconfig)), random=random)
        held.push_async_callback(kube.close)
        session = await held.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)))
        one = Field(stack, kube, session, await held.enter_async_context(serving()))
        await one.prepare()
        yield one


async def timed(times: list[float], work: Callable[[], Awaitable[None]]) -> None:
    began = perf_counter()
    await work()
    times.append(perf_counter() - began)


class Victim:
    """A tenant that goes about its work."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self._numbers = count()

    async def works(self, seconds: float) -> Times:
        """How long each piece of work took, by its kind. Raises TimeoutError for one that never ends."""
        times: Times = {"webhook": [], "wish": [], "life": []}
        end = perf_counter() + seconds
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hooks(times, end))
            for _ in range(2):
                group.create_task(self._lives(times["life"], end))
        return times

    async def _hooks(self, times: Times, end: float) -> None:
        while perf_counter() < end:
            number = next(self._numbers)
            await timed(times["webhook"], lambda number=number: self._delivered(f"w{number}", "nothing"))
            if number % 20 == 0:
                await timed(times["wish"], lambda number=number: self._wished(f"h{number}"))
            await asyncio.sleep(0.2)

    async def _delivered(self, name: str, what: str) -> None:
        assert await self._field.hook(VICTIM, {"id": name, "what": what}) == 202

    async def _wished(self, name: str) -> None:
        await self._delivered(name, "start")
        await until(lambda: self._there(f"of-{name}"), LIFE)
        await self._field.kube.delete(COLONIES, f"of-{name}", VICTIM)

    async def _there(self, name: str) -> bool:
        return not await self._field.gone(name, VICTIM)

    async def _lives(self, times: list[float], end: float) -> None:
        while perf_counter() < end:
            name = f"life-{next(self._numbers)}"
            await timed(times, lambda name=name: self._life(name))

    async def _life(self, name: str) -> None:
        field = self._field
        await field.kube.apply(COLONIES, colony(name, VICTIM), manager="victim")
        await until(lambda: field.ready(name, VICTIM), LIFE)
        await field.kube.delete(COLONIES, name, VICTIM)
        await until(lambda: field.gone(name, VICTIM), LIFE)


async def follow(field: Field) -> None:
    """The victim's Trigger, a cluster whose kubeconfig is worth stealing, and the attacker's own clusters."""
    cluster = colony("x", VICTIM)["spec"]["clusters"]
    rule = {"name": "start", "when": "data.what == 'start'", "then": "Request", "colony": {"clusters": cluster}}
    trigger = {
        "apiVersion": TRIGGERS.api_version,
        "kind": TRIGGERS.kind,
        "metadata": {"name": "victim", "namespace": VICTIM},
        "spec": {
            "endpoint": "t",
            "name": "of-${data.id}",
            "rules": [rule],
            "limit": {"requests": 10_000, "every": "1h"},
        },
    }
    await field.kube.apply(TRIGGERS, trigger, manager="victim")
    for name, tenant in (("kept", VICTIM), ("pods", HOSTILE), ("spoilt", HOSTILE)):
        await field.kube.apply(COLONIES, colony(name, tenant), manager="prepared")
        await until(lambda name=name, tenant=tenant: field.ready(name, tenant), LIFE)


async def attacked(field: Field, work: Awaitable[Times]) -> Times:
    """The victim's times while all attacks go on."""
    attacks = [asyncio.create_task(attack(field), name=attack.__name__) for attack in ATTACKS]
    try:
        times = await work
    finally:
        broke = [each for each in attacks if each.done()]
        for each in attacks:
            each.cancel()
        await asyncio.gather(*attacks, return_exceptions=True)
    assert [(each.get_name(), each.exception()) for each in broke] == []
    return times


def figures(quiet: Times, busy: Times) -> dict[str, dict[str, float]]:
    return {
        kind: {
            "quiet": len(quiet[kind]),
            "attacked": len(busy[kind]),
            **{
                f"p{share:.0f} {when}": round(quantile(times[kind], share / 100), 3)
                for share in (50.0, 99.0)
                for when, times in (("quiet", quiet), ("attacked", busy))
            },
            "times": round(quantile(busy[kind], 0.99) / max(quantile(quiet[kind], 0.99), SHORT.get(kind, 0.0)), 2),
        }
        for kind in quiet
    }


@pytest.mark.slow
async def test_while_one_tenant_attacks_anothers_work_goes_on_and_nothing_of_it_is_read(field: Field, capsys):
    await follow(field)
    victim = Victim(field)
    await victim.works(10)  # what is loaded when it is first used is no attack
    quiet = await victim.works(QUIET)
    before, held = field.processes(), field.resident()
    busy = await attacked(field, victim.works(SECONDS))
    after, holds = field.processes(), field.resident()
    grown = {name: round(holds.get(name, 0.0) - mib) for name, mib in held.items()}
    work = figures(quiet, busy)
    told = {
        "work": work,
        "grown MiB": grown,
        "attacks": field.tries,
        "seconds": SECONDS,
    }
    with capsys.disabled():
        print("\n" + json.dumps(told, indent=1))  # noqa: T201 - the figures are what it is run for
    assert after == before
    assert max(grown.values()) < GROWTH, grown
    assert len(field.tries) == len(ATTACKS), field.tries
    assert await stolen(field) == []
    if SECONDS >= MEASURED:
        assert {kind: found["times"] for kind, found in work.items() if found["times"] > MOST_TIMES} == {}


async def stolen(field: Field) -> list[str]:
    """The Secrets in the attacker's namespace that hold what is the victim's."""
    texts = [await field.kubeconfig(name, VICTIM) for name in ("kept.kubeconfig", "kept-gpu-1-kubeconfig")]
    tokens = {line.strip() for text in texts for line in text.splitlines() if "token:" in line or "server:" in line}
    assert tokens
    listed = await field.kube.list(SECRETS, HOSTILE)
    names = [each["metadata"]["name"] for each in listed.items]
    found = {name: await field.kubeconfig(name, HOSTILE) for name in names}
    return [name for name, text in found.items() if any(token in text for token in tokens)]
