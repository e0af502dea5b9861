"""Each kind of sender, as it really sends: its delivery becomes one event, and a wrong proof none."""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest

from events.cloudevents import decode
from services.edge.webhooks.providers import PROVIDERS
from tests.services.edge.house import NOW, RUN, SECRET, WHSEC, House, bearer, github, standard

MERGE = {
    "object_kind": "merge_request",
    "project": {"web_url": "https://gitlab.example/acme/models"},
    "object_attributes": {"iid": 7, "id": 90, "action": "open", "updated_at": "2026-01-01 11:59:00 UTC"},
}
ALERTS = {
    "version": "4",
    "status": "firing",
    "groupKey": '{}:{alertname="QueueLong"}',
    "externalURL": "http://alertmanager.example",
    "alerts": [{"status": "firing", "labels": {"alertname": "QueueLong"}, "fingerprint": "f1"}],
}
PIPELINE: dict[str, Any] = {
    "context": {
        "specversion": "0.5.1",
        "id": "c-1",
        "source": "/tekton/models",
        "type": "dev.cdevents.pipelinerun.started.0.3.0",
        "timestamp": "2026-01-01T11:59:00Z",
    },
    "subject": {"id": "run-9", "type": "pipelineRun", "content": {"pipelineName": "train"}},
}
EVENT: dict[str, Any] = {"specversion": "1.0", "id": "e-1", "source": "/batch", "type": "com.acme.batch.queued"}
BINARY = {f"ce-{name}": value for name, value in EVENT.items()}
STRUCTURED = {"Content-Type": "application/cloudevents+json"}
GITLAB = {"Content-Type": "application/json", "X-Gitlab-Event": "Merge Request Hook"}


@dataclass(frozen=True)
class Sent:
    """One request and the event it is."""

    provider: str
    body: bytes
    headers: dict[str, str]
    id: str
    type: str
    source: str
    subject: str | None = None
    forged: dict[str, str] = field(default_factory=lambda: {"Authorization": "Bearer a-guess"})
    """Headers that make the proof wrong."""

    @property
    def path(self) -> str:
        return f"/hooks/{self.provider}/acme/ci"


def written(body: object) -> bytes:
    return json.dumps(body).encode()


def sends() -> dict[str, Sent]:
    merge, alerts, pipeline = written(MERGE), written(ALERTS), written(PIPELINE)
    order, task = written({"type": "order.paid", "data": {}}), written({"gpus": 8})
    project = "https://gitlab.example/acme/models"
    opened = ("com.gitlab.merge_request.open", project, "7")
    signed = {"webhook-signature": "v1,AAAA"}
    enveloped = EVENT | {name: PIPELINE["context"][name] for name in ("id", "source", "type")}
    return {
        "github": Sent(
            "github", written(RUN), github(written(RUN)), "d-1", "com.github.workflow_run.requested",
            "https://api.github.com/repos/acme/models", "4711", {"X-Hub-Signature-256": "sha256=00"},
        ),
        "standard": Sent(
            "standard", order, standard(order), "msg_1", "order.paid", "/hooks/standard/acme/ci", forged=signed
        ),
        "gitlab signed": Sent("gitlab", merge, GITLAB | standard(merge), "msg_1", *opened, signed),
        "gitlab token": Sent(
            "gitlab", merge, GITLAB | {"X-Gitlab-Token": SECRET, "Idempotency-Key": "k-1"}, "k-1", *opened,
            {"X-Gitlab-Token": "a guess"},
        ),
        "cloudevents binary": Sent(
            "cloudevents", task, bearer(task) | BINARY, "e-1", "com.acme.batch.queued", "/batch"
        ),
        "cloudevents structured": Sent(
            "cloudevents", written(EVENT | {"data": {"gpus": 8}}), bearer(b"") | STRUCTURED, "e-1",
            "com.acme.batch.queued", "/batch",
        ),
        "cdevents bare": Sent(
            "cdevents", pipeline, bearer(pipeline), "c-1", PIPELINE["context"]["type"], "/tekton/models", "run-9"
        ),
        "cdevents structured": Sent(
            "cdevents", written(enveloped | {"subject": "run-9", "data": PIPELINE}), bearer(b"") | STRUCTURED, "c-1",
            PIPELINE["context"]["type"], "/tekton/models", "run-9",
        ),
        "alertmanager": Sent(
            "alertmanager", alerts, bearer(alerts),
            sha256(alerts).hexdigest(), "io.prometheus.alertmanager.firing", "http://alertmanager.example",
            '{}:{alertname="QueueLong"}',
        ),
        "plain": Sent(
            "plain", task, bearer(task) | {"Idempotency-Key": "t-1"}, "t-1", "dev.alate.hook.plain",
            "/hooks/plain/acme/ci",
        ),
    }  # fmt: skip


