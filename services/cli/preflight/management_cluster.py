"""Gathers what `alate preflight` judges of the management cluster; nothing is changed there."""

import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from events.bus import Clock
from events.errors import Denied, Fault, NotFound
from events.kube.client import Kube, Object, Request
from events.kube.port import fault_of
from events.kube.resources import CRDS
from schemas.crds import CRDS as OURS
from schemas.crds import VERSION
from schemas.registry import UNREADABLE
from services.cli.preflight import rights
from services.cli.preflight.facts import KubernetesFacts, MissingRight, ahead


class _Version(msgspec.Struct):
    major: str = ""
    minor: str = ""


async def gathered(kube: Kube, namespace: str, clock: Clock) -> KubernetesFacts:
    """The facts; `namespace` is that of the services."""
    try:
        version, skew = await _version(kube, clock)
        found = {crd.name: await _crd(kube, crd.name) for crd in OURS}
        accounts, missing, unknown = await _rights(kube, namespace)
    except Fault as why:
        return KubernetesFacts(unreachable=" ".join(str(why).split()))
    there = {name: crd for name, crd in found.items() if crd is not None}
    return KubernetesFacts(
        version=version,
        missing_crds=tuple(name for name in found if there and name not in there),
        unserved_crds=tuple(name for name, crd in there.items() if _served(crd) is None),
        older_crds=dict(_older(there)),
        missing_accounts=accounts,
        missing_rights=missing,
        rights_unknown=unknown,
        skew=skew,
    )


async def _version(kube: Kube, clock: Clock) -> tuple[tuple[int, int] | None, float | None]:
    """Its version, and how many seconds its clock is ahead, where it says so."""
    request, before = Request("GET", "/version"), clock()
    answer = await kube.transport.send(request)
    after = clock()
    if answer.status >= 300:
        raise fault_of(request, answer)
    dates = [value for name, value in answer.headers.items() if name.lower() == "date"]
    return _numbers(answer.body), ahead(parsedate_to_datetime(dates[0]), before, after, 1.0) if dates else None


def _numbers(body: bytes) -> tuple[int, int] | None:
    try:
        said = msgspec.json.decode(body, type=_Version)
    except UNREADABLE:
        return None
    major, minor = (re.match(r"\d+", each) for each in (said.major, said.minor))
    return (int(major[0]), int(minor[0])) if major and minor else None


async def _crd(kube: Kube, name: str) -> Object | None:
    try:
        return await kube.get(CRDS, name)
    except NotFound:
        return None


def _served(crd: Object) -> Mapping[str, Any] | None:
    versions = crd["spec"]["versions"]
    return next((each for each in versions if each["name"] == VERSION and each.get("served")), None)


def _older(there: Mapping[str, Object]) -> Iterator[tuple[str, str]]:
    for crd in OURS:
        served = _served(there[crd.name]) if crd.name in there else None
        if served is not None:
            theirs = set(_fields(served.get("schema", {}).get("openAPIV3Schema", {})))
            if lacking := next((path for path in _fields(crd.schema()) if path not in theirs), ""):
                yield crd.name, lacking


def _fields(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for name, below in schema.get("properties", {}).items():
        field = f"{path}.{name}".removeprefix(".")
        yield field
        yield from _fields(below, field)
    for part in ("items", "additionalProperties"):
        if isinstance(below := schema.get(part), Mapping):
            yield from _fields(below, path)


async def _rights(kube: Kube, namespace: str) -> tuple[tuple[str, ...], tuple[MissingRight, ...], str]:
    """Missing accounts, missing rights, and why these are unknown.

    Before the first installation, when no account exists, the rights of whoever asks are reviewed.
    """
    wanted = tuple(rights.shipped(namespace))
    try:
        gone = await rights.missing_accounts(kube, namespace)
        if len(gone) == len(rights.accounts(namespace)):
            return (), await rights.missing_rights(kube, rights.INSTALLS), ""
        there = tuple(right for right in wanted if right.account not in gone)
        return gone, await rights.missing_rights(kube, there), ""
    except Denied as no:
        return (), (), " ".join(str(no).split())
