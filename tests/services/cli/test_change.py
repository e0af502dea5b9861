"""Whoever waits for a change waits until the cluster's status shows it, and asks for nothing that is nonsense."""

import pytest

from services.bad import BadInput
from services.cli.change import longer, risen

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


@pytest.mark.parametrize(
    ("shown", "reached"),
    [({"kubernetesVersion": "v1.35.1"}, True), ({"kubernetesVersion": "v1.34.0"}, False), ({}, False)],
    ids=["all of it", "not all of it", "no API"],
)
def test_a_version_is_there_once_all_of_the_cluster_runs_it(shown, reached):
    assert risen("default", "train/main", "v1.35.1").reached(shown) is reached


@pytest.mark.parametrize("version", ["1.35.1", "v1.35", "v1.35.1+k0s.0", "newest"])
def test_what_is_no_version_is_told_with_what_would_be_right(version):
    with pytest.raises(BadInput, match=r"is no version of Kubernetes: write v1\.MINOR\.PATCH, such as v1\.35\.1"):
        risen("default", "train/main", version)