SENDS = sends()
each_send = pytest.mark.parametrize("sent", SENDS.values(), ids=SENDS)


def test_every_provider_of_the_table_is_sent_from_here():
    assert {sent.provider for sent in SENDS.values()} == set(PROVIDERS)


@each_send
async def test_a_delivery_becomes_its_event_and_counts_once(house: House, sent: Sent):
    for _ in range(3):
        answer = await house.post(sent.path, sent.body, sent.headers)
        assert answer.status == 202, answer.body
    (kept,) = await house.kept()
    assert kept.data == sent.body
    event = decode(kept.headers, kept.data)
    assert (event.type, event.source, event.subject) == (sent.type, sent.source, sent.subject)
    assert event.id == answer.json["id"] == sent.id


@each_send
async def test_a_wrong_proof_is_refused_and_nothing_is_kept(house: House, sent: Sent):
    answer = await house.post(sent.path, sent.body, sent.headers | sent.forged)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"]
    assert await house.kept() == ()


@each_send
async def test_no_proof_at_all_is_refused(house: House, sent: Sent):
    headers = {name: value for name, value in sent.headers.items() if name not in sent.forged}
    assert (await house.post(sent.path, sent.body, headers)).status == 401


@each_send
async def test_a_body_that_is_cut_is_no_event(house: House, sent: Sent):
    answer = await house.post(sent.path, sent.body[:-1], sent.headers)
    # Binary CloudEvents carry any bytes, and a token signs none of them.
    assert answer.status == (
        202 if sent is SENDS["cloudevents binary"] else 401 if "signature" in str(sent.headers).lower() else 422
    )


@pytest.mark.parametrize("name", ["standard", "gitlab signed"])
@pytest.mark.parametrize(("off", "word"), [(timedelta(minutes=6), "future"), (-timedelta(minutes=6), "old")])
async def test_a_signed_time_that_is_not_now_is_refused(house: House, name, off, word):
    sent = SENDS[name]
    answer = await house.post(sent.path, sent.body, sent.headers | standard(sent.body, at=NOW + off))
    assert (answer.status, answer.json["field"]) == (401, "webhook-timestamp")
    assert word in answer.json["detail"]


async def test_a_time_or_an_id_that_was_changed_after_signing_is_refused(house: House):
    sent = SENDS["standard"]
    for changed in ({"webhook-id": "msg_2"}, {"webhook-timestamp": str(int(NOW.timestamp()) + 1)}):
        assert (await house.post(sent.path, sent.body, sent.headers | changed)).status == 401


async def test_one_good_signature_among_several_is_enough(house: House):
    sent = SENDS["standard"]
    several = {"webhook-signature": f"v1a,xyz v1,AAAA {sent.headers['webhook-signature']}"}
    assert (await house.post(sent.path, sent.body, sent.headers | several)).status == 202


