"""A session's end is shown to be the end of its connections, however silent the other side is."""

import asyncio
import gc
import ssl
import warnings
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from socket import AF_INET, SOCK_STREAM, create_server
from threading import Thread

import pytest
import uvloop

from events.kube.client import Request
from events.kube.http import Access, ApiCredentials, HttpTransport
from events.kube.sockets import Sockets
from services.sandbox.api.server.tls import self_signed

WATCH = Request("GET", "/api/v1/pods", {"watch": "true"})
SAID = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n"


class Mute:
    """An API server that says one event to whoever asks, and then neither reads nor says anything."""

    def __init__(self, identity, folder):
        self._tls, self._listening = identity.context(folder), create_server(("127.0.0.1", 0))
        self._thread, self._held = Thread(target=self._serve), []
        self.url = f"https://127.0.0.1:{self._listening.getsockname()[1]}"

    @contextmanager
    def serving(self):
        self._thread.start()
        try:
            yield self
        finally:
            self._listening.shutdown(2)
            self._thread.join()
            for each in (self._listening, *self._held):
                each.close()

    def _serve(self):
        with suppress(OSError):
            while True:
                raw, _ = self._listening.accept()
                self._held.append(self._tls.wrap_socket(raw, server_side=True))
                self._held[-1].recv(65536)
                self._held[-1].sendall(SAID)


@pytest.fixture
def mute(tmp_path):
    identity = self_signed(datetime.now(UTC))
    with Mute(identity, tmp_path).serving() as server:
        server.trust = ssl.create_default_context(cadata=identity.certificate.decode())
        yield server


def reached(server):
    async def load():
        return Access(server.url, server.trust)

    return HttpTransport(ApiCredentials(load, lambda: datetime.now(UTC)))


async def left_midway(transport):
    stream = transport.stream(WATCH)
    assert await anext(stream) == b"{}"
    await stream.aclose()


async def never_left(transport):
    await anext(transport.stream(WATCH))


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("use", [left_midway, never_left])
def test_a_closed_transport_has_no_open_connection_though_the_server_never_says_good_bye(mute, loop, use):
    async def used():
        transport = reached(mute)
        await use(transport)
        await transport.close()

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(used())
        gc.collect()
    assert [str(each.message) for each in warned] == []


async def test_a_socket_that_nobody_connected_is_left_to_who_made_it():
    sockets = Sockets()
    with sockets.make((AF_INET, SOCK_STREAM, 0, "", ("127.0.0.1", 9))) as idle:
        await asyncio.wait_for(sockets.close(), 0.5)
        assert idle.fileno() != -1
