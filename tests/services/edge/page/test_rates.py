from datetime import timedelta

from services.edge.page.rates import SPAN, Rates
from tests.services.edge.house import NOW


def test_a_rate_is_over_the_last_minute():
    rates = Rates()
    for number in range(120):
        rates.take("cluster", NOW + timedelta(seconds=number))
    assert rates.per_second(NOW + timedelta(seconds=119)) == {"cluster": 1.0}


def test_what_is_said_no_more_has_no_rate():
    rates = Rates()
    rates.take("cluster", NOW)
    assert rates.per_second(NOW + timedelta(seconds=SPAN)) == {}


def test_what_was_said_before_the_clock_was_set_back_is_not_counted_for_an_hour():
    rates = Rates()
    for number in range(120):
        rates.take("cluster", NOW + timedelta(hours=1, seconds=number))
    assert rates.per_second(NOW) == {}
    for number in range(120):
        rates.take("cluster", NOW + timedelta(seconds=number))
    assert rates.per_second(NOW + timedelta(seconds=119)) == {"cluster": 1.0}
