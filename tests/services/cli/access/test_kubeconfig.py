"""One kubeconfig opens every cluster of a Colony, and is no better than what the Secrets hold."""

import base64
import json
import stat
from contextlib import asynccontextmanager

import pytest
import yaml

from events.errors import Denied, NotFound
from events.kube.kubeconfig import chosen
from services.cli.access.kubeconfig import KubeconfigRequest, make
from services.errors import Failed

SPEC = {"clusters": [{"name": "gpu"}, {"name": "prep"}]}
READY = {
    "clusters": [
        {"name": "gpu", "phase": "Ready", "kubeconfigSecret": "train-gpu-1-kubeconfig"},
        {"name": "prep", "phase": "Launching"},
    ]
}


def held(server, user):
    document = {
        "current-context": "admin",
        "contexts": [{"name": "admin", "context": {"cluster": "one", "user": "me"}}],
        "clusters": [{"name": "one", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": user}],
    }
    return {"data": {"value": base64.b64encode(yaml.safe_dump(document).encode()).decode()}}


class FakeKube:
    """Has one Colony and some Secrets."""

    def __init__(self, secrets, status=READY):
        self.objects = {"train": {"spec": SPEC, "status": status}, **secrets}

    async def get(self, resource, name, namespace):
        if name not in self.objects:
            raise NotFound(f"{resource.plural} {namespace}/{name} is not there")
        return self.objects[name]


async def made(kube, cluster="", *, colony="train", file=None, as_json=False):
    class Connection:
        @asynccontextmanager
        async def kube(self):
            yield kube

    out, err = [], []
    await make(
        Connection(), KubeconfigRequest("default", colony, cluster, file, as_json), write=out.append, tell=err.append
    )
    return "".join(out), "".join(err)


GPU = {"train-gpu-1-kubeconfig": held("https://gpu:6443", {"token": "a"})}
BOTH = [READY["clusters"][0], {"name": "prep", "phase": "Ready", "kubeconfigSecret": "train-prep-2-kubeconfig"}]
TWO = GPU | {"train-prep-2-kubeconfig": held("https://prep:6443", {"token": "b"})}


async def test_every_cluster_is_a_context_with_its_own_server_and_user():
    out, err = await made(FakeKube(TWO, {"clusters": BOTH}))
    document = yaml.safe_load(out)
    opened = {name: chosen(document, "it", name) for name in ("train/gpu", "train/prep")}
    assert {name: (one.cluster["server"], one.user["token"]) for name, one in opened.items()} == {
        "train/gpu": ("https://gpu:6443", "a"),
        "train/prep": ("https://prep:6443", "b"),
    }
    assert (document["current-context"], err) == ("train/gpu", "")


async def test_one_cluster_can_be_named():
    out, _ = await made(FakeKube(TWO, {"clusters": BOTH}), "prep", as_json=True)
    assert [each["name"] for each in json.loads(out)["contexts"]] == ["train/prep"]


async def test_what_is_not_there_yet_is_left_out_and_told():
    out, err = await made(FakeKube(GPU))
    assert [each["name"] for each in yaml.safe_load(out)["contexts"]] == ["train/gpu"]
    assert err == "train/prep is left out: it is Launching and has no kubeconfig yet\n"


async def test_a_file_is_for_its_owner_alone(tmp_path):
    out, err = await made(FakeKube(GPU), "gpu", file=tmp_path / "train.kubeconfig")
    file = tmp_path / "train.kubeconfig"
    assert (stat.S_IMODE(file.stat().st_mode), out, err) == (0o600, "", f"{file} has train/gpu\n")
    assert yaml.safe_load(file.read_text())["current-context"] == "train/gpu"


@pytest.mark.parametrize(
    ("secrets", "status"), [({}, READY), ({}, {}), ({"train-gpu-1-kubeconfig": {"data": {}}}, READY)]
)
async def test_where_nothing_is_there_yet_it_says_how_to_see_when(secrets, status):
    with pytest.raises(Failed, match="colony/train has no kubeconfig yet: `alate get colonies -w` shows"):
        await made(FakeKube(secrets, status))


@pytest.mark.parametrize(
    ("colony", "cluster", "sentence"),
    [
        ("other", "", "there is no Colony other in namespace default: see `alate get colonies`"),
        ("train", "cpu", "colony/train has no cluster cpu: it has gpu, prep"),
    ],
)
async def test_a_wrong_name_gets_the_right_ones(colony, cluster, sentence):
    with pytest.raises(Failed, match=sentence):
        await made(FakeKube(GPU), cluster, colony=colony)


@pytest.mark.parametrize(
    ("secret", "sentence"),
    [
        (held("https://gpu:6443", {"exec": {"command": "sh"}}), "asks for exec: out of a Secret only inline data"),
        (held("https://gpu:6443", {"tokenFile": "/etc/passwd"}), "asks for tokenFile"),
        ({"data": {"value": "%"}}, "holds no text under the key value: expected a kubeconfig"),
        ({"data": {"value": base64.b64encode(b"[]").decode()}}, "holds no mapping"),
    ],
)
async def test_a_secret_that_would_make_kubectl_run_or_read_something_is_refused(secret, sentence):
    with pytest.raises(Denied, match=f"Secret default/train-gpu-1-kubeconfig {sentence}") as refused:
        await made(FakeKube({"train-gpu-1-kubeconfig": secret}))
    assert refused.value.reason == "BadKubeconfig"
