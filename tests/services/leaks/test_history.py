"""Of a history that goes wrong, what is told is what it takes, whatever else befell."""

from hypothesis import given
from hypothesis import strategies as st

from tests.services.leaks.history import drawn, shortest


@given(seed=st.integers(0, 10_000), needed=st.sets(st.integers(0, 3), min_size=1))
def test_of_a_history_that_goes_wrong_only_the_steps_that_it_takes_are_left(seed, needed):
    history = tuple(enumerate(drawn(seed)))

    def fails(less):
        return needed <= {place for place, _ in less}

    assert [place for place, _ in shortest(history, fails)] == sorted(needed)


@given(seed=st.integers(0, 10_000))
def test_one_that_goes_wrong_whatever_befalls_is_empty(seed):
    assert shortest(drawn(seed), lambda _: True) == ()
