"""`alate preflight` names each planted mistake in one sentence, and nothing where all is right."""

import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count

import msgspec
import pytest
from typer.testing import CliRunner

from events.bus import Message
from events.jetstream.bus import connect
from events.jetstream.connection import dial
from events.jetstream.credentials import NOBODY
from events.jetstream.server import NatsServer
from events.kube.client import Kube
from events.kube.port import Response
from events.kube.resources import CRDS, NAMESPACES
from schemas.crds import CRDS as OURS
from schemas.market import CatalogSeen
from services.cli.app import app
from services.cli.preflight import management_cluster, nats, rights
from services.cli.preflight.checks import findings
from services.cli.preflight.facts import PreflightFacts
from services.cli.preflight.gather import unresolvable
from services.sandbox.in_process import kubernetes

NOW = datetime.now(UTC)


def clock():
    return datetime.now(UTC)


class Altered:
    """An API server that answers some requests otherwise."""

    def __init__(self, inner) -> None:
        self.inner = inner
        self.version = {"major": "1", "minor": "34"}
        self.date = NOW
        self.forbidden: tuple[str, str, str] | None = None

    async def send(self, request):
        if request.path == "/version":
            date = format_datetime(clock() + (self.date - NOW), usegmt=True)
            return Response(200, {"Date": date}, msgspec.json.encode(self.version))
        if request.path.endswith("subjectaccessreviews") and self.forbidden:
            spec = json.loads(request.body)["spec"]
            asked = spec["resourceAttributes"]
            if (spec.get("user"), asked["verb"], asked["resource"]) == self.forbidden and "subresource" not in asked:
                return Response(201, {}, b'{"status": {"allowed": false}}')
        return await self.inner.send(request)


class Installation:
    """A management cluster and a NATS server with what an installation has created."""

    def __init__(self, kube: Kube, server: NatsServer) -> None:
        self.api = Altered(kube.transport)
        self.kube = Kube(self.api, random=lambda: 0.0)
        self.server = server
        self.url = server.url
        self.names: tuple[str, ...] = ("localhost",)

    async def install(self) -> None:
        for crd in OURS:
            await self.kube.create(CRDS, crd.manifest())
        await self.kube.create(NAMESPACES, {"metadata": {"name": "alate"}})
        for account in rights.accounts("alate"):
            meta = {"name": account.partition("/")[2], "namespace": "alate"}
            await self.kube.create(rights.ACCOUNTS, {"metadata": meta})
        await (await connect(self.url, name="setup")).close()

    async def publish(self, subject: str, data: bytes) -> None:
        bus = await connect(self.url, name="setup")
        await bus.publish(Message(subject, data))
        await bus.close()

    async def restart(self, extra: str) -> None:
        await self.server.stop()
        self.server.extra = extra
        await self.server.start()

    async def edit_stream(self, name: str, **changes) -> None:
        wire = await dial(self.url, "edit", NOBODY, 5.0)
        info = json.loads((await wire.ask(f"$JS.API.STREAM.INFO.{name}", b"")).data)
        await wire.ask(f"$JS.API.STREAM.UPDATE.{name}", json.dumps({**info["config"], **changes}).encode())
        await wire.close()

    async def found(self) -> list[str]:
        facts = PreflightFacts(
            await management_cluster.gathered(self.kube, "alate", clock),
            await nats.gathered(self.url, NOBODY, 1.0, clock),
            await unresolvable(self.names),
            clock(),
        )
        return [each.message for each in findings(facts)]


@asynccontextmanager
async def installation(folder):
    uids = count()
    async with kubernetes(clock, lambda: f"uid-{next(uids)}") as kube, NatsServer(folder) as server:
        yield Installation(kube, server)


@pytest.fixture
async def installed(tmp_path):
    async with installation(tmp_path / "nats") as here:
        await here.install()
        yield here


async def dns(here):
    here.names = ("nats.invalid",)