async def test_the_vector_of_the_specification_is_signed_as_we_sign(house: House):
    """From Standard Webhooks' specification: secret, id, time, body, and what comes of them."""
    house.endpoint("standard.acme.ci", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    house.passes(seconds=1614265330 - NOW.timestamp())
    headers = {
        "Content-Type": "application/json",
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    assert (await house.post("/hooks/standard/acme/ci", b'{"test": 2432232314}', headers)).status == 202


@pytest.mark.parametrize("time", ["2026-01-01T12:06:00Z", "2025-12-24T00:00:00Z", "soon", "9999-12-31T23:59:59-23:00"])
async def test_an_event_from_another_time_is_refused(house: House, time):
    for headers in (BINARY | {"ce-time": time}, STRUCTURED):
        answer = await house.post("/hooks/cloudevents/acme/ci", written(EVENT | {"time": time}), bearer(b"") | headers)
        assert (answer.status, answer.json["detail"][:4]) == (422, "time")


WRONG = {
    "no id": ("cloudevents", {**EVENT, "id": ""}, "id"),
    "a version of the future": ("cloudevents", {**EVENT, "specversion": "2.0"}, "specversion"),
    "a long id": ("cloudevents", {**EVENT, "id": "x" * 300}, "id"),
    "another id in the envelope": ("cdevents", {**EVENT, "data": PIPELINE}, "context.id"),
}


@pytest.mark.parametrize(("provider", "body", "word"), WRONG.values(), ids=WRONG)
async def test_what_is_wrong_with_an_event_is_named(house: House, provider, body, word):
    answer = await house.post(f"/hooks/{provider}/acme/ci", written(body), bearer(b"") | STRUCTURED)
    assert answer.status == 422
    assert word in answer.json["detail"]


FIELDS = {
    "context.type": ("cdevents", PIPELINE | {"context": PIPELINE["context"] | {"type": "dev.acme.x"}}),
    "context.timestamp": ("cdevents", PIPELINE | {"context": PIPELINE["context"] | {"timestamp": "soon"}}),
    "context.id": ("cdevents", PIPELINE | {"context": PIPELINE["context"] | {"id": None}}),
    "status": ("alertmanager", ALERTS | {"status": "burning"}),
    "alerts": ("alertmanager", ALERTS | {"alerts": None}),
}


@pytest.mark.parametrize(("provider", "body", "field"), [(*sent, name) for name, sent in FIELDS.items()], ids=FIELDS)
async def test_the_field_that_is_wrong_is_named(house: House, provider, body, field):
    answer = await house.post(f"/hooks/{provider}/acme/ci", written(body), bearer(b""))
    assert (answer.status, answer.json["field"]) == (422, field)


async def test_a_batch_is_asked_for_one_by_one(house: House):
    batch = bearer(b"") | {"Content-Type": "application/cloudevents-batch+json"}
    answer = await house.post("/hooks/cloudevents/acme/ci", b"[]", batch)
    assert (answer.status, answer.json["field"]) == (415, "Content-Type")


async def test_attributes_that_no_header_could_hold_are_refused(house: House):
    many = {f"ce-x{number}": "x" * 8000 for number in range(3)}
    answer = await house.post("/hooks/cloudevents/acme/ci", b"{}", bearer(b"") | BINARY | many)
    assert answer.status == 422
    assert "too long" in answer.json["detail"]


async def test_a_sender_that_asks_first_is_told_that_it_may_and_how_much(house: House):
    asked = {"WebHook-Request-Origin": "eventemitter.example.com"}
    answer = await house.ask("OPTIONS", "/hooks/cloudevents/acme/ci", headers=asked)
    assert answer.status == 200
    assert answer.headers["WebHook-Allowed-Origin"] == "eventemitter.example.com"
    assert answer.headers["WebHook-Allowed-Rate"] == "3000"


@pytest.mark.parametrize(
    ("path", "status"),
    [("/hooks/cloudevents/acme/ci", 400), ("/hooks/cloudevents/acme/x", 404), ("/hooks/github/acme/ci", 405)],
)
async def test_a_sender_that_may_not_is_told_why(house: House, path, status):
    assert (await house.ask("OPTIONS", path)).status == status


async def test_a_damaged_secret_of_ours_opens_to_nobody_and_the_good_one_stays(house: House):
    house.endpoint("standard.acme.ci", "whsec_no base64!", WHSEC)
    sent = SENDS["standard"]
    assert (await house.post(sent.path, sent.body, sent.headers)).status == 202
    house.endpoint("standard.acme.ci", "whsec_no base64!")
    assert (await house.post(sent.path, sent.body, sent.headers)).status == 404
