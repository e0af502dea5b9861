"""The NATS permissions that a role needs, worked out from what it does on the bus.

The server checks the subject of a request and nothing in its body, nor where its answer goes. So a right to read is a
right to read a whole stream, and a right to make consumers is one to change those of others. Whoever is not of the
house therefore makes none, and has an account of its own (`apart`): there, an answer that was sent to somebody else's
subject reaches nobody. Within one account a publisher could have the acknowledgement of its request stored as an
entity's state.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from events.bus import Consumer
from events.jetstream.credentials import API

APART_API = "JS.API"
"""The API prefix in a separate account, whose own prefix would address that account's JetStream."""


@dataclass(frozen=True)
class Role:
    """What a role does on the bus."""

    name: str
    says: tuple[str, ...] = ()
    """Subjects it publishes on."""
    works: tuple[Consumer, ...] = ()
    """Its durable consumers, with their dead letters."""
    reads: tuple[str, ...] = ()
    """Streams it reads, page by page, and in the house's own account by short-lived consumers as well."""
    looks: tuple[str, ...] = ()
    """Streams of which it reads single messages only, as a compare-and-swap needs."""
    sees: tuple[tuple[str, str], ...] = ()
    """Streams of which it reads the last message of each subject of a filter, then receives new ones."""
    asks: tuple[str, ...] = ()
    """Subjects on which it sends requests."""
    answers: tuple[str, ...] = ()
    """Subjects on which it answers, to be found as `desk`."""
    desk: str = ""
    told: bool = False
    """It receives the outcome of its requests on an inbox that it names in them: see `services.gateway.intake`."""
    tells: bool = False
    """It sends those outcomes."""
    lists: tuple[str, ...] = ()
    """Streams whose consumers it may list."""
    forgets: tuple[str, ...] = ()
    """Streams it purges by subject."""
    drops: tuple[str, ...] = ()
    """Streams it deletes single messages from."""
    makes: tuple[str, ...] = ()
    """Streams it creates and updates."""
    apart: bool = False
    """It has an account of its own."""

    @property
    def inbox(self) -> str:
        """Its inbox prefix."""
        return f"_INBOX_{self.name}"

    @property
    def api(self) -> str:
        """Its API prefix."""
        return APART_API if self.apart else API


@dataclass(frozen=True)
class Rights:
    """The permissions of a key; everything else is refused."""

    publish: tuple[str, ...]
    listen: tuple[str, ...]
    never: tuple[str, ...] = ()
    """Subjects denied although `publish` would allow them."""
    replies: bool = False
    """It may reply to requests on any inbox."""


def rights(role: Role, everybody: Iterable[Role]) -> Rights:
    """The permissions that a role needs, without access to other roles' durable consumers."""
    everybody = tuple(everybody)
    durables = [one for each in everybody for one in each.works]
    told = [f"{each.inbox}.>" for each in everybody if role.tells and each.told]
    publish = (*role.says, *role.asks, *told, *_work(role), *_read(role), *_keep(role))
    listen = (f"{role.inbox}.>", *(subject for _, subject in role.sees), *role.answers, *_found(role))
    return Rights(_once(publish), _once(listen), _once(_never(role, durables)), bool(role.answers))


def _work(role: Role) -> Iterator[str]:
    for one in role.works:
        place = f"{one.stream}.{one.name}"
        yield f"dlq.{place}"
        yield from (f"{role.api}.CONSUMER.{verb}.{place}" for verb in ("INFO", "CREATE", "MSG.NEXT"))
        # Both forms of nats-server's ADR-15: the second names domain and account.
        yield from (f"$JS.ACK.{place}.>", f"$JS.ACK.*.*.{place}.>")


def _read(role: Role) -> Iterator[str]:
    for stream in role.reads:
        yield f"{role.api}.STREAM.INFO.{stream}"
        if role.apart:
            continue  # who may make consumers may change those of others
        yield from (f"{role.api}.CONSUMER.{verb}.{stream}.*" for verb in ("CREATE", "DELETE", "INFO"))
        yield from (f"$JS.FC.{stream}.>", f"$JS.FC.*.*.{stream}.>")
    for stream in (*role.reads, *role.looks):
        yield f"{role.api}.DIRECT.GET.{stream}"
    for stream, subject in role.sees:
        yield f"{role.api}.DIRECT.GET.{stream}.{subject}"
    for stream in role.lists:
        yield f"{role.api}.CONSUMER.LIST.{stream}"


def _found(role: Role) -> Iterator[str]:
    """The subjects by which NATS tools discover a service (ADR-32)."""
    if role.desk:
        yield from (f"$SRV.*{which}" for which in ("", f".{role.desk}", f".{role.desk}.*"))


def _keep(role: Role) -> Iterator[str]:
    for stream in role.forgets:
        yield f"{role.api}.STREAM.PURGE.{stream}"
    for stream in role.drops:
        yield f"{role.api}.STREAM.MSG.DELETE.{stream}"
    for stream in role.makes:
        yield from (f"{role.api}.STREAM.{verb}.{stream}" for verb in ("INFO", "CREATE", "UPDATE"))


def _never(role: Role, durables: Iterable[Consumer]) -> Iterator[str]:
    """A consumer's name is one token: the right to make some is the right to change any, but for these."""
    for one in durables:
        if one.stream in role.reads and not role.apart:
            yield f"{role.api}.CONSUMER.DELETE.{one.stream}.{one.name}"
            if one not in role.works:
                yield f"{role.api}.CONSUMER.CREATE.{one.stream}.{one.name}"


def _once(subjects: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(subjects)))
