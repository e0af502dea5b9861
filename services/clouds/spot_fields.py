"""Spot machines are asked for in each infrastructure provider's own field, so that no template has to say it twice."""

import re

from events.kube.port import Object
from services.clouds.template_values import CHARTS, over

KINDS = {"AWSMachineTemplate": "aws", "AzureMachineTemplate": "azure", "GCPMachineTemplate": "gcp"}
"""The cloud of each provider's machine template; its field is the one that k0rdent's charts hand on."""
_MADE = re.compile(rf"^kind: ({'|'.join(KINDS)})\s*$", re.MULTILINE)


def on_spot(document: Object) -> Object:
    """A pool's document, which asks for spot machines if it is a machine template; what else it says stays."""
    cloud = KINDS.get(document.get("kind", ""))
    return over(document, {"spec": {"template": {"spec": CHARTS[cloud].spot}}}) if cloud else document


def sells_spot(template: str) -> bool:
    """Whether a template can be told to ask for spot machines: by ``${SPOT}``, or because it is known where."""
    return "${SPOT}" in template or any("${POOL}" in part and _MADE.search(part) for part in template.split("\n---"))
