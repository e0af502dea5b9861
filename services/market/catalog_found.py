"""What a source of price catalogs found, or could not read, is a value."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Text:
    """One cloud's catalog, as it is."""

    cloud: str
    source: str
    data: bytes
    ending: str = ".csv"
    as_of: datetime | None = None
    """When it was written; None: nobody says."""


@dataclass(frozen=True)
class Unread:
    """A catalog that could not be read."""

    cloud: str
    """Empty: whose it would be is not known, for not even its folder can be read."""
    source: str
    why: str
    """One sentence."""


Found = Text | Unread
