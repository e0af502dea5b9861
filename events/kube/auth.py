"""Credentials for an API server; kubernetes-asyncio reads those that a program or a login service gives."""

import asyncio
import os
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from events.bus import Clock
from events.http.addresses import PLACES, PRIVATE, IpNetwork, Reach
from events.kube.http import ANSWER, Access, ApiCredentials, HttpTransport
from events.kube.kubeconfig import (
    INSECURE,
    PROXY,
    SETTING,
    Chosen,
    authority,
    bad,
    chosen,
    confined,
    merged,
    parsed,
    sealed,
    unfolded,
)
from events.kube.limits import FOUNDED

REREAD = timedelta(seconds=60)
"""How long a token out of a file or a login is used before it is read again; it is rotated in place."""
SKEW = timedelta(minutes=5)
"""How long before its end a plugin's token is replaced (kubernetes-asyncio counts the same way)."""
PLUGIN = 30.0
"""Seconds an exec plugin may take."""
FOREIGN = frozenset({PRIVATE})
"""Where a kubeconfig out of a Secret may lead beside the Internet: clusters on premises have private addresses."""
INLINE = frozenset({"client-certificate", "client-key", "token"})
"""What a user has that is read here. All else is kubernetes-asyncio's to read, which costs 0.2 s and 35 MB once."""
TOKEN = frozenset({"token"})
"""What a user has that is read without a file."""
TRUSTED = frozenset((*PLACES, PROXY, INSECURE))
"""What one may lead to that its user keeps: anywhere that it says."""
# What kubernetes-asyncio raises for contents it did not expect, besides its own ConfigException.
_SURPRISES = (ValueError, KeyError, TypeError, AttributeError, AssertionError, OSError)


@dataclass
class _Settings:
    """Where an API server is and how to log in: the part of kubernetes-asyncio's ``Configuration`` that is used."""

    host: str
    api_key: dict[str, str] = field(default_factory=dict)
    verify_ssl: bool = True
    ssl_ca_cert: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    tls_server_name: str | None = None
    proxy: str | None = None


def _now() -> datetime:
    return datetime.now(UTC)


async def transport(
    path: str | None, context: str | None = None, *, clock: Clock = _now, answer: float = ANSWER
) -> HttpTransport:
    """The API server of a kubeconfig (several paths with ``:``), or of the pod we run in.

    Without `path`: KUBECONFIG, else ``~/.kube/config``, else the service account of the pod.
    Raises ``Denied("BadKubeconfig")`` with a sentence saying what is wrong, where, and what would be right;
    TryLater where a plug-in that it names does not answer in time.
    """
    files = _places(path or os.environ.get("KUBECONFIG") or "~/.kube/config")
    if path is None and not any(file.exists() for file in files):
        return await _opened(partial(_in_cluster, files, clock), clock, answer)

    async def load() -> Access:
        return await _access(chosen(*merged(files), context), clock)

    return await _opened(load, clock, answer)


async def transport_of(
    kubeconfig_yaml: str,
    *,
    source: str = "the kubeconfig",
    clock: Clock = _now,
    allowed: frozenset[str] = FOREIGN,
    own: frozenset[IpNetwork | str] = frozenset(),
) -> HttpTransport:
    """The API server of a kubeconfig that came out of a Secret; `source` names it in sentences.

    It may hold data only: whoever wrote the Secret must not run programs or read files here, nor have us speak to
    what only we can reach. `allowed` says of what else it may be: places of `events.http.addresses`, PROXY, INSECURE;
    `own` is the network of the cluster that alate runs in.
    """
    reach = Reach(allowed, SETTING, own)

    async def load() -> Access:
        return await _access(confined(sealed(chosen(parsed(kubeconfig_yaml, source), source)), allowed), clock)

    credentials = ApiCredentials(load, clock)
    await credentials.current()
    return HttpTransport(credentials, bounds=FOUNDED, reach=reach)


def _places(paths: str) -> tuple[Path, ...]:
    return tuple(Path(part).expanduser() for part in paths.split(os.pathsep) if part)


async def _opened(load: Callable[[], Awaitable[Access]], clock: Clock, answer: float = ANSWER) -> HttpTransport:
    credentials = ApiCredentials(load, clock)
    await credentials.current()
    return HttpTransport(credentials, answer=answer)


