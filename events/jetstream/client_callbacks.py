"""Whoever only takes note of a message is told at once: nats-py's queue and task between cost more than the note."""

from collections.abc import Callable

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from events.jetstream.client_headers import LeanClient

Hear = Callable[[Msg], None]
"""Takes note of one message, raises nothing, and waits for nothing: the connection reads no further meanwhile."""


class PromptClient(LeanClient):
    """nats-py's client, with a second way to listen.

    What it takes over is private to nats-py; tests/events/jetstream/test_client_callbacks.py
    listens both ways on a real server.
    """

    def __init__(self) -> None:
        super().__init__()
        self._hearers: dict[int, Hear] = {}

    async def listen(self, subject: str, hear: Hear) -> Subscription:
        """Hear every message on the subject, also after the connection was renewed, until `deafen`."""
        self._hearers[self._sid + 1] = hear  # the next to be given; known beforehand, for an answer may be quick
        return await self.subscribe(subject)

    async def deafen(self, subscription: Subscription) -> None:
        """Hear no more of it."""
        self._hearers.pop(subscription._id, None)  # noqa: SLF001 - its number on the wire
        await subscription.unsubscribe()

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        hear = self._hearers.get(sid)
        if hear is None:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        self.stats["in_msgs"] += 1
        self.stats["in_bytes"] += len(data)
        read = await self._process_headers(headers) if headers else None
        hear(self._build_message(sid, subject, reply, data, read))
