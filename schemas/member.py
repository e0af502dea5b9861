"""The message by which a running replica of a service is known to the others."""

from datetime import datetime

from schemas.registry import PREFIX, Declaration, Stream, WireStruct


class ServiceMember(WireStruct, frozen=True, kw_only=True):
    """A replica that runs now."""

    host: str
    """The machine's or the Pod's name."""
    version: str
    """The version of alate that it runs."""
    since: datetime


BUCKET = Stream.MEMBERS.removeprefix("KV_")
"""The key-value bucket of the running replicas: a stream of NATS whose name begins so."""
MEMBER = Declaration(
    f"{PREFIX}member", (f"$KV.{BUCKET}.{{service}}.{{member}}",), Stream.MEMBERS, "every service", ServiceMember
)
"""Not among `declarations`: it is an entry of a key-value bucket, no event."""
