"""The demo is the main job, and its word for how it went is held to what it counted.

Every day `tests/contracts/clouds` holds k0rdent to what Cluster API is held to, and `tests/services/crash` shows what a
killed service does.
"""

import pytest

from services.compose import SERVICES

pytestmark = [pytest.mark.stack, pytest.mark.timeout(400)]

PROCESSES = {"nats", "sandbox", *SERVICES}
STATES = {"pending", "launching", "provisioned", "ready", "releasing"}
ENDING = {f"teardown.{state}" for state in ("armed", "warned", "draining", "cleaning", "releasing", "verifying")}


def assert_all_is_well(told: dict) -> None:
    assert told["ok"], told
    assert (told["leftoversTotal"], told["lost"], told["duplicates"]) == (0, 0, 0)
    assert set(told["leftovers"]) >= {"colonies", "clusters", "machines", "secrets", "machines at the cloud", "timers"}
    assert set(told["phases"]) >= STATES | ENDING
    assert told["transitions"] > 20
    assert 0 < told["costUsd"] < 60
    assert told["offer"]["pricePerHour"] <= 60


@pytest.mark.parametrize("backend", ["capi", pytest.param("k0rdent", marks=pytest.mark.slow)])
async def test_a_cluster_comes_works_and_goes_and_nothing_is_left(alate, backend):
    done = await alate("demo", "-o", "json", "--backend", backend, within=200)

    assert done.code == 0, done
    assert done.err == ""
    assert_all_is_well(done.json)
    assert set(done.json) == {
        "ok", "seconds", "transitions", "phases", "offer", "costUsd",
        "leftovers", "leftoversTotal", "lost", "duplicates",
    }  # fmt: skip


@pytest.mark.slow
async def test_it_comes_to_pass_while_every_process_is_killed_and_a_job_runs_on_at_the_end(alate):
    done = await alate("demo", "--chaos", "-o", "json", within=350)

    assert done.code == 0, done
    assert_all_is_well(done.json)
    assert {each["process"] for each in done.json["killed"]} == PROCESSES
    assert 0 < done.json["cutOffSeconds"] < 60


async def test_ctrl_c_ends_the_demo_and_leaves_no_folder(demo_until, tmp_path):
    code = await demo_until(b"launching")

    assert code == 130
    assert list(tmp_path.iterdir()) == []
