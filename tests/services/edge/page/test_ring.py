from hypothesis import given
from hypothesis import strategies as st

from services.edge.page.ring import Kept, Ring, read, written


def said(stream, *sequences):
    return [Kept(stream, sequence, b"") for sequence in sequences]


def filled(size, *kept):
    ring = Ring(size)
    for each in kept:
        ring.add(each)
    return ring


def test_who_heard_to_a_number_is_given_what_followed():
    ring = filled(10, *said("EVENTS", 1, 2, 5))
    assert ring.after(1) == (said("EVENTS", 2, 5), True)
    assert ring.after(ring.end) == ([], True)


def test_who_is_slower_than_the_ring_is_told_that_something_is_missing():
    ring = filled(2, *said("EVENTS", 1, 2, 5))
    assert ring.after(0) == (said("EVENTS", 2, 5), False)


def test_what_a_feed_repeats_is_no_news():
    ring = filled(10, *said("EVENTS", 1, 2))
    assert not ring.add(Kept("EVENTS", 2, b""))
    assert ring.end == 2


def test_a_mark_is_whole_as_long_as_nothing_after_it_was_forgotten():
    ring = filled(2, *said("EVENTS", 4, 5, 6))
    assert ring.whole({"EVENTS": 4})
    assert not ring.whole({"EVENTS": 3})


def test_what_was_never_heard_of_a_stream_counts_as_missed_only_if_there_was_something():
    ring = filled(9, *said("EVENTS", 4), *said("DLQ", 1))
    assert ring.whole({"EVENTS": 4})
    assert not ring.whole({"DLQ": 1, "EVENTS": 2})


@given(st.dictionaries(st.sampled_from(["EVENTS", "INTAKE", "DLQ"]), st.integers(0, 2**53), min_size=1))
def test_a_mark_is_read_as_it_was_written(mark):
    assert read(written(mark)) == mark


@given(st.text(max_size=40))
def test_whatever_is_shown_as_a_mark_is_read_or_refused(text):
    mark = read(text)
    assert mark is None or all(isinstance(each, int) for each in mark.values())


@given(st.integers(1, 5), st.lists(st.sampled_from(["A", "B"]), max_size=30), st.data())
def test_a_mark_says_truly_whether_all_after_it_is_there(size, streams, data):
    every = [Kept(stream, number + 1, b"") for number, stream in enumerate(streams)]
    ring = filled(size, *every)
    mark = {stream: data.draw(st.integers(0, 30)) for stream in set(streams)}
    there = ring.after(0)[0]
    missed = [one for one in every if one.sequence > mark[one.stream] and one not in there]
    assert ring.whole(mark) <= (missed == [])
