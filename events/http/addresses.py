"""Decides by the resolved address whether a connection is allowed, so that no name or redirect leads elsewhere."""

from dataclasses import dataclass
from errno import EACCES
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

PRIVATE, LOOPBACK, LINK_LOCAL, INTERNAL = "private", "loopback", "link-local", "internal"
PLACES = {
    PRIVATE: "a private network",
    LOOPBACK: "this host itself",
    LINK_LOCAL: "the link, where clouds keep their machines' credentials",
    INTERNAL: "the cluster that alate runs in",
}
"""Kinds of addresses besides the open Internet, with their names in messages."""
NOWHERE = "nowhere"
"""Multicast, broadcast and reserved: no host can have such an address."""
_METADATA = frozenset(
    map(ip_address, ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))
)
"""Metadata addresses of Azure, Alibaba, Oracle, AWS and Google besides 169.254.0.0/16, from their documentation."""
_EMBEDDING = tuple(map(ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96", "::/96")))
"""IPv6 prefixes that embed an IPv4 address in their last 32 bits: RFC 6052, 8215, 2765, 4291."""
IpNetwork = IPv4Network | IPv6Network
_INSIDE = (".svc", ".cluster.local")
_CLUSTERS_OWN = frozenset({"kubernetes", "kubernetes.default"})


@dataclass(frozen=True)
class Reach:
    """The addresses that one kind of connection may reach."""

    allowed: frozenset[str] = frozenset()
    """Kinds of `PLACES` that are allowed; the open Internet always is."""
    setting: str = ""
    """The setting that allows more, for messages."""
    own: frozenset[IpNetwork | str] = frozenset()
    """The addresses and names of the cluster that alate runs in."""

    def refusal(self, host: str) -> str:
        """Why a host (address or name) may not be reached; empty if it may. Names are not resolved here."""
        place = self._place(host)
        if not place or place in self.allowed:
            return ""
        if place == NOWHERE:
            return f"{host} is no address that anybody can have: name another"
        told = f": use another, or allow it with {place} in {self.setting}" if self.setting else ""
        return f"{host} is of {PLACES[place]}, which must not be spoken to{told}"

    def _place(self, host: str) -> str:
        try:
            address = ip_address(host.strip("[]").partition("%")[0])
        except ValueError:
            name = host.lower().rstrip(".")
            return INTERNAL if name in self.own else _of_name(name)
        leads_to = _inner(address) or address
        inside = any(leads_to in each for each in self.own if not isinstance(each, str))
        return INTERNAL if inside else place_of(leads_to)


class Unreachable(OSError):
    """A connection was refused because of its address."""

    def __init__(self, why: str) -> None:
        super().__init__(EACCES, why)

    def __str__(self) -> str:
        return str(self.strerror)


def check(reach: Reach | None, host: str) -> None:
    """Check that a host may be reached; None allows any. Raises Unreachable."""
    why = reach.refusal(host) if reach is not None else ""
    if why:
        raise Unreachable(why)


def own(api: str = "", networks: str = "") -> frozenset[IpNetwork | str]:
    """The network of the cluster alate runs in: its API server (address or name), and ranges. Raises ValueError."""
    try:
        server: set[IpNetwork | str] = {ip_network(api)} if api else set()
    except ValueError:
        server = {api.lower().rstrip(".")}
    return frozenset(server) | ranges(networks)


def ranges(words: str) -> frozenset[IpNetwork]:
    """Parse networks in CIDR notation, separated by commas. Raises ValueError."""
    return frozenset(ip_network(word.strip()) for word in words.split(",") if word.strip())


def place_of(address: IPv4Address | IPv6Address) -> str:
    """The kind of an address without an embedded one; empty for the open Internet."""
    if address.is_loopback or address.is_unspecified:
        return LOOPBACK
    if address.is_link_local or address in _METADATA:
        return LINK_LOCAL
    if address.is_multicast or (address.is_reserved and address.version == 4):
        return NOWHERE
    return "" if address.is_global else PRIVATE


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """The IPv4 address embedded in an IPv6 address."""
    if not isinstance(address, IPv6Address) or address.is_loopback or address.is_unspecified:
        return None
    if any(address in each for each in _EMBEDDING):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def _of_name(name: str) -> str:
    if name == "localhost" or name.endswith(".localhost"):
        return LOOPBACK
    return INTERNAL if name in _CLUSTERS_OWN or name.endswith(_INSIDE) else ""
