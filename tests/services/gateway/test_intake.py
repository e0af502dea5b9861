"""Whatever anyone publishes becomes a Colony or a dead letter with one clear sentence, and the next one is taken."""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from events.bus import Message
from events.cloudevents import CloudEvent, encode
from events.errors import Denied, NotFound, TryLater
from events.memory.bus import MemoryBus, wall_clock
from events.rpc import Endpoint, RpcService
from events.streams import REASON, STREAMS
from schemas.registry import Stream
from services.gateway.intake import CONSUMER, LARGEST, IntakeWorker
from services.runtime.consumer import ATTEMPTS, LONGEST
from tests.context import context

pytestmark = pytest.mark.looptime

SPEC = {"clusters": [{"name": "a", "pools": [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}]}]}
NAMED = {"clusters": [{**SPEC["clusters"][0], "pools": [{"name": "gpu", **SPEC["clusters"][0]["pools"][0]}]}]}
ASKED = {"tenant": "acme", "name": "train", "spec": SPEC}


class FakeKube:
    """Keeps what is applied; answers as it is told."""

    def __init__(self):
        self.away_until = 0.0
        self.asked = 0
        self.applied = []
        self.deleted = []
        self.patched = []
        self.answers = []

    async def get(self, resource, name, namespace):
        found = [wanted for *_, wanted in self.applied if wanted["metadata"]["name"] == name]
        if not found:
            raise NotFound(f"{name} is not there")
        return found[-1] | {"metadata": found[-1]["metadata"] | {"uid": "u-1"}}

    async def patch(self, resource, name, namespace, patch, *, kind="merge", manager):
        if asyncio.get_running_loop().time() < self.away_until:
            raise TryLater("no answer")
        self.patched += patch if kind == "json" else [patch]
        return {}

    async def delete(self, resource, name, namespace, *, uid):
        if self.answers:
            raise self.answers.pop(0)
        self.deleted.append((name, namespace, uid))
        return {}

    async def apply(self, resource, wanted, *, manager):
        self.asked += 1
        if asyncio.get_running_loop().time() < self.away_until:
            raise TryLater("no answer")
        if self.answers:
            raise self.answers.pop(0)
        self.applied.append((resource.kind, manager, wanted))
        return wanted


@pytest.fixture
async def house():
    bus, kube = MemoryBus(), FakeKube()
    task = asyncio.create_task(IntakeWorker(context(bus, wall_clock), kube).run())

    async def _ask(data=ASKED, subject="cluster.requested", **raw):
        event = CloudEvent(
            id="e1", source="/me", type="dev.alate.cluster.request", time=datetime(2026, 1, 1, tzinfo=UTC),
            data=data if isinstance(data, bytes) else json.dumps(data).encode(),
        )  # fmt: skip
        headers, body = encode(event)
        await bus.publish(Message(subject, raw.get("body", body), raw.get("headers", headers)))
        await asyncio.sleep(0.01)
        letters = await bus.read("DLQ", ">")
        return letters[-1].headers[REASON] if letters else ""

    ask: Any = _ask
    ask.kube, ask.bus, ask.task = kube, bus, task
    yield ask
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_request_becomes_a_colony_that_says_where_it_came_from(house):
    assert await house(ASKED | {"origin": "slurm"}) == ""
    ((kind, manager, colony),) = house.kube.applied
    (asked,) = SPEC["clusters"]
    assert (kind, manager) == ("Colony", "alate-intake")
    assert colony["spec"] == {"clusters": [asked | {"askedAt": "2026-01-01T00:00:00Z"}]}
    assert colony["metadata"] == {
        "name": "train",
        "namespace": "acme",
        "labels": {"alate.dev/origin": "slurm"},
        "annotations": {"alate.dev/event-id": "e1"},
    }


async def test_a_request_that_says_when_it_asks_is_taken_at_its_word(house):
    (asked,) = SPEC["clusters"]
    earlier = asked | {"askedAt": "2025-12-24T18:00:00Z"}
    assert await house(ASKED | {"spec": {"clusters": [earlier]}}) == ""
    assert house.kube.applied[0][2]["spec"]["clusters"] == [earlier]


async def test_a_request_from_the_future_asks_when_it_came_in(house):
    late = encode(CloudEvent(id="e4", source="/me", type="x", time=datetime(2999, 1, 1, tzinfo=UTC), data=b"{}"))[0]
    assert await house(headers=late, data=ASKED) == ""
    (asked,) = house.kube.applied[0][2]["spec"]["clusters"]
    assert datetime.fromisoformat(asked["askedAt"]) <= wall_clock()


