from typing import Any

import pytest

from events.errors import Denied, TryLater
from schemas.subjects import Key
from services.cli.demo.play import endless, entities, retry_forever
from services.cli.demo.run import COLONY
from services.cli.request.colony import from_file


def test_every_entity_a_colony_will_have_is_expected():
    (colony,) = from_file(COLONY, None)

    assert entities(colony) == {
        Key("cluster", "default", "train-gpu"),
        Key("teardown", "default", "train-gpu"),
        Key("addon", "default", "train-gpu.gpu-metrics"),
        Key("addon", "default", "train-gpu.job"),
    }


def test_a_job_without_an_end_is_the_shipped_one_but_for_its_length():
    (colony,) = from_file(COLONY, None)
    made = endless(colony)
    (before, after) = (each["spec"]["clusters"][0]["addons"][1]["manifests"] for each in (colony, made))

    assert (made["metadata"]["name"], after.count('run-seconds: "86400"')) == ("train-at-work", 1)
    assert after.replace("86400", "4") == before


@pytest.mark.looptime
async def test_who_is_away_is_asked_again():
    answers: list[Any] = [TryLater("away", 5.0), TryLater("away", 0.1), 42]

    async def ask() -> int:
        answer = answers.pop(0)
        if isinstance(answer, TryLater):
            raise answer
        return int(answer)

    assert await retry_forever(ask) == 42


async def test_a_refusal_is_not_asked_again():
    async def ask() -> None:
        raise Denied("no")

    with pytest.raises(Denied):
        await retry_forever(ask)
