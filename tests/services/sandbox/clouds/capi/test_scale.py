"""A MachineDeployment without replicas gets the fewest an autoscaler may give it, as Cluster API's webhook has it."""

import pytest

from events.kube.resources import MACHINEDEPLOYMENTS
from services.sandbox.clouds.capi.scale import BOUNDS, defaulted
from services.sandbox.clouds.model.actions import PatchObject


def deployment(*bounds, **spec):
    return {"metadata": {"annotations": dict(zip(BOUNDS, bounds, strict=False))}, "spec": spec}


def test_it_gets_the_fewest_where_both_bounds_are_there():
    it = deployment("2", "5")
    assert list(defaulted(it)) == [PatchObject(MACHINEDEPLOYMENTS, it, {"spec": {"replicas": 2}})]


@pytest.mark.parametrize("it", [deployment("2", "5", replicas=4), deployment("2", "5", replicas=0), deployment("2")])
def test_what_somebody_said_stays_and_one_bound_is_none(it):
    assert list(defaulted(it)) == []
