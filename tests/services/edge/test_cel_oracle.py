"""Every expression that is shipped means what another implementation of CEL says, whatever the event carries.

Where the two differ, one of them says nothing: lists are compared with texts and `has` looks below what is absent
otherwise in cel-python than in CEL's specification. So a condition is compared by whether it holds, a value where ours
says one.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import celpy
import pytest
from celpy.adapter import CELJSONEncoder, json_to_cel
from celpy.evaluation import CELEvalError
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import documents
from services.expressions.cel import CompiledExpression, NoValue
from tests.examples import examples
from tests.services.edge.house import RUN
from tests.services.edge.test_hostile import paths, put
from tests.services.edge.test_senders import ALERTS, MERGE, PIPELINE

SHIPPED = sorted((Path(__file__).parents[3] / "deploy" / "triggers").glob("*.yaml"))
LABELLED = MERGE | {"labels": [{"title": "gpu-preview"}], "project": MERGE["project"] | {"id": 9}}
ALERT = ALERTS | {"commonLabels": {"alertname": "QueueLong", "max_nodes": "6"}}
BODIES = (RUN, LABELLED, LABELLED | {"object_attributes": {"action": "merge", "iid": 7}}, ALERT, PIPELINE)
TYPES = (
    "com.github.workflow_run.requested",
    "com.github.workflow_run.completed",
    "dev.cdevents.pipelinerun.queued.0.3.0",
    "dev.cdevents.pipelinerun.finished.0.3.0",
)
VALUES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.just([]) | st.just({})
NOTHING = "it cannot say"


def expressions(written: object) -> Iterator[str]:
    """All in a Trigger: what stands under `when` and `once`, and in ``${…}``."""
    for key, value in written.items() if isinstance(written, dict) else enumerate(written):
        if isinstance(value, dict | list):
            yield from expressions(value)
        elif key == "when":
            yield value
        else:
            yield from re.findall(r"\$\{([^}]*)\}", str(value))


EVERY = sorted({text for file in SHIPPED for each in documents(file.read_text()) for text in expressions(each)})


@cache
def language() -> celpy.Environment:
    return celpy.Environment()


def ours(text: str, variables: dict) -> object:
    try:
        return CompiledExpression(text, "when").of(variables)
    except NoValue:
        return NOTHING


def theirs(text: str, variables: dict) -> object:
    known = {name: json_to_cel(value) for name, value in variables.items()}
    try:
        return json.loads(json.dumps(language().program(language().compile(text)).evaluate(known), cls=CELJSONEncoder))
    except (CELEvalError, TypeError):  # some of its own faults come as they are
        return NOTHING


def means_the_same(text: str, variables: dict) -> None:
    said, other = ours(text, variables), theirs(text, variables)
    assert (said is True) == (other is True)
    assert said in (False, NOTHING, other)


def test_every_trigger_that_is_shipped_has_its_expressions_here():
    assert len(SHIPPED) == 6
    assert len(EVERY) >= 14


@pytest.mark.parametrize("body", BODIES, ids=["run", "merge", "merged", "alert", "pipeline"])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("text", EVERY)
def test_an_honest_event_means_the_same_to_both(text, kind, body):
    means_the_same(text, {"event": {"type": kind}, "data": body})


@pytest.mark.parametrize("text", EVERY)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_a_bent_event_means_the_same_to_both(text, data):
    body = data.draw(st.sampled_from(BODIES))
    bent = put(body, data.draw(st.sampled_from(paths(body)[1:])), data.draw(VALUES))
    means_the_same(text, {"event": {"type": data.draw(st.sampled_from(TYPES))}, "data": bent})
