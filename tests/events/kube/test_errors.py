"""Every status of a Kubernetes API is shown to mean one fault."""

import pytest

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Request, Response
from events.kube.errors import Expired, NotServed, fault_of
from events.kube.resources import CONFIGMAPS

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
    assert fault.reason == "Forbidden"
