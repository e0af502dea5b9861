"""Denied means denied: every role tries every subject there is on a real nats-server with the shipped accounts."""

import asyncio
import json
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from events.bus import CaughtUp, Expect, Message, Timer
from events.errors import Denied
from schemas.registry import Stream
from schemas.subjects import matcher
from services.roles import PEOPLE, ROLES, SERVICES, tenant
from tests.deploy.house import (
    ACME,
    DURABLES,
    EVERYBODY,
    OTHERS,
    House,
    example,
    house,
    of_durables,
    of_streams,
    owned,
    subjects,
)

BY_NAME = {role.name: role for role in EVERYBODY}
MEMBERS = "KV_alate-members"
PEOPLE_LISTING = {"operator", "reader"}
LISTING = {*PEOPLE_LISTING, "edge"}
LISTERS = {"OUTBOUND": {"edge"}}
"""Who sees how far a stream's consumers are, and nothing of what it holds."""
READERS = {
    "EVENTS": {"gateway", "inventory", "provisioning", "addons", "teardown", "outbound", "edge", "operator", "reader"},
    "LEVELS": {"gateway", "inventory", "provisioning", "addons", "edge", "operator", "reader"},
    "INTAKE": {"edge", "operator", "reader"},
    "HOOKS": {"edge", "operator"},
    "OUTBOUND": {"operator", "reader"},
    "DLQ": {"edge", "operator", "reader"},
    "ADVISORY": {"operator", "reader"},
    MEMBERS: {*(role.name for role in SERVICES), "operator", "reader"},
    "KUBE": {"sandbox"},
}
LOOKERS = {"INTAKE": {"gateway"}, "LEVELS": {"teardown"}}
PURGERS = {
    "EVENTS": {"provisioning", "addons", "teardown"},
    "LEVELS": {"gateway"},
    "DLQ": {"operator"},
    "KUBE": {"sandbox"},
}
OWNER = {each.domain: each.owner for _, _, each in owned() if each.stream is Stream.EVENTS}
OF_ACME = (
    "JS.API.DIRECT.GET.EVENTS.cluster.*.acme.x",
    "JS.API.DIRECT.GET.LEVELS.inventory.nodes.acme.x.x",
)
LISTENING = {
    "$SRV.PING": {"inventory"},
    "$SRV.INFO.alate-inventory": {"inventory"},
    "$SRV.PING.another": set(),
    "ask.inventory.nodes": {"inventory"},
    "cluster.*.acme.*": {"tenant-acme"},
    "inventory.nodes.acme.*.*": {"tenant-acme"},
    **{each: set() for each in (">", "*", "$SYS.>", "$JS.>", "$JS.API.>", "JS.API.>", "_INBOX.>", "*.x.>")},
    **{
        each: set()
        for each in ("cluster.>", "cluster.*.*.*", "cluster.*.other.*", "inventory.>", "cluster.requested.*")
    },
    **{each: set() for each in ("hook.>", "kube.>", "dlq.>", "due.>", "timer.>", "observed.wish.other.*")},
    **{f"{role.inbox}.>": {role.name} for role in EVERYBODY},
}


def of_stream(verb: str, stream: str) -> set[str]:
    """Who may do it to the stream."""
    makers, readers = {"sandbox"} if stream == "KUBE" else {"setup"}, READERS[stream]
    return {
        **dict.fromkeys(("CREATE", "UPDATE"), makers),
        "INFO": makers | readers,
        "DIRECT.GET": readers | LOOKERS.get(stream, set()),
        "PURGE": PURGERS.get(stream, set()),
        "MSG.DELETE": {"DLQ": {"operator", "edge"}, "KUBE": {"sandbox"}}.get(stream, set()),
        **dict.fromkeys(("mine CREATE", "mine DELETE", "mine INFO", "flow"), readers - {"reader"}),
        "CONSUMER.LIST": readers & LISTING | LISTERS.get(stream, set())
        if stream != MEMBERS
        else readers & PEOPLE_LISTING,
    }.get(verb, set())


