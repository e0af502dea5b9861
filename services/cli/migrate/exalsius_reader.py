"""Reads exalsius objects without trust: missing or mistyped fields are empty."""

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

import msgspec

from events.kube.port import Object

SPEC = "clusterDeploymentSpec"
CONFIG = f"{SPEC}.config"
NETWORK = {"pods": ["10.244.0.0/16"], "services": ["10.96.0.0/12"]}
"""The addresses that the charts take by default."""


class Left(msgspec.Struct, frozen=True):
    """One thing that was not carried over."""

    path: str
    """Within the Colony it was in."""
    why: str


class NotConvertible(Exception):
    """A cluster cannot be carried over: where in it, and why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.left = Left(path, why)


class ExistingSite(msgspec.Struct, frozen=True):
    """What is to be written beside a Colony, so that its cluster finds what is there for it already."""

    namespace: str
    credential: str
    """It names the cloud, too."""
    pool: Object
    """What the cloud's catalog has to say of it."""
    config: Object
    """What the Credential has to say of it."""


class ConvertedCluster(NamedTuple):
    """A cluster of ours, and which paths of theirs are in it."""

    cluster: Object
    paths: frozenset[str]
    fixed: Mapping[str, object]
    """What alate writes itself: only another value is lost."""
    why: dict[str, str]
    """Why what is lost is lost, by its path, where that is another reason than usual."""
    place: ExistingSite | None = None


def within(written: Object, *names: str) -> Object:
    """The mapping under these names; empty if there is none."""
    for name in names:
        found = written.get(name)
        written = found if isinstance(found, dict) else {}
    return written


def network(config: Object) -> Object:
    """The addresses, with the charts' own beside them where one of the two is said."""
    ranges = {of: within(config, "clusterNetwork", of).get("cidrBlocks") for of in NETWORK}
    told = {of: each for of, each in ranges.items() if each}
    return {"network": NETWORK | told} if told else {}


NETWORKED = frozenset(f"{CONFIG}.clusterNetwork.{of}.cidrBlocks" for of in NETWORK)


def leaves(written: Object, whole: Container[str], above: str = "") -> Iterator[tuple[str, object]]:
    """Every path that says something, with what it says; paths among `whole` are not taken apart."""
    for name, value in written.items():
        path = f"{above}{name}"
        if isinstance(value, dict) and path not in whole:
            yield from leaves(value, whole, f"{path}.")
        elif value not in ({}, [], None):
            yield path, value
