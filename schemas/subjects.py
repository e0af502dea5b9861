"""Writes and reads subjects, so that every compare-and-swap names the right history."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

_UNSAFE = re.compile(r"[^A-Za-z0-9-]")
_ESCAPED = re.compile(r"((?:_[0-9A-F]{2})+)")


def token(text: str) -> str:
    """Escape one name to a subject token of ``[A-Za-z0-9_-]``: any other byte becomes ``_XX`` (hex)."""
    return _UNSAFE.sub(_escaped, text) if _UNSAFE.search(text) else text


def _escaped(unsafe: re.Match[str]) -> str:
    return "".join(f"_{byte:02X}" for byte in unsafe[0].encode())


def text(escaped: str) -> str:
    """Read a token back: the inverse of `token`. What `token` never writes stays as it is."""
    return _ESCAPED.sub(_read, escaped) if "_" in escaped else escaped


def _read(escapes: re.Match[str]) -> str:
    try:
        return bytes.fromhex(escapes[0].replace("_", "")).decode()
    except UnicodeDecodeError:  # anyone may publish a request on a subject of their own making
        return escapes[0]


class Key(NamedTuple):
    """One entity: a state machine with one owner, e.g. ``cluster/acme/train-gpu``."""

    domain: str
    tenant: str
    name: str

    @property
    def path(self) -> str:
        """Tenant and name as two subject tokens."""
        return f"{token(self.tenant)}.{token(self.name)}"

    @property
    def history(self) -> str:
        """The filter that matches every state this entity ever had: the compare-and-swap subject."""
        return f"{self.domain}.*.{self.path}"

    @property
    def timer(self) -> str:
        """Where the entity's one durable timer is kept."""
        return f"timer.{self.domain}.{self.path}"

    @property
    def due(self) -> str:
        """Where the timer's message arrives."""
        return f"due.{self.domain}.{self.path}"

    def state(self, event: str) -> str:
        """The subject of one transition, e.g. ``cluster.ready.acme.train-gpu``."""
        return f"{self.domain}.{event}.{self.path}"


def key_of(subject: str) -> Key:
    """Read the entity back from the subject of a state, a timer or a due message.

    Raises ValueError for any other subject.
    """
    match subject.split("."):
        case ["timer" | "due", domain, tenant, name]:
            return Key(domain, text(tenant), text(name))
        case [domain, _, tenant, name]:
            return Key(domain, text(tenant), text(name))
    raise ValueError(f"{subject!r} is no subject of an entity: expected <domain>.<event>.<tenant>.<name>")


def names_of(subject: str) -> tuple[str, ...]:
    """Every token of a subject, read back to the names they stand for."""
    return tuple(map(text, subject.split(".")))


@lru_cache(maxsize=4096)
def matcher(filters: tuple[str, ...]) -> Callable[[str], object]:
    """A test of subjects against filters, where ``*`` is one token and ``>`` the rest."""
    wild = {"*": r"[^.]+", ">": r".+"}
    texts = (r"\.".join(wild.get(token) or re.escape(token) for token in f.split(".")) for f in filters)
    return re.compile("|".join(f"(?:{text})" for text in texts)).fullmatch
