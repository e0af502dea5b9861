"""Whatever sequence of applies and patches is made up, both servers end with the same object and the same owners."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.contracts.api import sides
from tests.contracts.api.differ import differences
from tests.contracts.api.say import hold
from tests.contracts.api.talk import WIDGETS, Step, Talk, apply, get, merge, steps, widget

ONE = f"{WIDGETS}/one"
NAMES = st.sampled_from(["a", "b", "c"])
MANAGERS = st.sampled_from(["m1", "m2", "m3"])
NUMBERS = st.integers(0, 3)
PART = st.fixed_dictionaries({"name": NAMES}, optional={"weight": NUMBERS, "on": st.booleans()})
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "color": st.sampled_from(["red", "blue"]),
        "count": NUMBERS,
        "tags": st.lists(NAMES, unique=True, min_size=1),
        "lines": st.lists(NAMES, min_size=1, max_size=2),
        "limits": st.dictionaries(NAMES, NUMBERS, min_size=1),
        "box": st.fixed_dictionaries({}, optional={"width": NUMBERS, "height": NUMBERS}).filter(bool),
        "parts": st.lists(PART, unique_by=lambda part: part["name"], min_size=1, max_size=3),
    },
).filter(bool)
LABELS = st.dictionaries(NAMES, NAMES)


def _applied(spec: dict[str, Any], labels: dict[str, str], by: str, *, force: bool) -> Step:
    # `size` is always said: a spec that loses its last field becomes null on the real server, and is refused.
    body = widget("one", meta={"labels": labels} if labels else {}, size="M", **spec)
    return apply(ONE, body, by, force="true" if force else "false")


def _merged(spec: dict[str, Any], gone: list[str], by: str) -> Step:
    return merge(ONE, {"spec": {**spec, **dict.fromkeys(gone)}}, fieldManager=by)


def _status(conditions: list[str], phase: str, by: str) -> Step:
    listed = [{"type": name, "status": "True"} for name in conditions]
    body = {"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": {"name": "one"}}
    return apply(f"{ONE}/status", {**body, "status": {"phase": phase, "conditions": listed}}, by)


def _stepped(count: int, by: str) -> Step:
    return steps(ONE, {"op": "add", "path": "/spec/count", "value": count}, fieldManager=by)


FIELDS = st.sampled_from(["color", "count", "tags", "lines", "limits", "box", "parts"])
STEPS = st.one_of(
    st.builds(_applied, SPECS, LABELS, MANAGERS, force=st.booleans()),
    st.builds(_applied, SPECS, LABELS, MANAGERS, force=st.just(value=True)),
    st.builds(_merged, SPECS, st.lists(FIELDS, max_size=2, unique=True), MANAGERS),
    st.builds(_status, st.lists(NAMES, unique=True, min_size=1), st.sampled_from(["Up", "Down"]), MANAGERS),
    st.builds(_stepped, NUMBERS, MANAGERS),
)


@pytest.mark.kube
@pytest.mark.timeout(300)
@settings(
    max_examples=40,
    phases=(Phase.explicit, Phase.generate),  # a sequence is short: shrinking it on a real server takes minutes
    deadline=None,
    derandomize=True,
    print_blob=False,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=SPECS, then=st.lists(STEPS, min_size=1, max_size=6))
def test_any_sequence_of_applies_and_patches_ends_alike(known, first, then):
    begin = apply(ONE, widget("one", size="M", **first), "m1", says=201)
    made_up = Talk("a sequence that was made up", (begin, *then, get(ONE)))
    assert asyncio.run(_told(known, made_up)) == []


async def _told(plane: Any, talk: Talk) -> list[str]:
    namespace = sides.fresh()
    async with sides.real(plane) as real, sides.sandbox(sides.api_of_its_own()) as local:
        ours, theirs = await hold(local, talk, namespace), await hold(real, talk, namespace)
    return differences(talk.fact, ours, theirs)
