"""What the documentation shows of expressions and templates is so."""

import re
from pathlib import Path

from services.expressions import budget, cel, cost, templates
from services.expressions.evaluation import Expression, KnownVariables, evaluate_condition
from tests.services.expressions.samples import FACTS

PAGE = (Path(__file__).parents[3] / "docs" / "concepts" / "expressions.md").read_text()
CONDITIONS, TEMPLATE = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


def test_the_conditions_shown_have_an_answer():
    answers = [evaluate_condition(Expression(line, "x"), KnownVariables(FACTS)) for line in CONDITIONS.splitlines()]
    assert answers == [True, True, True]


def test_the_template_shown_can_be_filled():
    filled = templates.TextTemplate(TEMPLATE, "x").fill(FACTS)
    assert filled == "replicas: 3\n- H100: 16\n- L4: 1\nstorageClass: gp3\n"


def test_every_variable_is_in_the_table():
    written = set(re.findall(r"`cluster\.(\w+)", PAGE.split("## Conditions")[0]))
    assert written == set(FACTS["cluster"]) == set(re.findall(r"`cluster\.(\w+)", templates.__doc__))


def test_the_limits_shown_are_the_limits():
    limits = PAGE.split("## Limits")[1]
    for number in (cel.LONGEST, templates.LARGEST_TEMPLATE, templates.LARGEST_OUTPUT):
        assert f"{number:,} characters" in limits or f"becomes, {number:,}" in limits
    assert f"{budget.SECONDS:g} s of a processor, {budget.MEMORY // 2**20} MiB" in limits
    assert f"{cost.AT_ONCE / 1000:g} ms" in limits
    assert cel.DEEPEST == 3