def who_may() -> dict[str, set[str]]:
    """By subject, who may publish there; nobody, where it is not named."""
    allowed: dict[str, set[str]] = {}
    for subject, whose, each in owned():
        anyone = {"operator", "publisher", *(("tenant-acme",) if whose == "acme" else ())}
        people = subject == "cluster.requested" or subject.startswith(("colony.scale.", "colony.extend."))
        anyone |= set() if people else {"edge"}
        allowed[subject] = anyone if each.owner == "anyone" else {each.owner}
    for subject, verb, stream in of_streams():
        allowed[subject] = of_stream(verb, stream)
    for subject, verb, name in of_durables():
        own = {name.rpartition("-")[0]}
        allowed[subject] = own if verb in {"INFO", "CREATE", "MSG.NEXT", "ACK", "DLQ"} else set()
        allowed[subject] |= READERS[subject.split(".")[4]] - {"reader"} if verb == "INFO" else set()
        edge = {"edge"} if not subject.startswith("redrive.OUTBOUND.") else set()
        allowed[subject] |= {"operator", *edge} if verb == "REDRIVE" else set()
    for domain, owner in OWNER.items():
        allowed[f"timer.{domain}.acme.x"] = {owner}
    apart = {s.replace("$JS.API", "JS.API"): who & {"reader"} for s, who in allowed.items() if s.startswith("$JS.API")}
    house_ = {s: who - {"reader"} if s.startswith("$JS.API") else who for s, who in allowed.items()}
    more = {
        "hook.github.acme.main.1": {"edge"},
        "outbound.ci.cluster.ready.acme.x": {"outbound"},
        "kube.management.core.secrets.default.x": {"sandbox"},
    }
    more |= {f"_INBOX_{name}.x.1": {"gateway"} for name in ("operator", "publisher", "tenant-acme")}
    more |= {"ask.inventory.nodes": {"operator", "reader", "edge"}, **{each: {"tenant-acme"} for each in OF_ACME}}
    return house_ | apart | more


ALLOWED = who_may()
TRIED = (*subjects(), *OF_ACME)


@pytest.fixture
async def here(tmp_path):
    async with house(tmp_path) as here:
        yield here


def test_there_is_much_to_try():
    assert len(TRIED) > 400
    assert {"due.cluster.acme.x", "$JS.API.STREAM.DELETE.EVENTS"} <= set(TRIED)
    assert set(OTHERS) <= set(TRIED)


@pytest.mark.parametrize("name", BY_NAME)
async def test_each_role_may_publish_what_is_its_own_and_every_other_subject_is_refused(here: House, name):
    async with here.client(BY_NAME[name]) as (client, refused):
        for subject in TRIED:
            await client.publish(subject, b"")
        found = await refused.all(client)
    assert found == sorted(s.lower() for s in TRIED if name not in ALLOWED.get(s, ()))


@pytest.mark.parametrize("name", BY_NAME)
async def test_each_role_may_listen_to_what_is_its_own_and_every_other_subject_is_refused(here: House, name):
    async with here.client(BY_NAME[name]) as (client, refused):
        for subject in LISTENING:
            await client.subscribe(subject)
        found = await refused.all(client)
    assert found == sorted(s.lower() for s, who in LISTENING.items() if name not in who)


@pytest.mark.parametrize("role", [role for role in EVERYBODY if role.apart], ids=lambda role: role.name)
async def test_no_answer_to_who_lives_apart_can_be_made_a_state(here: House, role):
    """A server sends its answer wherever the asker says, and asks nobody whether it may."""
    operator = await here.bus(BY_NAME["operator"])
    allowed = [subject for subject, who in ALLOWED.items() if role.name in who]
    async with here.client(role) as (client, refused):
        for subject in allowed:
            await client.publish(subject, b"{}", reply="cluster.ready.other.x")
            await client.publish(subject, b'{"seq": 1}', reply="cluster.ready.other.x")
        found = await refused.all(client)
        await asyncio.sleep(0.2)  # so long that an answer would have come
    assert found == []
    assert await operator.count("EVENTS", "cluster.ready.other.x") == 0
    await operator.close()


@pytest.mark.parametrize("role", SERVICES, ids=lambda role: role.name)
@pytest.mark.parametrize("extra", ["", "feature_flags { js_ack_fc_v2: true }\n"], ids=["acks-v1", "acks-v2"])
async def test_a_service_can_do_all_it_is_for(tmp_path, role, extra):
    async with house(tmp_path, extra) as here, asyncio.timeout(20):
        bus = await here.bus(role)
        for subject in {example(each, "acme") for each in role.says if not each.startswith("timer.")}:
            first = await bus.publish(Message(subject, b"1"), expect=Expect(subject, 0))
            await bus.publish(Message(subject, b"2"), expect=Expect(subject, first))
        for subject in (each for each in role.says if each.startswith("timer.")):
            timer = example(subject, "acme")
            await bus.wake(Timer(timer, timer.replace("timer.", "due."), datetime.now(UTC) + timedelta(hours=1)))
        for stream in role.reads:
            async with aclosing(bus.feed(stream, ">")) as feed:
                async for stored in feed:
                    if isinstance(stored, CaughtUp):
                        break
            await bus.last(stream, ">")
            await bus.count(stream, ">")
        await works(here, bus, role)
        for stream in role.forgets:
            await bus.purge(stream, ">")
        await bus.close()


