"""A stack of ready clusters, a hundred or as many as are asked for, is stopped and started, and nobody writes.

Every day `tests/contracts/clouds/test_opening.py` and `test_autoscaled.py` and
`tests/services/inventory/market/test_loop.py` show it of one service each.
"""

import asyncio
import json
import os
import re
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import aiohttp
import pytest

from events.bus import Bus, Message, Stored, Timer
from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials
from events.kube.resources import COLONIES
from schemas.subjects import names_of
from services.cli.connection import management
from services.cli.up.stack import running
from services.local.folder import Folder
from services.local.probe import HOST
from services.local.programs import Wiring, stages
from services.local.supervisor import Supervisor
from services.sandbox.state import seal, token

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(600)]

FOUNDED = 25
"""Clusters that are founded for real, by one Colony."""
COPIES = int(os.environ.get("ALATE_TEST_COPIES", "3"))
"""How often that Colony, with all that was ever said of it, is there once more: 39 make a thousand clusters."""
SEED = "seed00"
HELLO = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello, namespace: default}\ndata: {from: alate}\n"
POOL = {"accelerator": "L4", "acceleratorsPerNode": 1, "nodes": 1}
KEPT = ("EVENTS", "LEVELS", "KUBE", "INTAKE", "DLQ")
QUIET = 4.0
"""Seconds without a message, all of them answered, that count as rest."""
IDLE = 0.2
"""How much of a core the whole stack may use meanwhile: somebody who still lists or opens watches uses more."""
UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OURS = ("Nats-Msg-Id", "Nats-Expected-Last-Subject-Sequence", "Nats-Expected-Last-Subject-Sequence-Subject")
"""Headers of the act of publishing: not of what was said."""

OWNERS = {
    "cluster": "provisioning",
    "addon": "addons",
    "teardown": "teardown",
    "inventory": "inventory",
    "observed": "gateway",
    "kube": "sandbox",
}
"""Who alone may say what begins so."""

Rename = Callable[[bytes], bytes]


def colony() -> dict:
    clusters = [
        {
            "name": f"c{number}",
            "timeToLive": "24h",
            "pools": [POOL],
            "addons": [{"name": "hello", "manifests": HELLO}],
        }
        for number in range(FOUNDED)
    ]
    return {"metadata": {"name": SEED, "namespace": "default"}, "spec": {"clusters": clusters}}


@asynccontextmanager
async def at_work(folder: Path) -> AsyncIterator[tuple[Wiring, Supervisor]]:
    """The stack as `alate up` runs it, but for the time simulated things take, and costs that grow at rest as well."""
    settings = {"ALATE_SANDBOX_SPEED": "0", "ALATE_COST_SECONDS": "86400"}
    async with running(Folder(folder), settings=settings, monitored=True) as stack:
        yield stack


def worked(stack: Supervisor) -> float:
    """Seconds all processes of the stack have computed; 0 where that is not told (no /proc)."""
    files = [Path(f"/proc/{child.pid}/stat") for child in stack.children]
    ticks = [file.read_text().rpartition(")")[2].split()[11:13] for file in files if file.exists()]
    return sum(map(int, (each for pair in ticks for each in pair))) / os.sysconf("SC_CLK_TCK")


async def look(wiring: Wiring) -> tuple[dict[str, tuple[int, int]], int]:
    """Of each stream its last sequence and its number of messages; and how many messages wait for an answer."""
    page = f"http://{HOST}:{wiring.ports.monitor}/jsz?accounts=1&streams=1&consumers=1&config=1"
    async with aiohttp.ClientSession() as session, session.get(page) as answer:
        accounts = (await answer.json())["account_details"]
    marks, waiting = {}, 0
    for stream in (each for account in accounts for each in account["stream_detail"] if each["name"] in KEPT):
        marks[stream["name"]] = (stream["state"]["last_seq"], stream["state"]["messages"])
        for info in stream.get("consumer_detail", ()):
            waiting += info["num_pending"] + info["num_ack_pending"] if info["config"].get("durable_name") else 0
    return marks, waiting


async def at_rest(wiring: Wiring, stack: Supervisor, within: float) -> dict[str, tuple[int, int]]:
    """Wait until nothing waits for an answer, nothing is said and hardly anything computed for a while."""
    async with asyncio.timeout(within):
        while True:
            (marks, _), busy = await look(wiring), worked(stack)
            await asyncio.sleep(QUIET)
            after, waiting = await look(wiring)
            if not waiting and after == marks and worked(stack) - busy < IDLE * QUIET:
                return marks


async def all_ready(wiring: Wiring, colonies: int, within: float) -> None:
    async with asyncio.timeout(within), management(str(wiring.management)) as kube:
        while True:
            found = (await kube.list(COLONIES, "default")).items
            ready = sum(each.get("status", {}).get("ready") == f"{FOUNDED}/{FOUNDED}" for each in found)
            if ready == colonies:
                return
            await asyncio.sleep(0.5)


async def found(wiring: Wiring) -> None:
    async with management(str(wiring.management)) as kube:
        await kube.apply(COLONIES, colony(), manager="test")
    await all_ready(wiring, 1, within=120)


