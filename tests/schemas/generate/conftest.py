"""A small world of messages, declared for the test alone."""

import msgspec
import pytest

from schemas.entity import Lifecycle


class Room(msgspec.Struct, frozen=True):
    """Where a lamp is."""

    name: str
    floors: tuple[int, ...] = (1, 2)


class Lit(msgspec.Struct, frozen=True):
    """It gives light | or should."""

    room: Room
    since: float | None = None


class Dark(msgspec.Struct, frozen=True):
    """It gives none."""


class Wanted(msgspec.Struct, frozen=True):
    """Somebody wants light."""

    spec: dict[str, object]


class Brightness(msgspec.Struct, frozen=True):
    """How bright it is."""

    lumen: int


@pytest.fixture
def lamps(own_registry):
    """The declarations of a world of lamps."""
    own_registry.state("lamp", "lit", owner="janitor")(Lit)
    own_registry.state("lamp", "dark", owner="janitor")(Dark)
    own_registry.level("seen.light.{room}", owner="eye")(Brightness)
    own_registry.intake("lamp.wish", "lamp.wanted", "lamp.wanted.{tenant}")(Wanted)
    return own_registry.declarations()


@pytest.fixture
def life(lamps):
    """The life of a lamp."""
    return Lifecycle("lamp", {None: (Dark,), Dark: (Lit,), Lit: (Dark,)})
