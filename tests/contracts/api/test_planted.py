"""The comparison is worth something only if it tells when the sandbox is wrong: faults are planted, and told."""

from collections.abc import Callable
from typing import Any

import pytest

from services.sandbox.api import status
from services.sandbox.api.objects.managed import Ownership
from services.sandbox.api.server.app import Api
from services.sandbox.api.store import watch
from services.sandbox.api.store.store import StoreChange
from tests.contracts.api import sides
from tests.contracts.api.differ import differences
from tests.contracts.api.everything import TALKS
from tests.contracts.api.say import broken, hold

pytestmark = [pytest.mark.kube, pytest.mark.timeout(180)]


def _wrong_status(_: Api, patch: pytest.MonkeyPatch) -> None:
    right = status.conflict

    def conflict(*told: object, **more: Any) -> status.StatusError:
        refused = right(*told, **more)
        refused.code = 412
        return refused

    patch.setattr("services.sandbox.api.objects.write.conflict", conflict)


def _lost_owner(_: Api, patch: pytest.MonkeyPatch) -> None:
    right = Ownership.written
    patch.setattr(Ownership, "written", lambda owners: right(owners)[1:])


def _skipped_event(_: Api, patch: pytest.MonkeyPatch) -> None:
    right = watch._written

    def written(view: watch.WatchOptions, change: StoreChange, known: watch.EncodedLines) -> bytes | None:
        return None if change.after is None else right(view, change, known)

    patch.setattr(watch, "_written", written)


@pytest.mark.parametrize(
    ("plant", "fact"),
    [
        (_wrong_status, "a replace at an old version is a conflict"),
        (_lost_owner, "items with keys have owners of their own"),
        (_skipped_event, "a watch goes on from a version"),
    ],
)
async def test_a_planted_fault_is_told(
    plant: Callable[[Api, pytest.MonkeyPatch], None], fact: str, real: sides.Side, monkeypatch: pytest.MonkeyPatch
):
    talk = next(each for each in TALKS if each.fact == fact)
    namespace = sides.fresh()
    theirs = await hold(real, talk, namespace)
    async with sides.sandbox(api_ := sides.api_of_its_own()) as local:
        assert differences(fact, await hold(local, talk, namespace), theirs) == []
        plant(api_, monkeypatch)
        ours = await hold(local, talk, f"{namespace}-again")
    assert broken(theirs) == []
    assert differences(fact, ours, theirs) != []
