import pytest
from rich.console import Console

from services.cli.demo.board import drawn, rows


def texts(story, now) -> dict[str, str]:
    return dict(rows(story, now))


async def test_the_cluster_shows_its_way_and_the_time_in_each_state(told, clock):
    assert texts(told(3.5), clock(3.5))["cluster"] == (
        "train/gpu  pending 1.0s → launching 2.0s → [bold]provisioned[/bold] 0.5s"
    )


async def test_the_offer_is_shown_against_the_next_best(told, clock):
    assert texts(told(2), clock(2))["offer"] == (
        "2 x p5.48xlarge spot on aws us-east-1 for $28.50/h, next best $30.00/h"
    )


async def test_nodes_and_gpus_come_up_one_by_one(told, clock):
    assert "1/2 nodes" in texts(told(3), clock(3))["nodes"]
    assert "8/16 GPUs" in texts(told(3), clock(3))["nodes"]
    assert "16/16 GPUs" in texts(told(4), clock(4))["nodes"]


async def test_the_jobs_pods_are_shown(told, clock):
    assert texts(told(5), clock(5))["job"].startswith("16 of 16 GPUs in use, 2 pods running")
    assert "0 pods running, 2 finished, idle for 1 s" in texts(told(9), clock(9))["job"]


@pytest.mark.parametrize(("second", "end"), [(9, "idle: goes in 4.0 s"), (12.5, "goes in 0.5 s: Idle")])
async def test_idleness_counts_down(told, clock, second, end):
    assert texts(told(second), clock(second))["end"].endswith(end)


async def test_the_add_ons_are_shown_under_their_own_names(told, clock):
    assert texts(told(11), clock(11))["add-ons"] == "job applied"


async def test_what_is_gone_is_not_shown_as_if_it_were_there(told, clock):
    shown = texts(told(20), clock(20))

    assert not {"nodes", "job"} & shown.keys()
    assert shown["cluster"].endswith("releasing 2.0s → [bold]released[/bold]")


async def test_the_whole_story_can_be_drawn_at_any_time(told, clock):
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115, ASYNC230
    for second in range(18):
        console.print(drawn(rows(told(second), clock(second)), "title"))
    console.file.close()

    assert "released" in console.export_text()