def newest(messages: tuple[Stored, ...]) -> list[Stored]:
    """The last word on each entity, each timer, each level, each object: what of a history is still true."""
    last: dict[str, Stored] = {}
    for each in messages:
        domain, _, *entity = each.subject.split(".")
        at = each.subject if domain not in ("cluster", "addon", "teardown") else ".".join((domain, *entity))
        last[at] = each
    return [each for each in last.values() if each.data or "Nats-Schedule" in each.headers]


class Copier:
    """Says of another Colony whatever was said of the first, with other uids and other secrets."""

    def __init__(self, objects: list[Stored], seal_: bytes) -> None:
        named = [each for each in objects if SEED.encode() in each.data or SEED in each.subject]
        self._uids = {json.loads(each.data)["metadata"]["uid"].encode() for each in named}
        self._seal = seal_
        self._tokens = dict(filter(None, map(self._token, named)))

    def rename(self, number: int) -> Rename:
        name = f"{SEED[:-2]}{number:02}".encode()

        def renamed(data: bytes) -> bytes:
            return UUID.sub(lambda match: self._uid(match[0], number), data.replace(SEED.encode(), name))

        return renamed

    def copy(self, message: Stored, rename: Rename) -> Message:
        headers = {key: rename(value.encode()).decode() for key, value in message.headers.items() if key not in OURS}
        data = self._secret(message.data, rename) if ".core.secrets." in message.subject else rename(message.data)
        return Message(rename(message.subject.encode()).decode(), data, headers)

    def _uid(self, uid: bytes, number: int) -> bytes:
        return str(uuid5(NAMESPACE_OID, f"{uid.decode()}/{number}")).encode() if uid in self._uids else uid

    def _token(self, message: Stored) -> tuple[bytes, tuple[str, bytes]] | None:
        """The token of a founded cluster, and what it is made from."""
        _, place, _, plural, _, name = names_of(message.subject)
        if (plural, name) != ("namespaces", "kube-system"):
            return None
        uid = json.loads(message.data)["metadata"]["uid"]
        return token(self._seal, place, uid).encode(), (place, uid.encode())

    def _secret(self, data: bytes, rename: Rename) -> bytes:
        secret = json.loads(rename(data))
        for key, value in secret.get("data", {}).items():
            text = rename(b64decode(value))
            for old, (place, uid) in self._tokens.items():
                new = token(self._seal, rename(place.encode()).decode(), rename(uid).decode())
                text = text.replace(old, new.encode())
            secret["data"][key] = b64encode(text).decode()
        # The sandbox finds an object's metadata by its place: as it was.
        return json.dumps(secret, separators=(",", ":")).encode()


@asynccontextmanager
async def owners(wiring: Wiring) -> AsyncIterator[dict[str, Bus]]:
    """The bus as each owner has it, by the first token of what is its own."""
    async with AsyncExitStack() as stack:
        found = {}
        for role in sorted(set(OWNERS.values())):
            shown = NkeyCredentials(nkey=wiring.key(role))
            found[role] = await connect(wiring.bus, name=role, streams=(), credentials=shown)
            stack.push_async_callback(found[role].close)
        yield {domain: found[role] for domain, role in OWNERS.items()}


async def multiply(owner: dict[str, Bus], seal_: bytes) -> None:
    objects = newest(await owner["kube"].read("KUBE", "kube.>"))
    events, levels = await owner["cluster"].read("EVENTS", ">"), await owner["inventory"].read("LEVELS", ">")
    said = [*newest(events), *newest(levels), *objects]
    copier = Copier(objects, seal_)
    seeds = [each for each in said if SEED in each.subject and not each.subject.startswith("due.")]
    for number in range(1, COPIES + 1):
        rename = copier.rename(number)
        await asyncio.gather(*(say(owner, copier.copy(each, rename)) for each in seeds))


async def say(owner: dict[str, Bus], message: Message) -> None:
    """A message, or the timer that it sets."""
    bus = owner[message.subject.removeprefix("timer.").partition(".")[0]]
    if at := message.headers.get("Nats-Schedule"):
        due = message.subject.replace("timer.", "due.", 1)
        await bus.wake(Timer(message.subject, due, datetime.fromisoformat(at.removeprefix("@at "))))
    else:
        await bus.publish(message)


async def test_stopping_and_starting_everything_at_rest_writes_nothing(tmp_path):
    folder = tmp_path / "alate"
    async with at_work(folder) as (wiring, stack):
        await found(wiring)
        await at_rest(wiring, stack, within=60)
    async with Supervisor(stages(wiring)[:1]), owners(wiring) as owner:
        await multiply(owner, seal(Folder(folder).sandbox))
    async with at_work(folder) as (wiring, stack):
        await all_ready(wiring, COPIES + 1, within=120)
        before = await at_rest(wiring, stack, within=240)

    async with at_work(folder) as (wiring, stack):
        await all_ready(wiring, COPIES + 1, within=120)
        after = await at_rest(wiring, stack, within=240)

    assert after == before
