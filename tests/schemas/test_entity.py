"""A lifecycle names its states, its ends, and draws itself."""

import msgspec
import pytest

from schemas.discover import lifecycles
from schemas.entity import Lifecycle
from schemas.registry import Stream, declarations, declared


class Dark(msgspec.Struct):
    """No light."""


class Lit(msgspec.Struct):
    """Light."""


class Broken(msgspec.Struct):
    """Never light again, unless somebody replaces it."""


class Lost(msgspec.Struct):
    """Nowhere."""


@pytest.fixture
def lamp(own_registry):
    for event, struct in (("dark", Dark), ("lit", Lit), ("burnt-out", Broken), ("lost", Lost)):
        own_registry.state("lamp", event, owner="janitor")(struct)
    return Lifecycle("lamp", {None: (Dark, Lost), Dark: (Lit, Lost), Lit: (Lit, Dark, Broken), Broken: (Dark,)})


def test_states_are_named_once_in_the_order_of_the_declaration(lamp):
    assert lamp.states == (Dark, Lit, Broken, Lost)


def test_a_life_ends_where_nothing_follows_or_only_a_new_beginning(lamp):
    assert lamp.terminal == (Broken, Lost)


def test_what_may_still_come_to_an_end_has_not_ended(lamp):
    waits = Lifecycle("lamp", {None: (Dark, Lost), Dark: (Lit, Lost), Lit: (Dark, Lost), Lost: (Dark,)})
    assert waits.first == (Dark, Lost)
    assert waits.terminal == (Lost,)


def test_the_diagram_shows_every_transition_beginning_and_end(lamp):
    assert lamp.mermaid().splitlines() == [
        "stateDiagram-v2",
        '    state "burnt-out" as burnt_out',
        "    [*] --> dark",
        "    [*] --> lost",
        "    dark --> lit",
        "    dark --> lost",
        "    lit --> lit",
        "    lit --> dark",
        "    lit --> burnt_out",
        "    burnt_out --> dark",
        "    burnt_out --> [*]",
        "    lost --> [*]",
    ]


def test_a_state_that_was_never_declared_cannot_be_drawn(own_registry):
    with pytest.raises(KeyError):
        Lifecycle("lamp", {None: (Dark,)}).mermaid()


def test_every_declared_state_is_part_of_the_life_of_its_entity():
    drawn = {state for lifecycle in lifecycles() for state in lifecycle.states}
    ours = {it.struct for it in declarations() if it.stream is Stream.EVENTS}
    assert {state for state in ours if state.__module__.startswith("schemas.")} == drawn


def test_every_state_of_a_lifecycle_is_of_its_domain_and_can_be_met():
    for lifecycle in lifecycles():
        assert {declared(state).domain for state in lifecycle.states} == {lifecycle.domain}
        assert set(lifecycle.states) == {state for following in lifecycle.leads_to.values() for state in following}


def test_every_entitys_life_can_end():
    for lifecycle in lifecycles():
        assert lifecycle.terminal, lifecycle.domain
