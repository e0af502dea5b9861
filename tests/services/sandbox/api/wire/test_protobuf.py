"""What typed clients send as protobuf is read; what is not understood is said to be so."""

import pytest

from services.sandbox.api.status import StatusError
from services.sandbox.api.wire import protobuf

SECRETS = "/api/v1/namespaces/default/secrets"


def varint(value):
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def envelope(api_version, kind, raw):
    return b"k8s\0" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + field(3, "") + field(4, "")


META = field(1, "s") + field(2, "") + field(11, field(1, "app") + field(2, "x"))
SECRET = envelope("v1", "Secret", field(1, META) + field(2, field(1, "k") + field(2, b"\xff\x00")) + field(3, "Opaque"))


def test_a_secret_is_read_and_empty_texts_are_absent():
    assert protobuf.decode(SECRET) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "labels": {"app": "x"}},
        "data": {"k": "/wA="},
        "type": "Opaque",
    }


def test_numbers_quantities_and_embedded_structs_are_read():
    resources = field(1, field(1, "cpu") + field(2, field(1, "500m")))
    probe = field(1, field(2, field(1, "/") + field(2, field(1, 0) + field(2, 80)))) + field(4, 5)
    container = field(1, "c") + field(8, resources) + field(10, probe)
    template = field(2, field(2, container) + field(4, (1 << 64) - 1) + field(11, 1))
    job = protobuf.decode(envelope("batch/v1", "Job", field(2, field(6, template))))
    assert job["spec"]["template"]["spec"] == {
        "containers": [
            {
                "name": "c",
                "resources": {"limits": {"cpu": "500m"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5},
            }
        ],
        "terminationGracePeriodSeconds": -1,
        "hostNetwork": True,
    }


@pytest.mark.parametrize(
    "body",
    [envelope("v1", "Endpoints", b""), envelope("v1", "Secret", field(99, "x"))],
    ids=["kind", "field"],
)
def test_what_is_not_in_the_table_is_no_media_type(body):
    with pytest.raises(StatusError) as refused:
        protobuf.decode(body)
    assert refused.value.code == 415


@pytest.mark.parametrize("body", [b"{}", b"k8s\0\x0a\xff", b"k8s\0\x0b\x01", SECRET[:20]], ids=repr)
def test_what_is_cut_or_garbled_is_a_bad_request(body):
    with pytest.raises(StatusError) as refused:
        protobuf.decode(body)
    assert refused.value.code == 400


async def test_it_is_a_body_like_any_other(client):
    made = await client.ask("POST", SECRETS, SECRET, protobuf.MEDIA)
    assert (made.status, made["data"]) == (201, {"k": "/wA="})
    options = envelope("v1", "DeleteOptions", field(4, "Background"))
    assert (await client.ask("DELETE", f"{SECRETS}/s", options, protobuf.MEDIA)).status == 200
