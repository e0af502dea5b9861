"""Whatever comes, a provider says either an event or what is wrong; nothing else can leave it."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.backoff import Rate
from events.memory.bus import MemoryBus
from services.edge.http.problem import Problem
from services.edge.webhooks.inbox import message
from services.edge.webhooks.providers import PROVIDERS
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest
from services.edge.webhooks.secrets import WebhookEndpoint
from tests.examples import examples
from tests.services.edge.house import NOW, SECRET, WHSEC, bearer, furnished, github, standard
from tests.services.edge.test_senders import SENDS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
    | st.datetimes().map(lambda time: f"{time.isoformat()}+14:00"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
NAMES = sorted({name.lower() for sent in SENDS.values() for name in sent.headers} | {"ce-time", "ce-subject", "ce-x"})
HEADERS = st.dictionaries(
    st.sampled_from(NAMES),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=20),
    max_size=4,
)


def paths(body: object, *above: str) -> list[tuple[str, ...]]:
    """Every place in a document."""
    inner = body.items() if isinstance(body, dict) else ()
    return [above, *(path for key, value in inner for path in paths(value, *above, key))]


def put(body: object, path: tuple[str, ...], value: object) -> object:
    """The document with something else at a place."""
    return body | {path[0]: put(body[path[0]], path[1:], value)} if path else value


@st.composite
def bodies(draw: st.DrawFn, honest: bytes) -> bytes:
    """A real body with something in it replaced or cut, or anything at all."""
    document = json.loads(honest)
    bent = put(document, draw(st.sampled_from(paths(document))), draw(JSON))
    written = json.dumps(bent).encode()
    return draw(st.just(written) | st.binary(max_size=64) | st.integers(0, len(written)).map(lambda end: written[:end]))


@pytest.mark.parametrize("sent", SENDS.values(), ids=SENDS)
@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_every_request_is_an_event_or_a_problem(sent, data):
    body = data.draw(bodies(sent.body))
    headers = {name.lower(): value for name, value in sent.headers.items()} | data.draw(HEADERS)
    said = WebhookRequest(body, headers, (SECRET.encode(), WHSEC.encode()), NOW, sent.path)
    for problem in problems(PROVIDERS[sent.provider], said):
        assert problem.status in {401, 415, 422}
        assert SECRET not in problem.body().decode()


def problems(provider: Provider, said: WebhookRequest) -> list[Problem]:
    """What the provider says is wrong; anything else that leaves it ends the test."""
    found = []
    for step in (
        provider.verify,
        lambda each: message(WebhookEndpoint(provider.name, "acme", "ci"), each, provider.event(each)),
    ):
        try:
            step(said)
        except Problem as problem:
            found.append(problem)
    return found


@given(shown=st.binary(max_size=80))
@settings(max_examples=examples(300), deadline=None)
def test_nobody_guesses_a_signature(shown):
    text = shown.decode(errors="replace")
    headers = dict.fromkeys(("x-hub-signature-256", "webhook-signature", "x-gitlab-token"), text)
    headers |= {"authorization": f"Bearer {text}", "webhook-id": text, "webhook-timestamp": text}
    said = WebhookRequest(b"{}", headers, (SECRET.encode(), WHSEC.encode()), NOW, "/hooks")
    for provider in PROVIDERS.values():
        with pytest.raises(Problem) as refused:
            provider.verify(said)
        assert refused.value.status == 401


@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_no_request_is_ever_a_fault_of_the_server(data):
    """At the real door, honestly signed."""

    async def sent() -> None:
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            house = await furnished(stack, MemoryBus(), folder, Rate(50.0, 200))
            for one in SENDS.values():
                body = data.draw(bodies(one.body))
                proof = {"github": github, "standard": standard}.get(one.provider, bearer)(body)
                answer = await house.post(one.path, body, one.headers | proof | data.draw(HEADERS))
                assert answer.status in {202, 400, 401, 409, 415, 422}, answer
                assert not answer.body.count(SECRET.encode())

    asyncio.run(sent())
