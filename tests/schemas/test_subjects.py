"""Any name can be in a subject, and comes out of it as it went in."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.subjects import Key, key_of, names_of, text, token

TEXT = st.text() | st.text("_2EA.é*> -", max_size=8)
"""Any text, and often one that looks as if it were escaped already."""

NAMES = TEXT.filter(bool)


@given(TEXT)
@example("_2E")
def test_a_token_is_read_back_to_the_text_it_was_made_of(name):
    assert text(token(name)) == name


@given(TEXT)
def test_a_token_holds_only_what_a_subject_may(name):
    assert set(token(name)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


@given(TEXT, TEXT)
def test_two_names_never_share_a_token(one, other):
    assert (token(one) == token(other)) == (one == other)


@given(NAMES, NAMES)
def test_an_entity_is_read_back_from_each_of_its_subjects(tenant, name):
    key = Key("cluster", tenant, name)
    assert {key_of(key.state("ready")), key_of(key.timer), key_of(key.due)} == {key}


def test_the_history_of_an_entity_leaves_the_event_open():
    assert Key("cluster", "acme", "a.b").history == "cluster.*.acme.a_2Eb"


def test_every_name_of_a_subject_is_read_back():
    assert names_of("inventory.nodes.acme.c1.ip-10_2E0") == ("inventory", "nodes", "acme", "c1", "ip-10.0")


@pytest.mark.parametrize(
    "subject", ["cluster.requested", "cluster.requested.acme", "a.b.c.d.e", "due.cluster.acme", ""]
)
def test_what_is_no_entitys_subject_is_refused(subject):
    with pytest.raises(ValueError, match=r"expected <domain>\.<event>\.<tenant>\.<name>"):
        key_of(subject)
