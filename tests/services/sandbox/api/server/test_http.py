"""The API over HTTPS, as kubectl, kubernetes-asyncio and plain clients use it."""

import asyncio
import io
import json
import os
import shutil
import ssl
from contextlib import ExitStack
from datetime import UTC, datetime
from socket import create_connection

import aiohttp
import pytest
import yaml

from services.sandbox.api.server.http import Server, kubeconfig
from services.sandbox.api.server.tls import self_signed

TOKEN = "open sesame"  # noqa: S105 - the test's own
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

kubectl_here = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl on this machine")


@pytest.fixture
async def server(worlds, tmp_path):
    identity = self_signed(datetime.now(UTC))
    async with worlds(tokens={"management": TOKEN}) as world:
        world.now = datetime.now(UTC)
        server = Server(world.api, context=identity.context(tmp_path))
        await server.start()
        server_and_all = server, world, identity
        yield server_and_all
        await world.api.close()
        await server.stop()


@pytest.fixture
def client(server):
    """Straight to the API behind the server."""
    _, world, _ = server
    return type(world.client)(world.api, "management", TOKEN)


@pytest.fixture
async def session(server):
    at, _, identity = server
    trust = ssl.create_default_context(cadata=identity.certificate.decode())
    headers = {"Authorization": f"Bearer {TOKEN}"}
    connector = aiohttp.TCPConnector(ssl=trust)
    base = f"{at.url}/clusters/management/"
    async with aiohttp.ClientSession(base, headers=headers, connector=connector) as session:
        yield session


async def test_a_certificate_of_our_own_is_trusted_by_its_pem(session):
    async with session.get("version") as answer:
        assert (answer.status, (await answer.json())["major"]) == (200, "1")


async def test_without_the_token_nothing_is_said(session):
    async with session.get("version", headers={"Authorization": "Bearer nope"}) as answer:
        assert (answer.status, (await answer.json())["reason"]) == (401, "Unauthorized")


async def test_a_watch_comes_line_by_line(session, client):
    async with session.get(CONFIGMAPS[1:], params={"watch": "1", "timeoutSeconds": "20"}) as answer:
        await client.create(CONFIGMAPS, {"metadata": {"name": "a"}})
        assert json.loads(await answer.content.readline())["type"] == "ADDED"
        await client.delete(f"{CONFIGMAPS}/a")
        assert json.loads(await answer.content.readline())["type"] == "DELETED"


async def test_a_watch_ends_when_the_api_closes(session, server):
    async with session.get(CONFIGMAPS[1:], params={"watch": "1"}) as answer:
        await server[1].api.close()
        assert await answer.content.readline() == b""


async def test_a_watcher_who_goes_away_is_forgotten(session, server, client):
    hub = server[1].api._hub
    async with session.get(CONFIGMAPS[1:], params={"watch": "1"}) as answer:
        assert answer.status == 200
        assert hub._watches
    async with asyncio.timeout(10):
        while hub._watches:
            await client.patch(f"{CONFIGMAPS}/a", {"data": {"n": "x"}})
            await client.create(CONFIGMAPS, {"metadata": {"generateName": "a"}})
            await asyncio.sleep(0.01)


async def test_a_body_that_is_too_large_is_refused(session):
    async with session.post(CONFIGMAPS[1:], data=io.BytesIO(b"x" * 5_000_000)) as answer:
        assert answer.status == 413


async def test_hundreds_who_come_in_one_moment_wait_to_be_let_in(server):
    running, *_ = server
    with ExitStack() as held:
        for _ in range(300):  # nobody is let in meanwhile: this holds the loop
            held.enter_context(create_connection(("127.0.0.1", running.port), timeout=0.5))


async def test_a_port_that_is_taken_is_an_error(server):
    with pytest.raises(OSError, match="address already in use"):
        await Server(server[1].api, server[0].port).start()


def test_a_kubeconfig_names_server_authority_and_token():
    config = yaml.safe_load(kubeconfig("https://127.0.0.1:1", "train", b"PEM", "t"))
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1/clusters/train"
    assert config["users"][0]["user"] == {"token": "t"}
    assert config["current-context"] == "train"


