"""What a hostile tenant, a stranger at the door, and holders of the small keys of NATS try, each again and again."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count

import aiohttp
import nats
import nats.errors
import nats.js.errors
import yaml
from nats.aio.client import Client

from events.errors import Fault
from events.kube.auth import transport_of
from events.kube.client import Kube
from events.kube.resources import COLONIES, CREDENTIALS, PODS, TRIGGERS
from tests.attack.field import HOSTILE, VICTIM, Field, colony

SLOW, HALVES = 130, 300
COSTLY = "data.many.all(a, data.many.all(b, data.many.all(c, a + b + c >= {n})))"
GROWS = "['0123456789']" + "".join(f".map(v{n}, v{n} + v{n} + v{n} + v{n})" for n in range(20)) + " == ['{n}']"
SLOW_SESSION = b"POST /session HTTP/1.1\r\nHost: h\r\nOrigin: http://h\r\nContent-Length: 2000\r\n\r\n{"
HALF = b"POST /hooks/github/default/t HTTP/1.1\r\nHost: h\r\nX-Half: y"

Attack = Callable[[Field], Awaitable[None]]


async def forged_webhooks(field: Field) -> None:
    """A stranger at the victim's endpoint."""
    for number in count():
        with suppress(aiohttp.ClientError, TimeoutError):
            assert await field.hook(VICTIM, {"id": f"forged-{number}"}, secret="a guess") != 202  # noqa: S106
        field.tried("forged webhooks")
        await asyncio.sleep(0.1)


async def slow_sessions(field: Field) -> None:
    await _crowd(field, SLOW, SLOW_SESSION, "slow sessions")


async def half_headers(field: Field) -> None:
    await _crowd(field, HALVES, HALF, "half-sent headers")


async def _crowd(field: Field, size: int, says: bytes, name: str) -> None:
    async def one() -> None:
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", field.port)
                try:
                    writer.write(says)
                    field.tried(name)
                    await reader.read()
                finally:
                    writer.close()
            await asyncio.sleep(1)

    async with asyncio.TaskGroup() as group:
        for _ in range(size):
            group.create_task(one())


async def costly_triggers(field: Field) -> None:
    """Rules that take all there is, changed each time they are switched off."""
    for number in count():
        rule = {"name": "r", "when": (COSTLY, GROWS)[number % 2].replace("{n}", str(-number)), "then": "Release"}
        trigger = {
            "apiVersion": TRIGGERS.api_version,
            "kind": TRIGGERS.kind,
            "metadata": {"name": f"costly-{number % 4}", "namespace": HOSTILE},
            "spec": {"endpoint": "t", "name": "x", "rules": [rule]},
        }
        with suppress(Fault, aiohttp.ClientError, TimeoutError):
            await field.kube.apply(TRIGGERS, trigger, manager="attack")
            for part in range(4):
                await field.hook(HOSTILE, {"id": f"{number}-{part}", "many": list(range(500))})
        field.tried("costly triggers")
        await asyncio.sleep(1)


async def odd_pods(field: Field) -> None:
    """Pods in the attacker's own cluster, whose node affinity compares with what is no number."""
    text = await field.kubeconfig("pods-gpu-1-kubeconfig", HOSTILE)
    kube = Kube(await transport_of(text), random=lambda: 0.5)
    try:
        for number in count():
            with suppress(Fault):
                await kube.create(PODS, _odd_pod(number % 50))
            field.tried("odd pods")
            await asyncio.sleep(0.5)
    finally:
        await kube.close()


