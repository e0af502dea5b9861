"""Converts an exalsius Colony; what cannot be converted is reported with its path.

Source: the CRD colonies.infra.exalsius.ai/v1 (operator 0.11.1) and the values of k0rdent's charts (kcm 1.11).
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from events.kube.port import Object
from events.kube.resources import COLONIES
from schemas.crds import read_colony
from schemas.inventory import Offer
from services.cli.migrate import places
from services.cli.migrate.exalsius_reader import (
    CONFIG,
    NETWORKED,
    SPEC,
    ConvertedCluster,
    ExistingSite,
    Left,
    NotConvertible,
    leaves,
    network,
    within,
)
from services.cli.migrate.places import ADOPTED, NOTHING, REMOTE, Accelerators
from services.clouds.template_values import CHARTS

API = "infra.exalsius.ai/v1"
WORKERS = 2
"""What the charts create by default."""
FIXED = {
    f"{SPEC}.dryRun": False,
    f"{SPEC}.cleanupOnDeletion": True,
    f"{SPEC}.propagateCredentials": True,
    f"{CONFIG}.controlPlaneNumber": 1,
}
WHY = {
    f"{SPEC}.credential": "a ready Credential of the same cloud is taken, whichever it is",
    f"{SPEC}.dryRun": "`alate plan` shows what would be",
    f"{SPEC}.cleanupOnDeletion": "what the cluster made in its cloud always goes with it",
    f"{SPEC}.propagateCredentials": "the cluster always gets its cloud's credentials",
    f"{CONFIG}.controlPlaneNumber": "a cluster for one job has one machine as its control plane",
    f"{CONFIG}.controlPlane": "the control plane's machine is chosen by the back end",
    f"{SPEC}.serviceSpec": "add-ons are manifests: write what it installs under addons",
    "clusterLabels": "a cluster's objects bear labels of alate's alone",
    "clusterAnnotations": "a cluster's objects bear annotations of alate's alone",
}
"""By path; of what is not in here, alate has no word for it."""
NO_WORD = "alate has no word for it"

MachineType = tuple[str, str]
"""A cloud and its name of a machine."""


class Conversion(msgspec.Struct, frozen=True):
    """What became of one Colony."""

    name: str
    """As it is called; empty if it does not say."""
    colony: Object | None
    """Ours; None if none of its clusters could be carried over."""
    left: tuple[Left, ...]
    """What of the carried clusters is not in it."""
    lost: tuple[Left, ...]
    """The clusters that are not in it."""
    places: tuple[ExistingSite, ...] = ()
    """What its clusters need that are there already."""


def kinds(offers: Iterable[Offer]) -> Mapping[MachineType, Offer]:
    """What the machines of these catalogs hold."""
    return {(offer.cloud, offer.instance): offer for offer in offers}


def converted(colony: Object, known: Mapping[MachineType, Offer], given: Accelerators = NOTHING) -> Conversion:
    """Ours. Raises Refused if what it becomes is no Colony, as with a name that is too long."""
    called = str(within(colony, "metadata").get("name") or "")
    found: list[ConvertedCluster] = []
    left: list[Left] = []
    lost: list[Left] = []
    for place, written in enumerate(_clusters(colony)):
        path = f"spec.colonyClusters[{place}]"
        try:
            found.append(_carried(colony, written, known, given))
        except NotConvertible as why:
            lost.append(Left(f"{path}.{why.left.path}", why.left.why))
        else:
            left += [Left(f"{path}.{each.path}", each.why) for each in _left(written, found[-1])]
    if not found:
        return Conversion(called, None, (), tuple(lost) or (Left("spec.colonyClusters", "there are none"),))
    ours = _ours(colony, [each.cluster for each in found])
    return Conversion(called, ours, tuple(left), tuple(lost), tuple(each.place for each in found if each.place))


def _clusters(colony: Object) -> list[Object]:
    listed = within(colony, "spec").get("colonyClusters")
    return [each if isinstance(each, dict) else {} for each in listed] if isinstance(listed, list) else []


def _ours(colony: Object, clusters: list[Object]) -> Object:
    """Raises Refused."""
    theirs = within(colony, "metadata")
    meta = {name: theirs[name] for name in ("name", "namespace", "labels") if name in theirs}
    kind = {"apiVersion": COLONIES.api_version, "kind": COLONIES.kind}
    made = kind | {"metadata": meta, "spec": {"clusters": clusters}}
    read_colony(made)
    return made


def _carried(
    colony: Object, written: Object, known: Mapping[MachineType, Offer], given: Accelerators
) -> ConvertedCluster:
    """Raises NotConvertible."""
    template = str(within(written, SPEC).get("template", ""))
    if template.startswith((REMOTE, ADOPTED)):
        return places.carried(colony, written, given)
    if template.partition("-")[0] in CHARTS:
        return _bought(written, known)
    other = f"{template} is for none of {', '.join(CHARTS)}, machines of one's own, clusters that stand already"
    raise NotConvertible(
        f"{SPEC}.template", f"{other}: ask for a cluster on one of those" if template else "it is missing"
    )


def _bought(written: Object, known: Mapping[MachineType, Offer]) -> ConvertedCluster:
    """A cluster on machines of a cloud. Raises NotConvertible."""
    spec = within(written, SPEC)
    cloud, config = str(spec["template"]).partition("-")[0], within(spec, "config")
    chart, worker = CHARTS[cloud], within(config, "worker")
    offer = _machine(cloud, worker.get(chart.instance), known)
    pool = {
        "name": "gpu",
        "accelerator": offer.accelerator,
        "acceleratorsPerNode": offer.accelerators,
        "nodes": config.get("workersNumber", WORKERS),
        "spot": "never",
    }
    cluster = {
        "name": written.get("clusterName", ""),
        "backend": "k0rdent",
        "template": spec["template"],
        "clouds": [cloud],
        **({"regions": [config[chart.region]]} if config.get(chart.region) else {}),
        **network(config),
        "pools": [pool | ({"diskGiB": worker[chart.disk]} if worker.get(chart.disk) else {})],
    }
    carried = {chart.region, "workersNumber", f"worker.{chart.instance}", f"worker.{chart.disk}"}
    paths = {f"{CONFIG}.{each}" for each in carried} | {f"{SPEC}.template", "clusterName"}
    return ConvertedCluster(cluster, NETWORKED | paths, FIXED, {})


def _machine(cloud: str, instance: object, known: Mapping[MachineType, Offer]) -> Offer:
    found = known.get((cloud, str(instance or "")))
    if found is None:
        path = f"{CONFIG}.worker.{CHARTS[cloud].instance}"
        raise NotConvertible(
            path,
            f"{instance or 'nothing'} of {cloud} is in no catalog, or has no accelerators: "
            "name a catalog that has it with --catalog",
        )
    return found


def _left(written: Object, carried: ConvertedCluster) -> Iterator[Left]:
    fixed, why = carried.fixed, WHY | carried.why
    for path, value in leaves(written, why):
        if path not in carried.paths and not (path in fixed and fixed[path] == value):
            yield Left(path, why.get(path, NO_WORD))