async def old_kubernetes(here):
    here.api.version = {"major": "1", "minor": "27+"}


async def lost_crd(here):
    await here.kube.delete(CRDS, "triggers.alate.dev")


async def older_crd(here):
    manifest = next(crd for crd in OURS if crd.plural == "colonies").manifest()
    fields = manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del fields["clusters"]["items"]["properties"]["timeToLive"]
    await here.kube.apply(CRDS, manifest, manager="older")


async def lost_right(here):
    here.api.forbidden = ("system:serviceaccount:alate:gateway", "patch", "colonies")


async def lost_account(here):
    await here.kube.delete(rights.ACCOUNTS, "outbound", "alate")


async def fast_clock(here):
    here.api.date = NOW + timedelta(hours=1)


async def no_nats(here):
    await here.server.stop()


async def no_jetstream(here):
    await here.restart("jetstream: false\n")


async def small_messages(here):
    await here.restart("max_payload: 65536\n")
    await (await connect(here.url, name="setup")).close()  # streams in memory went with the restart


async def little_storage(here):
    user = "users: [{user: a, password: b}]"
    await here.restart(f"accounts {{ A {{ jetstream {{ max_file: 10MB, max_memory: 10MB }}, {user} }} }}\n")
    here.url = here.url.replace("nats://", "nats://a:b@")


async def changed_stream(here):
    await here.edit_stream("LEVELS", max_msgs_per_subject=9)


async def unknown_state(here):
    await here.publish("cluster.ready.acme.train", b'{"schemaVersion": "nine"}')


async def old_catalog(here):
    level = CatalogSeen(cloud="aws", observed_at=NOW - timedelta(days=9, hours=1))
    await here.publish("inventory.catalog.aws", msgspec.json.encode(level))


PLANTS = {
    dns: "the name nats.invalid does not resolve (",
    old_kubernetes: "the management cluster runs Kubernetes 1.27, and alate needs 1.31 or newer: upgrade it first",
    lost_crd: "the CustomResourceDefinition triggers.alate.dev is missing in the management cluster: apply ",
    older_crd: "colonies.alate.dev is of another release, as it has no field spec.clusters.timeToLive: apply ",
    lost_right: "the service account alate/gateway may not patch colonies.alate.dev: apply deploy/rbac.yaml",
    lost_account: "the service account alate/outbound is missing: apply deploy/rbac.yaml, or upgrade the chart",
    fast_clock: "the clock of the API server is 3",
    no_nats: "cannot be asked (no NATS at nats://127.0.0.1",
    no_jetstream: "JetStream is off in NATS at nats://127.0.0.1",
    small_messages: "takes messages of 65536 bytes at most: set max_payload to 1048576 or more",
    little_storage: "of storage left for streams: raise the account's max_file",
    changed_stream: "the stream LEVELS in NATS at ",
    unknown_state: "this release cannot decode the stored message cluster.ready.acme.train #1: ",
    old_catalog: "the price catalog of aws is 9 days old: renew its file in ALATE_CATALOG",
}


async def test_a_sound_installation_has_no_findings(installed):
    assert await installed.found() == []


async def test_an_empty_cluster_and_an_empty_nats_have_no_findings(tmp_path):
    async with installation(tmp_path / "nats") as here:
        assert await here.found() == []


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
async def test_a_planted_mistake_is_named_in_one_sentence(installed, plant):
    await plant(installed)
    found = await installed.found()
    assert len(found) == 1, found
    sentence = found[0]
    assert PLANTS[plant] in sentence
    assert "\n" not in sentence
    assert ": " in sentence


def test_the_exit_code_tells_of_findings_and_json_has_each():
    result = CliRunner().invoke(
        app, ["preflight", "--kubeconfig", "/none", "--nats", "nats://127.0.0.1:1", "-o", "json"]
    )
    assert result.exit_code == 1
    assert [each["check"] for each in json.loads(result.stdout)["findings"]] == ["kubernetes-reached", "nats-reached"]
