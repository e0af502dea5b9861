"""Whoever waits for a longer life waits until no warning tells an older end."""

import pytest

from services.cli.change import longer

END, OLD = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"


def warned(reason: str, at: str) -> dict:
    return {"expiresAt": END, "teardown": {"phase": "Warned", "reason": reason, "at": at}}


@pytest.mark.parametrize(
    ("shown", "reached"),
    [
        ({"expiresAt": END}, True),
        ({"expiresAt": END, "teardown": {"phase": "Armed"}}, True),
        (warned("TimeToLive", OLD), False),
        (warned("TimeToLive", END), True),
        (warned("Idle", OLD), True),
    ],
    ids=["no end in sight", "armed", "an older end", "the new end", "idle"],
)
def test_a_longer_life_is_there_once_no_warning_tells_an_older_end(shown, reached):
    assert longer("default", "train/main", "12h").reached(shown) is reached
