"""On a real API server with RBAC, each service does all of its work as its own account, and can do nothing else."""

from datetime import UTC, datetime
from uuid import uuid4

import msgspec
import pytest

from events.jetstream.bus import connect
from events.kube.client import Kube, Object, Request, Resource
from services.compose import SERVICES
from services.sandbox.api.server.app import Api
from services.sandbox.api.store.journal import MemoryJournal
from tests.deploy.rights import Right, of_rules, shipped
from tests.deploy.story import Inside, Stage, play
from tests.kube.rights.conftest import NOBODY

pytestmark = [pytest.mark.kube, pytest.mark.timeout(240)]

REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", namespaced=False
)  # fmt: skip
COLONIES = "/apis/alate.dev/v1alpha1/namespaces/default/colonies"
CLUSTERS = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters"
DEPLOYMENTS = "/apis/k0rdent.mirantis.com/v1beta1/namespaces/default/clusterdeployments"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
CORE = "/api/v1/namespaces/default"
OF_ALL = (
    ("PUT", f"{CORE}/secrets/x"),
    ("DELETE", f"{CORE}/secrets"),
    ("PUT", f"{COLONIES}/x"),
    ("DELETE", COLONIES),
    ("PATCH", f"{CLUSTERS}/x/status"),
    ("DELETE", CLUSTERS),
    ("DELETE", DEPLOYMENTS),
    ("POST", f"{CORE}/pods"),
    ("POST", f"{CORE}/pods/x/exec"),
    ("DELETE", f"{CORE}/pods/x"),
    ("PATCH", "/api/v1/nodes/x"),
    ("DELETE", "/api/v1/namespaces/default"),
    ("POST", "/api/v1/namespaces/alate/serviceaccounts/provisioning/token"),
    ("POST", f"{ROLES}/clusterrolebindings"),
    ("PATCH", f"{ROLES}/clusterroles/alate-gateway"),
    ("POST", "/apis/alate.dev/v1alpha1/clusterclassifiers"),
    ("PATCH", "/apis/alate.dev/v1alpha1/clusterclassifiers/x"),
    ("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
)
"""What nobody of ours may do: method and path."""
OF_ONE = {
    "gateway": (
        ("PATCH", f"{CLUSTERS}/x"),
        ("GET", f"{CORE}/pods"),
        ("GET", f"{CORE}/secrets"),
        ("GET", f"{CORE}/configmaps"),
        ("POST", CLUSTERS),
        ("DELETE", f"{CLUSTERS}/x"),
        ("POST", DEPLOYMENTS),
    ),
    "inventory": (
        ("PATCH", f"{CLUSTERS}/x"),
        ("DELETE", f"{COLONIES}/x"),
        ("GET", f"{CORE}/secrets"),
        ("GET", f"{CORE}/configmaps/x"),
        ("GET", COLONIES),
        ("POST", COLONIES),
        ("GET", CLUSTERS),
    ),
    "provisioning": (
        ("DELETE", f"{COLONIES}/x"),
        ("GET", f"{CORE}/secrets/x"),
        ("GET", f"{CORE}/secrets"),
        ("GET", COLONIES),
        ("POST", COLONIES),
        ("PATCH", f"{COLONIES}/x/status"),
        ("PATCH", f"{CORE}/configmaps/x"),
        ("DELETE", f"{CORE}/configmaps/x"),
        ("GET", f"{CORE}/pods"),
    ),
    "addons": (
        ("PATCH", f"{CLUSTERS}/x"),
        ("DELETE", f"{COLONIES}/x"),
        ("GET", COLONIES),
        ("PATCH", f"{COLONIES}/x"),
        ("POST", f"{CORE}/configmaps"),
        ("GET", CLUSTERS),
    ),
    "teardown": (
        ("PATCH", f"{CLUSTERS}/x"),
        ("DELETE", f"{COLONIES}/x"),
        ("POST", COLONIES),
        ("PATCH", f"{COLONIES}/x"),
        ("DELETE", f"{CLUSTERS}/x"),
        ("DELETE", f"{DEPLOYMENTS}/x"),
        ("GET", f"{CORE}/pods"),
        ("GET", f"{CORE}/configmaps"),
    ),
    "edge": (
        ("PATCH", f"{CLUSTERS}/x"),
        ("GET", f"{CORE}/secrets/x"),
        ("GET", f"{CORE}/secrets"),
        ("POST", COLONIES),
        ("PATCH", f"{COLONIES}/x/status"),
    ),
    "outbound": (
        ("PATCH", f"{CLUSTERS}/x"),
        ("GET", f"{CORE}/secrets/x"),
        ("GET", f"{CORE}/configmaps"),
        ("GET", COLONIES),
    ),
}
"""What one of them may not, though it would look at home there."""
KEEPS_SECRETS = "gateway"
CHANGES = (("POST", f"{CORE}/secrets"), ("PATCH", f"{CORE}/secrets/x"), ("DELETE", f"{CORE}/secrets/x"))
"""What all others may not do with Secrets."""


async def test_the_whole_story_is_played_by_accounts_that_hold_only_what_is_shipped(accounts, nats_server):
    api = Api(MemoryJournal(), lambda: datetime.now(UTC), lambda: str(uuid4()))
    await api.start()
    buses = [await connect(nats_server.url, name=name) for name in (*SERVICES, "person")]
    spare = iter(buses)
    try:
        kubes = {name: await accounts.kube(name) for name in SERVICES}
        stage = Stage(accounts.admin, Inside(api), lambda: next(spare), lambda: datetime.now(UTC), kubes)
        async with stage.running():
            await play(stage)
    finally:
        await api.close()
        for bus in buses:
            await bus.close()


async def test_each_account_may_do_exactly_what_is_shipped(accounts):
    everybody = await granted(await accounts.kube(NOBODY))
    found = {name: await granted(await accounts.kube(name)) - everybody for name in SERVICES}
    assert found == {name: shipped(name) for name in SERVICES}


@pytest.mark.parametrize("account", SERVICES)
async def test_an_account_is_refused_everything_else(accounts, account):
    kube = await accounts.kube(account)
    calls = (*OF_ALL, *OF_ONE[account], *(() if account == KEEPS_SECRETS else CHANGES))
    assert [await status(kube, *call) for call in calls] == [403] * len(calls)


async def test_an_account_reaches_no_further_in_another_namespace(accounts):
    kube = await accounts.kube("teardown")
    assert await granted(kube, "kube-system") == await granted(kube, "default")


async def test_the_calls_that_are_refused_are_calls_that_the_server_knows(accounts):
    every = [call for calls in (OF_ALL, CHANGES, *OF_ONE.values()) for call in calls]
    strange = [call for call in every if not await known(accounts.admin, *call)]
    assert strange == []


async def granted(kube: Kube, namespace: str = "default") -> frozenset[Right]:
    """What the server itself says that we may do."""
    review: Object = {"metadata": {}, "spec": {"namespace": namespace}}
    answer = (await kube.create(REVIEWS, review))["status"]
    assert not answer["incomplete"]
    rules = [rule | {"resources": rule["resources"]} for rule in answer["resourceRules"]]
    paths = {
        Right("", path, verb)
        for r in answer["nonResourceRules"]
        for path in r["nonResourceURLs"]
        for verb in r["verbs"]
    }
    return frozenset(of_rules(rules)) | paths


async def status(kube: Kube, method: str, path: str) -> int:
    """What the server answers: authorization comes before any look at the body."""
    content = {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
    body = msgspec.json.encode({}) if method in {"POST", "PUT", "PATCH"} else b""
    return (await kube.transport.send(Request(method, path, {"dryRun": "All"}, content, body))).status


async def known(admin: Kube, method: str, path: str) -> bool:
    """To the administrator the server answers anything but "no such path"; an object that is not there is named."""
    answer = await admin.transport.send(Request("GET", path.removesuffix("/token").removesuffix("/exec")))
    return answer.status < 300 or (answer.status == 404 and b'"details":{"name"' in answer.body)
