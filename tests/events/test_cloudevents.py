"""CloudEvents on NATS: the specification's own examples, and every value there and back."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cloudevents import CloudEvent, Malformed, decode, encode, escape, msg_id, unescape

REQUIRED = {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t"}
AT = datetime(2018, 4, 5, 17, 31, tzinfo=UTC)


def structured(body: str, media: str = "application/cloudevents+json") -> CloudEvent:
    return decode({"Content-Type": media}, body.encode())


def envelope(rest: str) -> str:
    return '{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"' + rest + "}"


# The NATS binding (nats-protocol-binding.md 3.1.3.2 and 3.1.4)


def test_the_euro_vector_of_the_specification():
    assert escape("Euro € \U0001f600") == "Euro%20%E2%82%AC%20%F0%9F%98%80"
    assert unescape("subject", "Euro%20%E2%82%AC%20%F0%9F%98%80") == "Euro € \U0001f600"


def test_lower_case_and_needless_escapes_are_read():
    assert unescape("subject", "%e2%82%ac%41") == "€A"


def test_an_overlong_encoding_is_refused():
    with pytest.raises(Malformed, match=r"subject is '%C0%A0'"):
        unescape("subject", "%C0%A0")


@pytest.mark.parametrize("value", ["%", "100%", "%zz", "%4", "%41\udcff"])
def test_half_an_escape_is_refused(value):
    with pytest.raises(Malformed, match="percent-encoding"):
        unescape("id", value)


def test_a_quoted_value_is_unquoted_before_it_is_unescaped():
    assert unescape("subject", r'"say \"hi\" %E2%82%AC"') == 'say "hi" €'


def test_the_binary_example_of_the_specification():
    headers = {
        "ce-specversion": "1.0",
        "ce-type": "com.example.someevent",
        "ce-time": "2018-04-05T03:56:24Z",
        "ce-id": "1234-1234-1234",
        "ce-source": "/mycontext/subcontext",
        "ce-datacontenttype": "application/json",
    }
    event = decode(headers, b"{}")
    assert event == CloudEvent(
        id="1234-1234-1234",
        source="/mycontext/subcontext",
        type="com.example.someevent",
        time=datetime(2018, 4, 5, 3, 56, 24, tzinfo=UTC),
        datacontenttype="application/json",
        data=b"{}",
    )
    assert encode(event) == (headers, b"{}")


def test_header_names_are_read_in_any_case():
    assert decode({name.upper(): value for name, value in REQUIRED.items()}, b"").id == "1"


def test_other_headers_are_not_the_events():
    event = decode({**REQUIRED, "traceparent": "00-1-1-01", "Nats-Msg-Id": "x", "ce-shard": "5"}, b"")
    assert event.extensions == {"shard": "5"}


def test_a_content_type_that_is_not_cloudevents_is_binary_mode():
    assert decode({**REQUIRED, "Content-Type": "application/json"}, b"[]").data == b"[]"


# The JSON format (json-format.md 3.2): structured in, the same event as its binary twin

TWINS = {
    "binary data": (
        '"datacontenttype": "application/vnd.apache.thrift.binary", "data_base64": "AAEC/w=="',
        "application/vnd.apache.thrift.binary",
        b"\x00\x01\x02\xff",
    ),
    "text data": (
        '"unsetextension": null, "datacontenttype": "application/xml", "data": "<much wow=\\"xml\\"/>"',
        "application/xml",
        b'<much wow="xml"/>',
    ),
    "an object": (
        '"subject": null, "datacontenttype": "application/json", "data": {"appinfoA" : "abc", "appinfoC" : true}',
        "application/json",
        b'{"appinfoA" : "abc", "appinfoC" : true}',
    ),
    "a number": ('"datacontenttype": "application/json", "data": 1.5', "application/json", b"1.5"),
    "a suffix": ('"datacontenttype": "application/x+json; a=b", "data": [1]', "application/x+json; a=b", b"[1]"),
    "no type": ('"data": "I\'m just a string"', "application/json", b'"I\'m just a string"'),
    "an explicit null": ('"data": null', "application/json", b"null"),
    "no type and base64": ('"data_base64": "eyAieHl6IjogMTIzIH0="', None, b'{ "xyz": 123 }'),
    "no data": ('"datacontenttype": "application/json"', "application/json", b""),
}


@pytest.mark.parametrize(("members", "media", "data"), TWINS.values(), ids=TWINS.keys())
def test_structured_mode_gives_the_event_of_its_binary_twin(members, media, data):
    head = '"specversion": "1.0", "type": "com.example.someevent", "source": "/mycontext", "id": "C234-1234-1234"'
    more = '"time": "2018-04-05T17:31:00Z", "comexampleextension1": "value", "comexampleothervalue": 5, "flag": true'
    event = structured(f"{{{head}, {more}, {members}}}")
    assert event == CloudEvent(
        id="C234-1234-1234",
        source="/mycontext",
        type="com.example.someevent",
        time=AT,
        datacontenttype=media,
        extensions={"comexampleextension1": "value", "comexampleothervalue": "5", "flag": "true"},
        data=data,
    )
    assert decode(*encode(event)) == event


@pytest.mark.parametrize(
    "media", ["application/cloudevents", "Application/CloudEvents+JSON", "application/cloudevents+json; charset=utf-8"]
)
def test_structured_mode_is_known_by_its_content_type(media):
    assert structured(envelope(""), media).id == "1"


def test_a_message_without_headers_is_structured():
    assert decode({}, envelope("").encode()).id == "1"


BROKEN = {
    "specversion is absent: expected 1.0": ({**REQUIRED, "ce-specversion": ""}, b""),
    "specversion is 0.3: expected 1.0": ({**REQUIRED, "ce-specversion": "0.3"}, b""),
    "the event has no id, no source": ({"ce-specversion": "1.0", "ce-type": "t"}, b""),
    "time is 'yesterday': expected RFC 3339": ({**REQUIRED, "ce-time": "yesterday"}, b""),
    "time is '2018-04-05T17:31:00': expected RFC 3339": ({**REQUIRED, "ce-time": "2018-04-05T17:31:00"}, b""),
    "'shard_no' cannot be an extension's name": ({**REQUIRED, "ce-shard_no": "1"}, b""),
    "'data' cannot be an extension's name": ({**REQUIRED, "ce-data": "1"}, b""),
    "the message is no CloudEvent in JSON": ({}, b"hello"),
    "in JSON: it is nested too deep": ({}, b'{"a":' * 100_000),
    "in JSON: 'utf-8' codec": ({}, b'{"\xff": 1}'),
    'id is "\ufffd": must be a string': ({}, b'{"specversion": "1.0", "id": "\xff", "source": "/s", "type": "t"}'),
    ": must be a string": ({}, envelope(', "datacontenttype": "text/plain", "data": "').encode() + b'\xff"}'),
    "cannot be read here": ({"Content-Type": "application/cloudevents-batch+json"}, b"[]"),
    "expected one of them": ({}, envelope(', "data": 1, "data_base64": "AA=="').encode()),
    "data_base64 is not base64": ({}, envelope(', "data_base64": "?"').encode()),
    "shard is 1.5: must be a string, an integer or a boolean": ({}, envelope(', "shard": 1.5').encode()),
    "data is 5: must be a string": ({}, envelope(', "datacontenttype": "text/plain", "data": 5').encode()),
}


@pytest.mark.parametrize(("sentence", "message"), BROKEN.items(), ids=BROKEN.keys())
def test_what_is_no_cloudevent_is_refused_in_one_sentence(sentence, message):
    with pytest.raises(Malformed) as why:
        decode(*message)
    assert sentence in str(why.value)
    assert "\n" not in str(why.value)


@pytest.mark.parametrize("name", ["Shard", "shard-no", "", "id", "data", "time"])
def test_an_extension_with_a_wrong_name_is_not_sent(name):
    with pytest.raises(Malformed, match="cannot be an extension's name"):
        encode(CloudEvent(id="1", source="/s", type="t", extensions={name: "1"}))


def test_a_time_without_a_zone_and_half_a_character_are_not_sent():
    with pytest.raises(Malformed, match="no time zone"):
        encode(CloudEvent(id="1", source="/s", type="t", time=AT.replace(tzinfo=None)))
    with pytest.raises(Malformed, match="lone surrogate"):
        encode(CloudEvent(id="\ud800", source="/s", type="t"))


# There and back

WORDS = st.text(min_size=1)
EVENTS = st.builds(
    CloudEvent,
    id=WORDS,
    source=WORDS,
    type=WORDS,
    subject=st.none() | WORDS,
    time=st.none() | st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])),
    datacontenttype=st.none() | WORDS,
    dataschema=st.none() | WORDS,
    extensions=st.dictionaries(st.from_regex(r"x[a-z0-9]{0,19}", fullmatch=True), st.text(), max_size=4),
    data=st.binary(),
)


@given(EVENTS)
def test_every_event_survives_the_round_trip(event):
    headers, data = encode(event)
    assert decode(headers, data) == event


@given(EVENTS)
def test_headers_are_printable_ascii_without_space_or_quote(event):
    headers, _ = encode(event)
    assert all("!" <= c <= "~" and c != '"' for value in headers.values() for c in value)


@given(st.text())
def test_escaping_a_value_is_undone_by_unescaping(value):
    assert unescape("x", escape(value)) == value


def test_source_and_id_make_an_event_one_of_a_kind():
    def event(source: str, identity: str) -> str:
        return msg_id(CloudEvent(id=identity, source=source, type="t"))

    assert event("/a", "1") == event("/a", "1")
    assert len({event("/a", "1"), event("/b", "1"), event("/a", "2"), event("/a1", "")}) == 4