async def test_a_request_in_structured_mode_is_taken_too(house):
    whole = {"specversion": "1.0", "id": "e2", "source": "/me", "type": "dev.alate.cluster.request", "data": ASKED}
    body = json.dumps(whole).encode()
    assert await house(headers={"content-type": "application/cloudevents+json"}, body=body) == ""
    assert house.kube.applied[0][2]["metadata"]["annotations"] == {"alate.dev/event-id": "e2"}


async def test_a_colony_bears_the_trace_of_the_request_it_was_made_of(house):
    trace = f"00-{'1' * 32}-{'b' * 16}-01"
    headers, body = encode(CloudEvent(id="e3", source="/me", type="x", data=json.dumps(ASKED).encode()))
    assert await house(headers=headers | {"traceparent": trace}, body=body) == ""
    wanted = {"alate.dev/event-id": "e3", "alate.dev/traceparent": trace}
    assert house.kube.applied[0][2]["metadata"]["annotations"] == wanted


async def test_a_tenants_own_subject_takes_requests_of_that_tenant_alone(house):
    assert await house(subject="cluster.requested.acme") == ""
    reason = await house(subject="cluster.requested.other")
    assert reason == ("cluster.requested.other: the subject is of tenant other, the request of acme: must be equal")
    assert len(house.kube.applied) == 1


DEEP = b'{"tenant": "acme", "name": "train", "spec": {"clusters": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b'{"tenant": "\xff"}', "utf-8"),
        ({"name": "train", "spec": SPEC}, "missing required field `tenant`"),
        (ASKED | {"colour": "red"}, "unknown field `colour`"),
        (ASKED | {"name": "No Name"}, "metadata.name"),
        (ASKED | {"spec": {}}, "spec.clusters is missing"),
        (ASKED | {"spec": SPEC | {"cluster": 1}}, "spec.cluster is no known field"),
        (DEEP, "nested"),
        (b" " * (LARGEST + 1), f"the request has {LARGEST + 1} bytes: at most {LARGEST} are taken"),
    ],
    ids=["empty", "half", "bytes", "no tenant", "unknown", "name", "no clusters", "typo", "deep", "large"],
)
async def test_what_can_never_be_a_colony_is_a_dead_letter_and_the_next_is_taken(house, data, why):
    reason = await house(data)
    assert reason.startswith("cluster.requested: ")
    assert why in reason
    assert house.kube.applied == []
    await house()
    assert len(house.kube.applied) == 1


async def test_what_is_no_cloudevent_is_a_dead_letter(house):
    assert "specversion" in await house(headers={"ce-id": "1"})
    assert "no CloudEvent" in await house(headers={}, body=b"hello")
    assert "nested" in await house(headers={}, body=DEEP)
    await house()
    assert len(house.kube.applied) == 1


async def test_a_subject_nobody_can_read_is_a_dead_letter_too(house):
    assert "must be equal" in await house(subject="cluster.requested._FF")
    await house()
    assert len(house.kube.applied) == 1


async def asking(house, inbox="_INBOX.ci.1", **asked) -> list[dict]:
    """What is told to who asks, and names an inbox."""
    told = []

    async def hear(data: bytes) -> bytes:
        told.append(json.loads(data))
        return b""

    desk = RpcService("ci", "1.0.0", "", (Endpoint("told", inbox, hear),))
    listening = asyncio.create_task(house.bus.again().answer(desk))
    await asyncio.sleep(0)
    event = CloudEvent(id="run-1", source="/ci", type="dev.alate.cluster.request", data=json.dumps(asked).encode())
    headers, body = encode(event)
    await house(headers=headers | {"Alate-Reply-To": inbox}, body=body)
    listening.cancel()
    return told


async def test_whoever_names_an_inbox_is_told_that_a_request_is_taken(house):
    assert await asking(house, **ASKED) == [{"id": "run-1", "accepted": True, "colony": "train", "reason": ""}]


async def test_whoever_names_an_inbox_is_told_what_is_wrong_and_it_is_kept(house):
    (told,) = await asking(house, **ASKED | {"name": "No Name"})
    assert (told["accepted"], told["colony"]) == (False, "")
    (letter,) = await house.bus.read("DLQ", ">")
    assert told["reason"] == letter.headers[REASON]


