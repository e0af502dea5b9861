"""Histories find what is wrong with the end of a cluster: each fault that is planted there is told."""

from collections.abc import Iterator

import msgspec
import pytest

from schemas.entity import Due
from schemas.teardown import Draining, Stuck
from services.teardown import steps
from services.teardown.decide import decide
from tests.services.leaks.history import drawn
from tests.services.leaks.play import lived

SEEDS = 20
"""A fault is found within so many."""

pytestmark = [pytest.mark.timeout(600)]


def wrongs() -> Iterator[str]:
    for seed in range(SEEDS):
        yield from lived(seed, drawn(seed))[0]


def test_a_drain_that_waits_for_ever_is_found(monkeypatch):
    def wait(state, _, now):
        return msgspec.structs.replace(state, deadline=now + steps.STEP_LIMIT, unreachable=False)

    monkeypatch.setitem(decide.table, (Draining, Due), wait)
    assert any("was Draining until" in wrong for wrong in wrongs())


def test_a_skip_that_forgets_a_volume_is_found(monkeypatch):
    monkeypatch.setattr(steps, "_uncleaned", lambda *_: ())
    assert any("has left the volume" in wrong and "does not name it" in wrong for wrong in wrongs())


def test_a_retry_that_goes_back_to_what_cannot_work_is_found(monkeypatch):
    def again(state, _, now):
        later = now + steps.RETRY_AFTER
        return state.to(Draining, deadline=later) if now >= state.deadline else state

    monkeypatch.setitem(decide.table, (Stuck, Due), again)
    assert any("took Draining after" in wrong for wrong in wrongs())


def test_a_wait_without_a_word_is_found(monkeypatch):
    monkeypatch.setattr(steps, "REPORT_INTERVAL", steps.STEP_LIMIT)
    assert any("did not say why" in wrong for wrong in wrongs())
