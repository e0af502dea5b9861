"""An add-on that waits for others goes on as they change, in whichever order its service hears of it."""

from datetime import UTC, datetime

import msgspec
import pytest

from schemas.addon import Applied, Applying
from schemas.subjects import Key
from services.addons.gates import Gates

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Told:
    """States of add-ons, as a read model tells them."""

    def listen(self, changed, dropped):
        self.changed, self.dropped = changed, dropped

    def tell(self, state):
        self.changed(key(state.addon), state)


def key(addon):
    return Key("addon", "acme", f"train-a.{addon}")


def state(kind, addon, **more):
    common = {"uid": "u1", "correlation": "c", "since": NOW, "tenant": "acme", "colony": "train", "digest": "d"}
    return kind(**common, cluster="train-a", addon=addon, **more)


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def resumed(told):
    found = []
    told.gates = Gates(told, lambda _: (), found.append)
    return found


WAITING = state(Applying, "web", after=("base",), until=NOW, gated=True, message="waits for base (which is not there)")


def test_an_add_on_goes_on_when_what_it_waits_for_is_applied_after_it_began_to_wait(told, resumed):
    told.tell(WAITING)
    assert resumed == []
    told.tell(state(Applied, "base"))
    assert resumed == [key("web")]


def test_an_add_on_goes_on_when_what_it_waits_for_was_applied_while_it_began_to_wait(told, resumed):
    told.tell(state(Applied, "base"))
    told.tell(WAITING)
    assert resumed == [key("web")]


def test_an_add_on_whose_reason_to_wait_is_as_told_is_left_alone(told, resumed):
    told.tell(state(Applying, "base", until=NOW))
    told.tell(msgspec.structs.replace(WAITING, message="waits for base (applying)"))
    assert resumed == []
