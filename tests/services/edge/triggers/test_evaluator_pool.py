"""A Trigger that takes too much ends an evaluator and nothing else: the edge goes on, the Trigger is not followed."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from events.bus import Message
from events.kube.resources import TRIGGERS
from schemas.crds import InvalidResource, read_trigger
from services.edge.triggers.evaluator_pool import EvaluatorPool
from services.edge.triggers.rules import CompiledTrigger
from services.edge.triggers.status import COSTLY, is_off, status
from services.edge.triggers.trigger import LARGEST, ActiveTrigger
from services.edge.webhooks.inbox import CONSUMER
from services.expressions import processes as module
from services.expressions.processes import EvaluatorEnded, TooCostly
from tests.services.edge.house import NOW
from tests.services.edge.triggers.test_loop import Book, Works, spec
from tests.services.edge.triggers.test_rules import END, START, heard

TEN = "[0,1,2,3,4,5,6,7,8,9]"
MANY = "data.many.all(a, data.many.all(b, data.many.all(c, a + b + c >= 0)))"
GROWS = "['0123456789']" + "".join(f".map(v{n}, v{n} + v{n} + v{n} + v{n})" for n in range(20)) + " == []"
PATTERN = "data.text.matches('(a*)*(a*)*(a*)*(a*)*b')"


def followed(when: str = "data.what == 'start'", **spec: object) -> ActiveTrigger:
    written = {"name": "job-${data.id}", "rules": [START | {"when": when}, END]} | spec
    return ActiveTrigger(read_trigger({"metadata": {"name": "t", "namespace": "acme"}, "spec": written}))


def event(**data: object) -> bytes:
    return json.dumps({"what": "start", "id": 7, "n": 2} | data).encode()


@pytest.fixture
async def evaluators() -> AsyncIterator[EvaluatorPool]:
    async with aclosing(EvaluatorPool()) as every:
        yield every


async def test_an_evaluator_says_what_the_rules_say(evaluators: EvaluatorPool):
    told, seconds = await evaluators.evaluate(followed(), heard(event()))
    written = {"name": "job-${data.id}", "rules": [START, END]}
    rules = CompiledTrigger(read_trigger({"metadata": {"name": "t", "namespace": "acme"}, "spec": written}))
    assert told == rules.evaluate(heard(event()))
    assert 0 <= seconds < 1


@pytest.mark.parametrize(
    ("when", "data", "why"),
    [
        (MANY, {"many": list(range(500))}, "of a processor"),
        (GROWS, {}, "of memory"),
        (f"{TEN}.map(a, {TEN}.map(b, data.many.map(c, [a, b, c, data.many]))) == []", {"many": [0] * 9000}, ""),
    ],
    ids=["loops", "doubled", "maps"],
)
async def test_what_takes_too_much_is_ended_and_the_next_is_answered(evaluators: EvaluatorPool, when, data, why):
    with pytest.raises(TooCostly, match=rf"^its rules take more than .*{why}"):
        await evaluators.evaluate(followed(when), heard(event(**data)))
    told, _ = await evaluators.evaluate(followed(), heard(event()))
    assert told[0].intake is not None


async def test_a_pattern_that_backtracks_elsewhere_takes_no_time_here(evaluators: EvaluatorPool):
    told, _ = await evaluators.evaluate(followed(PATTERN), heard(event(text="a" * 100_000)))
    assert told[0].why == "does not hold: when is false"


async def test_what_asks_for_too_much_is_too_costly(evaluators: EvaluatorPool):
    rules = [START | {"once": "${data.long + data.long}"}]
    with pytest.raises(TooCostly, match=r"^its rules ask for \d+ bytes: at most 1000000 are taken"):
        await evaluators.evaluate(followed(rules=rules), heard(event(long="x" * 600_000)))


async def test_while_one_tenants_rules_take_their_time_anothers_are_answered(evaluators: EvaluatorPool):
    hostile = [
        asyncio.create_task(evaluators.evaluate(followed(MANY), heard(event(many=list(range(500)))))) for _ in range(2)
    ]
    told = [await evaluators.evaluate(followed(), heard(event())) for _ in range(5)]
    assert all(verdicts[0].intake for verdicts, _ in told)
    assert [type(each) for each in await asyncio.gather(*hostile, return_exceptions=True)] == [TooCostly] * 2


async def test_a_trigger_that_cannot_be_read_is_refused_where_it_is_read(evaluators: EvaluatorPool):
    with pytest.raises(InvalidResource, match=r"^spec\.rules\[0\]\.when is no CEL expression"):
        await evaluators.read(followed("1 +"))
    rule = START | {"when": "'" + "x" * 2000 + "' == ''", "colony": {"commit": "x" * 9000}}
    with pytest.raises(InvalidResource, match=rf"bytes: must have at most {LARGEST}$"):
        followed(rules=[rule | {"name": f"r{n}"} for n in range(16)])


async def test_an_evaluator_that_is_killed_from_outside_says_nothing_about_the_trigger(evaluators: EvaluatorPool):
    await evaluators.read(followed())
    (process,) = evaluators._processes._usual.idle
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(EvaluatorEnded):
        await evaluators.evaluate(followed(), heard(event()))
    assert (await evaluators.evaluate(followed(), heard(event())))[0]


async def test_one_that_does_not_answer_is_ended(evaluators: EvaluatorPool, monkeypatch):
    await evaluators.read(followed())
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    (process,) = evaluators._processes._usual.idle
    os.kill(process.pid, signal.SIGSTOP)
    with pytest.raises(EvaluatorEnded, match=r"did not answer in 0\.2 s"):
        await evaluators.evaluate(followed(), heard(event()))
    assert process.returncode == -signal.SIGKILL


async def test_a_cancelled_question_leaves_no_answer_for_the_next(evaluators: EvaluatorPool):
    await evaluators.read(followed())
    asking = asyncio.create_task(evaluators.evaluate(followed(MANY), heard(event(many=list(range(500))))))
    await asyncio.sleep(0.05)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    told, _ = await evaluators.evaluate(followed(), heard(event()))
    assert told[0].rule == "start"


async def test_one_that_was_ended_is_replaced_before_anybody_asks(evaluators: EvaluatorPool):
    with pytest.raises(TooCostly):
        await evaluators.evaluate(followed(MANY), heard(event(many=list(range(500)))))
    await asyncio.gather(*evaluators._processes._usual.warming)
    (warm,) = evaluators._processes._usual.idle
    assert (await evaluators.evaluate(followed(), heard(event())))[0]
    assert evaluators._processes._usual.idle == [warm]


async def test_a_tenant_that_ended_one_has_one_of_its_own_and_the_others_keep_theirs(evaluators: EvaluatorPool):
    with pytest.raises(TooCostly):
        await evaluators.evaluate(followed(MANY), heard(event(many=list(range(500)))))
    await asyncio.gather(*evaluators._processes._usual.warming)
    usual = list(evaluators._processes._usual.idle)
    with pytest.raises(TooCostly):
        await evaluators.evaluate(followed(MANY), heard(event(many=list(range(500)))))
    assert evaluators._processes._usual.idle == usual


async def test_an_evaluator_knows_no_address_and_no_key_of_ours(evaluators: EvaluatorPool, monkeypatch):
    monkeypatch.setenv("ALATE_NATS_URL", "nats://secret")
    await evaluators.read(followed())
    (process,) = evaluators._processes._usual.idle
    assert b"ALATE" not in await asyncio.to_thread(Path(f"/proc/{process.pid}/environ").read_bytes)


class Costs:
    """Evaluators that fail in a way of their own."""

    def __init__(self, *fails: Exception, seconds: float = 0.0) -> None:
        self._fails = list(fails)
        self._seconds = seconds
        self.asked = 0

    async def read(self, trigger):
        raise NotImplementedError

    async def evaluate(self, trigger, heard):
        self.asked += 1
        if self._fails:
            raise self._fails.pop()
        return (), self._seconds


@pytest.mark.looptime
async def test_a_delivery_over_which_a_trigger_is_too_costly_is_a_dead_letter_and_the_trigger_is_off():
    works = Works(evaluators=Costs(TooCostly("it takes too much")))
    async with works.running():
        for name in ("d1", "d2"):
            await works.deliver(name, "start")
        await works.worked_off()
    assert await works.reasons() == ["Trigger acme/t0: it takes too much"]
    assert (works.book.off, works.evaluators.asked) == (["it takes too much"], 1)
    assert works.outcomes() == {"costly": 1}


@pytest.mark.looptime
async def test_a_delivery_over_which_an_evaluator_ends_three_times_is_a_dead_letter():
    works = Works(evaluators=Costs(*(EvaluatorEnded("gone") for _ in range(9))))
    async with works.running():
        await works.deliver("d1", "start")
        await works.worked_off()
    assert await works.reasons() == ["Trigger acme/t0: gone"]
    assert (works.book.off, works.evaluators.asked) == (["gone, 3 times"], 3)


@pytest.mark.looptime
async def test_a_delivery_over_which_an_evaluator_ended_once_is_followed_the_next_time():
    works = Works(evaluators=Costs(EvaluatorEnded("gone")))
    async with works.running():
        await works.deliver("d1", "start")
        await works.worked_off()
    assert (await works.reasons(), works.book.off, works.evaluators.asked) == ([], [], 2)


@pytest.mark.looptime
async def test_a_delivery_that_came_again_for_another_reason_says_nothing_about_the_trigger():
    class Late(Book):
        """Is read at the third look."""

        waits = 2

        def listening_to(self, heard):
            if self.waits:
                self.waits -= 1
                raise EvaluatorEnded("a Trigger is not read yet")
            return super().listening_to(heard)

    works = Works(evaluators=Costs(EvaluatorEnded("gone")))
    async with works.running(Late(spec())):
        await works.deliver("d1", "start")
        await works.worked_off()
    assert (await works.reasons(), works.book.off, works.evaluators.asked) == ([], [], 2)


@pytest.mark.looptime
async def test_rules_that_take_a_little_too_often_have_their_share_and_no_more():
    works = Works(evaluators=Costs(seconds=0.4))
    async with works.running():
        for number in range(40):
            await works.deliver(f"d{number}", "start")
        await works.worked_off()
        assert works.evaluators.asked == 13  # 5 s at once
        await asyncio.sleep(20)
        await works.deliver("later", "start")
        await works.worked_off()
    assert works.evaluators.asked == 14
    assert set(await works.reasons()) == {
        "Trigger acme/t0: the tenant takes more than 25% of a processor: send it later"
    }
    assert works.book.off == []


@pytest.mark.looptime
@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)], ids=["forward", "back"])
async def test_a_tenant_whose_share_is_used_up_waits_no_longer_because_the_clock_was_set(jump):
    works = Works(evaluators=Costs(seconds=9.0))
    async with works.running():
        for name, asked in (("d1", 1), ("d2", 1), ("d3", 2)):
            await works.deliver(name, "start")
            await works.worked_off()
            if name == "d2":
                await asyncio.sleep(60)
            assert works.evaluators.asked == asked
        works.jumped = jump
        await works.deliver("d4", "start")
        await works.worked_off()
        await asyncio.sleep(60)
        await works.deliver("d5", "start")
        await works.worked_off()
    assert works.evaluators.asked == (4 if jump > timedelta() else 3)


@pytest.mark.looptime
async def test_whoever_changes_a_costly_trigger_again_and_again_ends_no_more_evaluators_than_its_share_allows():
    works = Works(*(spec() for _ in range(9)), evaluators=Costs(*(TooCostly("too much") for _ in range(9))))
    async with works.running():
        await works.deliver("d1", "start")
        await works.worked_off()
    assert works.evaluators.asked == 3  # 5 s at once, 2 s each
    assert works.book.off == ["too much"] * 3


@pytest.mark.looptime
async def test_a_tenants_delivery_is_followed_while_anothers_is_still_judged():
    class Slow(Costs):
        async def evaluate(self, trigger, heard):
            await asyncio.sleep(9)
            return (), 9.0

    works = Works(evaluators=Slow())
    async with works.running():
        await works.deliver("d1", "start")
        await works.bus.publish(Message("hook.plain.other.ci.d2", b"{}", {
            "ce-specversion": "1.0", "ce-id": "d2", "ce-source": "/s", "ce-type": "x"}))  # fmt: skip
        await asyncio.sleep(1)
        assert await works.bus.unanswered(CONSUMER) == 1
        await works.worked_off()


def test_a_trigger_that_was_found_too_costly_stays_off_until_it_is_changed():
    item: dict[str, Any] = {
        "apiVersion": TRIGGERS.api_version,
        "metadata": {"name": "t", "namespace": "acme", "generation": 3},
    }
    told = status(item, COSTLY, "its rules take too much", NOW)
    condition = next(each for each in told["conditions"] if each["type"] == "Ready")
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "False",
        "TooCostly",
        "its rules take too much",
    )
    assert is_off(item | {"status": told})
    changed = item | {"status": told, "metadata": item["metadata"] | {"generation": 4}}
    assert not is_off(changed)


async def test_an_evaluator_imports_nothing_from_the_folder_where_the_edge_was_started(
    evaluators: EvaluatorPool, tmp_path: Path, monkeypatch
):
    (tmp_path / "services").mkdir()
    (tmp_path / "services" / "__init__.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    await evaluators.read(followed())
