"""`alate kubeconfig` writes one kubeconfig for the clusters of a Colony, from their Secrets."""

from pathlib import Path
from typing import NamedTuple

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.kubeconfig import Chosen, chosen_context, context_name, merged_yaml, together
from events.kube.resources import COLONIES, SECRETS
from services.cli.connection import Connection
from services.cli.output.render import TextWriter, json_text
from services.errors import Failed
from services.process.secret_file import write_private


class KubeconfigRequest(NamedTuple):
    """Whose kubeconfig is written, and where to."""

    namespace: str
    colony: str
    cluster: str
    """Empty: every one."""
    file: Path | None
    """None: standard output."""
    as_json: bool


async def make(where: Connection, wanted: KubeconfigRequest, *, write: TextWriter, tell: TextWriter) -> None:
    """Write it; `tell` which are left out. Raises Failed if none exists, Denied("BadKubeconfig") if one is invalid."""
    found: dict[str, Chosen] = {}
    async with where.kube() as kube:
        for name, shown in (await _clusters(kube, wanted)).items():
            called, one = context_name(wanted.colony, name), await _kubeconfig_of(kube, wanted.namespace, shown)
            if one is None:
                tell(f"{called} is left out: it is {shown.get('phase', 'Pending')} and has no kubeconfig yet\n")
            else:
                found[called] = one
    if not found:
        raise Failed(f"colony/{wanted.colony} has no kubeconfig yet: `alate get colonies -w` shows when it is ready")
    text = json_text(together(found)) if wanted.as_json else merged_yaml(found)
    if wanted.file is None:
        write(text)
    else:
        write_private(wanted.file, text.encode())
        tell(f"{wanted.file} has {', '.join(found)}\n")


async def _clusters(kube: Kube, wanted: KubeconfigRequest) -> dict[str, Object]:
    """The status of the clusters that are asked for, by name."""
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


async def _kubeconfig_of(kube: Kube, namespace: str, shown: Object) -> Chosen | None:
    """The kubeconfig in a cluster's Secret; None while it has none."""
    name = shown.get("kubeconfigSecret")
    try:
        secret = await kube.get(SECRETS, name, namespace) if name else {}
    except NotFound:
        return None
    return chosen_context(secret, f"Secret {namespace}/{name}")
