"""Every question gets its answer, or a name for why not."""

import asyncio
from contextlib import suppress

import pytest

from events.bus import Unavailable
from events.jetstream import connection
from events.jetstream.connection import FIRST, Wire, dial
from events.jetstream.credentials import NOBODY, NkeyCredentials
from events.jetstream.requests import LOOK, RequestLost
from events.jetstream.server import NatsServer


@pytest.fixture
async def wire(nats_server):
    wire = await dial(nats_server.url, "test", NOBODY, 1.0)
    yield wire
    await wire.close()


async def echo(wire, subject: str):
    """Answers every question on the subject with its own contents."""

    async def answer(msg) -> None:
        await wire.notify(msg.reply, msg.data)

    return await wire.client.subscribe(subject, cb=answer)


async def test_many_answers_find_their_questions(wire):
    await echo(wire, "echo")
    answers = await asyncio.gather(*(wire.ask("echo", b"%d" % number) for number in range(200)))
    assert [int(msg.data) for msg in answers] == list(range(200))


async def test_a_question_nobody_hears_is_lost_at_once(wire):
    with pytest.raises(RequestLost, match="nothing answers there"):
        await wire.ask("nobody", b"")


async def test_a_question_that_is_heard_and_not_answered_is_lost_in_time(nats_server, monkeypatch):
    monkeypatch.setattr(connection, "ANSWER", 0.1)
    wire = await dial(nats_server.url, "test", NOBODY, 1.0)

    async def silent(msg) -> None:
        """Hears and says nothing."""

    await wire.client.subscribe("silent", cb=silent)
    with pytest.raises(RequestLost, match="it takes too long"):
        await wire.ask("silent", b"")
    assert not wire._questions
    await wire.close()


async def test_open_questions_are_lost_with_the_connection(nats_server, wire):
    async def silent(msg) -> None:
        heard.set()

    heard = asyncio.Event()
    await wire.client.subscribe("silent", cb=silent)
    asking = asyncio.create_task(wire.ask("silent", b""))
    await heard.wait()
    await nats_server.kill()
    with pytest.raises(RequestLost, match="the connection broke"):
        await asking


async def test_who_waits_for_a_connection_learns_that_the_bus_was_left(nats_server):
    wire = await dial(nats_server.url, "test", NOBODY, 30.0)
    await nats_server.kill()
    async with asyncio.timeout(5):
        while wire._up.is_set():  # noqa: ASYNC110 - the kernel tells when it likes
            await asyncio.sleep(0.01)
        asking = asyncio.create_task(wire.insist("x", b"", None, bytes))
        await asyncio.sleep(0)
        await wire.close()
        with pytest.raises(Unavailable, match="the bus was left"):
            await asking


async def test_a_name_of_any_letters_makes_an_inbox(nats_server):
    wire = await dial(nats_server.url, "alate édge 1.0", NOBODY, 1.0)
    await echo(wire, "echo")
    assert (await wire.ask("echo", b"heard")).data == b"heard"
    await wire.close()


async def test_names_that_were_never_used_are_never_the_same(wire):
    assert len({wire.unique() for _ in range(100)}) == 100


async def test_the_wrong_password_is_unavailable_with_the_servers_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "CONNECT", 1.0)
    right, wrong = (NkeyCredentials("u", secret) for secret in ("right", "wrong"))
    async with NatsServer(tmp_path, extra='authorization { user: "u", password: "right" }') as server:
        with pytest.raises(Unavailable, match="Authorization Violation"):
            await dial(server.url, "test", wrong, 1.0)
        wire = await dial(server.url, "test", right, 1.0)
        await wire.close()


@pytest.fixture
async def still():
    """A wire that was never connected: nothing answers, and time is what the loop says."""
    return Wire("nats://127.0.0.1:1", "test", NOBODY, 600.0, lambda: 0.5)


@pytest.mark.looptime
async def test_a_question_nobody_answers_is_asked_less_and_less_often(still, monkeypatch):
    asked = []

    async def lost(*_):
        asked.append(asyncio.get_running_loop().time())
        raise RequestLost("nothing answers there")

    monkeypatch.setattr(still, "ask", lost)
    still._up.set()
    with pytest.raises(Unavailable):
        await still.insist("x", b"", None, bytes)
    assert asked[-1] > 590
    assert len(asked) < 450


@pytest.mark.looptime
async def test_whoever_has_less_time_is_told_as_soon_as_it_is_over(still, monkeypatch):
    async def unsent(*_):
        """The network swallows it."""

    monkeypatch.setattr(still.client, "publish", unsent)
    still._up.set()
    with pytest.raises(Unavailable, match="it takes too long"):
        await still.insist("x", b"", None, bytes, until=still.until(5.0))
    assert 5.0 <= asyncio.get_running_loop().time() < 5.0 + LOOK


async def test_a_server_that_is_away_is_dialled_less_and_less_often_until_it_is_back(still):
    waits = []
    for _ in range(8):
        await still._erred(OSError("refused"))
        waits.append(still.client.options["reconnect_time_wait"])
    assert waits == [pytest.approx(wait) for wait in (0.075, 0.15, 0.3, 0.6, 1.2, 1.5, 1.5, 1.5)]
    await still._came_up()
    assert still.client.options["reconnect_time_wait"] == FIRST


class Stubborn:
    """A client whose connecting is cancelled at the one moment at which asyncio keeps it to itself."""

    def __init__(self):
        self.options = {}
        self.left = False

    async def connect(self, *_, error_cb, **__):
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(1.0)
            await error_cb(OSError("refused"))

    async def close(self):
        self.left = True


@pytest.mark.looptime
async def test_a_server_that_never_lets_in_is_given_up_though_the_time_out_was_swallowed(still):
    still.client = Stubborn()
    with pytest.raises(Unavailable, match="refused"):
        await still.start()
    assert still.client.left
    assert asyncio.get_running_loop().time() <= connection.CONNECT + 1.0
