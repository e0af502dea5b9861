"""Headers are encoded and decoded exactly as nats-py does it."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client
from nats.errors import BadHeaderError

from events.jetstream.client import NatsClient, decode_headers, encode_headers, own_headers

NAMES = st.from_regex(r"[A-Za-z0-9-]{1,20}", fullmatch=True)
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))


async def sent(kind: type[Client], headers: Mapping[str, str]) -> bytes:
    """What a client that is not connected would send."""
    client = kind()
    await client._send_publish("a.b", "reply", b"data", 4, dict(headers))
    assert client.stats["out_msgs"] == 1
    assert client.stats["out_bytes"] == 4
    return b"".join(client._pending)


@given(st.dictionaries(NAMES, VALUES, min_size=1))
async def test_the_encoded_bytes_are_those_of_nats_py(headers):
    assert encode_headers(headers) is not None
    assert await sent(NatsClient, headers) == await sent(Client, headers)


@pytest.mark.parametrize("value", ["a\r\nNats-Rollup: all", "a\nb", "a\rb", "\r\n"])
async def test_a_line_break_in_a_value_is_removed(value):
    found = await sent(NatsClient, {"a": "1", "reason": value})
    assert found == await sent(Client, {"a": "1", "reason": value})
    assert found.count(b"\r\n") == 6  # the command's, the first line's, one a header, the block's, the data's


@pytest.mark.parametrize("name", ["a\r\nb", "a:b", "a b", "ä"])
async def test_a_header_name_that_is_no_token_is_refused(name):
    with pytest.raises(BadHeaderError):
        await sent(NatsClient, {name: "1"})


async def test_unusual_names_that_nats_py_accepts_are_encoded_by_nats_py():
    headers = {"a_b": "1", " c ": "2", "": "3"}
    assert encode_headers(headers) is None
    assert await sent(NatsClient, headers) == await sent(Client, headers)


@given(st.dictionaries(NAMES, VALUES))
def test_encoded_headers_are_decoded_to_the_same(headers):
    block = encode_headers(headers) or b""
    lines = block.removeprefix(b"NATS/1.0\r\n")
    assert (
        decode_headers(lines)
        == Client._parse_header_lines(lines)
        == {name: value.strip() for name, value in headers.items()}
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"a:1\r\nb:\t2 \r\n\r\n",
        b"a: 1\r\na: 2\r\n\r\n",
        b"a: x: y\r\n\r\n",
        b"no colon\r\na: 1\r\n\r\n",
        b"nocolon\r\na: 1\r\n\r\n",
        b"a b: 1\r\nc: 2\r\n\r\n",
        b" a : 1\r\n\r\n",
        b"a: \xff\r\n\r\n",
        b"\xff: 1\r\nb: 2\r\n\r\n",
        b"a: \n1\r\n\r\n",
        "a: \u00a0\u20031\u2003\r\n\r\n".encode(),
        b"",
    ],
)
def test_any_bytes_are_decoded_as_nats_py_decodes_them(raw):
    assert NatsClient._parse_header_lines(raw) == Client._parse_header_lines(raw)


def test_headers_for_the_server_are_not_part_of_the_message():
    own = {"ce-id": "1", "traceparent": "2", "Nats-Schedule": "@at 2026-01-01T00:00:00Z"}
    assert own_headers({**own, "Nats-Msg-Id": "3", "Nats-Schedule-TTL": "4"}) == own
    assert own_headers(None) == {}
