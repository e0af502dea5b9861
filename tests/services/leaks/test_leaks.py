"""Money is lost where a machine is forgotten: whatever was ever made is current, being released, or gone."""

import os
import re

import pytest

from schemas.placement import Attempt
from schemas.wish import Wish
from tests.services.leaks import play as scenes
from tests.services.leaks.cloud import Cloud
from tests.services.leaks.history import THEIRS, Step, drawn, shortest
from tests.services.leaks.play import Play, lived, own_time
from tests.services.leaks.world import Thing

HISTORIES = int(os.environ.get("ALATE_TEST_HISTORIES", "40"))
"""How many are lived through; `make test-long` asks for 10,000."""
FIRST = int(os.environ.get("ALATE_TEST_SEED", "0"))

pytestmark = [pytest.mark.timeout(3600)]


QUEUE = (Step("ask", "infer-a", 120.0, 1), Step("queue", "infer-a", 120.0, 5), Step("lull", "infer-a", 900.0, 0))


async def sizes() -> list[int]:
    """What a queue and a pause make of a cluster's size."""
    scene = Play(seed=0)
    scene.world.kind = True
    await scene.start()
    try:
        for step in QUEUE:
            await scene.happen(step)
        return scene.world.sizes
    finally:
        await scene.stop()


def test_in_such_histories_a_queue_lets_pools_grow_and_a_pause_lets_them_shrink():
    with own_time() as runner:
        assert runner.run(sizes()) == [2, 5, 2]


async def taken_in() -> list[list[str]]:
    """Whose the first of what others made is after each step, and whether it stands."""
    scene = Play(seed=0)
    scene.world.kind = True
    await scene.start()
    try:
        told = []
        for step in (
            Step("adopt", "train-a", 120.0, 0),
            Step("strip", "", 3600.0, 0),
            Step("end", "train-a", 900.0, 0),
        ):
            await scene.happen(step)
            told.append([*scene.world.ours, *sorted(scene.world.theirs.objects)])
        return told
    finally:
        await scene.stop()


def test_in_such_histories_what_others_made_is_taken_in_and_handed_back():
    with own_time() as runner:
        ours, again, free = runner.run(taken_in())
    assert ours == again == ["theirs-1", *THEIRS]
    assert free == [*THEIRS]


def leak(seed: int) -> tuple[str, int]:
    """What people are told of the history of a seed if it goes wrong; and how many things were made in it."""
    history = drawn(seed)
    wrong, made = lived(seed, history)
    if not wrong:
        return "", made
    least = shortest(history, lambda less: bool(lived(seed, less)[0]))
    steps = "\n".join(f"  {step}" for step in least)
    return f"seed {seed} goes wrong: {'; '.join(wrong)}\nthe shortest history that does:\n{steps}", made


class Forgetful(Cloud):
    """A back end that leaves a machine behind with each new size."""

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        await super().resize(wish, attempt, uid)
        self._world.standing[f"{wish.name}-forgotten"] = Thing(wish.name, uid, 99, 0.0)


def test_a_machine_that_is_forgotten_is_told_with_the_seed_and_the_shortest_history(monkeypatch):
    monkeypatch.setattr(scenes, "Cloud", Forgetful)
    told = next(filter(None, (leak(seed)[0] for seed in range(HISTORIES))))
    first, _, *steps = told.splitlines()
    assert re.match(r"seed \d+ goes wrong: .*-forgotten of ", first)
    assert 1 < len(steps) < 4
    assert any(what in told for what in ("'resize'", "'widen'", "'queue'", "'doze'"))


def test_nothing_that_was_ever_made_is_forgotten():
    made = 0
    for seed in range(FIRST, FIRST + HISTORIES):
        told, number = leak(seed)
        made += number
        if told:
            pytest.fail(told, pytrace=False)
    assert made > HISTORIES
