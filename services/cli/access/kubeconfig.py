"""`alate kubeconfig` makes one kubeconfig of a Colony's clusters, as their Secrets are now."""

from pathlib import Path
from typing import NamedTuple

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.kubeconfig import Chosen, together
from events.kube.resources import COLONIES, SECRETS
from services.cli.connection import Where
from services.cli.output.render import Write, dumped
from services.errors import Failed
from services.kubernetes.kubeconfig import context, opens, written
from services.process.secret_file import write_private


class Wanted(NamedTuple):
    """Whose kubeconfig is asked for, and where it goes."""

    namespace: str
    colony: str
    cluster: str
    """Empty: every one."""
    file: Path | None
    """None: standard output."""
    as_json: bool


async def make(where: Where, wanted: Wanted, *, write: Write, tell: Write) -> None:
    """Write it; `tell` what is left out. Raises Failed if none is there yet, Denied("BadKubeconfig") if one is none."""
    found: dict[str, Chosen] = {}
    async with where.kube() as kube:
        for name, shown in (await _clusters(kube, wanted)).items():
            called, one = context(wanted.colony, name), await _held(kube, wanted.namespace, shown)
            if one is None:
                tell(f"{called} is left out: {shown.get('phase', 'Pending')}, without a kubeconfig yet\n")
            else:
                found[called] = one
    if not found:
        raise Failed(f"no kubeconfig of colony/{wanted.colony} is there yet: `alate get colonies -w` shows when it is")
    text = dumped(together(found)) if wanted.as_json else written(found)
    if wanted.file is None:
        write(text)
    else:
        write_private(wanted.file, text.encode())
        tell(f"{wanted.file} has {', '.join(found)}\n")


async def _clusters(kube: Kube, wanted: Wanted) -> dict[str, Object]:
    """What the Colony's status shows of those that are asked for."""
    try:
        colony = await kube.get(COLONIES, wanted.colony, wanted.namespace)
    except NotFound as absent:
        raise Failed(
            f"there is no Colony {wanted.colony} in namespace {wanted.namespace}: see `alate get colonies`"
        ) from absent
    shown = {each["name"]: each for each in colony.get("status", {}).get("clusters", ())}
    every = {each["name"]: shown.get(each["name"], {}) for each in colony["spec"].get("clusters", ())}
    if wanted.cluster and wanted.cluster not in every:
        raise Failed(f"colony/{wanted.colony} has no cluster {wanted.cluster}: it has {', '.join(every) or 'none'}")
    return {name: each for name, each in every.items() if wanted.cluster in ("", name)}


async def _held(kube: Kube, namespace: str, shown: Object) -> Chosen | None:
    """What a cluster's Secret holds; None while there is none."""
    name = shown.get("kubeconfigSecret")
    try:
        secret = await kube.get(SECRETS, name, namespace) if name else {}
    except NotFound:
        return None
    return opens(secret, f"Secret {namespace}/{name}")
