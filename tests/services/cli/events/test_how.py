import json
import shlex

import msgspec
import pytest

from events.cloudevents import decode
from schemas.registry import declared
from schemas.requests import ExtendRequest
from services.cli.events.how import Stack, show, snippets
from services.errors import BadInput
from services.gateway.intake import colony_of
from services.local.folder import Absent

HERE = Stack("nats://127.0.0.1:4222", "http://127.0.0.1:8080/hooks", "/a folder/hooks")


def shown(found, tool=None, *, form="table") -> str:
    out: list[str] = []
    show(found, tool, form=form, write=out.append)
    return "".join(out)


def test_what_the_nats_command_sends_is_a_request_that_can_be_taken():
    words = shlex.split(shown(snippets(HERE, "acme", "train"), "nats").replace("\\\n", " "))
    headers = dict(words[at + 1].split(":", 1) for at, word in enumerate(words) if word == "-H")
    colony = colony_of(decode(headers, words[-1].encode()), ())
    assert (words[:3], words[-2]) == (["nats", "--server", HERE.nats], "cluster.requested")
    assert (colony["metadata"]["namespace"], colony["metadata"]["name"]) == ("acme", "train")


def test_what_lets_it_live_longer_is_a_word_on_the_cluster_that_was_asked_for():
    words = shlex.split(shown(snippets(HERE, "acme", "train"), "extend").replace("\\\n", " "))
    headers = dict(words[at + 1].split(":", 1) for at, word in enumerate(words) if word == "-H")
    event = decode(headers, words[-1].encode())
    assert event.type == declared(ExtendRequest).type
    assert words[-2] == "colony.extend.acme.train.gpu"
    assert msgspec.json.decode(event.data, type=ExtendRequest).time_to_live == "12h"


def test_what_curl_sends_is_the_same_event_in_structured_mode():
    words = shlex.split(shown(snippets(HERE, "acme", "train"), "curl").replace("\\\n", " "))
    event = decode({"content-type": "application/cloudevents+json"}, words[-1].encode())
    assert colony_of(event, ())["metadata"]["name"] == "train"
    assert "http://127.0.0.1:8080/hooks/cloudevents/acme/how" in words
    assert "/a folder/hooks/cloudevents.acme.how" in words


def test_the_python_snippet_is_python():
    compile(shown(snippets(HERE, "acme", "train"), "python"), "snippet", "exec")


def test_everything_is_shown_with_a_title_or_as_json():
    found = snippets(HERE, "acme", "train")
    assert shown(found).count("\n# ") + shown(found).startswith("# ") == len(found)
    items = json.loads(shown(found, form="json"))["items"]
    assert [each["tool"] for each in items] == ["nats", "python", "curl", "extend"]


def test_without_an_edge_there_is_no_curl():
    with pytest.raises(Absent, match="no edge"):
        shown(snippets(Stack(HERE.nats), "acme", "train"), "curl")


def test_a_tool_nobody_knows_is_refused():
    with pytest.raises(BadInput, match="must be one of nats, python, curl, extend"):
        shown(snippets(HERE, "acme", "train"), "telnet")


def test_where_a_key_is_needed_it_is_shown_with_the_inbox_it_allows():
    here = HERE._replace(key="/a folder/publisher.nk")
    words = shlex.split(shown(snippets(here, "acme", "train"), "nats").replace("\\\n", " "))
    assert words[3:7] == ["--nkey", "/a folder/publisher.nk", "--inbox-prefix", "_INBOX_publisher"]
    python = shown(snippets(here, "acme", "train"), "python")
    assert "nkeys_seed='/a folder/publisher.nk', inbox_prefix='_INBOX_publisher', error_cb=fail)" in python