async def test_nothing_is_said_where_no_inbox_is(house):
    assert await asking(house, "cluster.ready.acme.x", **ASKED) == []
    assert await house.bus.count("EVENTS", ">") == 0


async def test_what_the_api_server_refuses_is_a_dead_letter_with_its_reason(house):
    house.kube.answers = [Denied("namespaces acme not found", "NotFound")]
    assert await house() == "cluster.requested: namespaces acme not found"


async def test_an_api_server_that_is_away_is_asked_again(house):
    house.kube.answers = [TryLater("no answer", 2.0)]
    assert await house() == ""
    assert house.kube.applied == []
    await asyncio.sleep(3)
    assert len(house.kube.applied) == 1


async def test_requests_wait_as_long_as_the_api_server_is_away(house):
    house.kube.away_until = 15 * 60
    for number in range(20):
        await house(ASKED | {"name": f"train-{number}"})
    await asyncio.sleep(15 * 60 + LONGEST)
    assert await house.bus.count("DLQ", ">") == 0
    assert sorted(colony["metadata"]["name"] for *_, colony in house.kube.applied) == sorted(
        f"train-{number}" for number in range(20)
    )
    assert await house.bus.unanswered(CONSUMER) == 0


async def test_an_api_server_that_stays_away_is_asked_less_and_less_often(house):
    house.kube.away_until = 15 * 60
    await house()
    await asyncio.sleep(15 * 60)
    assert 15 <= house.kube.asked <= 30


async def test_a_request_waits_shorter_than_its_stream_keeps_it():
    (kept,) = [spec.max_age for spec in STREAMS if spec.name == Stream.INTAKE]
    assert CONSUMER.max_deliver * LONGEST < kept


async def test_a_request_over_which_our_code_fails_once_is_tried_again(house):
    house.kube.answers = [ZeroDivisionError("ours")]
    await house()
    assert house.kube.applied == []
    await asyncio.sleep(10)
    assert len(house.kube.applied) == 1
    assert await house.bus.read("DLQ", ">") == ()


async def test_a_request_over_which_our_code_fails_repeatedly_is_a_dead_letter_and_the_next_is_taken(house):
    house.kube.answers = [ZeroDivisionError("ours")] * ATTEMPTS
    await house()
    await asyncio.sleep(600)
    (letter,) = await house.bus.read("DLQ", ">")
    assert letter.headers[REASON] == "cluster.requested: a fault of alate's own, described in its log"
    await house()
    assert len(house.kube.applied) == 1


RELEASED = {"tenant": "acme", "name": "train"}
TRACE = f"00-{'1' * 32}-{'b' * 16}-01"
SUBJECT = "colony.release.acme.train"


async def test_a_colony_that_is_released_is_deleted_and_no_other_incarnation(house):
    await house()
    assert await house(RELEASED, SUBJECT) == ""
    assert house.kube.deleted == [("train", "acme", "u-1")]


async def test_a_colony_that_is_released_says_by_what_and_in_which_trace(house):
    await house()
    headers = {"ce-specversion": "1.0", "ce-id": "e2", "ce-source": "/me", "ce-type": "t", "traceparent": TRACE}
    await house(RELEASED, SUBJECT, headers=headers)
    said = {"alate.dev/release-id": "e2", "alate.dev/release-traceparent": TRACE}
    assert house.kube.patched == [{"metadata": {"uid": "u-1", "annotations": said}}]