def _odd_pod(number: int) -> dict:
    term = {"matchExpressions": [{"key": "nvidia.com/gpu.count", "operator": "Gt", "values": ["abc"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    limits = {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}}
    containers = [{"name": "c", "image": "busybox", "resources": limits}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"odd-{number}", "namespace": "default"},
        "spec": {"affinity": affinity, "containers": containers},
    }


async def spoilt_kubeconfigs(field: Field) -> None:
    """The attacker's cluster has a kubeconfig that cannot be read, or leads to an API server of the attacker's."""
    split = _config("http://127.0.0.1:9", "a\r\nb: c")
    ways = [b"\xff\xfe", split, b"a: !!timestamp 2020-13-45", b"- list", b"[" * 5000]
    ways += [_config(url) for url in field.apis.values()]
    for number in count():
        with suppress(Fault):
            await field.write_kubeconfig("spoilt-gpu-1-kubeconfig", HOSTILE, ways[number % len(ways)])
        field.tried("spoilt kubeconfigs")
        await asyncio.sleep(3)


def _config(server: str, token: str = "t") -> bytes:  # noqa: S107 - nobody's
    parts = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": server}}],
        "users": [{"name": "x", "user": {"token": token}}],
    }
    return yaml.safe_dump(parts).encode()


async def paths(field: Field) -> None:
    """Credentials whose Secret is another tenant's."""
    for number in count():
        where = f"../../{VICTIM}/secrets/{('kept-gpu-1-kubeconfig', 'kept.kubeconfig')[number % 2]}"
        credential = {
            "apiVersion": CREDENTIALS.api_version,
            "kind": CREDENTIALS.kind,
            "metadata": {"name": f"thief-{number % 3}", "namespace": HOSTILE},
            "spec": {"identityRef": {"apiVersion": "v1", "kind": "Secret", "name": where, "namespace": VICTIM}},
        }
        with suppress(Fault):
            await field.kube.apply(CREDENTIALS, credential, manager="attack")
            thief = colony(f"thief-{number % 3}", HOSTILE, backend="k0rdent")
            await field.kube.apply(COLONIES, thief, manager="attack")
        field.tried("paths")
        await asyncio.sleep(2)


async def reader_of_nats(field: Field) -> None:
    """Whoever may read tries to point the services' consumers elsewhere, and to end them."""
    async with await _nats(field, "reader") as client:
        for number in count():
            for stream in ("EVENTS", "LEVELS", "INTAKE", "HOOKS"):
                for name in await _consumers(client, stream):
                    config = {"name": name, "filter_subjects": ["cluster.nothing.x.y"], "ack_policy": "none"}
                    asks = {"stream_name": stream, "config": config, "action": ""}
                    await _ask(client, f"$JS.API.CONSUMER.CREATE.{stream}.{name}", asks)
                    await _ask(client, f"$JS.API.CONSUMER.DELETE.{stream}.{name}", None)
            push = {"deliver_subject": "cluster.requested", "ack_policy": "none", "name": f"push-{number % 5}"}
            await _ask(client, "$JS.API.CONSUMER.CREATE.LEVELS.push", {"stream_name": "LEVELS", "config": push})
            field.tried("reader of NATS")
            await asyncio.sleep(1)


async def _consumers(client: Client, stream: str) -> list[str]:
    told = await _ask(client, f"$JS.API.CONSUMER.LIST.{stream}", {"offset": 0})
    return [each["name"] for each in told.get("consumers") or ()]


async def _ask(client: Client, subject: str, said: object) -> dict:
    try:
        got = await client.request(subject, json.dumps(said).encode() if said else b"", timeout=0.5)
    except (nats.errors.Error, TimeoutError):
        return {}
    return json.loads(got.data)


async def publisher_of_nats(field: Field) -> None:
    """Whoever may ask for clusters tries to say what only owners say."""
    async with await _nats(field, "publisher") as client:
        for _ in count():
            for subject in (f"cluster.released.{VICTIM}.kept-gpu", f"teardown.gone.{VICTIM}.kept-gpu",
                            f"inventory.cluster.{VICTIM}.kept-gpu", "dlq.INTAKE.x"):  # fmt: skip
                with suppress(nats.errors.Error):
                    await client.publish(subject, b"{}", headers={"ce-specversion": "1.0", "ce-id": "x"})
            with suppress(nats.errors.Error):
                await client.publish("cluster.requested", b"[" * 10_000)
            field.tried("publisher of NATS")
            await asyncio.sleep(0.5)


class _Closing:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def __aenter__(self) -> Client:
        return self._client

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()


async def _nats(field: Field, role: str) -> _Closing:
    async def quiet(_: Exception) -> None:
        """Refusals are what is expected."""

    key, inbox = str(field.stack.key(role)), f"_INBOX_{role}"
    return _Closing(await nats.connect(field.stack.nats, nkeys_seed=key, inbox_prefix=inbox, error_cb=quiet))


ATTACKS: tuple[Attack, ...] = (
    forged_webhooks,
    slow_sessions,
    half_headers,
    costly_triggers,
    odd_pods,
    spoilt_kubeconfigs,
    paths,
    reader_of_nats,
    publisher_of_nats,
)