# -- kubectl ---------------------------------------------------------------------------------------------------


@pytest.fixture
def kubectl(server, tmp_path):
    """Runs kubectl with a home of its own; gives (exit code, output)."""
    at, _, identity = server
    config = tmp_path / "kubeconfig"
    config.write_text(kubeconfig(at.url, "management", identity.certificate, TOKEN))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(config)}

    async def run(line, stdin=""):
        pipe = asyncio.subprocess.PIPE
        program = await asyncio.create_subprocess_exec(
            "kubectl", *line.split(), env=env, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT
        )
        try:
            async with asyncio.timeout(30):
                out, _ = await program.communicate(stdin.encode())
        finally:
            if program.returncode is None:
                program.kill()
                await program.wait()
        return program.returncode, out.decode()

    return run


@pytest.fixture
async def widgets(client, kubectl, widget_definition):
    """kubectl, with widgets served."""
    await client.create(CRDS, widget_definition)
    return kubectl


def widget(**spec):
    return json.dumps({"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": spec})


@pytest.mark.kubectl
@kubectl_here
async def test_kubectl_applies_and_prints_a_custom_resource(widgets):
    assert await widgets("apply -f -", widget(color="red")) == (0, "widget.demo.io/one created\n")
    assert await widgets("apply -f -", widget(color="red")) == (0, "widget.demo.io/one unchanged\n")
    assert await widgets("apply -f -", widget(color="blue")) == (0, "widget.demo.io/one configured\n")
    _, printed = await widgets("get widgets -o wide")
    assert [line.split()[:3] for line in printed.splitlines()] == [["NAME", "SIZE", "READY"], ["one", "S", "blue"]]
    code, refused = await widgets("apply -f -", widget(bogus=1))
    assert (code, 'unknown field "spec.bogus"' in refused) == (1, True)


@pytest.mark.kubectl
@kubectl_here
async def test_kubectl_applies_on_the_server(widgets):
    assert await widgets("apply --server-side -f -", widget(color="red")) == (
        0,
        "widget.demo.io/one serverside-applied\n",
    )
    assert (await widgets("""patch widgets one --type=merge -p {"spec":{"color":"blue"}}"""))[0] == 0
    code, conflict = await widgets("apply --server-side -f -", widget(color="red"))
    assert (code, "Apply failed with 1 conflict" in conflict) == (1, True)
    assert (await widgets("apply --server-side --force-conflicts -f -", widget(color="red")))[0] == 0


@pytest.mark.kubectl
@kubectl_here
async def test_kubectl_moves_from_client_side_to_server_side_apply(widgets):
    await widgets("apply -f -", widget(color="red", replicas=2))
    assert (await widgets("apply --server-side -f -", widget(color="red")))[0] == 0
    assert (await widgets("get widgets one -o jsonpath={.spec}"))[1] == '{"color":"red","size":"S"}'


@pytest.mark.kubectl
@kubectl_here
async def test_kubectl_changes_and_scales(widgets):
    await widgets("create -f -", widget())
    assert (await widgets("label widgets one a=b"))[0] == 0
    assert (await widgets("annotate widgets one c=d"))[0] == 0
    assert (await widgets("scale widgets one --replicas=4"))[0] == 0
    found = json.loads((await widgets("get widgets one -o json"))[1])
    assert found["spec"]["replicas"] == 4
    assert (found["metadata"]["labels"], found["metadata"]["annotations"]) == ({"a": "b"}, {"c": "d"})
    assert (await widgets("replace -f -", json.dumps({**found, "spec": {"color": "red"}})))[0] == 0


