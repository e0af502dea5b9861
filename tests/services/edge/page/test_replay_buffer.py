from hypothesis import given
from hypothesis import strategies as st

from services.edge.page.replay_buffer import BufferedMessage, ReplayBuffer, format_cursor, parse_cursor


def entries(stream, *sequences):
    return [BufferedMessage(stream, sequence, b"") for sequence in sequences]


def filled(size, *entries_):
    buffer = ReplayBuffer(size)
    for each in entries_:
        buffer.add(each)
    return buffer


def test_a_page_is_given_the_messages_after_its_index():
    buffer = filled(10, *entries("EVENTS", 1, 2, 5))
    assert buffer.after(1) == (entries("EVENTS", 2, 5), True)
    assert buffer.after(buffer.end) == ([], True)


def test_a_page_slower_than_the_buffer_learns_that_messages_are_missing():
    buffer = filled(2, *entries("EVENTS", 1, 2, 5))
    assert buffer.after(0) == (entries("EVENTS", 2, 5), False)


def test_a_message_that_a_feed_repeats_is_not_added():
    buffer = filled(10, *entries("EVENTS", 1, 2))
    assert not buffer.add(BufferedMessage("EVENTS", 2, b""))
    assert buffer.end == 2


def test_a_cursor_is_covered_as_long_as_no_message_after_it_was_dropped():
    buffer = filled(2, *entries("EVENTS", 4, 5, 6))
    assert buffer.covers({"EVENTS": 4})
    assert not buffer.covers({"EVENTS": 3})


def test_a_stream_the_cursor_does_not_name_counts_as_missed_only_if_it_had_messages():
    buffer = filled(9, *entries("EVENTS", 4), *entries("DLQ", 1))
    assert buffer.covers({"EVENTS": 4})
    assert not buffer.covers({"DLQ": 1, "EVENTS": 2})


@given(st.dictionaries(st.sampled_from(["EVENTS", "INTAKE", "DLQ"]), st.integers(0, 2**53), min_size=1))
def test_a_cursor_is_parsed_as_it_was_formatted(cursor):
    assert parse_cursor(format_cursor(cursor)) == cursor


@given(st.text(max_size=40))
def test_any_text_is_parsed_as_a_cursor_or_refused(text):
    cursor = parse_cursor(text)
    assert cursor is None or all(isinstance(each, int) for each in cursor.values())


@given(st.integers(1, 5), st.lists(st.sampled_from(["A", "B"]), max_size=30), st.data())
def test_a_covered_cursor_has_missed_nothing(size, streams, data):
    every = [BufferedMessage(stream, number + 1, b"") for number, stream in enumerate(streams)]
    buffer = filled(size, *every)
    cursor = {stream: data.draw(st.integers(0, 30)) for stream in set(streams)}
    there = buffer.after(0)[0]
    missed = [one for one in every if one.sequence > cursor[one.stream] and one not in there]
    assert buffer.covers(cursor) <= (missed == [])
