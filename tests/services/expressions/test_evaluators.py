"""What is cheap is evaluated at once, what may be long in a process of its own, and what costs too much is refused."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing

import msgspec
import pytest

from services.expressions import evaluators as module
from services.expressions import template_filler as filler
from services.expressions.evaluation import (
    EvaluationFailure,
    Expression,
    FailureReason,
    KnownVariables,
    compiled,
    evaluate_cheap,
)
from services.expressions.evaluator import EvaluatorRequest, answer
from services.expressions.evaluators import Evaluators
from services.expressions.processes import EvaluatorEnded
from tests.services.expressions.here import EvaluatorsHere
from tests.services.expressions.samples import FACTS

THREE = "l.all(a, l.all(b, l.all(c, a + b + c >= 0)))"
MANY = {"l": list(range(200))}
HELD = 1.0
"""Seconds that a busy machine may take for a turn of the loop; the expression itself would take three."""


def of(text: str) -> list[Expression]:
    return [Expression(text, "spec.when")]


@pytest.fixture
async def evaluators() -> AsyncIterator[Evaluators]:
    async with aclosing(Evaluators()) as every:
        yield every


async def longest_pause(during: asyncio.Task) -> float:
    """Seconds for which the loop was held while the task ran."""
    longest = 0.0
    while not during.done():
        began = time.perf_counter()
        await asyncio.sleep(0.005)
        longest = max(longest, time.perf_counter() - began)
    return longest


async def test_three_loops_over_two_hundred_numbers_hold_no_event_loop(evaluators: Evaluators):
    await evaluators.evaluate(of("l.map(a, a).size()"), MANY)  # a process is there
    task = asyncio.create_task(evaluators.evaluate(of(THREE), MANY, "acme"))
    assert await longest_pause(task) < HELD
    why = "spec.when: it takes more than 0.5 s of a processor"
    assert task.result() == (EvaluationFailure(FailureReason.TOO_COSTLY, why),)


async def test_a_cheap_expression_starts_no_process(evaluators: Evaluators):
    text = "cluster.version.minor >= 33 && cluster.accelerators.exists(a, a.model == 'H100')"
    assert await evaluators.evaluate(of(text), FACTS) == (True,)
    assert evaluators._expressions._usual.idle == []


async def test_both_ways_give_the_same(evaluators: Evaluators, monkeypatch):
    texts = (
        "cluster.nodes + 1", "1.5", "'a' + 'b'", "null", "[1, 'x', true]", "{'a': {1: 2}}", "duration('90s')",
        "duration('1500ms')", "timestamp('2026-01-01T00:00:00Z')", "b'abc'", "cluster.nope", "1 +", "1 / 0",
        "1.0 / 0.0", "cluster.accelerators.map(a, a.model)",
    )  # fmt: skip
    every = [Expression(text, "spec.x") for text in texts]
    here = [evaluate_cheap(each, KnownVariables(FACTS)) for each in every[:-1]]
    monkeypatch.setattr(module, "AT_ONCE", -1.0)
    assert await evaluators.evaluate(every, FACTS) == (*here, ["H100", "L4"])


@pytest.mark.parametrize(
    ("text", "reason", "why"),
    [
        ("1 +", "Invalid", "is no CEL expression: line 1, column 4: mismatched input the end"),
        ("x" * 5000, "Invalid", "has 5000 characters: must have at most 4096"),
        ("cluster.nope", "NoValue", ": there is no 'nope'"),
        ("l[0] + 'x'", "NoValue", ": No such overload: the operation is not defined for the given operand types"),
        ("l.map(a, [a, a])" + ".map(a, [a, a, l])" * 6, "TooCostly", ": it takes more than 0.5 s of a processor"),
        ("l.map(a, '0123456789')" + ".map(a, a + a + a + a)" * 6, "TooCostly", ": its value has 8192619 bytes: "),
        (
            "['0123456789']" + ".map(v, v + v + v + v)" * 20 + " == []",
            "TooCostly",
            ": it takes more than ",
        ),
    ],
)
async def test_what_has_no_value_has_one_sentence_that_says_why(evaluators: Evaluators, text, reason, why):
    ((failure),) = await evaluators.evaluate(of(text), MANY | FACTS)
    assert failure.reason == reason
    assert failure.why.startswith(f"spec.when{' ' if reason == 'Invalid' else ''}{why}")
    assert "\n" not in failure.why


async def test_one_that_fails_leaves_the_others_their_values(evaluators: Evaluators):
    every = of("l.size()") + of(THREE) + of("1 +") + of("l.map(a, a)[3]")
    first, second, third, last = await evaluators.evaluate(every, MANY)
    assert (first, last) == (200, 3)
    assert (second.reason, third.reason) == (FailureReason.TOO_COSTLY, FailureReason.INVALID)


async def test_a_tenant_that_exceeds_its_budget_delays_no_other(evaluators: Evaluators):
    await evaluators.evaluate(of(THREE), MANY, "bad")
    hostile = [asyncio.create_task(evaluators.evaluate(of(THREE), MANY, "bad")) for _ in range(6)]
    await asyncio.sleep(0.01)
    assert await evaluators.evaluate(of("l.map(a, a).size()"), MANY, "good") == (200,)
    assert not all(each.done() for each in hostile)
    await asyncio.gather(*hostile)


async def test_variables_that_are_too_large_are_refused_before_they_are_sent(evaluators: Evaluators, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_REQUEST", 1000)
    (failure,) = await evaluators.evaluate(of("l.size()"), {"l": ["x" * 3000] * 10})
    assert failure.why == "spec.when: its variables have 30075 bytes: at most 1000 are read"
    assert evaluators._expressions._usual.idle == []


async def test_a_process_that_ends_for_another_reason_is_replaced(evaluators: Evaluators):
    await evaluators.evaluate(of("l.map(a, a).size()"), MANY)
    (process,) = evaluators._expressions._usual.idle
    process.kill()
    await process.wait()
    assert await evaluators.evaluate(of("l.map(a, a).size()"), MANY) == (200,)


async def test_processes_that_always_end_are_named(evaluators: Evaluators, monkeypatch):
    async def ends(*_: object) -> bytes:
        raise EvaluatorEnded("gone")

    monkeypatch.setattr(evaluators._expressions._usual, "send", ends)
    with pytest.raises(EvaluatorEnded, match="gone"):
        await evaluators.evaluate(of("l.map(a, a).size()"), MANY)


def test_what_may_take_long_is_not_tried_in_the_caller():
    first, second = (
        evaluate_cheap(Expression(text, "spec.when"), KnownVariables(MANY)) for text in ("l.size() > 1", THREE)
    )
    assert first is True
    why = "spec.when may take more than 5 ms for these variables: it loops or compares too much"
    assert second == EvaluationFailure(FailureReason.TOO_COSTLY, why)


def test_an_expression_is_compiled_once():
    assert compiled(Expression("1 + 2", "x")) is compiled(Expression("1 + 2", "x"))


def test_a_value_that_is_too_large_is_no_fault_of_the_process():
    request = EvaluatorRequest("s + s", "spec.x", {"s": "x" * 600_000})
    reply = msgspec.msgpack.decode(answer(msgspec.msgpack.encode(request)))
    assert reply["failure"] == ["TooCostly", "spec.x: its value has 1200021 bytes: at most 1000000 are taken"]


async def test_a_template_is_filled_in_a_process_and_a_text_without_one_is_not(evaluators: Evaluators):
    assert await evaluators.fill_text("a: b\n", "spec.manifests", FACTS) == "a: b\n"
    assert evaluators._templates._usual.idle == []
    assert await evaluators.fill_text("a: {{ cluster.name }}\n", "spec.manifests", FACTS) == "a: lab-main\n"
    assert await evaluators.fill_text("{{ cluster.nodes }}", "spec.manifests", FACTS) == "3"
    assert await evaluators.fill_value({"a": ["{{ cluster.nodes }}"]}, "spec.values", FACTS) == {"a": [3]}
    assert len(evaluators._templates._usual.idle) == 1


@pytest.mark.parametrize(
    ("text", "reason", "why"),
    [
        ("a\n{{ 1 + }}", "Invalid", "spec.manifests: line 2, column 8: unexpected 'end of print statement'"),
        ("a\n{{ cluster.nope }}", "NoValue", "spec.manifests: line 2, column 11: there is no 'nope'"),
        (
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "TooCostly",
            "spec.manifests: it takes more than 0.5 s of a processor",
        ),
        ("{{ 'a' * 10**9 }}", "TooCostly", "spec.manifests: it takes more than 256 MiB of memory"),
        ("{{ 9 ** (9 ** 9) }}", "TooCostly", "spec.manifests: it takes more than 0.5 s of a processor"),
        ("{{ '%1000000000d' | format(1) }}", "TooCostly", "spec.manifests: it takes more than 256 MiB of memory"),
        ("{{ 'a' | center(10**9) }}", "TooCostly", "spec.manifests: it takes more than 256 MiB of memory"),
        (
            "{% set n = namespace(a='x' * 9) %}{% for i in range(99) %}{% set n.a = n.a ~ n.a %}{% endfor %}",
            "TooCostly",
            "spec.manifests: it takes more than ",
        ),
        ("{{ 'é' * 900000 }}", "TooCostly", "spec.manifests becomes 1800021 bytes: at most 1000000 are taken"),
    ],
)
async def test_a_template_that_fails_or_costs_too_much_has_one_sentence(evaluators: Evaluators, text, reason, why):
    failure = await evaluators.fill_text(text, "spec.manifests", FACTS)
    assert failure.reason == reason
    assert failure.why.startswith(why)
    assert await evaluators.fill_text("{{ cluster.nodes }}", "spec.manifests", FACTS) == "3"


async def test_a_template_that_loops_holds_no_event_loop(evaluators: Evaluators):
    await evaluators.fill_text("{{ 1 }}", "x", {})
    text = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    task = asyncio.create_task(evaluators.fill_text(text, "spec.manifests", FACTS))
    assert await longest_pause(task) < HELD
    assert task.result().reason == FailureReason.TOO_COSTLY


def test_compiled_templates_are_kept_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(filler, "KEPT", 100)
    templates = filler.CompiledTemplates()
    text = [msgspec.msgpack.encode("{{ 1 }}" + str(n) * 40) for n in range(3)]
    first, second = (templates.get(each, "x", is_text=True) for each in text[:2])
    assert templates.get(text[0], "x", is_text=True) is first
    templates.get(text[2], "x", is_text=True)
    assert templates.get(text[0], "x", is_text=True) is first
    assert templates.get(text[1], "x", is_text=True) is not second


async def test_what_can_never_be_filled_is_known_without_variables(evaluators: Evaluators):
    assert await evaluators.check("a: {{ cluster.nope }}", "spec.manifests") is None
    assert await evaluators.check({"a": ["{{ nope }}"]}, "spec.values") is None
    assert (await evaluators.check("{{ 1 + }}", "x")).why == "x: line 1, column 8: unexpected 'end of print statement'"
    refused = await evaluators.check({"a": ["{% if %}"]}, "spec.values")
    assert refused.reason == FailureReason.INVALID
    assert refused.why.startswith("spec.values.a[0]: line 1, column 7: ")


async def test_evaluators_within_the_test_itself_say_the_same(evaluators: Evaluators):
    here = EvaluatorsHere()
    for text in ("cluster.nodes + 1", "cluster.nope", "1 +", "cluster.accelerators.map(a, a.model)"):
        assert await here.evaluate(of(text), FACTS) == await evaluators.evaluate(of(text), FACTS)
    for text in ("{{ cluster.nodes }}", "{{ nope }}", "{{ 1 + }}", "plain"):
        assert await here.fill_text(text, "x", FACTS) == await evaluators.fill_text(text, "x", FACTS)
        assert await here.fill_value([text], "x", FACTS) == await evaluators.fill_value([text], "x", FACTS)
        assert await here.check(text, "x") == await evaluators.check(text, "x")
