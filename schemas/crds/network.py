"""Reads a cluster's address ranges and refuses ranges that no cluster could have."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from schemas.crds.model import CrdModel


def _range(text: str) -> str:
    address, slash, size = text.partition("/")
    try:
        meant = ip_network(text, strict=False)
    except ValueError:
        meant = None
    if meant is None or not slash or not size.isdigit():
        raise ValueError("must be a range of addresses such as 10.244.0.0/16")
    if str(meant.network_address) != address:
        raise ValueError(f"must begin where its range does: {meant}")
    return text


def _one_of_a_family(ranges: list[str]) -> list[str]:
    if len({ip_network(each).version for each in ranges}) < len(ranges):
        raise ValueError("must hold one range, or one of IPv4 with one of IPv6")
    return ranges


Ranges = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=43), AfterValidator(_range)]],
    Field(min_length=1, max_length=2, json_schema_extra={"x-kubernetes-list-type": "atomic"}),
    AfterValidator(_one_of_a_family),
]
"""One range, or one of each IP family: the cluster prefers the first."""


class NetworkSpec(CrdModel):
    """A cluster's address ranges."""

    pods: Ranges
    """Addresses of its pods, such as 10.244.0.0/16."""
    services: Ranges
    """Addresses of its Services, such as 10.96.0.0/12."""

    @model_validator(mode="after")
    def _apart(self) -> "NetworkSpec":
        for ours in map(ip_network, self.pods):
            if theirs := next((each for each in map(ip_network, self.services) if _meet(ours, each)), None):
                raise ValueError(f"pods {ours} and services {theirs} share addresses: must be apart")
        return self


def _meet(one: IPv4Network | IPv6Network, other: IPv4Network | IPv6Network) -> bool:
    return one.version == other.version and one.overlaps(other)
