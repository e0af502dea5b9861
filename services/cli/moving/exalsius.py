"""An exalsius Colony becomes one of ours; what cannot be carried over is told with its path.

Source: the CRD colonies.infra.exalsius.ai/v1 (operator 0.11.1) and the values of k0rdent's charts (kcm 1.11).
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from events.kinds import COLONIES
from events.kube_port import Object
from schemas.crds import read_colony
from schemas.inventory import Offer
from services.clouds.values import CHARTS

API = "infra.exalsius.ai/v1"
SPEC = "clusterDeploymentSpec"
WORKERS = 2
"""What the charts make where nothing is said."""
NETWORK = {"pods": ["10.244.0.0/16"], "services": ["10.96.0.0/12"]}
"""The same, of addresses."""
FIXED = {
    f"{SPEC}.dryRun": False,
    f"{SPEC}.cleanupOnDeletion": True,
    f"{SPEC}.propagateCredentials": True,
    f"{SPEC}.config.controlPlaneNumber": 1,
}
"""What alate writes itself: only another value is lost."""
WHY = {
    f"{SPEC}.credential": "a ready Credential of the same cloud is taken, whichever it is",
    f"{SPEC}.dryRun": "`alate plan` shows what would be",
    f"{SPEC}.cleanupOnDeletion": "what the cluster made in its cloud always goes with it",
    f"{SPEC}.propagateCredentials": "the cluster always gets its cloud's credentials",
    f"{SPEC}.config.controlPlaneNumber": "a cluster for one job has one machine as its control plane",
    f"{SPEC}.config.controlPlane": "the control plane's machine is chosen by the back end",
    f"{SPEC}.serviceSpec": "add-ons are manifests: write what it installs under addons",
    "clusterLabels": "a cluster's objects bear labels of alate's alone",
    "clusterAnnotations": "a cluster's objects bear annotations of alate's alone",
}
"""By path; of what is not in here, alate has no word for it."""
NO_WORD = "alate has no word for it"

Kind = tuple[str, str]
"""A cloud and its name of a machine."""


class Left(msgspec.Struct, frozen=True):
    """One thing that was not carried over."""

    path: str
    """Within the Colony it was in."""
    why: str


class Moved(msgspec.Struct, frozen=True):
    """What became of one Colony."""

    colony: Object | None
    """Ours; None if none of its clusters could be carried over."""
    left: tuple[Left, ...]
    """What of the carried clusters is not in it."""
    lost: tuple[Left, ...]
    """The clusters that are not in it."""


class _Lost(Exception):
    """A cluster cannot be carried over: where in it, and why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.left = Left(path, why)


def kinds(offers: Iterable[Offer]) -> Mapping[Kind, Offer]:
    """What the machines of these catalogs hold."""
    return {(offer.cloud, offer.instance): offer for offer in offers}


def moved(colony: Object, known: Mapping[Kind, Offer]) -> Moved:
    """Ours. Raises Refused if what it becomes is no Colony, as with a name that is too long."""
    clusters: list[Object] = []
    left: list[Left] = []
    lost: list[Left] = []
    for place, written in enumerate(_clusters(colony)):
        path = f"spec.colonyClusters[{place}]"
        try:
            clusters.append(_cluster(written, known))
        except _Lost as why:
            lost.append(Left(f"{path}.{why.left.path}", why.left.why))
        else:
            left += [Left(f"{path}.{each.path}", each.why) for each in _left(written)]
    if not clusters:
        return Moved(None, (), tuple(lost) or (Left("spec.colonyClusters", "there are none"),))
    return Moved(_ours(colony, clusters), tuple(left), tuple(lost))


def _clusters(colony: Object) -> list[Object]:
    listed = _within(colony, "spec").get("colonyClusters")
    return [each if isinstance(each, dict) else {} for each in listed] if isinstance(listed, list) else []


def _ours(colony: Object, clusters: list[Object]) -> Object:
    """Raises Refused."""
    said = _within(colony, "metadata")
    meta = {name: said[name] for name in ("name", "namespace", "labels") if name in said}
    kind = {"apiVersion": COLONIES.api_version, "kind": COLONIES.kind}
    made = kind | {"metadata": meta, "spec": {"clusters": clusters}}
    read_colony(made)
    return made


def _within(written: Object, name: str) -> Object:
    found = written.get(name)
    return found if isinstance(found, dict) else {}


def _cluster(written: Object, known: Mapping[Kind, Offer]) -> Object:
    spec = _within(written, SPEC)
    cloud, config = _cloud(spec), _within(spec, "config")
    chart, worker = CHARTS[cloud], _within(config, "worker")
    offer = _machine(cloud, worker.get(chart.instance), known)
    pool = {
        "name": "gpu",
        "accelerator": offer.accelerator,
        "acceleratorsPerNode": offer.accelerators,
        "nodes": config.get("workersNumber", WORKERS),
        "spot": "never",
    }
    return {
        "name": written.get("clusterName", ""),
        "backend": "k0rdent",
        "template": spec["template"],
        "clouds": [cloud],
        **({"regions": [config[chart.region]]} if config.get(chart.region) else {}),
        **_network(_within(config, "clusterNetwork")),
        "pools": [pool | ({"diskGiB": worker[chart.disk]} if worker.get(chart.disk) else {})],
    }


def _network(said: Object) -> Object:
    """The addresses, with the charts' own beside them where one of the two is said."""
    ranges = {of: _within(said, of).get("cidrBlocks") for of in NETWORK}
    told = {of: each for of, each in ranges.items() if each}
    return {"network": NETWORK | told} if told else {}


def _cloud(spec: Object) -> str:
    template = str(spec.get("template", ""))
    cloud = template.partition("-")[0]
    if cloud not in CHARTS:
        raise _Lost(
            f"{SPEC}.template",
            f"{template or 'nothing'} is for none of {', '.join(CHARTS)}: "
            "what runs on machines of one's own is written anew, with their offers in a catalog",
        )
    return cloud


def _machine(cloud: str, instance: object, known: Mapping[Kind, Offer]) -> Offer:
    found = known.get((cloud, str(instance or "")))
    if found is None:
        path = f"{SPEC}.config.worker.{CHARTS[cloud].instance}"
        raise _Lost(
            path,
            f"{instance or 'nothing'} of {cloud} is in no catalog, or has no accelerators: "
            "name a catalog that has it with --catalog",
        )
    return found


def _left(written: Object) -> Iterator[Left]:
    chart = CHARTS[_cloud(_within(written, SPEC))]
    config = f"{SPEC}.config"
    worker = f"{config}.worker"
    carried = {f"{config}.{chart.region}", f"{config}.workersNumber", f"{SPEC}.template", "clusterName"}
    carried |= {f"{worker}.{chart.instance}", f"{worker}.{chart.disk}"}
    carried |= {f"{config}.clusterNetwork.{of}.cidrBlocks" for of in NETWORK}
    for path, value in _leaves(written):
        if path not in carried and not (path in FIXED and FIXED[path] == value):
            yield Left(path, WHY.get(path, NO_WORD))


def _leaves(written: Object, above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in written.items():
        path = f"{above}{name}"
        if isinstance(value, dict) and path not in WHY:
            yield from _leaves(value, f"{path}.")
        elif value not in ({}, [], None):
            yield path, value
