"""A path leads to what it names and nowhere else, whatever somebody writes where a name belongs."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from events.errors import Denied
from events.kube.discovery import find
from events.kube.http import _url
from events.kube.port import Resource
from events.kube.resources import CONFIGMAPS, SECRETS

NO_NAMES = (
    "", ".", "..", "a/b", "../../default/secrets/base1-gpu-1-kubeconfig", "%2e%2e", "a%2fb", "a\r\nHost: b", "x" * 254,
    5, None, ["a"], {"a": 1}, True,
)  # fmt: skip


@pytest.mark.parametrize("name", [name for name in NO_NAMES if name is not None])
def test_what_is_no_name_never_becomes_a_path(name):
    with pytest.raises(Denied, match=r"name of a Secret .* cannot be part of a path: must ") as caught:
        SECRETS.path("acme", name)
    assert caught.value.reason == "InvalidName"
    with pytest.raises(Denied, match="name of a Secret"):
        SECRETS.path(None, name)


@pytest.mark.parametrize("name", [name for name in NO_NAMES if name])
def test_what_is_no_namespace_never_becomes_a_path(name):
    with pytest.raises(Denied, match=r"namespace .* cannot be part of a path"):
        SECRETS.path(name, "x")


@pytest.mark.parametrize(
    "resource",
    [
        Resource("..", "v1", "things", "Thing"),
        Resource("demo.io", "v1/namespaces/x", "things", "Thing"),
        Resource("demo.io", "", "things", "Thing"),
        Resource("demo.io", "v1", "../secrets", "Thing"),
    ],
)
def test_what_discovery_says_never_becomes_another_path(resource):
    with pytest.raises(Denied, match="cannot be part of a path"):
        resource.path("acme")


@pytest.mark.parametrize("api_version", ["../v1", "a/b/v1", "demo.io/..", "%2e%2e/v1", "", "x/"])
async def test_an_api_version_out_of_a_manifest_never_becomes_another_path(api, kube, api_version):
    with pytest.raises(Denied, match="cannot be part of a path"):
        await find(kube, api_version, "Widget")
    assert api.asked == []


@given(st.text())
@example("..")
@example("a b?c#d&e=ä")
@example("system:node:x")
def test_any_text_is_refused_or_names_itself_in_the_request(name):
    try:
        path = CONFIGMAPS.path("acme", name)
    except Denied:
        return
    url = _url("https://h:6443/clusters/a", path)
    assert url.raw_path == f"/clusters/a{path}"
    assert URL(str(url), encoded=True).path == f"/clusters/a/api/v1/namespaces/acme/configmaps/{name}"
    assert (url.query_string, url.fragment) == ("", "")


async def test_a_path_is_sent_as_it_stands(api, kube):
    await kube.read("/apis/../x/%2e%2e/y")
    assert api.asked[0].raw_path == "/apis/../x/%2e%2e/y"
