"""What was said last is found by the first names of its subject, and nothing else with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runtime.level_publisher import NOTHING, SubjectIndex

NAMES = st.sampled_from(("a", "ab", "b"))
WORDS = st.lists(st.tuples(st.booleans(), st.tuples(NAMES, NAMES, NAMES)), max_size=30)


def meant(filter_: str, subject: str) -> bool:
    pairs = list(zip(filter_.split("."), subject.split("."), strict=True))
    return all(wanted in ("*", given_) for wanted, given_ in pairs)


@given(WORDS, st.integers(0, 3), st.tuples(NAMES, NAMES, NAMES))
def test_a_filter_finds_what_is_said_and_not_dropped_since(words, names, of):
    sayings, expected = SubjectIndex(), {}
    for number, (said, path) in enumerate(words):
        subject = ".".join(("inventory", *path))
        if said:
            sayings.keep(subject, b"x", number)
            expected[subject] = number
        else:
            sayings.drop(subject)
            expected.pop(subject, None)
    filter_ = ".".join(("inventory", *of[:names], *["*"] * (3 - names)))
    assert set(sayings.under(filter_)) == {subject for subject in expected if meant(filter_, subject)}
    assert {subject: sayings.get(subject)[1] for subject in sayings} == expected


def test_of_what_was_never_said_there_is_nothing():
    assert SubjectIndex().get("inventory.nodes.a.b.c") == NOTHING


def test_the_last_name_is_found_without_a_look_at_all_that_was_said():
    class Unread(dict):
        def __iter__(self):
            pytest.fail("all that was said was looked at")

    sayings = SubjectIndex()
    sayings._said = Unread()
    sayings.keep("inventory.nodes.a.b.c", b"x", 1)
    assert sayings.under("inventory.nodes.a.b.*") == ("inventory.nodes.a.b.c",)
    assert sayings.under("inventory.nodes.a.b.c") == ("inventory.nodes.a.b.c",)
