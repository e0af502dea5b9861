"""A client whose reconnects are refused repeatedly leaks no connection."""

import asyncio
import gc

from events.jetstream.client import NatsClient


class Moody:
    """Is a NATS to whoever comes first, for a moment; says something else to all others."""

    def __init__(self):
        self.came = 0

    async def serve(self, reader, writer):
        self.came += 1
        if self.came == 1:
            writer.write(b'INFO {"max_payload": 1024}\r\n')
            await reader.readuntil(b"PING\r\n")
            writer.write(b"PONG\r\n")
        else:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n")
            await reader.read()
        writer.close()
        await writer.wait_closed()


async def nothing(*_):
    """Each failure is told; what is asked here is what it leaves."""


async def test_every_failed_attempt_to_connect_closes_its_socket(recwarn):
    moody, client = Moody(), NatsClient()
    async with await asyncio.start_server(moody.serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        await client.connect(f"nats://{host}:{port}", error_cb=nothing, reconnect_time_wait=0)
        async with asyncio.timeout(20):
            while moody.came < 5:  # noqa: ASYNC110 - looked at
                await asyncio.sleep(0.01)
        await client.close()
    gc.collect()
    assert [str(each.message) for each in recwarn] == []