async def settled(client) -> None:
    """What was said is known to the server: nats-py's ping overtakes what is still to be written."""
    await client.flush()
    await client.flush()


def acme(subject: str) -> str:
    return example(subject, "acme")


async def works(here: House, bus, role) -> None:
    """Each of its consumers is given a message, puts it back, buries it."""
    for one in role.works:
        heard = one.filters[0].replace("due.", "timer.")
        says, subject = next((r, s) for r in EVERYBODY for s in map(acme, r.says) if matcher((heard,))(s))
        other = await here.bus(says)
        async with aclosing(bus.consume(one)) as deliveries:
            if subject.startswith("timer."):
                await other.wake(Timer(subject, subject.replace("timer.", "due."), datetime.now(UTC)))
            else:
                await other.publish(Message(subject, b"{}"))
            await (await anext(deliveries)).retry(0.01)
            again = await anext(deliveries)
            while again.attempt == 1:  # it has said more than one thing to itself
                await again.ack()
                again = await anext(deliveries)
            assert again.attempt == 2
            await again.reject("enough")
        await other.close()
        while await bus.unanswered(one):  # an answer is told, and not answered itself
            pass


async def test_dead_letters_are_dropped_by_the_operator_and_by_nobody_else(here: House):
    gateway, operator, reader = [await here.bus(BY_NAME[name]) for name in ("gateway", "operator", "reader")]
    sequence = await gateway.publish(Message("dlq.INTAKE.gateway-intake", b"wrong"))
    assert (await reader.at("DLQ", sequence)).data == b"wrong"
    with pytest.raises(Denied, match=r"does not allow reader to publish on JS\.API\.STREAM\.MSG\.DELETE\.DLQ"):
        await reader.drop("DLQ", sequence)
    assert await operator.drop("DLQ", sequence)
    for bus in (gateway, operator, reader):
        await bus.close()


@pytest.mark.parametrize("role", [role for role in EVERYBODY if role.told], ids=lambda role: role.name)
async def test_who_asks_is_told_in_the_inbox_that_it_names(here: House, role):
    gateway = await here.bus(BY_NAME["gateway"])
    async with here.client(role) as (client, _), asyncio.timeout(10):
        inbox = client.new_inbox()
        told = await client.subscribe(inbox)
        await settled(client)
        await gateway.notify(inbox, b"accepted")
        assert (await told.next_msg(timeout=10)).data == b"accepted"
    await gateway.close()


async def test_a_reader_can_neither_point_elsewhere_nor_delete_what_the_services_hear(here: House):
    names = ("gateway", "operator", "provisioning")
    operator: Any
    gateway, operator, provisioning = [await here.bus(BY_NAME[name]) for name in names]
    async with (
        aclosing(gateway.feed("EVENTS", "cluster.>")) as feed,
        here.client(BY_NAME["reader"]) as (reader, refused),
    ):
        assert isinstance(await anext(feed), CaughtUp)
        listed = await operator._wire.ask("$JS.API.CONSUMER.LIST.EVENTS", b"")
        (own,) = [each for each in json.loads(listed.data)["consumers"] if each["name"].startswith("feed-")]
        config = {**own["config"], "filter_subjects": ["cluster.nothing.x.y"]}
        body = json.dumps({"stream_name": "EVENTS", "config": config, "action": ""}).encode()
        for verb in ("CREATE", "DELETE"):
            for api in ("JS.API", "$JS.API"):
                await reader.publish(f"{api}.CONSUMER.{verb}.EVENTS.{own['name']}", body)
        assert len(await refused.all(reader)) == 4
        await provisioning.publish(Message("cluster.ready.acme.x", b"heard"))
        assert (await anext(feed)).data == b"heard"
    for bus in (gateway, operator, provisioning):
        await bus.close()


async def test_a_reader_can_have_nothing_delivered_into_intake(here: House):
    inventory, operator = await here.bus(BY_NAME["inventory"]), await here.bus(BY_NAME["operator"])
    await inventory.publish(Message("inventory.nodes.acme.c.n", b"{}"))
    config = {"name": "mine", "deliver_subject": "cluster.requested", "ack_policy": "none", "deliver_policy": "all"}
    body = json.dumps({"stream_name": "LEVELS", "config": config, "action": "create"}).encode()
    async with here.client(BY_NAME["reader"]) as (reader, refused):
        for api in ("JS.API", "$JS.API"):
            await reader.publish(f"{api}.CONSUMER.CREATE.LEVELS.mine", body)
        for what in ({"last_by_subj": ">"}, {"seq": 1, "next_by_subj": ">", "batch": 10}):
            await reader.publish("JS.API.DIRECT.GET.LEVELS", json.dumps(what).encode(), reply="cluster.requested")
        assert len(await refused.all(reader)) == 2
        await asyncio.sleep(0.2)  # so long that an answer would have come
    assert await operator.count("INTAKE", ">") == 0
    for bus in (inventory, operator):
        await bus.close()


