"""Colours are for terminals whose owner wants them."""

from io import StringIO

import pytest

from services.cli.output.colours import coloured, painted


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (Terminal(), {}, True),
        (StringIO(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
    ],
)
def test_a_pipe_and_who_wants_none_get_no_colours(monkeypatch, stream, environment, expected):
    for name, value in {"NO_COLOR": "", "TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    assert coloured(stream) is expected


def test_titles_are_bold_and_states_have_the_colour_of_what_they_mean():
    assert painted("STATE", "STATE  ") == "\x1b[1mSTATE\x1b[0m  "
    assert painted("STATE", "ready  ") == "\x1b[32mready\x1b[0m  "
    assert painted("STATE", "stuck") == "\x1b[31mstuck\x1b[0m"
    assert painted("NAME", "ready") == "ready"
