"""What a Secret shows to a source's server, kept out of every message and log."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from events.errors import Denied
from events.kube.client import Kube, Object
from events.kube.resources import SECRETS
from schemas.crds.sources import SecretRef
from schemas.registry import UNREADABLE

_ALSO = {"docker.io": ("https://index.docker.io/v1/",)}
PULL = ".dockerconfigjson"
"""The key of an image pull secret."""


@dataclass(frozen=True)
class Credentials:
    """What is shown to a server; nothing of it is in its representation."""

    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)
    """PEM of the authorities that the server is trusted by."""
    identity: str = field(default="", repr=False)
    """A private key for SSH."""
    known_hosts: str = field(default="", repr=False)

    @property
    def secret(self) -> bool:
        """Whether there is anything that must not be sent in the clear."""
        return bool(self.username or self.password or self.token)

    @property
    def basic(self) -> str:
        """The header of a name and a password; empty without."""
        pair = f"{self.username}:{self.password}".encode()
        return f"Basic {base64.b64encode(pair).decode()}" if self.username or self.password else ""

    @property
    def header(self) -> str:
        """The value of Authorization; empty without."""
        return f"Bearer {self.token}" if self.token else self.basic


NOBODY = Credentials()


async def credentials(management: Kube, ref: SecretRef | None, namespace: str, host: str) -> Credentials:
    """What the Secret says, for this host. Raises NotFound, TryLater, Denied."""
    if ref is None:
        return NOBODY
    where = f"Secret {namespace}/{ref.name}"
    texts = await secret_texts(management, ref.name, namespace)
    if PULL in texts:
        return _of_pull_secret(texts[PULL], host, where)
    known = Credentials(
        texts.get("username", ""), texts.get("password", ""), texts.get("token", ""), texts.get("ca.crt", ""),
        texts.get("identity", texts.get("ssh-privatekey", "")), texts.get("known_hosts", ""),
    )  # fmt: skip
    if known == NOBODY:
        raise Denied(f"{where} holds none of username, password, token, ca.crt, identity, {PULL}", "InvalidCredentials")
    return known


async def secret_texts(management: Kube, name: str, namespace: str) -> Mapping[str, str]:
    """The texts of a Secret by key. Raises NotFound, TryLater, Denied."""
    files = secret_files(await management.get(SECRETS, name, namespace))
    try:
        return {key: data.decode().strip() for key, data in files.items()}
    except UnicodeDecodeError:
        raise Denied(f"Secret {namespace}/{name} holds what is no text", "InvalidCredentials") from None


def secret_files(found: Object) -> Mapping[str, bytes]:
    """What a Secret holds, by key. Raises Denied."""
    try:
        return {key: base64.b64decode(text) for key, text in (found.get("data") or {}).items()}
    except (binascii.Error, TypeError, ValueError, AttributeError):
        meta = found["metadata"]
        raise Denied(f"Secret {meta.get('namespace')}/{meta['name']} is no base64", "InvalidCredentials") from None


def _of_pull_secret(text: str, host: str, where: str) -> Credentials:
    """As docker writes it: a name and a password for each registry."""
    try:
        auths = msgspec.json.decode(text, type=dict[str, dict[str, dict[str, str]]])["auths"]
        found = next((auths[name] for name in (host, f"https://{host}", *_ALSO.get(host, ())) if name in auths), None)
        if found is None:
            raise Denied(f"{where} has no credentials for {host}", "InvalidCredentials")
        pair = base64.b64decode(found["auth"]).decode() if "auth" in found else ""
    except (KeyError, binascii.Error, UnicodeDecodeError, *UNREADABLE):
        raise Denied(f"{where} holds no valid {PULL}", "InvalidCredentials") from None
    name, _, password = pair.partition(":")
    return Credentials(found.get("username", name), found.get("password", password), found.get("identitytoken", ""))
