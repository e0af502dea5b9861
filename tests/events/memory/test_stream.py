"""Subjects match as JetStream matches them, and a log finds its own."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.bus import Message
from events.memory.stream import Bell, Log
from events.streams import StreamSpec
from schemas.subjects import matcher

TOKEN = st.sampled_from(["a", "b", "c-1", "_2E"])
SUBJECTS = st.lists(TOKEN, min_size=1, max_size=5)
FILTERS = st.builds(
    lambda tokens, tail: [*tokens, *tail],
    st.lists(st.one_of(TOKEN, st.just("*")), min_size=1, max_size=4),
    st.sampled_from([[], [">"]]),
)


def naive(wanted: list[str], subject: list[str]) -> bool:
    if wanted[-1] == ">":
        wanted, subject = wanted[:-1], subject[: len(wanted) - 1] if len(subject) >= len(wanted) else []
    return len(wanted) == len(subject) and all(w in ("*", s) for w, s in zip(wanted, subject, strict=True))


@given(FILTERS, SUBJECTS)
def test_a_filter_matches_token_by_token(wanted, subject):
    assert bool(matcher((".".join(wanted),))(".".join(subject))) == naive(wanted, subject)


@given(st.lists(FILTERS, min_size=1, max_size=3), st.lists(SUBJECTS, max_size=12))
def test_a_log_finds_what_a_walk_over_all_finds(filters, subjects):
    log = Log(StreamSpec("S", (">",)), lambda: datetime.now(UTC), Bell())
    for subject in subjects:
        log.append(Message(".".join(subject), b""))
    texts = tuple(".".join(f) for f in filters)
    walked = [at for at, subject in enumerate(subjects, 1) if any(naive(f, subject) for f in filters)]
    assert [stored.sequence for stored in log.matching(texts)] == walked
    newest = {tuple(subjects[at - 1]): at for at in walked}
    assert [stored.sequence for stored in log.tips(texts)] == sorted(newest.values())
    after_first = log.after(walked[0], texts) if walked else None
    assert (after_first.sequence if after_first else None) == (walked[1] if len(walked) > 1 else None)


@pytest.mark.parametrize("kept", [1, 3])
def test_of_each_subject_only_so_many_are_kept(kept):
    log = Log(StreamSpec("S", (">",), per_subject=kept), lambda: datetime.now(UTC), Bell())
    for _ in range(5):
        log.append(Message("a", b""))
        log.append(Message("b", b""))
    assert len(log.matching(("a",))) == len(log.matching(("b",))) == kept
    assert log.last("a").sequence == 9
