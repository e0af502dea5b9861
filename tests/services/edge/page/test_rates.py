from datetime import timedelta

from services.edge.page.rates import SPAN, Rates
from tests.services.edge.house import NOW


def test_a_rate_is_over_the_last_minute():
    rates = Rates()
    for number in range(120):
        rates.count("cluster", NOW + timedelta(seconds=number))
    assert rates.per_second(NOW + timedelta(seconds=119)) == {"cluster": 1.0}


def test_a_group_without_messages_has_no_rate():
    rates = Rates()
    rates.count("cluster", NOW)
    assert rates.per_second(NOW + timedelta(seconds=SPAN)) == {}


def test_messages_counted_before_the_clock_was_set_back_are_dropped():
    rates = Rates()
    for number in range(120):
        rates.count("cluster", NOW + timedelta(hours=1, seconds=number))
    assert rates.per_second(NOW) == {}
    for number in range(120):
        rates.count("cluster", NOW + timedelta(seconds=number))
    assert rates.per_second(NOW + timedelta(seconds=119)) == {"cluster": 1.0}
