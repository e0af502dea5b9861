"""What a cluster's Secret holds becomes a context of its own name, unless it would run or read anything of ours."""

import base64
from typing import Any

import pytest
import yaml
from yaml._yaml import CEmitter

from events.errors import Denied
from events.kube import kubeconfig as contexts
from events.kube.kubeconfig import chosen, chosen_context, context_name, merged_yaml
from services.sandbox.api.server.kubeconfig import kubeconfig


def held(text):
    return {"data": {"value": base64.b64encode(text.encode()).decode()}}


def test_a_cluster_is_named_after_its_colony_and_itself():
    assert context_name("train", "gpu") == "train/gpu"


def test_every_context_opens_its_own_cluster_and_the_first_is_current():
    found = {name: chosen_context(held(kubeconfig(f"https://{name}", name, "ca", name)), name) for name in ("b", "a")}
    document = yaml.safe_load(merged_yaml(found))
    opened = {name: chosen(document, "it", name) for name in found}
    assert {name: (one.cluster["server"], one.user["token"]) for name, one in opened.items()} == {
        "b": ("https://b/clusters/b", "b"),
        "a": ("https://a/clusters/a", "a"),
    }
    assert document["current-context"] == "b"


def test_it_is_written_by_libyaml_where_that_is_there(monkeypatch):
    used = []

    dumper: Any = contexts.DUMPER

    class Noting(dumper):
        def __init__(self, *args, **more):
            used.append(self)
            super().__init__(*args, **more)

    monkeypatch.setattr(contexts, "DUMPER", Noting)
    merged_yaml({"a": chosen(yaml.safe_load(kubeconfig("https://a", "a", "ca")), "it")})
    assert [isinstance(each, CEmitter) for each in used] == [yaml.__with_libyaml__]


@pytest.mark.parametrize("secret", [{}, {"data": None}, {"data": {}}, {"data": {"value": ""}}])
def test_a_secret_that_holds_nothing_yet_opens_nothing(secret):
    assert chosen_context(secret, "it") is None


@pytest.mark.parametrize(
    ("secret", "sentence"),
    [
        ({"data": {"value": "%"}}, "it holds no text under the key value: expected a kubeconfig"),
        (held("[]"), "it holds no mapping"),
        (held(kubeconfig("https://a", "a", "ca").replace("token: sandbox", "exec: {}")), "it asks for exec"),
    ],
)
def test_what_is_no_kubeconfig_of_data_alone_is_refused(secret, sentence):
    with pytest.raises(Denied, match=sentence):
        chosen_context(secret, "it")
