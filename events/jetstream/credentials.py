"""NKey credentials of a connection; the seed stays in its file and appears in no message."""

import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from events.errors import Denied

API = "$JS.API"
"""The API prefix within JetStream's own account."""


@dataclass(frozen=True, slots=True)
class NkeyCredentials:
    """Credentials for a NATS server; all empty without any."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    nkey: Path | None = None
    """A file that holds an NKey's seed and nothing else."""
    creds: Path | None = None
    """A file that holds a user's JWT and seed, as nsc writes it for a NATS in operator mode."""
    tls: ssl.SSLContext | None = None
    inbox: str | None = None
    """The inbox prefix; None: ``_INBOX_`` and the client's name."""
    api: str = API
    """The API prefix, which differs for an account that imports a part of the API."""

    @property
    def anyone(self) -> bool:
        """Whether there are no credentials."""
        return not (self.user or self.token or self.nkey or self.creds)

    def shown(self) -> dict[str, Any]:
        """The credentials as nats-py takes them; it reports of a bad file only that it failed.

        Raises Denied("BadCredentials").
        """
        if self.nkey:
            seed(self.nkey)
        return {
            "user": self.user,
            "password": self.password,
            "token": self.token,
            "nkeys_seed": str(self.nkey) if self.nkey else None,
            "user_credentials": decorated(self.creds) if self.creds else None,
            "tls": self.tls,
        }


NOBODY = NkeyCredentials()
"""For a server without authentication."""


def trusting(authority: Path | None) -> ssl.SSLContext | None:
    """TLS that trusts the authorities in a PEM file and no others. Raises Denied("BadCredentials")."""
    if authority is None:
        return None
    try:
        return ssl.create_default_context(cafile=str(authority))
    except (OSError, ssl.SSLError) as wrong:
        raise Denied(f"{authority} holds no certificate authority: expected PEM ({wrong})", "BadCredentials") from wrong


def seed(file: Path) -> str:
    """The seed in a file. Raises Denied("BadCredentials"), which quotes nothing of its content."""
    import nkeys  # noqa: PLC0415 - 4 MB that nobody needs who shows no key

    try:
        text = file.read_text().strip()
        nkeys.from_seed(bytearray(text.encode())).wipe()
    except (OSError, ValueError, nkeys.NkeysError) as wrong:
        why = wrong.strerror if isinstance(wrong, OSError) else "expected one line that begins with SU"
        raise Denied(f"{file} holds no NKey seed: {why}", "BadCredentials") from None
    return text


def decorated(file: Path) -> Path:
    """The file, if it holds a JWT and a seed: nats-py would look for them for ever. Raises Denied("BadCredentials")."""
    try:
        text = file.read_text()
    except (OSError, ValueError) as wrong:
        raise Denied(f"{file} cannot be read: {wrong}", "BadCredentials") from wrong
    if "BEGIN NATS USER JWT" not in text or "BEGIN USER NKEY SEED" not in text:
        raise Denied(f"{file} holds no credentials: expected a JWT and a seed, as nsc writes them", "BadCredentials")
    return file


def without_secrets(url: str) -> str:
    """The url, or several, without what opens the door."""
    return re.sub(r"[^/@,\s]*@", "", url)
