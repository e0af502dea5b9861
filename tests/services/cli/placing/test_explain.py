import json

import pytest

from services.bad import BadInput, Failed
from services.cli.placing.explain import name_of, show
from tests.corpus import replayed


@pytest.fixture
async def bus():
    return await replayed("0.1.0")


@pytest.mark.parametrize(("asked", "name"), [("train/gpu", "train-gpu"), ("train-gpu", "train-gpu")])
def test_a_cluster_is_named_by_its_colony_or_as_it_is(asked, name):
    assert name_of(asked) == name


@pytest.mark.parametrize("asked", ["", "/gpu", "train/", "a/b/c"])
def test_what_names_no_cluster_is_bad_input(asked):
    with pytest.raises(BadInput, match="must be COLONY/CLUSTER"):
        name_of(asked)


async def test_a_released_cluster_is_explained_for_people_and_for_programs(bus):
    out: list[str] = []
    await show(bus, "default", "train-gpu", as_json=False, write=out.append)
    text = "".join(out)
    assert text.startswith("default/train-gpu is released since ")
    assert "\nlet go because: " in text
    out.clear()
    await show(bus, "default", "train-gpu", as_json=True, write=out.append)
    told = json.loads("".join(out))
    assert told["state"] == "released"
    assert f"cost so far: ${told['cost_usd']:.2f}\n" in text
    assert all(each["ended"] for each in told["attempts"])


async def test_a_cluster_without_a_history_is_told_as_that(bus):
    with pytest.raises(Failed, match="no cluster nobody in namespace default has a history"):
        await show(bus, "default", "nobody", as_json=False, write=print)
