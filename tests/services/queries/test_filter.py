"""What is left out is what was not asked for, and an accelerator has one name whatever it is called."""

import pytest

from services.queries.filter import EVERYTHING, InvalidFilter, ItemFilter

OFFER = {"accelerator": "H100", "cloud": "aws", "region": "r1", "price": 20.0, "spotPrice": 8.0}


@pytest.mark.parametrize(
    ("sieve", "shown"),
    [
        (EVERYTHING, True),
        (ItemFilter(accelerator="h100 sxm"), True),
        (ItemFilter(accelerator="L4"), False),
        (ItemFilter(cloud="aws", region="r1"), True),
        (ItemFilter(cloud="aws", region="r2"), False),
        (ItemFilter(max_price=20.0), True),
        (ItemFilter(max_price=19.99), False),
        (ItemFilter(max_price=8.0, spot=True), True),
        (ItemFilter(max_price=7.0, spot=True), False),
    ],
)
def test_an_offer_is_shown_if_it_is_all_that_was_asked_for(sieve, shown):
    assert sieve.lets(OFFER) is shown


def test_what_has_no_spot_price_cannot_be_had_as_spot():
    assert not ItemFilter(spot=True).lets(OFFER | {"spotPrice": None})


def test_an_accelerator_nobody_knows_is_refused_with_those_most_like_it():
    with pytest.raises(InvalidFilter, match="H1000 is not known: perhaps it is one of H100"):
        ItemFilter(accelerator="H1000").check()
