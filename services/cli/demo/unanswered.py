"""Asks nats-server how many messages are not acknowledged."""

from collections.abc import Iterator

import aiohttp
import msgspec

from services.errors import Failed
from services.local.probe import HOST

TIMEOUT = aiohttp.ClientTimeout(total=5.0)


class _Config(msgspec.Struct):
    durable_name: str = ""


class _Consumer(msgspec.Struct):
    stream_name: str
    config: _Config
    num_pending: int = 0
    num_ack_pending: int = 0


class _Stream(msgspec.Struct):
    consumer_detail: list[_Consumer] = []


class _Account(msgspec.Struct):
    stream_detail: list[_Stream] = []


class _Page(msgspec.Struct):
    account_details: list[_Account] = []


async def unanswered(monitor: int) -> dict[str, int]:
    """By durable consumer, how many messages it has still to be given or to answer. Raises Failed."""
    url = f"http://{HOST}:{monitor}/jsz?accounts=1&streams=1&consumers=1&config=1"
    try:
        async with aiohttp.ClientSession(timeout=TIMEOUT) as session, session.get(url) as answer:
            return counted(await answer.read())
    except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
        raise Failed(f"nats-server does not say at {url} what is unanswered: {error}") from error


def counted(page: bytes) -> dict[str, int]:
    """The same, from the page ``/jsz?consumers=1&config=1`` of the monitoring port."""
    return {f"{each.stream_name}/{each.config.durable_name}": _open(each) for each in _durable(page)}


def _durable(page: bytes) -> Iterator[_Consumer]:
    for account in msgspec.json.decode(page, type=_Page).account_details:
        for stream in account.stream_detail:
            yield from (each for each in stream.consumer_detail if each.config.durable_name)


def _open(consumer: _Consumer) -> int:
    return consumer.num_pending + consumer.num_ack_pending
