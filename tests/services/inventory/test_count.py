"""A cluster is idle from when an accelerator could be taken, and not while there is none to take."""

from datetime import UTC, datetime, timedelta

import pytest

from schemas.inventory import ClusterSeen
from services.inventory.count import Part, Takers, cluster_seen

T0 = datetime(2026, 1, 1, tzinfo=UTC)
LATER = T0 + timedelta(hours=1)
BLANK = ClusterSeen(cluster="train-a", uid="c1.1", attempt=1)


def counted(accelerators, takers=0, before=BLANK, now=LATER):
    part = Part(nodes=accelerators // 8, accelerators=accelerators, resources={}, models={}, wrong=())
    return cluster_seen(BLANK, part, Takers(live=takers), before, now)


@pytest.mark.parametrize(("accelerators", "takers", "idle"), [(8, 0, LATER), (8, 1, None), (0, 0, None), (0, 1, None)])
def test_it_is_idle_with_accelerators_that_nobody_holds(accelerators, takers, idle):
    assert counted(accelerators, takers).idle_since == idle


def test_it_is_idle_since_it_was_first_so():
    idle = counted(8, now=T0)
    assert counted(16, before=idle).idle_since == T0
    assert counted(8, before=counted(0, before=idle)).idle_since == LATER
