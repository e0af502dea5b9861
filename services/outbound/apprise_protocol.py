"""The messages between the outbound service and the process that sends one text: JSON on its standard streams."""

import msgspec

from services.outbound.texts import ChatKind


class AppriseRequest(msgspec.Struct, frozen=True):
    """A text to send, to whom, and which addresses may be reached."""

    url: str
    title: str
    body: str
    kind: ChatKind
    checked: bool
    """Whether addresses are checked at all."""
    allowed: tuple[str, ...] = ()
    setting: str = ""
    own: tuple[str, ...] = ()
    """The networks and names of the cluster that alate runs in."""


class AppriseReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of it; no field holds a part of the URL."""

    sent: bool = False
    status: int = 0
    """The status of the last response over HTTP; 0: there was none."""
    retry_after: str = ""
    date: str = ""
    invalid: str = ""
    """Why the URL cannot be used."""
    refused: str = ""
    """Why an address was not connected to."""
