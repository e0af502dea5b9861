"""What a worker and the service send each other is read strictly, and bounded."""

import pytest

from events.errors import Denied, TryLater
from services.addons.helm import protocol
from services.addons.helm.protocol import FaultKind, WorkerFault, WorkerReply, WorkerRequest
from services.addons.objects.faults import MissingPrerequisite

REQUEST = WorkerRequest(
    operation="install", kubeconfig="a: 1\nb: 2", release="one", namespace="here", values={"text": "line\nline", "n": 1}
)


def test_a_request_is_one_line_and_comes_back_as_it_was():
    line = protocol.encode_request(REQUEST)
    assert line.count(b"\n") == 1
    assert protocol.decode_request(line) == REQUEST


def test_a_reply_comes_back_as_it_was():
    reply = WorkerReply(revision=3, status="deployed", objects=[{"kind": "ConfigMap"}], hooks=[{"kind": "Job"}])
    assert protocol.decode_reply(protocol.encode_reply(reply)) == reply


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        (FaultKind.DENIED, Denied),
        (FaultKind.MISSING, MissingPrerequisite),
        (FaultKind.TRY_LATER, TryLater),
    ],
)
def test_a_fault_in_a_reply_is_raised_by_its_name(kind, raised):
    with pytest.raises(raised, match="it is so") as caught:
        protocol.decode_reply(protocol.encode_reply(WorkerReply(fault=WorkerFault(kind, "it is so", "Because"))))
    assert type(caught.value) is raised


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[]", b'{"revision": "one"}', b"[" * 100_000])
def test_rubbish_is_no_reply_and_may_pass(data):
    with pytest.raises(TryLater, match="no reply"):
        protocol.decode_reply(data)


def test_a_reply_that_is_too_large_becomes_a_refusal(monkeypatch):
    monkeypatch.setattr(protocol, "REPLY", 200)
    with pytest.raises(Denied, match="at most 200 are taken") as caught:
        protocol.decode_reply(protocol.encode_reply(WorkerReply(objects=[{"data": "x" * 300}])))
    assert caught.value.reason == "TooLarge"
