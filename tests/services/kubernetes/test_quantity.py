"""A quantity means what Kubernetes means by it, to the last thousandth."""

from contextlib import suppress
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kubernetes.resources import InvalidQuantity, milli, written

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {f"{letter}i": 10 * power for power, letter in enumerate("KMGTPE", start=1)}


@pytest.mark.parametrize(
    ("said", "thousandths"),
    [
        ("100m", 100),
        ("1", 1000),
        (8, 8000),
        ("0.5", 500),
        (".5", 500),
        ("5.", 5000),
        ("+2", 2000),
        ("1Gi", 2**30 * 1000),
        ("1.5Ki", 1536 * 1000),
        ("1e3", 1_000_000),
        ("1E3", 1_000_000),
        ("1E", 10**21),
        ("5e-1", 500),
        ("12e-4", 2),
        ("1n", 1),
        ("-1n", -1),
        ("-1", -1000),
        ("18446744073709551615", 18446744073709551615000),
        ("0", 0),
    ],
)
def test_every_form_of_a_quantity_is_read(said, thousandths):
    assert milli(said) == thousandths


@pytest.mark.parametrize(
    "said",
    ["", "m", "1 Gi", "1gi", "1GiB", "--1", "0x10", "1e", "1e3k", "1e1000", "∞", "NaN", "1,5", "\u0663", "9" * 99],
)
def test_what_is_no_quantity_is_refused_in_one_sentence(said):
    with pytest.raises(InvalidQuantity, match="is no quantity: expected a number"):
        milli(said)


@given(st.decimals(min_value=0, max_value=10**12, places=6), st.sampled_from([*DECIMAL, *BINARY]), st.booleans())
def test_a_quantity_is_exact_and_rounds_away_from_zero(number, unit, negative):
    scale = Fraction(2) ** BINARY[unit] if unit in BINARY else Fraction(10) ** DECIMAL[unit]
    exact = ceil(Fraction(number) * scale * 1000)
    text = f"{'-' if negative else ''}{number:f}{unit}"
    assert milli(text) == (-exact if negative else exact)


@given(st.integers(0, 10**18))
def test_what_is_written_is_read_back(thousandths):
    assert milli(written(thousandths)) == thousandths


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_refused(said):
    with suppress(InvalidQuantity):
        assert isinstance(milli(said), int)