async def test_a_colony_that_goes_already_keeps_what_it_says_of_its_end(house):
    await house()
    house.kube.applied[-1][-1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert await house(RELEASED, SUBJECT) == ""
    assert (house.kube.patched, len(house.kube.deleted)) == ([], 1)


async def test_a_release_by_force_says_so_on_the_colony_also_when_it_goes_already(house):
    await house()
    house.kube.applied[-1][-1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert await house(RELEASED | {"force": True}, SUBJECT) == ""
    assert house.kube.patched == [{"metadata": {"uid": "u-1", "annotations": {"alate.dev/force": "true"}}}]


async def test_a_release_of_what_is_gone_is_done(house):
    assert await house(RELEASED, SUBJECT) == ""
    assert house.kube.deleted == []
    assert await house.bus.unanswered(CONSUMER) == 0


async def test_a_release_by_origin_spares_what_others_made(house):
    await house(ASKED | {"origin": "slurm"})
    reason = await house(RELEASED | {"origin": "ci"}, SUBJECT)
    assert reason == f"{SUBJECT}: Colony train is of origin slurm, not of ci"
    assert house.kube.deleted == []
    await house(RELEASED | {"origin": "slurm"}, SUBJECT)
    assert len(house.kube.deleted) == 1


async def test_a_release_is_of_what_its_subject_names(house):
    await house()
    reason = await house(RELEASED, "colony.release.acme.other")
    assert reason == "colony.release.acme.other: the subject names acme/other, the request acme/train: must be equal"
    assert "missing required field" in await house({"name": "train"}, SUBJECT)


SCALED = {"tenant": "acme", "name": "train", "cluster": "a", "nodes": {"gpu": 3}}
SCALE = "colony.scale.acme.train.a"


async def test_a_word_that_scales_is_written_into_the_colony(house):
    await house(ASKED | {"spec": NAMED})
    assert await house(SCALED, SCALE) == ""
    assert [step["value"] for step in house.kube.patched] == ["a", "gpu", 3]


async def test_the_last_word_on_a_cluster_counts(house):
    await house(ASKED | {"spec": NAMED})
    house.kube.away_until = asyncio.get_running_loop().time() + 10
    for nodes in (3, 5, 2):
        await house(SCALED | {"nodes": {"gpu": nodes}}, SCALE)
    await asyncio.sleep(60)
    assert [step["value"] for step in house.kube.patched if step["op"] == "replace"] == [2]


async def test_a_word_that_scales_what_is_not_there_is_a_dead_letter_that_says_what_is(house):
    await house(ASKED | {"spec": NAMED})
    assert await house(SCALED | {"nodes": {"cpu": 1}}, SCALE) == f"{SCALE}: cluster a has no pool cpu: it has gpu"
    assert "must be equal" in await house(SCALED, "colony.scale.acme.train.b")
    assert "is not there" in await house(SCALED | {"name": "other"}, "colony.scale.acme.other.a")


MORTAL = {"clusters": [SPEC["clusters"][0] | {"timeToLive": "6h"}]}
EXTENDED = {"tenant": "acme", "name": "train", "cluster": "a", "timeToLive": "12h"}
EXTEND = "colony.extend.acme.train.a"


async def test_a_word_that_extends_a_life_is_written_into_the_colony(house):
    await house(ASKED | {"spec": MORTAL})
    assert await house(EXTENDED, EXTEND) == ""
    assert [step["value"] for step in house.kube.patched] == ["a", "6h", "12h"]


async def test_a_word_that_would_shorten_a_life_is_followed_already(house):
    await house(ASKED | {"spec": MORTAL})
    assert await house(EXTENDED | {"timeToLive": "5h"}, EXTEND) == ""
    assert (house.kube.patched, await house.bus.unanswered(CONSUMER)) == ([], 0)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ({"timeToLive": "soon"}, "timeToLive is 'soon': must be a duration such as 90s or 1h30m"),
        ({"cluster": "b"}, "the subject names acme/train/a, the request acme/train/b: must be equal"),
        ({"until": "2027-01-01"}, "Object contains unknown field `until`"),
    ],
)
async def test_a_word_that_extends_and_cannot_be_read_says_what_would_be_right(house, word, sentence):
    await house(ASKED | {"spec": MORTAL})
    assert await house(EXTENDED | word, EXTEND) == f"{EXTEND}: {sentence}"


async def test_a_life_that_is_ending_is_not_extended_and_the_dead_letter_says_so(house):
    await house(ASKED | {"spec": MORTAL})
    house.kube.applied[0][2]["status"] = {"clusters": [{"name": "a", "phase": "Releasing"}]}
    assert "is being released" in await house(EXTENDED, EXTEND)
    assert house.kube.patched == []


async def test_a_request_that_comes_again_after_its_release_founds_nothing(house):
    house.kube.answers = [TryLater("no answer", 2.0)]
    await house()
    await house(RELEASED, SUBJECT)
    await asyncio.sleep(5)
    assert house.kube.applied == []
    await house()
    assert len(house.kube.applied) == 1


async def test_a_request_of_one_id_counts_once_in_a_week(house):
    for _ in range(3):
        await house.bus.publish(Message("cluster.requested", b""), msg_id="once")
    assert await house.bus.count("INTAKE", ">") == 1
