"""Whatever comes in, each target holds: a share of what `make fuzz` and `make test-long` go on with."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.cloudevents import encode
from tests.fuzz import targets
from tests.fuzz.targets import TARGETS, packed, unpacked
from tests.services.edge.test_senders import BINARY

INPUTS = int(os.environ.get("ALATE_TEST_INPUTS", "300"))
"""For all targets together, and as many at the door; `make test-long` asks for 100,000."""

pytestmark = pytest.mark.timeout(3600)


@st.composite
def bent(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """An honest input, cut, patched or doubled somewhere; or anything at all."""
    honest = draw(st.sampled_from(seeds))
    first, last = sorted(draw(st.tuples(*[st.integers(0, len(honest))] * 2)))
    patch = draw(st.binary(max_size=24) | st.just(honest[first:last] * 2))
    return draw(st.just(honest[:first] + patch + honest[last:]) | st.binary(max_size=64))


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
@settings(max_examples=INPUTS // len(TARGETS), deadline=None)
def test_a_target_holds_for_what_is_bent(name, data):
    target = TARGETS[name]
    target.holds(data.draw(bent(target.seeds)))


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_for_what_is_honest(name):
    for seed in TARGETS[name].seeds:
        TARGETS[name].holds(seed)


def test_a_target_that_does_not_hold_is_told(monkeypatch):
    monkeypatch.setattr(targets, "encode", lambda event: encode(replace(event, subject="another")))
    with pytest.raises(AssertionError):
        TARGETS["codec"].holds(packed(BINARY, b"{}"))


def test_headers_and_body_are_one_piece_and_two_again():
    assert unpacked(packed({"CE-Id": "1", "x": "a: b"}, b"a\n\nb")) == ({"ce-id": "1", "x": "a: b"}, b"a\n\nb")
