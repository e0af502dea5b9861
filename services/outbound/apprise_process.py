"""Sends each text in a process of its own: apprise blocks, and what takes too long can only be ended from outside."""

import asyncio
import os
import sys
from contextlib import suppress

import msgspec

from events.errors import TryLater
from events.http.addresses import Reach
from services.outbound.apprise_protocol import AppriseReply, AppriseRequest
from services.outbound.formats import ChatMessage
from services.outbound.outcome import ReceiverResponse

AT_ONCE = 4
"""Processes: each needs half a second of a processor, and 60 MB."""
LARGEST = 1 << 16
"""Bytes of a reply."""
KEPT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
"""The environment variables that a process gets: no key, and no proxy, whose address would be the only one checked."""
MODULE = "services.outbound.apprise_worker"


class AppriseProcesses:
    """Sends texts, a few at a time."""

    def __init__(self, patience: float, reach: Reach | None) -> None:
        """`patience`: seconds for one text, with the wait for its turn."""
        self._patience = patience
        self._reach = reach
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def send(self, message: ChatMessage) -> ReceiverResponse:
        """The response of the service. Raises TryLater, ValueError for a URL that cannot be used."""
        try:
            async with asyncio.timeout(self._patience), self._turns:
                reply = await _reply(msgspec.json.encode(self._request(message)))
        except TimeoutError as late:
            raise TryLater(f"no answer in {self._patience:g} s") from late
        return _response(reply)

    def _request(self, message: ChatMessage) -> AppriseRequest:
        reach, text = self._reach, message.text
        if reach is None:
            return AppriseRequest(message.url, text.title, text.body, text.kind, checked=False)
        own = tuple(map(str, reach.own))
        allowed = tuple(reach.allowed)
        return AppriseRequest(message.url, text.title, text.body, text.kind, True, allowed, reach.setting, own)  # noqa: FBT003 - checked


def _response(reply: AppriseReply) -> ReceiverResponse:
    """Raises TryLater, ValueError."""
    if reply.invalid:
        raise ValueError(reply.invalid)
    if reply.sent:
        return ReceiverResponse(200)
    if reply.refused:
        raise TryLater(f"not sent: {reply.refused}")
    if reply.status >= 300:
        return ReceiverResponse(reply.status, reply.retry_after, date=reply.date)
    raise TryLater("the service refused it" if reply.status else "no answer")


async def _reply(request: bytes) -> AppriseReply:
    """Raises TryLater; the process has ended in any case."""
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    shown = {name: value for name, value in os.environ.items() if name in KEPT}
    # -P: a folder called services where the user happens to stand is not ours.
    words = (sys.executable, "-P", "-m", MODULE)
    try:
        process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=nowhere, env=shown)
    except OSError as why:
        raise TryLater(f"no process could be started: {why.strerror}") from why
    try:
        written, _ = await process.communicate(request)
        return msgspec.json.decode(written[:LARGEST], type=AppriseReply)
    except msgspec.DecodeError:
        raise TryLater("the process that sends it ended without a reply") from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
