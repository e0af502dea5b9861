"""The facts that `alate preflight` judges: plain values, with nothing left to be asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from schemas.market import CatalogSeen


@dataclass(frozen=True)
class MissingRight:
    """One verb that an account may not use."""

    account: str
    """``namespace/name``; empty: whoever asks."""
    verb: str
    resource: str
    """``resource.group``, with ``/subresource``."""


@dataclass(frozen=True)
class KubernetesFacts:
    """What the management cluster says."""

    unreachable: str = ""
    """Why it could not be asked; the other fields are empty then."""
    version: tuple[int, int] | None = None
    missing_crds: tuple[str, ...] = ()
    """Names of CustomResourceDefinitions, where others of alate are there."""
    unserved_crds: tuple[str, ...] = ()
    """Names of those that do not serve our version."""
    older_crds: Mapping[str, str] = field(default_factory=dict)
    """The first field that the schema of each lacks, by name."""
    missing_accounts: tuple[str, ...] = ()
    """``namespace/name``, where others of alate are there."""
    missing_rights: tuple[MissingRight, ...] = ()
    rights_unknown: str = ""
    """Why rights could not be read."""
    skew: float | None = None
    """Seconds that its clock is ahead of this machine's."""


@dataclass(frozen=True)
class StreamDifference:
    """A setting of a stream that is not ours."""

    stream: str
    setting: str
    theirs: object
    ours: object


@dataclass(frozen=True)
class NatsFacts:
    """What NATS and its streams say."""

    place: str
    unreachable: str = ""
    """Why it could not be asked; the other fields are empty then."""
    version: str = ""
    jetstream: bool = True
    max_payload: int = 0
    storage_left: int | None = None
    """Bytes of the account's limit; None: without a limit, or not to be read."""
    clustered: bool = False
    missing_streams: tuple[str, ...] = ()
    """Where others of alate are there."""
    single_streams: tuple[str, ...] = ()
    """Streams with one replica."""
    differences: tuple[StreamDifference, ...] = ()
    undecodable: tuple[str, ...] = ()
    """What is wrong with each stored message that cannot be decoded."""
    unread: str = ""
    """Why stored messages could not be read."""
    catalogs: tuple[CatalogSeen, ...] = ()
    skew: float | None = None
    """Seconds that its clock is ahead of this machine's."""


@dataclass(frozen=True)
class PreflightFacts:
    """All that is judged, and when it was asked."""

    kubernetes: KubernetesFacts
    nats: NatsFacts
    unresolved: Mapping[str, str]
    """Why a name does not resolve, by name."""
    now: datetime


def ahead(theirs: datetime, before: datetime, after: datetime, unit: float = 0.0) -> float:
    """Seconds that a clock is certainly ahead of ours; 0 where they may agree.

    It was read between our times `before` and `after`, and is cut to whole units of so many seconds.
    """
    early, late = (theirs - before).total_seconds() + unit, (theirs - after).total_seconds()
    return late if late > 0 else min(early, 0.0)
