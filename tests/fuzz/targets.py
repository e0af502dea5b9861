"""What must hold for any bytes at all: each target takes some, and raises where it does not."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from events.bus import Stored
from events.cloudevents import CloudEvent, Malformed, decode, encode, structured
from schemas.crds import read_trigger
from schemas.documents import InvalidYaml, documents
from schemas.registry import Stream, declarations
from services.addons.service import SUBSCRIPTIONS as ADDONS
from services.clients.catalog_sources import SAMPLE
from services.edge.http.problem import Problem
from services.edge.page.replay_buffer import format_cursor, parse_cursor
from services.edge.page.summary import summarize
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.triggers.rules import CompiledTrigger
from services.edge.webhooks.inbox import message
from services.edge.webhooks.providers import PROVIDERS
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest
from services.edge.webhooks.secrets import WebhookEndpoint
from services.eventlog.filters import about
from services.eventlog.record import EventRecord as Shown
from services.provisioning.service import SUBSCRIPTIONS as PROVISIONING
from services.runtime.consumer import Router
from services.runtime.read_model import Undecodable
from services.sandbox.api.server.kubeconfig import kubeconfig
from services.teardown.service import SUBSCRIPTIONS as TEARDOWN
from tests.corpus import corpus
from tests.fuzz import foreign, sources
from tests.services.edge.house import NOW, RUN, SECRET, WHSEC, bearer, github, standard
from tests.services.edge.test_senders import ALERTS, BINARY, EVENT, MERGE, PIPELINE, SENDS

SECRETS = (SECRET.encode(), WHSEC.encode())
SHIPPED = Path(__file__).parents[2] / "deploy" / "triggers"


@dataclass(frozen=True)
class Target:
    """One."""

    holds: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    """What honest people send: bytes are bent from these."""


def packed(headers: Mapping[str, str], body: bytes) -> bytes:
    """A request, or a message, as one piece: header lines, an empty one, the body."""
    return "".join(f"{name}: {value}\n" for name, value in headers.items()).encode() + b"\n" + body


def unpacked(data: bytes) -> tuple[dict[str, str], bytes]:
    """The inverse, for any bytes."""
    head, _, body = data.partition(b"\n\n")
    lines = (line.partition(":") for line in head.decode("utf-8", "replace").split("\n"))
    return {name.strip().lower(): value.strip() for name, colon, value in lines if colon}, body


def codec(data: bytes) -> None:
    """A message is one event, the same after every journey, or malformed."""
    try:
        event = decode(*unpacked(data))
        headers, body = encode(event)
    except Malformed:
        return
    assert decode(headers, body) == event
    if event.datacontenttype == "application/json" and not headers.get("ce-data"):
        _enveloped(event)


def _enveloped(event: CloudEvent) -> None:
    try:
        json.loads(event.data)
    except (ValueError, RecursionError):
        return
    try:
        again = decode({"content-type": "application/cloudevents+json"}, structured(event))
    except Malformed:
        return
    assert (again.id, again.source, again.type) == (event.id, event.source, event.type)


def providers(data: bytes) -> None:
    """A request is an event or a problem to every provider, as it came and well signed; no problem quotes a secret."""
    headers, body = unpacked(data)
    if not "".join(headers.values()).isprintable():
        return  # the door lets no such header in
    for provider in PROVIDERS.values():
        prove = {"github": github, "standard": standard}.get(provider.name, bearer)
        proof = {name.lower(): value for name, value in prove(body).items()}
        _said(provider, WebhookRequest(body, headers, SECRETS, NOW, "/hooks"))
        _said(provider, WebhookRequest(body, headers | proof, SECRETS, NOW, "/hooks"))


def _said(provider: Provider, record: WebhookRequest) -> None:
    problem = refusal(provider, record)
    assert problem is None or problem.status in {401, 415, 422}, problem
    assert problem is None or not any(secret in problem.body() for secret in SECRETS)


def refusal(provider: Provider, record: WebhookRequest) -> Problem | None:
    """What is wrong with it; anything else that is raised breaks the target."""
    try:
        provider.verify(record)
        message(WebhookEndpoint(provider.name, "acme", "ci"), record, provider.event(record))
    except Problem as problem:
        return problem
    return None


def trigger_files(data: bytes) -> None:
    """A text is YAML or not; it ends no process."""
    with suppress(InvalidYaml):
        documents(data.decode("utf-8", "replace"))


def rules(data: bytes) -> None:
    """Whatever an event carries, a shipped rule asks for something, or says why not."""
    event = CloudEvent(id="e", source="/s", type="com.github.workflow_run.requested", data=data)
    for each in shipped():
        for provider in PROVIDERS:
            for verdict in each.evaluate(WebhookDelivery(event, WebhookEndpoint(provider, "acme", "ci"), 1)):
                assert verdict.why.encode()


def shown(data: bytes) -> None:
    """A message of any stream is shown to people, to programs and on the page."""
    headers, body = unpacked(data)
    for stream, subject in SUBJECTS:
        record = Shown(stream, Stored(subject, body, headers, sequence=1))
        assert record.line().count("\n") == record.words().count("\n") == 1
        assert summarize(stream, record.stored).subject == subject
        about(record)


def heard(data: bytes) -> None:
    """A state or a level concerns somebody, nobody, or is undecodable, to whoever hears it."""
    for stream, subject in SUBJECTS:
        for each in EARS if stream is not Stream.INTAKE else ():
            with suppress(Undecodable):
                each.read(Stored(subject, data, sequence=1))


def marks(data: bytes) -> None:
    """What is shown as a mark is read, the same after every journey, or refused."""
    cursor = parse_cursor(data.decode("utf-8", "replace"))
    assert cursor is None or parse_cursor(format_cursor(cursor)) == cursor


def shipped() -> list[CompiledTrigger]:
    """The Triggers that are shipped."""
    if not _shipped:
        for file in sorted(SHIPPED.glob("*.yaml")):
            for each in documents(file.read_text()):
                each["metadata"]["namespace"] = "acme"
                _shipped.append(CompiledTrigger(read_trigger(each)))
    return _shipped


_shipped: list[CompiledTrigger] = []

_REQUESTS = tuple(
    packed({name: value for name, value in sent.headers.items() if SECRET not in value}, sent.body)
    for sent in SENDS.values()
)
"""Without what proves them: that is no answer's to quote, and is put in by who needs it."""
_DEEP = b'{"a":' * 5_000
_BODIES = (_DEEP, *(json.dumps(body).encode() for body in (RUN, MERGE, ALERTS, PIPELINE, EVENT)))
_STATES = tuple({record.stored.subject.split(".")[1]: record.stored.data for record in corpus("0.1.0")}.values())

