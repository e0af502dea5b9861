"""A try to connect that came to nothing lets go of its socket, which nats-py leaves to the garbage collector."""

from typing import TYPE_CHECKING

from events.jetstream.client_callbacks import PromptClient

if TYPE_CHECKING:
    from nats.aio.client import Srv


class TryingClient(PromptClient):
    """nats-py's client, which opens the next connection over the one whose greeting failed.

    What it takes over is private to nats-py; tests/events/jetstream/test_client_sockets.py is refused by a real server.
    """

    async def _connect_to_server(self, s: "Srv") -> None:
        if self._transport:
            self._transport.close()  # type: ignore[no-untyped-call]
        await super()._connect_to_server(s)
