"""A message names at most three of many things."""

import pytest

from services.kubernetes.name_list import first_names


@pytest.mark.parametrize(
    ("names", "text"),
    [((), ""), (("a",), "a"), (("a", "b", "c"), "a, b, c"), (("a", "b", "c", "d", "e"), "a, b, c and 2 more")],
)
def test_the_first_three_are_named_and_the_others_counted(names, text):
    assert first_names(names) == text


def test_the_names_may_be_separated_otherwise():
    assert first_names(("a: b", "c: d"), "; ") == "a: b; c: d"