@pytest.mark.kubectl
@kubectl_here
async def test_kubectl_waits_for_conditions_and_deletion(widgets, server, client):
    world = server[1]
    body = {"metadata": {"name": "one", "finalizers": ["demo.io/hold"]}}
    await client.create(WIDGETS, body)
    ready = asyncio.create_task(widgets("wait --for=condition=Ready widgets/one --timeout=20s"))
    gone = asyncio.create_task(widgets("wait --for=delete widgets/one --timeout=20s"))
    deleting = asyncio.create_task(widgets("delete widgets one --timeout=20s"))
    async with asyncio.timeout(20):
        while sum(map(len, world.api._hub._watches.values())) < 3:  # noqa: ASYNC110 - kubectl tells nobody
            await asyncio.sleep(0.02)
    conditions = [{"type": "Ready", "status": "True"}]
    await client.patch(f"{WIDGETS}/one/status", {"status": {"conditions": conditions}})
    assert await ready == (0, "widget.demo.io/one condition met\n")
    await client.patch(f"{WIDGETS}/one", {"metadata": {"finalizers": None}})
    assert (await gone)[0] == 0
    assert await deleting == (0, 'widget.demo.io "one" deleted\n')


@pytest.mark.kubectl
@kubectl_here
async def test_kubectl_watches_tables(widgets, server, client):
    world = server[1]
    watching = asyncio.create_task(widgets("get widgets -w"))
    async with asyncio.timeout(20):
        while not world.api._hub._watches:  # noqa: ASYNC110 - kubectl tells nobody
            await asyncio.sleep(0.02)
    await client.create(WIDGETS, {"metadata": {"name": "one"}, "spec": {}})
    await client.patch(f"{WIDGETS}/one", {"spec": {"size": "M"}})
    await world.api.close()
    _, printed = await watching
    assert [line.split()[:2] for line in printed.splitlines() if line.startswith("one")] == [["one", "S"], ["one", "M"]]


@pytest.mark.kubectl
@kubectl_here
async def test_kubectl_explains_and_describes(widgets):
    _, explained = await widgets("explain widget.spec.parts")
    assert "weight\t<integer>" in explained
    _, deployment = await widgets("explain deployment.spec.template.spec.containers.ports")
    assert "containerPort\t<integer>" in deployment
    await widgets("create -f -", widget(color="red"))
    _, described = await widgets("describe widgets one")
    assert "Color:" in described
    _, listed = await widgets("api-resources --api-group=demo.io")
    assert listed.splitlines()[1].split() == ["widgets", "demo.io/v1", "true", "Widget"]


@pytest.mark.kubectl
@kubectl_here
async def test_kubectl_creates_what_it_sends_as_protobuf(kubectl):
    for line in (
        "create configmap c --from-literal=a=b",
        "create secret generic s --from-literal=a=b",
        "create namespace team",
        "create serviceaccount sa",
        "create deployment d --image=nginx",
        "create job j --image=busybox -- true",
        "create role r --verb=get --resource=pods",
        "run p --image=nginx",
    ):
        code, said = await kubectl(line)
        assert (code, "created" in said) == (0, True), said
    assert await kubectl("auth can-i get pods") == (0, "yes\n")
    assert (await kubectl("delete namespace team --timeout=20s"))[0] == 0
    assert (await kubectl("get secret s -o jsonpath={.data.a}"))[1] == "Yg=="


@pytest.mark.kubectl
@kubectl_here
async def test_kubectl_applies_and_changes_a_deployment(kubectl):
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}}

    def deployment(image):
        containers = [{"name": "c", "image": image, "ports": [{"containerPort": 80}]}]
        whole = {**spec, "template": {**spec["template"], "spec": {"containers": containers}}}
        return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": whole})

    assert await kubectl("apply -f -", deployment("one")) == (0, "deployment.apps/web created\n")
    assert await kubectl("apply -f -", deployment("one")) == (0, "deployment.apps/web unchanged\n")
    assert await kubectl("apply -f -", deployment("two")) == (0, "deployment.apps/web configured\n")
    images = "jsonpath={.spec.template.spec.containers[*].image}"
    assert (await kubectl(f"get deployment web -o {images}"))[1] == "two"
    code, refused = await kubectl("apply -f -", deployment("two").replace('"image"', '"imagine"'))
    assert (code, "spec.template.spec.containers[0].imagine" in refused) == (1, True), refused
    assert (await kubectl("scale deployment web --replicas=3"))[0] == 0
    assert (await kubectl("get deployments"))[1].splitlines()[1].split()[:2] == ["web", "0/3"]
