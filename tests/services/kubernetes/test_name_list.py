"""A message names at most three of many things."""

import pytest

from services.kubernetes.name_list import first_names, nearest


@pytest.mark.parametrize(
    ("names", "text"),
    [((), ""), (("a",), "a"), (("a", "b", "c"), "a, b, c"), (("a", "b", "c", "d", "e"), "a, b, c and 2 more")],
)
def test_the_first_three_are_named_and_the_others_counted(names, text):
    assert first_names(names) == text


def test_the_names_may_be_separated_otherwise():
    assert first_names(("a: b", "c: d"), "; ") == "a: b; c: d"


@pytest.mark.parametrize(
    ("word", "known", "text"),
    [
        ("trian/gpu", ("train/gpu", "serve/llm"), "did you mean train/gpu?"),
        ("gpu", ("train/gpu-of-the-large-model", "infer"), "did you mean train/gpu-of-the-large-model?"),
        ("x", ("b", "a", "a"), "known are a, b"),
        ("x", [f"cluster-{number:02}" for number in range(26)], ", cluster-24 and 1 more"),
        ("x", (), ""),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_those_like_it_or_the_first_ones(word, known, text):
    assert nearest(word, known).endswith(text)