async def _in_cluster(looked_for: tuple[Path, ...], clock: Clock) -> Access:
    config, settings = _library()
    try:
        config.load_incluster_config(client_configuration=settings, try_refresh_token=False)
        tls = _trust(settings)
    except (config.ConfigException, OSError) as error:
        raise bad(
            f"kubeconfig {', '.join(map(str, looked_for))} does not exist, and this is no pod "
            f"with a service account ({error}): name a kubeconfig that exists"
        ) from error
    return _reached(settings, tls, clock() + REREAD)


async def _access(choice: Chosen, clock: Clock) -> Access:
    if TOKEN.issuperset(choice.user) and "certificate-authority" not in choice.cluster:
        return _token_access(choice)
    # Files of ours, gone at once: kubernetes-asyncio would keep its own until exit, each with a descriptor.
    with tempfile.TemporaryDirectory(prefix="alate-") as folder:
        files = unfolded(choice, Path(folder))
        settings, expiry = (_inline(files), None) if INLINE.issuperset(files.user) else await _login(files)
        try:
            tls = _trust(settings) if settings.host.startswith("https") else None
        except _SURPRISES as error:
            raise bad(f"{choice.source} cannot be used: {error}") from error
    return _reached(settings, tls, _fresh_until(choice, expiry, clock()))


def _token_access(choice: Chosen) -> Access:
    """Access by a token alone: without temporary files, which cost a third of opening one of thousands of clusters."""
    settings, ca = _inline(choice), authority(choice)
    try:
        tls = _trust(settings, ca) if settings.host.startswith("https") else None
    except _SURPRISES as error:
        raise bad(f"{choice.source} cannot be used: {error}") from error
    return _reached(settings, tls, None)


def _library() -> tuple[Any, _Settings]:
    """kubernetes-asyncio's readers of credentials, and what they fill."""
    from kubernetes_asyncio import client, config  # noqa: PLC0415 - see INLINE

    settings: Any = client.Configuration()
    return config, settings


def _inline(choice: Chosen) -> _Settings:
    cluster, user = choice.cluster, choice.user
    return _Settings(
        host=cluster["server"].rstrip("/"),
        api_key={"BearerToken": f"Bearer {user['token']}"} if user.get("token") else {},
        verify_ssl=not cluster.get("insecure-skip-tls-verify"),
        ssl_ca_cert=cluster.get("certificate-authority"),
        cert_file=user.get("client-certificate"),
        key_file=user.get("client-key"),
        tls_server_name=cluster.get("tls-server-name"),
        proxy=cluster.get("proxy-url"),
    )


async def _login(choice: Chosen) -> tuple[_Settings, datetime | None]:
    """What a plugin, a login service, a file or a password gives, and when a plugin's token ends."""
    config, settings = _library()
    try:
        async with asyncio.timeout(PLUGIN):
            login = await config.load_kube_config_from_dict(choice.document, client_configuration=settings)
    except TimeoutError as error:
        raise bad(f"the exec plugin of {choice.source} gave no credentials in {PLUGIN:g} s") from error
    except (config.ConfigException, *_SURPRISES) as error:
        raise bad(f"{choice.source} cannot be used: {error}") from error
    return settings, getattr(login, "exec_plugin_expiry", None)


def _fresh_until(choice: Chosen, expiry: datetime | None, now: datetime) -> datetime | None:
    if expiry is not None:
        return max(expiry - SKEW, now + REREAD)
    rotates = "tokenFile" in choice.user or "auth-provider" in choice.user
    return now + REREAD if rotates else None


def _trust(settings: _Settings, ca: str = "") -> ssl.SSLContext:
    """`ca`: the authority as PEM, where it is in no file."""
    tls = ssl.create_default_context(cafile=settings.ssl_ca_cert, cadata=ca or None)
    # Many clusters' own CAs lack extensions that Python 3.13 asks for by default; client-go does not.
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not settings.verify_ssl:
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    if settings.cert_file:
        tls.load_cert_chain(settings.cert_file, settings.key_file)
    return tls


def _reached(settings: _Settings, tls: ssl.SSLContext | None, fresh_until: datetime | None) -> Access:
    return Access(
        server=settings.host,
        tls=tls,
        token=settings.api_key.get("BearerToken", "").strip(),
        server_name=settings.tls_server_name,
        proxy=settings.proxy,
        fresh_until=fresh_until,
    )
