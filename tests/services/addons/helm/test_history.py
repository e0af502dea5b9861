"""The revisions of a release say what is to be done next."""

import pytest

from services.addons.helm.history import (
    CHART,
    REVISION,
    VALUES,
    Step,
    is_current,
    next_labels,
    next_step,
    revisions,
    working,
)

WANTED = {CHART: "c", VALUES: "v"}
NOW, PATIENCE = 1000.0, 300.0


def secret(number, status, *, changed=NOW, ours=True, **labels):
    own = {**WANTED, REVISION: str(number)} if ours else {}
    return {"labels": {"version": str(number), "status": status, "modifiedAt": f"{changed:.0f}", **own, **labels}}


def history(*secrets):
    return revisions(secrets)


@pytest.mark.parametrize(
    ("secrets", "step"),
    [
        ((), Step.INSTALL),
        ((secret(1, "deployed"),), Step.NOTHING),
        ((secret(1, "deployed", **{VALUES: "others"}),), Step.UPGRADE),
        ((secret(1, "deployed", **{CHART: "others"}),), Step.UPGRADE),
        ((secret(1, "deployed", ours=False),), Step.UPGRADE),
        ((secret(1, "failed"),), Step.UPGRADE),
        ((secret(1, "superseded"), secret(2, "failed")), Step.UPGRADE),
        ((secret(1, "pending-install"),), Step.UNINSTALL),
        ((secret(1, "deployed"), secret(2, "pending-upgrade")), Step.ROLL_BACK),
        ((secret(1, "deployed"), secret(2, "failed"), secret(3, "pending-rollback")), Step.ROLL_BACK),
        ((secret(1, "failed"), secret(2, "pending-upgrade")), Step.UNINSTALL),
        ((secret(1, "uninstalling"),), Step.UNINSTALL),
        ((secret(1, "uninstalled"),), Step.UNINSTALL),
        ((secret(1, "pending-install", ours=False),), Step.WAIT),
        ((secret(1, "pending-install", ours=False, changed=NOW - PATIENCE),), Step.UNINSTALL),
    ],
)
def test_the_next_step_follows_from_the_newest_revision(secrets, step):
    assert next_step(history(*secrets), WANTED, NOW, PATIENCE) is step


def test_a_revision_that_helm_copied_our_labels_to_is_not_ours():
    copied = secret(2, "deployed", **{REVISION: "1"})
    assert not is_current(history(secret(1, "superseded"), copied), WANTED)


def test_revisions_are_ordered_by_number_and_what_is_none_is_left_out():
    found = revisions([secret(10, "deployed"), {"labels": {"version": "x"}}, {}, secret(9, "superseded")])
    assert [each.number for each in found] == [9, 10]
    assert working(found) == 10


def test_labels_hold_the_number_of_the_revision_that_they_are_for():
    assert next_labels((), WANTED)[REVISION] == "1"
    assert next_labels(history(secret(7, "failed")), WANTED) == {**WANTED, REVISION: "8"}
