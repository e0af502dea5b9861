import pytest

from services.errors import Failed
from services.eventlog.history import history, totals


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
    assert events[:6] == ["pending", "launching", "provisioned", "ready", "releasing", "released"]


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
