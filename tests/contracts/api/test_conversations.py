"""Every conversation is held with the sandbox and with the real server, and their answers are compared."""

import asyncio

import pytest

from tests.contracts.api.allowed import ALLOWED
from tests.contracts.api.differ import differences
from tests.contracts.api.everything import TALKS, twice
from tests.contracts.api.say import broken, hold
from tests.contracts.api.sides import fresh

every_talk = pytest.mark.parametrize("talk", TALKS, ids=lambda talk: talk.slug)


@every_talk
async def test_the_sandbox_answers_as_the_conversation_says(talk, sandbox):
    assert broken(await hold(sandbox, talk, fresh()), ours=True) == []


@pytest.mark.kube
@pytest.mark.timeout(180)
@every_talk
async def test_the_real_server_answers_as_the_conversation_says_and_the_sandbox_alike(talk, local, real):
    namespace = fresh()
    ours, theirs = await asyncio.gather(hold(local, talk, namespace), hold(real, talk, namespace))
    assert broken(theirs) == []
    assert differences(talk.fact, ours, theirs) == []


def test_there_are_enough_conversations_and_none_is_said_twice():
    assert len(TALKS) >= 120
    assert twice() == []


def test_every_allowed_difference_says_why():
    assert all(len(each.why) > 20 for each in ALLOWED)
