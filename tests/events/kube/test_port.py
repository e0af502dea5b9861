"""A path leads to what it names and nowhere else, whatever somebody writes where a name belongs."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Request, Response
from events.kube.discovery import find
from events.kube.http import _url
from events.kube.port import Expired, NotServed, Resource, fault_of
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


DENIED = {
    (400, "BadRequest"),
    (401, "Unauthorized"),
    (403, "Forbidden"),
    (405, "MethodNotAllowed"),
    (409, "AlreadyExists"),
    (409, "Conflict"),
    (415, "UnsupportedMediaType"),
    (422, "Invalid"),
}


@pytest.mark.parametrize(("code", "reason"), sorted(DENIED))
async def test_a_refusal_for_good_keeps_its_reason_and_message(api, kube, code, reason):
    for _ in range(2):  # a 401 is asked again with new credentials
        api.refuse(code, reason, "said so")
    with pytest.raises(Denied) as caught:
        await kube.get(CONFIGMAPS, "c", "default")
    assert (caught.value.reason, str(caught.value)) == (reason, "said so")


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
async def test_what_passes_is_to_be_tried_later(api, kube, code):
    api.refuse(code, "", "busy")
    with pytest.raises(TryLater) as caught:
        await kube.get(CONFIGMAPS, "c", "default")
    assert (caught.value.after, str(caught.value)) == (1.0, "busy")


async def test_retry_after_is_honoured(api, kube):
    api.refuse(429, "TooManyRequests", "slow down", Retry_After="7")
    with pytest.raises(TryLater) as caught:
        await kube.get(CONFIGMAPS, "c", "default")
    assert caught.value.after == 7.0


async def test_what_is_not_there_is_not_found(api, kube):
    api.refuse(404, "NotFound", 'configmaps "c" not found')
    with pytest.raises(NotFound, match='configmaps "c" not found'):
        await kube.get(CONFIGMAPS, "c", "default")


def test_only_an_answer_that_names_the_object_says_that_it_is_not_there():
    named = b'{"kind":"Status","reason":"NotFound","details":{"name":"c","kind":"configmaps"},"code":404}'
    assert type(fault_of(Request("GET", "/x"), Response(404, {}, named))) is NotFound
    for body in (b"404 page not found\n", b'{"kind":"Status","reason":"NotFound","details":{},"code":404}', b""):
        assert isinstance(fault_of(Request("GET", "/x"), Response(404, {}, body)), NotServed)


def test_a_kind_that_is_being_deleted_takes_writes_again_once_it_is_made_anew():
    why = b'x.demo.io \\"a\\" is forbidden: create not allowed while custom resource definition is terminating'
    body = b'{"code":403,"reason":"Forbidden","message":"' + why + b'"}'
    assert isinstance(fault_of(Request("POST", "/x"), Response(403, {}, body)), TryLater)


async def test_a_version_no_longer_kept_is_expired(api, kube):
    api.refuse(410, "Expired", "too old")
    with pytest.raises(Expired):
        await kube.get(CONFIGMAPS, "c", "default")


async def test_a_refused_connection_is_to_be_tried_later(api, reach):
    kube = reach(api.url)
    await api.down()
    with pytest.raises(TryLater, match="cannot be reached") as caught:
        await kube.get(CONFIGMAPS, "c", "default")
    assert caught.value.after == 1.0
    await api.up()


def test_an_apply_of_an_unknown_field_is_no_matter_of_time():
    body = b'{"code":500,"message":"failed to create typed patch object (x): .spec.y: field not declared in schema"}'
    assert isinstance(fault_of(Request("PATCH", "/x"), Response(500, {}, body)), Denied)


def test_an_answer_without_a_status_is_quoted():
    fault = fault_of(Request("GET", "/x"), Response(403, {}, b"<h1>blocked</h1>"))
    assert str(fault) == "GET /x was answered 403: <h1>blocked</h1>"
    assert isinstance(fault, Denied)
    assert fault.reason == "Forbidden"
