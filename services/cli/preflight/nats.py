"""Gathers what `alate preflight` judges of NATS; nothing is changed there."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from events.bus import Clock, Stored, Unavailable
from events.errors import Denied
from events.jetstream.bus import JetStreamBus
from events.jetstream.connection import dial
from events.jetstream.credentials import NkeyCredentials, without_secrets
from events.jetstream.inspection import ServerSeen, inspect
from events.jetstream.provision import stream_config
from events.meters import Meters
from events.streams import ENTITIES, STREAMS, Feeds, standing, tips
from schemas.discover import lifecycles
from schemas.market import CatalogSeen
from schemas.registry import Stream, declarations
from services.cli.preflight.facts import NatsFacts, StreamDifference, ahead
from services.runtime.read_model import Decoders, Undecodable

FILTERS = {Stream.EVENTS: tuple(f"{entity}.*.*.*" for entity in ENTITIES), Stream.LEVELS: (">",)}
"""Subjects of what is decoded when a service starts."""


async def gathered(url: str, credentials: NkeyCredentials, patience: float, clock: Clock) -> NatsFacts:
    """The facts; `patience` is how many seconds a request is repeated."""
    place = without_secrets(url)
    try:
        wire = await dial(url, "alate-cli", credentials, patience)
        try:
            before = clock()
            seen = await inspect(wire, STREAMS)
            facts = server_facts(place, seen, before, clock())
            return await _with_stored(facts, JetStreamBus(wire, Meters()), seen.streams)
        finally:
            await wire.close()
    except (Unavailable, Denied) as why:
        return NatsFacts(place, unreachable=" ".join(str(why).split()))


def server_facts(place: str, seen: ServerSeen, before: datetime, after: datetime) -> NatsFacts:
    """What the server says, asked between two times of this machine."""
    names = [spec.name for spec in STREAMS]
    times = [each.ts for each in seen.streams.values() if each.ts is not None]
    return NatsFacts(
        place,
        version=seen.version,
        jetstream=seen.jetstream,
        max_payload=seen.max_payload,
        storage_left=seen.storage_left,
        clustered=seen.clustered,
        missing_streams=tuple(name for name in names if seen.streams and name not in seen.streams),
        single_streams=tuple(name for name, each in seen.streams.items() if each.config.get("num_replicas", 1) == 1),
        differences=tuple(_differences(seen)),
        skew=ahead(max(times), before, after) if times else None,
    )


def _differences(seen: ServerSeen) -> Iterator[StreamDifference]:
    for spec in STREAMS:
        if spec.name in seen.streams:
            theirs = seen.streams[spec.name].config
            for setting, ours in stream_config(spec).items():
                if theirs.get(setting) != ours:
                    yield StreamDifference(spec.name, setting, theirs.get(setting), ours)


async def _with_stored(facts: NatsFacts, bus: Feeds, streams: Iterable[str]) -> NatsFacts:
    try:
        stored = [
            each for name, filters in FILTERS.items() if name in streams for each in await tips(bus, name, *filters)
        ]
    except (Unavailable, Denied) as why:
        return replace(facts, unread=" ".join(str(why).split()))
    undecodable, catalogs = decoded(stored)
    return replace(facts, undecodable=undecodable, catalogs=catalogs)


def decoded(stored: Iterable[Stored]) -> tuple[tuple[str, ...], tuple[CatalogSeen, ...]]:
    """What is wrong with each message that cannot be decoded, and the price catalogs among the others."""
    lifecycles()  # declares every message
    decoders = Decoders(each for each in declarations() if each.stream in FILTERS)
    wrong: list[str] = []
    catalogs: list[CatalogSeen] = []
    for each in standing(stored):
        try:
            message = decoders.read(each, lambda found: found)
        except Undecodable as error:
            wrong.append(" ".join(str(error).split()))
        else:
            catalogs += [message] if isinstance(message, CatalogSeen) else []
    return tuple(wrong), tuple(catalogs)
