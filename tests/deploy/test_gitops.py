"""Flux and Argo CD tell the health of what alate reads by what alate writes into their status."""

from pathlib import Path

import pytest
import yaml
from lupa.lua51 import LuaRuntime

from tests.deploy.gitops_statuses import COLONIES, EVERYTHING, Recorded

ROOT = Path(__file__).parents[2]
CHECKS = yaml.safe_load((ROOT / "deploy" / "argocd" / "argocd-cm.yaml").read_text())["data"]
KEY = "resource.customizations.health.alate.dev_{}"
HEALTHS = {"Healthy", "Progressing", "Degraded", "Suspended"}


def argo(item: dict) -> tuple[str, str]:
    """The health and its message, as Argo CD has them: a script that reads `obj`, without the library of the system."""
    lua = LuaRuntime(unpack_returned_tuples=True)
    lua.execute("os, io, require, dofile, load, package, debug = nil")
    run = lua.eval(f"function(obj) {CHECKS[KEY.format(item['kind'])]} end")
    found = run(lua.table_from(item, recursive=True))
    return found["status"], found["message"]


def kstatus(item: dict) -> str:
    """What kstatus makes of a custom resource: the generic rules of sigs.k8s.io/cli-utils/pkg/kstatus/status."""
    meta, status = item["metadata"], item.get("status") or {}
    if "deletionTimestamp" in meta:
        return "Terminating"
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    if "observedGeneration" in status and status["observedGeneration"] != meta.get("generation"):
        return "InProgress"
    if conditions.get("Reconciling") == "True":
        return "InProgress"
    if conditions.get("Stalled") == "True":
        return "Failed"
    if "Ready" in conditions:
        return "Current" if conditions["Ready"] == "True" else "InProgress"
    return "Current"


@pytest.mark.parametrize("recorded", EVERYTHING, ids=lambda each: f"{each.item['kind']} {each.fact}")
def test_argo_cd_tells_the_health_with_a_message(recorded: Recorded):
    health, message = argo(recorded.item)
    assert health == recorded.argo
    assert health in HEALTHS
    assert isinstance(message, str)


@pytest.mark.parametrize(
    "recorded",
    [each for each in EVERYTHING if each.item.get("status")],
    ids=lambda each: f"{each.item['kind']} {each.fact}",
)
def test_kstatus_tells_the_health(recorded: Recorded):
    assert kstatus(recorded.item) == recorded.flux


def test_a_colony_that_alate_has_not_read_is_not_yet_current_for_argo_cd_and_is_for_kstatus():
    (new,) = [each.item for each in COLONIES if each.fact == "is new"]
    assert (argo(new)[0], kstatus(new)) == ("Progressing", "Current")


def test_what_is_wrong_is_the_message_in_argo_cd():
    found = {each.fact: argo(each.item)[1] for each in COLONIES}
    assert "its name is taken" in found["refused"]
    assert "driver" in found["an add-on is degraded"]
    assert found["cannot be read"] == "spec.clusters is missing"


def test_every_kind_has_its_check():
    kinds = {"Colony", "AddonProfile", "ClusterAddonProfile", "ClusterClassifier", "Trigger"}
    assert set(CHECKS) == {KEY.format(kind) for kind in kinds}
