"""Whatever stands where a cluster's kubeconfig should be, opening it ends in a named fault, and nothing else."""

import base64
from string import Template

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from events.errors import Denied
from events.kube.auth import transport_of
from events.kube.client import Kube
from services.clients.workload_clusters import NoKubeconfigYet, WorkloadClusters
from services.sandbox.api.server.kubeconfig import kubeconfig

GOOD = kubeconfig("https://10.0.0.1:6443", "x", "").replace("certificate-authority-data: ''", "")


class Management:
    """Holds one Secret."""

    def __init__(self, secret):
        self.secret = {"metadata": {"name": "k", "resourceVersion": "1"}} | secret

    async def get(self, resource, name, namespace):
        return self.secret


async def opener(text):
    return Kube(await transport_of(text), random=lambda: 0.5)


def held(value):
    return {"data": {"value": base64.b64encode(value if isinstance(value, bytes) else value.encode()).decode()}}


async def opened(secret):
    workloads = WorkloadClusters(Management(secret), opener)
    try:
        return await workloads.open("acme", "k")
    finally:
        await workloads.close()


def changed(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


WITH = Template("apiVersion: v1\nkind: Config\ncurrent-context: x\n$more\n")
BAD = {
    "bytes that are no text": (held(b"\xff\xfe"), "holds no text under the key value: expected a kubeconfig"),
    "no base64": ({"data": {"value": "%%%"}}, "holds no text under the key value"),
    "a value of another type": ({"data": {"value": 5}}, "holds no text under the key value"),
    "a token with line ends": (
        held(changed("token: sandbox", 'token: "a\\r\\nHost: b"')),
        "token of the user in .* line",
    ),
    "a token of no ASCII": (held(changed("token: sandbox", 'token: "ä"')), "token of the user in the kubeconfig holds"),
    "a date that is none": (
        held(WITH.substitute(more="a: !!timestamp 2020-13-45")),
        "is not YAML .it has what cannot be read: month",
    ),
    "a number without end": (held(WITH.substitute(more="a: " + "9" * 5000)), "is not YAML .it has what cannot be read"),
    "brackets without end": (held("[" * 100_000), "is not YAML .it is nested more than 100 deep"),
    "a megabyte": (held(GOOD + "#" * (1 << 20)), "is not YAML .it has [0-9]+ characters: at most 1048576 are read"),
    "a server that is none": (held(changed("https://10.0.0.1:6443", "https://[::1")), "expected an https:// URL"),
    "a port that is none": (held(changed("10.0.0.1:6443", "10.0.0.1:99999")), "expected an https:// URL"),
    "a server with line ends": (
        held(changed("https://10.0.0.1:6443/clusters/x", '"https://h/\\r\\nx"')),
        "https:// URL",
    ),
    "a list for an answer": (held("[]"), "holds no mapping: expected clusters, contexts and users"),
    "a list for a context": (held(changed("current-context: x", "current-context: [x]")), "has no context"),
    "a certificate that is none": (
        held(changed("user:\n", "user:\n    client-certificate-data: eA==\n")),
        "cannot be used",
    ),
    "a proxy": (
        held(changed("cluster:\n", "cluster:\n    proxy-url: http://evil\n")),
        "asks for proxy-url: expected a server that is reached without a proxy of its own, or proxy allowed",
    ),
    "no check of the certificate": (
        held(changed("cluster:\n", "cluster:\n    insecure-skip-tls-verify: true\n")),
        "asks for insecure-skip-tls-verify: expected the cluster's own CA in certificate-authority-data, or",
    ),
    "a Secret of a token": (
        held(GOOD) | {"type": "kubernetes.io/service-account-token"},
        "is of type kubernetes.io/service-account-token: expected a kubeconfig's",
    ),
    "a Secret of a certificate": (
        held(GOOD) | {"type": "kubernetes.io/tls"},
        "expected a kubeconfig's, which is one of",
    ),
}


@pytest.mark.parametrize("what", BAD)
async def test_what_is_no_kubeconfig_is_refused_in_one_sentence(what):
    secret, sentence = BAD[what]
    with pytest.raises(Denied, match=sentence) as caught:
        await opened(secret)
    assert caught.value.reason == "BadKubeconfig"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("secret", [{}, {"data": None}, {"data": {}}, {"data": {"value": ""}}])
async def test_one_that_is_not_there_yet_is_waited_for(secret):
    with pytest.raises(NoKubeconfigYet, match="holds no kubeconfig under the key value yet"):
        await opened(secret)


@pytest.mark.parametrize("kind", ["Opaque", "cluster.x-k8s.io/secret"])
async def test_a_good_one_is_opened(kind):
    assert isinstance(await opened(held(GOOD) | {"type": kind}), Kube)


LINES = st.lists(st.sampled_from([*GOOD.splitlines(), "- a", "  x: [1]", "a: *b", "? x", "---", "\t"]), max_size=30)


@given(st.one_of(st.binary(max_size=200), LINES.map("\n".join)))
@example(GOOD)
async def test_any_bytes_at_all_open_a_cluster_or_are_a_fault(value):
    try:
        found = await opened(held(value))
    except (Denied, NoKubeconfigYet):
        return
    assert isinstance(found, Kube)
