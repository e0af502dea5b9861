"""What others go on with is let go without a hand laid on their work and their volumes."""

import msgspec
import pytest

from schemas.entity import EPOCH
from schemas.teardown import Cleaning, CleanUp, Drain, Draining
from schemas.wish import Adopt, Need, OnRelease, Wish
from services.teardown.todo import todo
from tests.samples import POOL

WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=(POOL,)))


def ending(kind, adopt=None, **more):
    wish = msgspec.structs.replace(WISH, need=msgspec.structs.replace(WISH.need, adopt=adopt))
    return kind(
        uid="c1.1",
        correlation="c1",
        wish=wish,
        kubeconfig="theirs-kubeconfig",
        reason="Deleted",
        deadline=EPOCH,
        **more,
    )


@pytest.mark.parametrize(
    ("adopt", "opens"),
    [
        (None, "theirs-kubeconfig"),
        (Adopt(name="theirs", on_release=OnRelease.DELETE), "theirs-kubeconfig"),
        (Adopt(name="theirs"), ""),
    ],
    ids=["ours", "deleted", "kept"],
)
def test_only_what_is_deleted_is_drained_and_swept(adopt, opens):
    assert Drain("acme", opens) in todo(ending(Draining, adopt))
    assert CleanUp("acme", opens) in todo(ending(Cleaning, adopt, addons=()))


def test_what_is_lent_is_neither_drained_nor_swept():
    assert Drain("acme", "") in todo(ending(Draining, lent=True))
    assert CleanUp("acme", "") in todo(ending(Cleaning, lent=True, addons=()))
