"""Every message on the bus: the base struct, and the declaration of its subjects, its owner and its type."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self, TypeVar

import msgspec

from schemas.subjects import token

PREFIX = "dev.alate."
"""What every CloudEvents type of ours begins with."""

StructType = type[msgspec.Struct]
S = TypeVar("S", bound=StructType)


class Stream(StrEnum):
    """The streams that store messages; `events.streams` has their retention."""

    EVENTS = "EVENTS"
    LEVELS = "LEVELS"
    INTAKE = "INTAKE"
    MEMBERS = "KV_alate-members"


@dataclass(frozen=True)
class Declaration:
    """One message: its type, its subjects, its only publisher, and its struct."""

    type: str
    """CloudEvents type, e.g. ``dev.alate.cluster.ready``."""
    subjects: tuple[str, ...]
    """Templates, e.g. ``cluster.ready.{tenant}.{name}``; more than one only at intake."""
    stream: Stream
    owner: str
    """The only service that publishes it; ``anyone`` for intake."""
    struct: StructType

    @property
    def subject(self) -> str:
        """The template of its first subject."""
        return self.subjects[0]

    @property
    def doc(self) -> str:
        """The first line of the struct's docstring."""
        return (self.struct.__doc__ or "").strip().split("\n")[0]

    def at(self, *names: str) -> str:
        """The subject for these names, in the template's order."""
        given = iter(names)
        return ".".join(token(next(given)) if part.startswith("{") else part for part in self.subject.split("."))

    def under(self, *names: str) -> str:
        """The filter for every subject that begins with these names."""
        given = iter(names)
        parts = self.subject.split(".")
        return ".".join(token(next(given, "")) or "*" if part.startswith("{") else part for part in parts)

    @property
    def event(self) -> str:
        """The event's token, e.g. ``ready``."""
        return self.subject.split(".")[1]

    @property
    def phase(self) -> str:
        """The event as a Colony's status writes it, e.g. ``Ready``."""
        return self.event.title()

    @property
    def domain(self) -> str:
        """The domain's token, e.g. ``cluster``."""
        return self.subject.split(".")[0]


_by_type: dict[str, Declaration] = {}
_by_struct: dict[type[msgspec.Struct], Declaration] = {}


def _declare(declaration: Declaration) -> None:
    if (twin := _by_type.get(declaration.type)) is not None:
        names = f"{twin.struct.__name__} and {declaration.struct.__name__}"
        raise ValueError(f"{declaration.type} is declared twice: by {names}")
    _by_type[declaration.type] = _by_struct[declaration.struct] = declaration


def _declares(subject: str, stream: Stream, owner: str) -> Callable[[S], S]:
    fixed = ".".join(part for part in subject.split(".") if not part.startswith("{"))

    def register(struct: S) -> S:
        _declare(Declaration(PREFIX + fixed, (subject,), stream, owner, struct))
        return struct

    return register


def state(domain: str, event: str, *, owner: str) -> Callable[[S], S]:
    """Declare a state: its message on ``<domain>.<event>.<tenant>.<name>`` is event, state and lock at once."""
    return _declares(f"{domain}.{event}.{{tenant}}.{{name}}", Stream.EVENTS, owner)


def level(subject: str, *, owner: str) -> Callable[[S], S]:
    """Declare a level: what its owner sees now, of which only the newest message per subject is kept."""
    return _declares(subject, Stream.LEVELS, owner)


def intake(name: str, *subjects: str) -> Callable[[S], S]:
    """Declare what anyone who may ask can publish, on any of the subjects."""

    def register(struct: S) -> S:
        _declare(Declaration(PREFIX + name, subjects, Stream.INTAKE, "anyone", struct))
        return struct

    return register


def declarations() -> tuple[Declaration, ...]:
    """Every message declared so far, by type."""
    return tuple(_by_type[name] for name in sorted(_by_type))


def declared(struct: type[msgspec.Struct]) -> Declaration:
    """The declaration of a struct; KeyError if it is never on the bus."""
    return _by_struct[struct]


def named(type_name: str) -> Declaration | None:
    """The declaration of a CloudEvents type, or None if it is not ours."""
    return _by_type.get(type_name)


_WORD = re.compile("_([a-z0-9])")


def wire_name(attribute: str) -> str:
    """The JSON field of an attribute, as the Colony's CRD would spell it: ``memory_gib`` is ``memoryGiB``."""
    name = _WORD.sub(lambda found: found[1].upper(), attribute)
    return name.replace("Gib", "GiB").replace("Mib", "MiB")


class WireStruct(msgspec.Struct, frozen=True, rename=wire_name):
    """A message, or a part of one."""

    def but(self, **fields: Any) -> Self:  # noqa: ANN401 - the struct's own fields
        """The same with other values in these fields; TypeError for a field that it does not have."""
        return msgspec.structs.replace(self, **fields)


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""No JSON or not what it should be; text that is no UTF-8; brackets without end."""


def why(error: Exception) -> str:
    """What is wrong with the bytes; a decoder only says that it could go no deeper itself."""
    return "it is nested too deep to be read" if isinstance(error, RecursionError) else str(error)
