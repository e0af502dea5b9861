"""An event's place in its cluster's life is read off the history."""

import pytest

from events.bus import Stored
from services.outbound.milestones import ClusterLife, cluster_life


def history(*events: str) -> list[Stored]:
    return [Stored(f"cluster.{each}.acme.train-gpu", b"", {"ce-id": str(n)}) for n, each in enumerate(events)]


@pytest.mark.parametrize(
    ("events", "asked", "expected"),
    [
        (("pending", "ready"), 1, ClusterLife(newest=True, was_ready=False)),
        (("pending", "ready", "provisioned"), 1, ClusterLife(newest=False, was_ready=False)),
        (("ready", "provisioned", "ready"), 2, ClusterLife(newest=True, was_ready=True)),
        (("ready", "releasing", "released"), 2, ClusterLife(newest=True, was_ready=True)),
        (("ready", "released", "pending", "ready"), 3, ClusterLife(newest=True, was_ready=False)),
        (("pending", "released"), 1, ClusterLife(newest=True, was_ready=False)),
        (("pending",), 7, ClusterLife(newest=False, was_ready=False)),
        ((), 0, ClusterLife(newest=False, was_ready=False)),
    ],
)
def test_an_event_is_new_or_old_and_comes_after_readiness_or_before(events, asked, expected):
    assert cluster_life(history(*events), str(asked)) == expected
