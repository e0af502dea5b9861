"""What is sent is right by the rules of whoever receives it."""

import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from typing import Any

import msgspec
import pytest

from events.bus import Stored
from events.cloudevents import decode
from schemas.subjects import Key
from services.outbound.formats import LONGEST, ClusterLife, Notification, cluster_life, request
from services.outbound.targets import Target
from tests.services.outbound.world import EPOCH, SECRET, SHA, event, wish

KEY = Key("cluster", "acme", "train-gpu")
FRESH = ClusterLife(newest=True, was_ready=False)
AGAIN = ClusterLife(newest=True, was_ready=True)
OLD = ClusterLife(newest=False, was_ready=False)


def sent(
    form: str, name: str, life: ClusterLife = FRESH, secrets: tuple[bytes, ...] = (SECRET.encode(),), **state: Any
):
    target = Target(name="ci", format=form, url="https://ci.example.com/api")
    return request(target, Notification(event(name, **state), KEY, life, EPOCH), secrets)


def signed(secret: str, name: str, stamp: str, body: bytes) -> str:
    key = b64decode(secret.removeprefix("whsec_"))
    return "v1," + b64encode(hmac.new(key, f"{name}.{stamp}.".encode() + body, hashlib.sha256).digest()).decode()


def test_a_webhook_is_the_event_in_json_signed_by_every_secret():
    other = "whsec_" + b64encode(b"another").decode()
    found = sent("cloudevents", "ready", secrets=(SECRET.encode(), other.encode()))
    name, stamp = found.headers["webhook-id"], found.headers["webhook-timestamp"]
    assert stamp == str(int(EPOCH.timestamp()))
    assert found.headers["webhook-signature"].split() == [signed(s, name, stamp, found.body) for s in (SECRET, other)]
    as_json = msgspec.structs.replace(event("ready"), datacontenttype="application/json")
    assert decode({"Content-Type": found.headers["Content-Type"]}, found.body) == as_json


def test_the_same_event_has_the_same_id_for_ever_and_another_one_another():
    ids = [sent("cloudevents", name, number=n).headers["webhook-id"] for name, n in (("ready", 1), ("ready", 1))]
    assert len(set(ids)) == 1
    assert sent("cloudevents", "ready", number=2).headers["webhook-id"] not in ids


@pytest.mark.parametrize(
    ("name", "life", "predicate"),
    [
        ("ready", FRESH, "created"),
        ("ready", OLD, "created"),
        ("ready", AGAIN, "modified"),
        ("released", AGAIN, "deleted"),
        ("released", FRESH, None),
        ("launching", FRESH, None),
    ],
)
def test_a_cluster_is_an_environment_from_when_it_is_ready(name, life, predicate):
    found = sent("cdevents", name, life)
    if predicate is None:
        assert found is None
        return
    body = json.loads(found.body)
    inner = body["data"]
    kind = f"dev.cdevents.environment.{predicate}.0.3.0"
    assert (body["type"], inner["context"]["type"], inner["context"]["specversion"]) == (kind, kind, "0.5.1")
    assert {n: body[n] for n in ("id", "source")} == {n: inner["context"][n] for n in ("id", "source")}
    assert body["subject"] == inner["subject"]["id"] == "acme/train-gpu"
    assert inner["subject"]["content"] == {"name": "train-gpu"}
    assert inner["context"]["chainId"] == "flow"


@pytest.mark.parametrize("form", ["cdevents", "github"])
def test_that_a_ready_cluster_is_to_go_is_no_news_of_it(form):
    assert sent(form, "ready", AGAIN, wish=wish() | {"deleting": True}) is None


@pytest.mark.parametrize(
    ("name", "github", "gitlab"),
    [
        ("pending", "pending", "pending"),
        ("waiting", "pending", "pending"),
        ("launching", "pending", "running"),
        ("provisioned", "pending", "running"),
        ("ready", "success", "success"),
        ("stalled", "failure", "failed"),
        ("releasing", "pending", "running"),
        ("released", "error", "canceled"),
    ],
)
def test_a_commit_shows_how_its_cluster_stands(name, github, gitlab):
    hub = sent("github", name, secrets=(b"token",))
    assert hub.url == f"https://ci.example.com/api/repos/acme/models/statuses/{SHA}"
    assert hub.headers["Authorization"] == "Bearer token"
    assert json.loads(hub.body) == {
        "state": github, "context": "alate/train-gpu", "description": f"cluster {name}",
    }  # fmt: skip
    lab = sent("gitlab", name, secrets=(b"token",), wish=wish(f"gitlab:acme/deep/models@{SHA}"))
    assert lab.url == f"https://ci.example.com/api/projects/acme%2Fdeep%2Fmodels/statuses/{SHA}"
    assert lab.headers["PRIVATE-TOKEN"] == "token"
    assert json.loads(lab.body)["state"] == gitlab


@pytest.mark.parametrize(
    ("name", "life", "commit"),
    [
        ("launching", OLD, f"github:acme/models@{SHA}"),
        ("releasing", AGAIN, f"github:acme/models@{SHA}"),
        ("released", AGAIN, f"github:acme/models@{SHA}"),
        ("ready", FRESH, f"gitlab:acme/models@{SHA}"),
        ("ready", FRESH, ""),
    ],
    ids=["old", "what was ready goes", "what was ready is gone", "another forge", "no commit"],
)
def test_a_commit_is_not_told(name, life, commit):
    assert sent("github", name, life, wish=wish(commit)) is None


def test_a_long_reason_is_cut():
    said = json.loads(sent("github", "stalled", message="x" * 500).body)["description"]
    assert len(said) == LONGEST
    assert said.startswith("cluster stalled: xxx")


@pytest.mark.parametrize(
    "slug", ["../..", "acme/..", "./models", "acme", "a/b/c", "acme/mod els", "acme/x?y", "acme/x#y"]
)
def test_no_repository_leads_to_another_address_of_the_forge(slug):
    assert sent("github", "ready", wish=wish(f"github:{slug}@{'0' * 40}")) is None


def history(*events: str) -> list[Stored]:
    return [Stored(f"cluster.{each}.acme.train-gpu", b"", {"ce-id": str(n)}) for n, each in enumerate(events)]


@pytest.mark.parametrize(
    ("events", "asked", "expected"),
    [
        (("pending", "ready"), 1, ClusterLife(newest=True, was_ready=False)),
        (("pending", "ready", "provisioned"), 1, ClusterLife(newest=False, was_ready=False)),
        (("ready", "provisioned", "ready"), 2, ClusterLife(newest=True, was_ready=True)),
        (("ready", "releasing", "released"), 2, ClusterLife(newest=True, was_ready=True)),
        (("ready", "released", "pending", "ready"), 3, ClusterLife(newest=True, was_ready=False)),
        (("pending", "released"), 1, ClusterLife(newest=True, was_ready=False)),
        (("pending",), 7, ClusterLife(newest=False, was_ready=False)),
        ((), 0, ClusterLife(newest=False, was_ready=False)),
    ],
)
def test_an_event_is_new_or_old_and_comes_after_readiness_or_before(events, asked, expected):
    assert cluster_life(history(*events), str(asked)) == expected
