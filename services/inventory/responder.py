"""Answers inventory queries over the bus."""

from collections.abc import Callable, Iterable
from datetime import datetime
from importlib.metadata import version
from itertools import chain

import msgspec

from events.bus import Stored
from events.errors import Denied
from events.rpc import Endpoint, RpcHandler, RpcService
from services.queries.answer import KINDS, SUBJECT, BadQuestion, answer
from services.runtime.level_publisher import LevelPublisher

NAME = "alate-inventory"
DESCRIPTION = 'Lists nodes, accelerators, storage and offers; query with JSON, e.g. {"accelerator": "H100"}.'


def responder(levels: Iterable[LevelPublisher], clock: Callable[[], datetime]) -> RpcService:
    """The service of every query, answered from these levels as they are at that time."""
    every = tuple(levels)

    def stored(struct: type[msgspec.Struct], *names: str) -> Iterable[Stored]:
        return chain.from_iterable(each.kept(struct, *names) for each in every)

    def handler(name: str) -> RpcHandler:
        async def reply(query: bytes) -> bytes:
            try:
                return answer(name, query, stored, clock())
            except BadQuestion as bad:
                raise Denied(str(bad), "BadQuestion") from bad

        return reply

    endpoints = tuple(Endpoint(name, f"{SUBJECT}{name}", handler(name)) for name in KINDS)
    return RpcService(NAME, version("alate"), DESCRIPTION, endpoints)
