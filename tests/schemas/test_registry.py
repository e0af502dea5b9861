"""A message is declared once, and found by its type and by its struct."""

import msgspec
import pytest


class Up(msgspec.Struct):
    """It is up.

    And this is not part of the first line.
    """


class Also(msgspec.Struct):
    """It is up, too."""


def test_a_type_declared_twice_fails_at_import(own_registry):
    own_registry.state("lamp", "up", owner="janitor")(Up)
    with pytest.raises(ValueError, match=r"dev\.alate\.lamp\.up is declared twice: by Up and Also"):
        own_registry.state("lamp", "up", owner="somebody")(Also)


def test_a_duplicate_leaves_the_first_declaration_alone(own_registry):
    own_registry.state("lamp", "up", owner="janitor")(Up)
    with pytest.raises(ValueError, match="twice"):
        own_registry.level("lamp.up.{room}", owner="somebody")(Also)
    assert own_registry.named("dev.alate.lamp.up").struct is Up
    assert own_registry.declarations() == (own_registry.declared(Up),)


def test_a_state_travels_on_its_entitys_history(own_registry):
    own_registry.state("lamp", "up", owner="janitor")(Up)
    up = own_registry.declared(Up)
    assert (up.type, up.subject) == ("dev.alate.lamp.up", "lamp.up.{tenant}.{name}")
    assert (up.domain, up.event, up.owner, up.doc) == ("lamp", "up", "janitor", "It is up.")


def test_intake_is_one_message_on_several_subjects(own_registry):
    own_registry.intake("lamp.wish", "lamp.wanted", "lamp.wanted.{tenant}")(Up)
    wish = own_registry.declared(Up)
    subjects = ("lamp.wanted", "lamp.wanted.{tenant}")
    assert (wish.type, wish.subject, wish.subjects) == ("dev.alate.lamp.wish", "lamp.wanted", subjects)
    assert wish.owner == "anyone"


def test_a_type_that_is_not_ours_is_nobodys(own_registry):
    assert own_registry.named("dev.alate.lamp.up") is None


def test_a_struct_that_is_never_said_has_no_declaration(own_registry):
    with pytest.raises(KeyError):
        own_registry.declared(Up)
