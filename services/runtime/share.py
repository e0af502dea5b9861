"""What a replica works on: every key has one owner among the live members of its service."""

from collections.abc import Callable, Collection
from hashlib import blake2b
from typing import NamedTuple, Protocol


def owner(key: str, members: Collection[str]) -> str:
    """The member that owns a key, by rendezvous hashing: when one comes or goes, only its own keys move."""
    return max(members, key=lambda member: blake2b(f"{member}\n{key}".encode(), digest_size=8).digest())


def share_key(tenant: str, name: str) -> str:
    """The key of what a tenant has under a name."""
    return f"{tenant}/{name}"


class ShareChange(NamedTuple):
    """The members before and after one came or went."""

    member: str
    """Whose share it is."""
    before: frozenset[str]
    after: frozenset[str]

    @property
    def someone_left(self) -> bool:
        """Whether what a member was doing is now to be done by others."""
        return bool(self.before - self.after)

    def gained(self, key: str) -> bool:
        """Whether a key came into the share."""
        return owner(key, self.after) == self.member != owner(key, self.before)


ShareListener = Callable[[ShareChange], None]


class Share(Protocol):
    """The part of a service's work that is one replica's."""

    def mine(self, key: str) -> bool:
        """Whether a key is this replica's now."""
        ...

    def listen(self, changed: ShareListener) -> None:
        """Call `changed` whenever members came or went."""
        ...


class _WholeShare:
    """Everything, for ever."""

    def mine(self, key: str) -> bool:  # noqa: ARG002 - see Share
        """See `Share`."""
        return True

    def listen(self, changed: ShareListener) -> None:
        """See `Share`; it never changes."""


WHOLE: Share = _WholeShare()
"""The share of an only replica."""
