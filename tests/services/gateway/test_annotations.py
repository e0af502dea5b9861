"""What stands on a Colony leads back to the event it was made of, in its trace."""

import pytest

from events.telemetry import NOWHERE, Trace
from services.gateway.annotations import marks, release_marks, release_of, trace_of

TRACE = Trace(f"00-{'1' * 32}-{'b' * 16}-01", "vendor=1")


@pytest.mark.parametrize("trace", [TRACE, Trace(TRACE.parent), NOWHERE])
def test_the_trace_that_is_written_is_the_trace_that_is_read(trace):
    assert trace_of({"annotations": marks("e-1", trace)}) == trace


def test_the_trace_of_its_end_is_another_than_that_of_its_beginning():
    end = Trace(TRACE.parent.replace("1", "2"))
    meta = {"annotations": {**marks("e-1", TRACE), **release_marks("e-2", end)}}
    assert (trace_of(meta), release_of(meta)) == (TRACE, end)
    assert meta["annotations"]["alate.dev/release-id"] == "e-2"


def test_what_came_in_no_trace_bears_its_event_alone():
    assert marks("e-1", NOWHERE) == {"alate.dev/event-id": "e-1"}


@pytest.mark.parametrize("meta", [{}, {"annotations": {"alate.dev/traceparent": "whatever a person wrote"}}])
def test_what_a_person_wrote_is_in_no_trace(meta):
    assert trace_of(meta) == NOWHERE
