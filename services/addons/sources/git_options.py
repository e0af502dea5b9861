"""What git and ssh are told, so that they reach one address alone, with the credentials of one Secret."""

import asyncio
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from events.errors import Denied, TryLater
from events.http.addresses import Reach, Unreachable, check
from services.addons.sources.credentials import Credentials
from services.addons.sources.http import AGAIN, shown
from services.addons.sources.request import SourceRequest

OPTIONS = {
    "protocol.allow": "never",
    "protocol.https.allow": "always",
    "protocol.http.allow": "always",
    "protocol.ssh.allow": "always",
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "20",
    "core.hooksPath": "/dev/null",
    "core.askPass": "",
    "credential.helper": "",
    "fetch.unpackLimit": "1",
    "fetch.recurseSubmodules": "false",
    "transfer.bundleURI": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "init.defaultBranch": "main",
}
ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "LC_ALL": "C",
}
SSH = (
    "-F none -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=none "
    "-o CheckHostIP=no -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 -o ProxyCommand=none "
    "-o PermitLocalCommand=no -o ClearAllForwardings=yes -o UpdateHostKeys=no"
)
TOKEN_NAME = "x-access-token"  # noqa: S105 - no secret: forges take a token as the password of anybody
PORTS = {"https": 443, "http": 80, "ssh": 22}


class Prepared(NamedTuple):
    """What each call of git is given."""

    options: tuple[str, ...]
    env: dict[str, str]
    """Options that hold secrets stand here: what is on a command line is seen by everybody on the machine."""


async def prepared(request: SourceRequest, url: str, folder: Path) -> Prepared:
    """The options for one repository. Raises NotFound, TryLater, Denied, OSError."""
    parts, known = urlsplit(url), await request.credentials(url)
    port = parts.port or PORTS[parts.scheme]
    address = await _address(request.settings.reach, url, str(parts.hostname), port)
    secret = dict(_https(parts, known, folder)) if parts.scheme != "ssh" else {}
    pinned = {"http.curloptResolve": f"{parts.hostname}:{port}:{address}"} if address else {}
    options = tuple(f"--config-env={key}=_{number}" for number, key in enumerate(secret))
    plain = tuple(word for key, value in {**OPTIONS, **pinned}.items() for word in ("-c", f"{key}={value}"))
    env = ENV | {f"_{number}": value for number, value in enumerate(secret.values())}
    if parts.scheme == "ssh":
        env["GIT_SSH_COMMAND"] = _ssh(parts, known, folder, address)
        env["GIT_SSH_VARIANT"] = "ssh"
    return Prepared(plain + options, env)


async def _address(reach: Reach | None, url: str, host: str, port: int) -> str:
    """The one address that is connected to, as git looks names up itself; empty: whichever it finds."""
    if reach is None:
        return ""
    try:
        check(reach, host)
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        address = str(found[0][4][0])
        check(reach, address)
    except Unreachable as refused:
        raise Denied(f"{shown(url)} may not be read: {refused}", "AddressRefused") from refused
    except (OSError, IndexError, UnicodeError) as unknown:
        raise TryLater(f"{shown(url)} cannot be reached: the name {host} is not known", AGAIN) from unknown
    return f"[{address}]" if ":" in address and urlsplit(url).scheme != "ssh" else address


def _https(parts: SplitResult, known: Credentials, folder: Path) -> Iterator[tuple[str, str]]:
    if known.secret:
        shown_as = Credentials(TOKEN_NAME, known.token) if known.token else known
        yield f"http.{parts.scheme}://{parts.netloc}/.extraHeader", f"Authorization: {shown_as.basic}"
    if known.ca:
        (folder / "ca.crt").write_text(known.ca)
        yield "http.sslCAInfo", str(folder / "ca.crt")


def _ssh(parts: SplitResult, known: Credentials, folder: Path, address: str) -> str:
    """The command that git starts through a shell."""
    if not known.identity or not known.known_hosts:
        raise Denied("ssh:// needs a Secret in credentials with identity and known_hosts", "InvalidCredentials")
    for name, text in {"identity": known.identity, "known_hosts": known.known_hosts}.items():
        file = folder / name
        file.touch(mode=0o600)
        file.write_text(f"{text}\n")
    alias = f"[{parts.hostname}]:{parts.port}" if parts.port not in (None, 22) else str(parts.hostname)
    words = ["ssh", *SSH.split(), "-i", str(folder / "identity"), "-o", f"UserKnownHostsFile={folder / 'known_hosts'}"]
    words += ["-o", f"HostKeyAlias={alias}", *(["-o", f"HostName={address}"] if address else [])]
    return shlex.join(words)
