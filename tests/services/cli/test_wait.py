"""A wait shows how far it is, and says what was reached when its time is over."""

import asyncio
from io import StringIO

import pytest

from services.cli.wait import Progress, TimedOut, duration, limited
from services.errors import BadInput


class Terminal(StringIO):
    def isatty(self):
        return True


def clock(*times):
    return iter(times).__next__


def test_a_pipe_has_a_line_per_change_with_the_time_in_the_state_before():
    out = StringIO()
    progress = Progress(out, clock(0.0, 0.0, 75.0))
    for text in ("Launching", "Launching", "Ready"):
        progress.show(text)
    assert out.getvalue().splitlines() == ["Launching", "Ready  (after 1m15s)"]


@pytest.mark.looptime
async def test_a_terminal_has_one_line_per_state_that_is_drawn_again_with_the_time_in_it(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    out, loop = Terminal(), asyncio.get_running_loop()
    progress = Progress(out, loop.time)
    async with progress.shown():
        progress.show("Launching")
        await asyncio.sleep(62.5)
        progress.show("Ready")
    drawn = out.getvalue()
    lines = [line.split("\r\x1b[2K")[-1] for line in drawn.removesuffix("\n").split("\n")]
    assert lines == ["Launching  1m02s", "Ready  0s"]
    assert drawn.count("Launching") > 60


async def forever(limit):
    async with limit:
        await asyncio.Event().wait()


@pytest.mark.looptime
async def test_a_wait_whose_time_is_over_says_what_was_reached():
    progress = Progress(StringIO(), asyncio.get_running_loop().time)
    progress.show("Waiting")
    with pytest.raises(TimedOut, match=r"^colony/train is not ready after 10m00s: the last state was: Waiting; what"):
        await forever(limited(progress, 600.0, "colony/train is not ready"))


async def test_a_timeout_of_others_is_not_taken_for_the_end_of_the_wait():
    limit = limited(Progress(StringIO()), 600.0, "it is not ready")
    with pytest.raises(TimeoutError, match="of others"):
        async with limit:
            raise TimeoutError("of others")


def test_a_duration_is_written_as_in_a_colony():
    assert (duration(None), duration("10m"), duration("1h30m")) == (None, 600.0, 5400.0)
    with pytest.raises(BadInput, match="--timeout soon: must be a duration such as"):
        duration("soon")
