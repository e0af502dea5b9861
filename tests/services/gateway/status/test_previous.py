"""A status of a shape that we never write is none."""

import pytest

from services.gateway.status.previous import readable

TIME = "2026-01-01T00:00:00Z"
GOOD = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": TIME}], "clusters": [{"name": "a"}]}


@pytest.mark.parametrize("colony", [{"spec": {}}, {"spec": {}, "status": None}, {"spec": {}, "status": GOOD}])
def test_what_we_write_is_read_back(colony):
    assert readable(colony) is colony


@pytest.mark.parametrize(
    "status",
    [
        5,
        {"conditions": [None]},
        {"conditions": [{"status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "then"}]},
        {"clusters": {"a": 1}},
        {"clusters": [{"conditions": []}]},
    ],
)
def test_a_status_of_an_odd_shape_is_taken_for_none(status):
    assert readable({"spec": {}, "status": status}) == {"spec": {}}
