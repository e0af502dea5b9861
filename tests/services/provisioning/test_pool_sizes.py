"""However the sizes of two pools change and machines come and go, Ready and settled mean what they say of each pool."""

from datetime import UTC, datetime

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.changes import Resized
from schemas.cluster import Ready
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, PoolSeen
from schemas.placement import Placement, Ranked
from schemas.wish import Need, Wish
from services.provisioning.lifecycle.decide import decide
from tests.examples import examples
from tests.samples import LOT, POOL

T0 = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("a", "b")
SIZES = st.tuples(st.integers(1, 4), st.integers(1, 4))
COUNTS = st.tuples(st.integers(0, 5), st.integers(0, 5))
replace = msgspec.structs.replace


def wish(sizes, generation):
    pools = tuple(replace(POOL, name=name, nodes=nodes) for name, nodes in zip(NAMES, sizes, strict=True))
    need = Need(pools=pools)
    return Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=generation, need=need)


def counted(there):
    pools = {name: PoolSeen(nodes=n, accelerators=8 * n) for name, n in zip(NAMES, there, strict=True)}
    total = sum(there)
    return ClusterSeen(cluster="train-a", uid="c1.1", attempt=1, nodes=total, accelerators=8 * total, pools=pools)


def tell(state, *events):
    for event in events:
        state = decide.decide(state, event, T0)
    return state


def ready(sizes):
    lots = tuple(replace(LOT, pool=name, nodes=nodes) for name, nodes in zip(NAMES, sizes, strict=True))
    offer = Ranked((Placement(cloud="aws", region="r", lots=lots),))
    reachable = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True)
    return tell(None, wish(sizes, 1), offer, reachable, counted(sizes))


def has(there, least):
    return all(nodes >= enough for nodes, enough in zip(there, least, strict=True))


@example((2, 2), [((4, 2), (2, 2)), ((4, 1), (2, 1))])
@settings(max_examples=examples(300), deadline=None)
@given(SIZES, st.lists(st.tuples(SIZES, COUNTS), max_size=8))
def test_it_is_ready_exactly_while_each_pool_has_what_it_keeps_in_any_case(first, steps):
    state, least = ready(first), first
    for generation, (sizes, there) in enumerate(steps, 2):
        state = tell(state, wish(sizes, generation))
        least = tuple(map(min, least, sizes))
        changing = state.resizing is not None
        state = tell(state, Resized(1, state.attempt.placement.lots), counted(there))
        assert isinstance(state, Ready) is has(there, least)
        if not isinstance(state, Ready):
            return
        assert (state.resizing is not None) is (changing and there != sizes)
        least = least if state.resizing else sizes


@given(SIZES, st.lists(SIZES, max_size=6))
def test_once_every_pool_has_its_last_size_nothing_changes_any_more(first, sizes):
    state = ready(first)
    for generation, each in enumerate(sizes, 2):
        state = tell(state, wish(each, generation))
    last = ([first, *sizes])[-1]
    state = tell(state, Resized(1, state.attempt.placement.lots), counted(last))
    assert (type(state), state.resizing) == (Ready, None)
