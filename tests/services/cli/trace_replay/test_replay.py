"""A recorded cluster is counted the same by the inventory and by hand, on any files of the format."""

import json
from pathlib import Path

import pytest

from services.cli.trace_replay import replay as player
from services.cli.trace_replay.replay import replay
from services.cli.trace_replay.trace import moves, read
from services.errors import BadInput, Failed

DATA = Path(__file__).parents[3] / "data" / "inventory"
FILES = (DATA / "nodes.csv", DATA / "pods.csv")
OPENB = Path(__file__).parents[5] / "shared" / "data" / "openb"


def quiet(_: str) -> None:
    """Nobody listens."""


async def played(capsys, nodes=FILES[0], pods=FILES[1]) -> dict:
    await replay(nodes, pods, form="json", show_progress=quiet)
    return json.loads(capsys.readouterr().out)


async def test_both_counts_agree_model_by_model(capsys):
    found = await played(capsys)
    assert found["agree"] is True
    assert found["trace"] == {"nodes": 4, "gpus": 11, "pods": 8}
    assert found["inventory"] == {
        "H100": {"allocatable": 8000, "peak": 8000, "end": 4000, "nodes": 1},
        "T4": {"allocatable": 2000, "peak": 1000, "end": 0, "nodes": 1},
        "nvidia:Z9": {"allocatable": 1000, "peak": 0, "end": 0, "nodes": 1},
    }


async def test_a_table_is_for_people(capsys):
    await replay(*FILES, form="table", show_progress=quiet)
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].split() == ["H100", "1", "8.000", "8.000", "4.000", "the", "same"]
    assert shown[-1] == "4 nodes, 11 gpus, 8 pods; the two counts agree"


async def test_counts_that_differ_are_a_failure(capsys, monkeypatch):
    monkeypatch.setattr(player, "counted", lambda *_: {})
    with pytest.raises(Failed, match="differ"):
        await played(capsys)


async def test_at_one_instant_who_leaves_goes_before_who_comes():
    order = [(move.pod.name, move.arrives) for move in moves(read(*FILES))]
    assert order.index(("train", False)) < order.index(("next", True))
    assert order.index(("blink", True)) < order.index(("blink", False))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("n,1,1,eight,T4", "line 2: gpu is 'eight': expected a whole number of 0 or more"),
        ("n,1,1,-1,T4", "line 2: gpu is '-1': expected a whole number of 0 or more"),
        (",1,1,1,T4", "line 2: sn is missing"),
        ("n,1", "line 2: gpu is '': expected a whole number of 0 or more"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_with_its_place(tmp_path, line, says):
    nodes = tmp_path / "nodes.csv"
    nodes.write_text(f"sn,cpu_milli,memory_mib,gpu,model\n{line}\n")
    with pytest.raises(BadInput) as refused:
        read(nodes, FILES[1])
    assert str(refused.value).endswith(says)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(BadInput, match=r"none\.csv cannot be read"):
        read(tmp_path / "none.csv", FILES[1])


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_the_whole_trace_is_counted_the_same(capsys):
    files = (OPENB / "openb_node_list_all_node.csv", OPENB / "openb_pod_list_default.csv")
    if not all(file.exists() for file in files):
        pytest.skip("the trace is not on this machine")
    found = await played(capsys, *files)
    assert found["agree"] is True
    assert found["trace"] == {"nodes": 1523, "gpus": 6212, "pods": 8152}
    assert sum(each["allocatable"] for each in found["inventory"].values()) == 6_212_000
