import asyncio
from socket import AF_INET, SOCK_STREAM, socket

import pytest

from events.jetstream.credentials import NOBODY
from events.jetstream.store_health import UNSTORED
from services.local.probe import HOST, PORTS, Busy, api, free_ports, http, is_free, nats, unstoring
from services.process.health import ProcessHealth, served


async def answering(words: bytes) -> asyncio.Server:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(words)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, HOST, 0)


@pytest.mark.parametrize(
    ("words", "ready"),
    [(b"HTTP/1.1 200 OK\r\n\r\n", True), (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", False), (b"", False)],
)
async def test_a_service_is_ready_when_it_answers_200(words, ready):
    async with await answering(words) as server:
        assert await http(server.sockets[0].getsockname()[1], "/readyz")() is ready


async def test_who_is_not_there_is_not_ready(tmp_path):
    (port,) = free_ports(1)

    assert not await http(port, "/readyz")()
    assert not await nats(port, NOBODY)()


async def test_nats_is_ready_when_it_greets_with_jetstream(nats_server):
    assert await nats(nats_server.port, NOBODY)()


KUBECONFIG = """
current-context: it
contexts: [{{name: it, context: {{cluster: it}}}}]
clusters: [{{name: it, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
"""


async def test_an_api_is_ready_once_its_kubeconfig_is_there_and_it_answers(tmp_path):
    file = tmp_path / "kubeconfig"
    ready = api(file)
    async with await answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as server:
        assert not await ready()
        file.write_text("half writ")
        assert not await ready()
        file.write_text(KUBECONFIG.format(port=server.sockets[0].getsockname()[1]))
        assert await ready()

    assert not await ready()


def test_ports_are_free_different_and_below_those_of_clients():
    found = free_ports(8)

    assert len(set(found)) == 8
    assert all(port in PORTS and is_free(port) for port in found)


def test_a_port_somebody_listens_on_is_not_free():
    with socket(AF_INET, SOCK_STREAM) as taken:
        taken.bind((HOST, 0))
        taken.listen(1)
        port = taken.getsockname()[1]

        assert not is_free(port)
        with pytest.raises(Busy, match="fewer than 1 ports"):
            free_ports(1, lambda _range, _count: [port])


async def test_whether_nats_stores_is_not_judged_by_a_folder_that_cannot_be_read(tmp_path):
    async with served(
        "127.0.0.1:0", ProcessHealth(lambda: 0.0, trouble=lambda: f"{UNSTORED} EVENTS: no answer")
    ) as url:
        port = int(url.rpartition(":")[2])
        assert await unstoring((port,), tmp_path)() == "stores nothing although there is room"
        assert await unstoring((port,), tmp_path / "not there")() == ""
