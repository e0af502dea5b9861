"""Decides from facts what is wrong, and says of each mistake in one sentence what it is, where, and what to do."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import groupby
from typing import NamedTuple

from services.cli.preflight.facts import KubernetesFacts, PreflightFacts

OLDEST_KUBERNETES = (1, 31)
OLDEST_NATS = (2, 12)
LEAST_PAYLOAD = 1 << 20
"""Bytes that a message may have by the default of NATS; entities with many add-ons come near it."""
LEAST_STORAGE = 256 << 20
"""Bytes that must be left for streams."""
OLDEST_CATALOG = timedelta(days=2)
"""As the alert AlateCatalogOld has it."""
MOST_SKEW = 2.0
"""Seconds that two clocks may differ."""


class PreflightFinding(NamedTuple):
    """One mistake."""

    check: str
    """A stable name of what was checked."""
    message: str


Check = Callable[[PreflightFacts], Iterator[str]]


def findings(facts: PreflightFacts) -> tuple[PreflightFinding, ...]:
    """Every mistake, in the order in which they are best mended."""
    return tuple(PreflightFinding(name, message) for name, check in CHECKS.items() for message in check(facts))


def _dns(facts: PreflightFacts) -> Iterator[str]:
    for name, why in facts.unresolved.items():
        yield f"the name {name} does not resolve ({why}): correct the name, or the DNS server that this machine asks"


def _kubernetes_reached(facts: PreflightFacts) -> Iterator[str]:
    if why := facts.kubernetes.unreachable:
        yield f"the management cluster cannot be asked ({why}): correct the kubeconfig, or name another by --kubeconfig"


def _kubernetes_version(facts: PreflightFacts) -> Iterator[str]:
    version = facts.kubernetes.version
    if version and version < OLDEST_KUBERNETES:
        yield (
            f"the management cluster runs Kubernetes {_dotted(version)}, and alate needs"
            f" {_dotted(OLDEST_KUBERNETES)} or newer: upgrade it first"
        )


def _crds(facts: PreflightFacts) -> Iterator[str]:
    kubernetes = facts.kubernetes
    mend = "apply schemas/generated/crds, or upgrade the chart"
    for name in kubernetes.missing_crds:
        yield f"the CustomResourceDefinition {name} is missing in the management cluster: {mend}"
    for name in kubernetes.unserved_crds:
        yield f"the CustomResourceDefinition {name} does not serve version v1alpha1: {mend}"
    for name, field in kubernetes.older_crds.items():
        yield f"the CustomResourceDefinition {name} is of another release, as it has no field {field}: {mend}"


def _rights(facts: PreflightFacts) -> Iterator[str]:
    kubernetes = facts.kubernetes
    for account in kubernetes.missing_accounts:
        yield f"the service account {account} is missing: apply deploy/rbac.yaml, or upgrade the chart"
    if why := kubernetes.rights_unknown:
        yield f"the rights of the services cannot be checked ({why}): run this as a cluster administrator"
    yield from _missing_rights(kubernetes)


def _missing_rights(kubernetes: KubernetesFacts) -> Iterator[str]:
    mend = "apply deploy/rbac.yaml, or upgrade the chart"
    rights = sorted(kubernetes.missing_rights, key=lambda each: (each.account, each.resource))
    for (account, resource), each in groupby(rights, key=lambda right: (right.account, right.resource)):
        verbs = ", ".join(sorted(right.verb for right in each))
        if account:
            yield f"the service account {account} may not {verbs} {resource}: {mend}"
        else:
            yield f"you may not {verbs} {resource}, which an installation needs: install as a cluster administrator"


def _nats_reached(facts: PreflightFacts) -> Iterator[str]:
    nats = facts.nats
    if nats.unreachable:
        yield f"NATS at {nats.place} cannot be asked ({nats.unreachable}): start it, or name another by --nats"


def _nats_version(facts: PreflightFacts) -> Iterator[str]:
    nats = facts.nats
    if nats.version and _numbers(nats.version) < OLDEST_NATS:
        yield (
            f"the server at {nats.place} is NATS {nats.version}, and alate needs {_dotted(OLDEST_NATS)} or newer:"
            " upgrade it first"
        )


def _jetstream(facts: PreflightFacts) -> Iterator[str]:
    nats = facts.nats
    if not nats.unreachable and not nats.jetstream:
        yield f"JetStream is off in NATS at {nats.place}: switch it on in the server's configuration (jetstream {{}})"


def _limits(facts: PreflightFacts) -> Iterator[str]:
    nats = facts.nats
    if 0 < nats.max_payload < LEAST_PAYLOAD:
        yield (
            f"NATS at {nats.place} takes messages of {nats.max_payload} bytes at most:"
            f" set max_payload to {LEAST_PAYLOAD} or more"
        )
    if nats.storage_left is not None and nats.storage_left < LEAST_STORAGE:
        yield (
            f"NATS at {nats.place} has {nats.storage_left >> 20} MiB of storage left for streams:"
            f" raise the account's max_file, so that at least {LEAST_STORAGE >> 20} MiB are left"
        )


def _streams(facts: PreflightFacts) -> Iterator[str]:
    nats = facts.nats
    for name in nats.missing_streams:
        yield f"the stream {name} is missing in NATS at {nats.place}: run `python -m services setup`"
    for each in nats.differences:
        yield (
            f"the stream {each.stream} in NATS at {nats.place} has {each.setting} {each.theirs!r} instead of"
            f" {each.ours!r}: run `python -m services setup`"
        )
    if nats.clustered:
        for name in nats.single_streams:
            yield (
                f"the stream {name} has one replica, though NATS at {nats.place} is a cluster, and is lost with its"
                f" server: run `python -m services setup` with ALATE_NATS_REPLICAS=3"
            )


def _stored(facts: PreflightFacts) -> Iterator[str]:
    nats = facts.nats
    if nats.unread:
        yield f"stored messages in NATS at {nats.place} cannot be read ({nats.unread}): run this with an operator's key"
    for wrong in nats.undecodable:
        yield f"this release cannot decode the stored message {wrong}: keep the release that wrote it, and report this"


def _catalogs(facts: PreflightFacts) -> Iterator[str]:
    for each in facts.nats.catalogs:
        if each.observed_at is None or each.freshness == "gone":
            continue
        age = facts.now - each.observed_at
        if age > OLDEST_CATALOG:
            yield f"the price catalog of {each.cloud} is {age.days} days old: renew its file in ALATE_CATALOG"
        elif each.freshness == "stale":
            yield f"the price catalog of {each.cloud} cannot be read: correct its file in ALATE_CATALOG"


def _skew(facts: PreflightFacts) -> Iterator[str]:
    clocks = {"the API server": facts.kubernetes.skew, f"NATS at {facts.nats.place}": facts.nats.skew}
    for name, ahead in clocks.items():
        if ahead is not None and abs(ahead) > MOST_SKEW:
            side = "ahead of" if ahead > 0 else "behind"
            yield (
                f"the clock of {name} is {abs(ahead):.0f} s {side} this machine's:"
                " synchronize both with the same time servers (NTP)"
            )


CHECKS: dict[str, Check] = {
    "dns": _dns,
    "kubernetes-reached": _kubernetes_reached,
    "kubernetes-version": _kubernetes_version,
    "crds": _crds,
    "rights": _rights,
    "nats-reached": _nats_reached,
    "nats-version": _nats_version,
    "jetstream": _jetstream,
    "nats-limits": _limits,
    "streams": _streams,
    "stored-messages": _stored,
    "price-catalogs": _catalogs,
    "clocks": _skew,
}


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split("-", maxsplit=1)[0].split(".")[:2] if each.isdecimal())
