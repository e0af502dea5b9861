"""The program of the process that sends one text by apprise, and connects to no address that is not allowed."""

import logging
import os
import resource
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

import apprise
import msgspec
import requests

from events.http.addresses import LOOPBACK, IpNetwork, Reach, Unreachable, place_of
from services.outbound.apprise_protocol import AppriseReply, AppriseRequest

MEMORY = 1 << 30
"""Bytes of address space."""
SECONDS = 20
"""Processor time."""
PROGRAMS = frozenset(
    {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
)
"""Audit events of starting a program, which no service needs."""
CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
"""Audit events whose arguments are a socket and an address."""


class Guard:
    """Refuses connections by their resolved address, whichever library makes them; keeps the first reason."""

    def __init__(self, reach: Reach | None) -> None:
        self.refused = ""
        self._reach = reach

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        """An audit hook. Raises Unreachable."""
        if event in PROGRAMS:
            self._refuse("programs are not started")
        if event in CONNECTS and (why := self._why(arguments[1])):
            self._refuse(why)

    def _refuse(self, why: str) -> None:
        self.refused = self.refused or why
        raise Unreachable(why)

    def _why(self, address: object) -> str:
        """Why an address may not be connected to; empty if it may."""
        if address is None:  # the socket is connected already
            return ""
        if not isinstance(address, tuple):
            return "sockets of this host are not connected to"
        try:
            host = str(ip_address(str(address[0]).partition("%")[0]))
        except ValueError:
            return "a host is connected to by name, so its address cannot be checked"
        return self._reach.refusal(host) if self._reach is not None else ""


@dataclass
class LastResponse:
    """The last response over HTTP; redirects are not followed."""

    status: int = 0
    retry_after: str = ""
    date: str = ""

    def watch(self) -> None:
        """Keep what every session gets from now on."""
        send = requests.Session.send

        def sent(session: requests.Session, request: requests.PreparedRequest, **how: object) -> requests.Response:
            got = send(session, request, **{**how, "allow_redirects": False})
            self.status = got.status_code
            self.retry_after, self.date = got.headers.get("Retry-After", ""), got.headers.get("Date", "")
            return got

        requests.Session.send = sent  # type: ignore[assignment, method-assign]


def answer(request: AppriseRequest) -> AppriseReply:
    """Send the text, and say what came of it."""
    guard, last = Guard(_reach(request)), LastResponse()
    sys.addaudithook(guard.hear)
    last.watch()
    service = _service(request.url)
    if isinstance(service, str):
        return AppriseReply(invalid=service)
    sent = bool(service.notify(title=request.title, body=request.body, notify_type=apprise.NotifyType(request.kind)))
    return AppriseReply(sent, last.status, last.retry_after, last.date, refused="" if sent else guard.refused)


def _service(url: str) -> apprise.NotifyBase | str:
    """The service of a URL, or why that cannot be used."""
    asset = apprise.AppriseAsset(allow_templates=False, secure_logging=True)
    asset.http_redirects = False
    service = apprise.Apprise.instantiate(url, asset=asset, suppress_exceptions=True)
    if not isinstance(service, apprise.NotifyBase):
        return "its file of secrets holds no URL that apprise knows, such as slack://…, discord://…, mailtos://…"
    if _is_here(service):
        return service
    if _schema(service) not in _names(service.secure_protocol):
        secure = ", ".join(f"{name}://" for name in _names(service.secure_protocol))
        return f"its URL is not encrypted: use {secure}" if secure else "its service is not encrypted: use another"
    return service if service.verify_certificate else "its URL must not say verify=no: certificates are checked"


def _schema(service: apprise.NotifyBase) -> str:
    return str(getattr(service, "schema", "") or "")


def _names(protocols: str | Iterable[str] | None) -> tuple[str, ...]:
    return (protocols,) if isinstance(protocols, str) else tuple(protocols or ())


def _is_here(service: apprise.NotifyBase) -> bool:
    """Whether it is a service of this host, which is reached in the clear."""
    host = str(getattr(service, "smtp_host", "") or service.host or "")
    try:
        return host == "localhost" or place_of(ip_address(host.strip("[]"))) == LOOPBACK
    except ValueError:
        return False


def _reach(request: AppriseRequest) -> Reach | None:
    if not request.checked:
        return None
    return Reach(frozenset(request.allowed), request.setting, frozenset(map(_own, request.own)))


def _own(text: str) -> IpNetwork | str:
    try:
        return ip_network(text)
    except ValueError:
        return text


def main() -> None:
    """Answer the one request on standard input; nothing else is written, since a library's words may hold the URL."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    reply_to = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    logging.disable()
    reply = answer(msgspec.json.decode(sys.stdin.buffer.read(), type=AppriseRequest))
    os.write(reply_to, msgspec.json.encode(reply))


if __name__ == "__main__":
    main()
