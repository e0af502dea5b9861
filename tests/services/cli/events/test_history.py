import json

import pytest

from services.cli.bad import Failed
from services.cli.events.history import history, show, totals


async def test_a_history_is_the_clusters_its_addons_and_its_teardowns(bus):
    turns = await history(bus, "default", "train-gpu")
    names = {f"{turn.key.domain}/{turn.key.name}" for turn in turns}
    assert names == {
        "cluster/train-gpu",
        "teardown/train-gpu",
        "addon/train-gpu.gpu-metrics",
        "addon/train-gpu.job",
    }
    events = [turn.event for turn in turns if turn.key.domain == "cluster"]
    assert events[:6] == ["requested", "launching", "provisioned", "ready", "releasing", "released"]


async def test_the_times_in_the_states_add_up_to_the_life(bus):
    turns = [turn for turn in await history(bus, "default", "train-gpu") if turn.key.domain == "teardown"]
    life = (turns[-1].state.since - turns[0].state.since).total_seconds()
    assert sum(totals(turns)["teardown/train-gpu"].values()) == pytest.approx(life)
    assert turns[-1].seconds is None


async def test_a_cluster_nobody_knows_is_one_clear_sentence(bus):
    with pytest.raises(Failed, match="no cluster nobody in namespace default"):
        await history(bus, "default", "nobody")
    with pytest.raises(Failed):
        await history(bus, "other", "train-gpu")


async def test_it_is_shown_for_people_and_for_programs(bus):
    out: list[str] = []
    await show(bus, "default", "train-gpu", "table", out.append)
    text = "".join(out)
    assert text.startswith("AT (UTC)")
    assert "\ncluster/train-gpu: requested 0." in text
    out.clear()
    await show(bus, "default", "train-gpu", "json", out.append)
    first = json.loads("".join(out))["items"][0]
    assert (first["entity"], first["state"], first["revision"]) == ("cluster/train-gpu", "requested", 1)
