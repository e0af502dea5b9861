"""The newest level is found by the first names of its subject, and nothing else with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runtime.level_publisher import SubjectIndex

NAMES = st.sampled_from(("a", "ab", "b"))
CHANGES = st.lists(st.tuples(st.booleans(), st.tuples(NAMES, NAMES, NAMES)), max_size=30)


def matches(filter_: str, subject: str) -> bool:
    pairs = list(zip(filter_.split("."), subject.split("."), strict=True))
    return all(wanted in ("*", given_) for wanted, given_ in pairs)


@given(CHANGES, st.integers(0, 3), st.tuples(NAMES, NAMES, NAMES))
def test_a_filter_finds_what_was_put_and_not_dropped_since(changes, names, of):
    index, expected = SubjectIndex(), {}
    for number, (put, path) in enumerate(changes):
        subject = ".".join(("inventory", *path))
        if put:
            index.put(subject, number, b"x")
            expected[subject] = number
        else:
            index.drop(subject)
            expected.pop(subject, None)
    filter_ = ".".join(("inventory", *of[:names], *["*"] * (3 - names)))
    assert set(index.under(filter_)) == {subject for subject in expected if matches(filter_, subject)}
    assert {key: sequence for key, (sequence, _) in index.snapshot().items()} == expected


def test_a_subject_that_was_never_put_has_no_data_and_sequence_zero():
    index, subject = SubjectIndex(), "inventory.nodes.a.b.c"
    assert (index.get(subject), index.sequence(subject)) == (None, 0)


def test_the_last_name_is_found_without_a_look_at_all_subjects():
    class Unread(dict):
        def __iter__(self):
            pytest.fail("all subjects were looked at")

    index = SubjectIndex()
    index._values = Unread()
    index.put("inventory.nodes.a.b.c", 1, b"x")
    assert index.under("inventory.nodes.a.b.*") == ("inventory.nodes.a.b.c",)
    assert index.under("inventory.nodes.a.b.c") == ("inventory.nodes.a.b.c",)
