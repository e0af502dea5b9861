"""From what a role does to the subjects its key is allowed, one use at a time."""

from events.bus import Consumer
from events.jetstream.permissions import Role, rights

WORK = Consumer("one-events", "EVENTS", ("a.>",))
OTHER = Role("other", works=(Consumer("other-events", "EVENTS", ("a.>",)),))


def test_who_does_nothing_may_publish_nothing_and_hear_its_own_answers():
    found = rights(Role("one"), ())
    assert (found.publish, found.listen, found.never, found.replies) == ((), ("_INBOX_one.>",), (), False)


def test_a_worker_may_answer_in_both_forms_and_bury_what_cannot_be_done():
    found = rights(Role("one", works=(WORK,)), ())
    assert {"$JS.ACK.EVENTS.one-events.>", "$JS.ACK.*.*.EVENTS.one-events.>"} <= set(found.publish)
    assert "dlq.EVENTS.one-events" in found.publish
    assert not [subject for subject in found.publish if subject.endswith("EVENTS.*")]


def test_a_reader_reaches_no_consumer_of_anybody_who_works():
    reader = Role("one", reads=("EVENTS",), works=(WORK,))
    found = rights(reader, (reader, OTHER))
    assert found.never == (
        "$JS.API.CONSUMER.CREATE.EVENTS.other-events",
        "$JS.API.CONSUMER.DELETE.EVENTS.one-events",
        "$JS.API.CONSUMER.DELETE.EVENTS.other-events",
    )


def test_what_is_not_read_needs_no_denial():
    assert rights(Role("one", reads=("LEVELS",)), (OTHER,)).never == ()


def test_who_lives_apart_finds_the_api_elsewhere():
    found = rights(Role("one", reads=("EVENTS",), apart=True), (OTHER,))
    assert "JS.API.STREAM.INFO.EVENTS" in found.publish
    assert not [subject for subject in found.publish if subject.startswith("$JS.API")]


def test_who_answers_can_be_found_and_may_reply():
    found = rights(Role("one", answers=("ask.*",), desk="desk"), ())
    assert found.listen == ("$SRV.*", "$SRV.*.desk", "$SRV.*.desk.*", "_INBOX_one.>", "ask.*")
    assert found.replies
