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
DESCRIPTION = 'Tells of nodes, accelerators, storage and offers; ask with JSON, e.g. {"accelerator": "H100"}.'


def desk(levels: Iterable[LevelPublisher], clock: Callable[[], datetime]) -> RpcService:
    """Every question, answered from what these levels hold when it is asked."""
    every = tuple(levels)

    def kept(struct: type[msgspec.Struct], *names: str) -> Iterable[Stored]:
        return chain.from_iterable(each.kept(struct, *names) for each in every)

    def answered(question: str) -> RpcHandler:
        async def reply(asked: bytes) -> bytes:
            try:
                return answer(question, asked, kept, clock())
            except BadQuestion as bad:
                raise Denied(str(bad), "BadQuestion") from bad

        return reply

    questions = tuple(Endpoint(name, f"{SUBJECT}{name}", answered(name)) for name in KINDS)
    return RpcService(NAME, version("alate"), DESCRIPTION, questions)