SUBJECTS = tuple(
    (each.stream, ".".join(each.subject.replace("{", "").replace("}", "").split("."))) for each in declarations()
)
"""One of every declared message."""
EARS = tuple(map(Router, (PROVISIONING, TEARDOWN, ADDONS)))

KUBECONFIG = kubeconfig("https://10.0.0.1:6443", "x", "ca")
CATALOGS = tuple(file.read_bytes()[:4_000] for file in sorted(SAMPLE.glob("*.csv"))[:2])
MANIFEST = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b, labels: {c: d}}\n---\n"
OBJECT = b'{"metadata":{"name":"a","resourceVersion":"1"}}'
ADDED = b'{"type":"ADDED","object":' + OBJECT + b"}"
POOLS = b"pools: [{name: a, accelerator: H100, accelerators: 8, nodes: 4}]"
LISTED = b'{"metadata":{"resourceVersion":"1"},"items":[' + OBJECT + b"]}"
KINDS = b'{"resources":[{"name":"widgets","kind":"Widget","namespaced":true,"verbs":["list"]}]}'
GROUPS = b'{"groups":[{"preferredVersion":{"groupVersion":"a/v1"},"versions":[{"groupVersion":"a/v1"}]}]}'

TARGETS: Mapping[str, Target] = {
    "codec": Target(codec, (packed(BINARY, b"{}"), *_REQUESTS)),
    "providers": Target(providers, _REQUESTS),
    "documents": Target(trigger_files, tuple(file.read_bytes() for file in sorted(SHIPPED.glob("*.yaml")))),
    "rules": Target(rules, _BODIES),
    "shown": Target(shown, (packed(BINARY, b"{}"), packed(BINARY, _DEEP), *_REQUESTS)),
    "heard": Target(heard, (_DEEP, *_STATES)),
    "kubeconfigs": Target(foreign.kubeconfigs, (KUBECONFIG.encode(), b"a: &a [*a]", b"a: !!timestamp 2020-13-45")),
    "catalogs": Target(foreign.catalogs, (*CATALOGS, POOLS)),
    "manifests": Target(foreign.manifests, (MANIFEST, MANIFEST * 2, b"a: &a [x, x]\nb: [*a, *a]")),
    "credentials": Target(foreign.credentials, (b"pool: dgx", b"machines: [{address: 10.0.0.7, pool: dgx}]")),
    "answers": Target(foreign.answers, (LISTED, KINDS, GROUPS, _DEEP)),
    "events": Target(foreign.events, (ADDED, b'{"type":"ERROR","object":{}}', _DEEP)),
    "archives": Target(sources.archives, sources.ARCHIVES),
    "indexes": Target(sources.indexes, sources.INDEXES),
    "ranges": Target(sources.ranges, sources.RANGES),
    "signatures": Target(sources.signatures, sources.SIGNATURES),
    "marks": Target(marks, (b"EVENTS=42,INTAKE=7",)),
}
