"""A Helm worker gets from a tenant's kubeconfig nothing that runs a program, reads a file or was not checked."""

from base64 import b64encode

import pytest
import yaml

from events.errors import Denied
from services.addons.helm.protocol import WorkerReply
from services.addons.helm.releases import HelmReleases, ReleaseRef
from services.clients.workload_clusters import WorkloadClusters

CLUSTER = {"server": "https://c.example", "certificate-authority-data": "Y2E="}


def kubeconfig(cluster, user):
    return yaml.safe_dump({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": CLUSTER | cluster}], "users": [{"name": "u", "user": user}],
    })  # fmt: skip


class RecordingWorkers:
    def __init__(self):
        self.given = []

    async def run(self, request, cluster, seconds):
        self.given.append(yaml.safe_load(request.kubeconfig))
        return WorkerReply(revision=1, status="deployed")


class Management:
    """Holds one Secret, whose kubeconfig changes with each read."""

    def __init__(self, *texts):
        self.texts = list(texts)

    async def get(self, resource, name, namespace):
        text, left = self.texts.pop(0), len(self.texts)
        return {"metadata": {"resourceVersion": str(left)}, "data": {"value": b64encode(text.encode()).decode()}}


class OneRelease:
    """A cluster with one release of Helm."""

    async def close(self):
        pass

    async def marks(self, resource, namespace, labels):
        labels = {"owner": "helm", "name": "one", "version": "1", "status": "deployed"}
        return [{"name": "sh.helm.release.v1.one.v1", "namespace": namespace, "labels": labels}]


async def asked_of_worker(text):
    workers = RecordingWorkers()
    releases = HelmReleases(workers)
    await releases.status(OneRelease(), ReleaseRef(kubeconfig=text, release="one", namespace="here"))
    return workers.given[0]


@pytest.mark.parametrize(("cluster", "user", "key"), [
    ({}, {"exec": {"command": "id"}}, "exec"),
    ({}, {"auth-provider": {"name": "gcp", "config": {"cmd-path": "/bin/id"}}}, "auth-provider"),
    ({}, {"tokenFile": "/var/run/secrets/token"}, "tokenFile"),
    ({}, {"client-key": "/etc/key"}, "client-key"),
    ({"certificate-authority": "/etc/passwd"}, {}, "certificate-authority"),
])  # fmt: skip
async def test_no_worker_starts_for_a_kubeconfig_with_a_program_or_a_file(cluster, user, key):
    with pytest.raises(Denied, match=f"asks for {key}") as caught:
        await asked_of_worker(kubeconfig(cluster, user))
    assert caught.value.reason == "BadKubeconfig"


async def test_a_worker_gets_no_field_that_nobody_checked():
    other = {"EXEC": {"command": "id"}, "tokenfile": "/etc/passwd", "as": "system:admin", "token": "t"}
    found = await asked_of_worker(kubeconfig({"Proxy-URL": "http://169.254.169.254"}, other))
    assert found["clusters"][0]["cluster"] == CLUSTER
    assert found["users"][0]["user"] == {"token": "t"}


async def test_a_worker_gets_no_context_but_the_one_that_was_checked():
    text = kubeconfig({}, {"token": "t"})
    more = yaml.safe_load(text)
    more["users"].append({"name": "u", "user": {"exec": {"command": "id"}}})
    found = await asked_of_worker(yaml.safe_dump(more))
    assert [each["user"] for each in found["users"]] == [{"token": "t"}]


async def test_a_kubeconfig_that_changed_since_its_cluster_was_opened_is_checked_again():
    async def opener(text):
        if "169.254" in text:
            raise Denied("169.254.169.254 must not be spoken to", "BadKubeconfig")
        return OneRelease()

    good, bad = kubeconfig({}, {"token": "t"}), kubeconfig({"server": "https://169.254.169.254"}, {"token": "t"})
    clusters = WorkloadClusters(Management(good, good, bad), opener)
    await clusters.open("here", "secret")
    assert await clusters.kubeconfig("here", "secret") == good
    with pytest.raises(Denied, match="must not be spoken to"):
        await clusters.kubeconfig("here", "secret")