async def test_a_reader_reads_in_every_way_there_is_without_a_consumer(here: House):
    provisioning, reader = await here.bus(BY_NAME["provisioning"]), await here.bus(BY_NAME["reader"])
    for number in range(6):
        await provisioning.publish(Message(f"cluster.ready.acme.n{number % 3}", b"%d" % number))
    second = await reader.at("EVENTS", 2)
    async with asyncio.timeout(20):
        async with aclosing(reader.feed("EVENTS", "cluster.ready.acme.n0", "cluster.ready.acme.n1")) as feed:
            assert [(await anext(feed)).data for _ in range(2)] == [b"3", b"4"]
            assert isinstance(await anext(feed), CaughtUp)
        async with aclosing(reader.follow("EVENTS", ">", since=second.time)) as feed:
            assert [(await anext(feed)).data for _ in range(5)] == [b"1", b"2", b"3", b"4", b"5"]
            assert isinstance(await anext(feed), CaughtUp)
        async with aclosing(reader.follow("EVENTS", ">")) as feed:
            assert isinstance(await anext(feed), CaughtUp)
            await provisioning.publish(Message("cluster.ready.acme.n9", b"new"))
            assert (await anext(feed)).data == b"new"
    assert await reader.count("EVENTS", ">") == 7
    assert (await reader.last("EVENTS", "cluster.>")).data == b"new"
    assert await reader.read("DLQ", ">") == ()
    for bus in (provisioning, reader):
        await bus.close()


async def test_a_reader_follows_a_stream_from_its_own_account(here: House):
    provisioning, reader = await here.bus(BY_NAME["provisioning"]), await here.bus(BY_NAME["reader"])
    subject = "cluster.ready.acme.x"
    for number in range(3000):
        await provisioning.publish(Message(subject, b"%d" % number))
    assert len(await reader.read("EVENTS", "cluster.>")) == 3000
    async with aclosing(reader.feed("EVENTS", "cluster.>")) as feed, asyncio.timeout(10):
        assert (await anext(feed)).data == b"2999"
        assert isinstance(await anext(feed), CaughtUp)
        await provisioning.publish(Message(subject, b"live"))
        assert (await anext(feed)).data == b"live"
    assert [place.consumer for place in await reader.consumers("EVENTS")] == []
    for bus in (provisioning, reader):
        await bus.close()


async def test_a_tenant_asks_hears_and_looks_up_what_is_its_own_and_nothing_else(here: House):
    provisioning = await here.bus(BY_NAME["provisioning"])
    for name in ("acme", "other"):
        await provisioning.publish(Message(f"cluster.placing.{name}.x", name.encode()))
    async with here.client(ACME) as (client, refused):
        assert (await client.jetstream().publish("cluster.requested.acme", b"{}")).stream == "INTAKE"
        live = await client.subscribe("cluster.*.acme.*")
        await settled(client)
        for name in ("other", "acme"):
            await provisioning.publish(Message(f"cluster.ready.{name}.x", name.encode()))
        assert (await live.next_msg(timeout=5)).subject == "cluster.ready.acme.x"
        last = await client.request("JS.API.DIRECT.GET.EVENTS.cluster.*.acme.x", b"", timeout=5)
        assert last.headers["Nats-Subject"] == "cluster.ready.acme.x"
        query = json.dumps({"last_by_subj": "cluster.*.other.x"}).encode()
        smuggled = await client.request("JS.API.DIRECT.GET.EVENTS.cluster.*.acme.x", query, timeout=5)
        assert smuggled.data == b""
        assert await refused.all(client) == []
    await provisioning.close()


def test_every_role_has_a_name_of_its_own():
    assert len({role.name for role in EVERYBODY}) == len(EVERYBODY)
    assert {one.name for one in DURABLES} == {
        f"{role.name}-{one.stream.lower()}" for role in ROLES for one in role.works
    }
    assert not [role for role in PEOPLE if role.works]


def test_a_tenant_of_any_name_has_one_token():
    assert "cluster.requested.a_2Eb" in tenant("a.b").says
