"""What the add-on service and a Helm worker send each other: one request as a line of JSON, one reply as JSON."""

from enum import StrEnum
from typing import Any, Literal

import msgspec

from events.errors import Denied, Fault, TryLater
from events.kube.port import Object
from services.addons.objects.faults import MissingPrerequisite

REPLY = 16 * 1024 * 1024
"""Bytes of a reply: sixteen times the largest release that a cluster can keep."""
AGAIN = 5.0
"""Seconds until a failure that may pass is tried again."""
Operation = Literal["install", "upgrade", "rollback", "uninstall", "read", "render"]


class WorkerRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One operation on one release."""

    operation: Operation
    kubeconfig: str
    """YAML that opens the cluster."""
    as_user: str = ""
    """The user whose rights count; empty: that of the kubeconfig."""
    release: str
    namespace: str
    revision: int = 0
    """The revision to go back to, or of a render the newest one; 0: none."""
    chart: str = ""
    """Folder or archive of the chart."""
    values: dict[str, Any] = {}
    labels: dict[str, str] = {}
    """Labels of the release's Secret."""
    timeout_seconds: int = 300
    """How long hooks may take, and with `roll_back` the objects too."""
    max_history: int = 2
    create_namespace: bool = False
    roll_back: bool = False
    skip_crds: bool = False
    skip_hooks: bool = False
    kube_version: str = ""
    """Of the cluster, for a chart that is only rendered."""
    api_versions: tuple[str, ...] = ()
    """What the cluster serves, for a chart that is only rendered."""


class FaultKind(StrEnum):
    """What the caller should do about a failure: the names of `events.errors`."""

    DENIED = "Denied"
    MISSING = "MissingPrerequisite"
    TRY_LATER = "TryLater"


class WorkerFault(msgspec.Struct, frozen=True):
    """A failure, in one sentence."""

    kind: FaultKind
    message: str
    reason: str = "Denied"


class WorkerReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an operation came to."""

    revision: int = 0
    status: str = ""
    objects: list[Object] = []
    """What the release consists of, as Helm applies it but for the namespaces it fills in."""
    hooks: list[Object] = []
    crds: list[Object] = []
    """The definitions of the chart's folder of CRDs, which are no part of a release."""
    fault: WorkerFault | None = None


_decoder = msgspec.json.Decoder(WorkerReply)


def encode_request(request: WorkerRequest) -> bytes:
    """The request as one line."""
    return msgspec.json.encode(request) + b"\n"


def decode_request(line: bytes) -> WorkerRequest:
    """The request that a line holds. Raises msgspec.ValidationError."""
    return msgspec.json.decode(line, type=WorkerRequest)


def encode_reply(reply: WorkerReply) -> bytes:
    """The reply as it is sent; one that is too large becomes a refusal."""
    data = msgspec.json.encode(reply)
    if len(data) <= REPLY:
        return data
    why = f"the chart gives {len(data)} bytes of manifests: at most {REPLY} are taken"
    return msgspec.json.encode(WorkerReply(fault=WorkerFault(FaultKind.DENIED, why, "TooLarge")))


def decode_reply(data: bytes) -> WorkerReply:
    """The reply, without a fault. Raises the fault that it holds, and TryLater for what is no reply."""
    try:
        reply = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TryLater(f"the Helm worker wrote what is no reply: {error}", AGAIN) from error
    if reply.fault:
        raise fault_of(reply.fault)
    return reply


def fault_of(fault: WorkerFault) -> Fault:
    """The fault as the service's callers know it."""
    if fault.kind is FaultKind.DENIED:
        return Denied(fault.message, fault.reason)
    kind = MissingPrerequisite if fault.kind is FaultKind.MISSING else TryLater
    return kind(fault.message, AGAIN)
