from dataclasses import replace
from pathlib import Path

import pytest

from schemas.crds import InvalidResource, read_colony
from services.cli.demo.run import COLONY
from services.cli.request.colony import from_file, from_flags
from services.cli.request.flags import ColonyFlags, SpotFlag
from services.errors import BadInput

ASK = ColonyFlags(gpus=16, accelerator="H100", per_node=8)


def test_flags_become_the_colony_they_describe():
    ask = replace(ASK, spot=SpotFlag.PREFERRED, max_price=60.0, ttl="6h", idle_after="30m", cloud=["aws"])
    colony = read_colony(from_flags("train", ask, "team"))
    (cluster,) = colony.spec.clusters
    (pool,) = cluster.pools

    assert (colony.metadata.name, colony.metadata.namespace) == ("train", "team")
    assert (pool.nodes, pool.accelerators_per_node, pool.accelerator, pool.spot) == (2, 8, "H100", "preferred")
    assert (cluster.max_price_per_hour, cluster.time_to_live.total_seconds()) == (60.0, 21_600)
    assert (cluster.idle_after.total_seconds(), cluster.clouds) == (1_800, ["aws"])


def test_what_is_not_said_is_left_to_the_api_server():
    (cluster,) = from_flags("train", ASK, "default")["spec"]["clusters"]

    assert set(cluster) == {"name", "pools"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"gpus": 12}, "--gpus 12 cannot be had as whole nodes of --per-node 8"),
        ({"gpus": -8}, "--gpus -8 cannot be had"),
        ({"per_node": 0}, "--per-node 0"),
        ({"accelerator": "H10O"}, r'accelerator is "H10O": must be a known accelerator, such as H100'),
        ({"name": "Train"}, r'metadata.name is "Train": must be lower-case'),
        ({"name": "x" * 60}, "must have at most 50"),
        ({"ttl": "six hours"}, r'timeToLive is "six hours": must be a duration such as'),
        ({"max_price": -1.0}, r"maxPricePerHour is -1.0: must be more than 0"),
    ],
)
def test_a_bad_flag_is_one_clear_sentence(change, sentence):
    with pytest.raises((BadInput, InvalidResource), match=sentence) as told:
        from_flags(change.pop("name", "train"), replace(ASK, **change), "default")

    assert "\n" not in str(told.value)


FILE = """
apiVersion: alate.dev/v1alpha1
kind: Colony
metadata: {name: train}
spec: {clusters: [{name: main, pools: [{accelerator: H100, acceleratorsPerNode: 8, nodes: %s}]}]}
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"colony\.yaml is empty: must hold a Colony"),
        ("a: [}", r"colony\.yaml is not YAML \(at line 1"),
        ("kind: Pod", r"colony\.yaml holds a Pod: must be a Colony"),
        ("- a", r"colony\.yaml holds a list: must be a Colony"),
        (FILE % "-1", r"nodes is -1: must be at least 1"),
        (FILE % "2, nods: 3", r"nods is no known field: did you mean nodes\?"),
    ],
)
def test_a_bad_file_is_one_clear_sentence(tmp_path: Path, text, sentence):
    file = tmp_path / "colony.yaml"
    file.write_text(text)

    with pytest.raises((BadInput, InvalidResource), match=sentence) as told:
        from_file(file, None)
    assert "\n" not in str(told.value)


def test_a_file_that_is_not_there_is_one_clear_sentence(tmp_path: Path):
    with pytest.raises(BadInput, match="cannot be read"):
        from_file(tmp_path / "absent.yaml", None)


def test_every_colony_of_a_file_is_asked_for(tmp_path: Path):
    file = tmp_path / "colony.yaml"
    file.write_text("---".join([FILE % 1, FILE % 2]))

    assert [each["metadata"] for each in from_file(file, "team")] == [{"name": "train", "namespace": "team"}] * 2


def test_the_demos_colony_asks_for_what_the_readme_promises():
    (raw,) = from_file(COLONY, None)
    (cluster,) = read_colony(raw).spec.clusters
    (pool,) = cluster.pools

    assert (pool.nodes, pool.accelerators_per_node, pool.accelerator, pool.spot) == (2, 8, "H100", "preferred")
    assert cluster.max_price_per_hour
    assert cluster.time_to_live
    assert cluster.idle_after
    assert len(cluster.addons) == 2
