"""Reads Helm's error messages: which failure may pass, which waits for a change, in one sentence."""

import re

from services.addons.helm.protocol import FaultKind, WorkerFault

LONGEST = 600
"""Characters of a message: the rest is details of the same failure."""
BEFORE_INSTALL = "failed pre-install"
"""How the failure of a hook begins that ran before anything of the release was applied."""
_DENIED, _MISSING, _LATER = FaultKind.DENIED, FaultKind.MISSING, FaultKind.TRY_LATER

RULES: tuple[tuple[str, FaultKind, str], ...] = (
    (r"failed calling webhook|another operation|etcdserver|too many requests|Timeout: request", _LATER, ""),
    (r"no matches for kind|ensure CRDs are installed|namespaces \S+ not found", _MISSING, ""),
    (r"is forbidden|denied the request|cannot impersonate|Unauthorized", _DENIED, "Forbidden"),
    (r"invalid ownership metadata|cannot be imported|cannot reuse a name|cannot re-use", _DENIED, "OwnedByAnother"),
    (
        r"execution error at|executing \"|parse error|error converting YAML|error calling include",
        _DENIED,
        "RenderFailed",
    ),
    (r"don't meet the specifications of the schema|values\.yaml|invalid values", _DENIED, "InvalidValues"),
    (r"release name|invalid release", _DENIED, "InvalidRelease"),
    (r"[Tt]oo long: may not be|Request entity too large|request is too large", _DENIED, "TooLarge"),
    (r"is invalid|not declared in schema|strict decoding|Invalid value|unknown field", _DENIED, "Invalid"),
    (r"incompatible with Kubernetes|missing in charts/|validation: chart|library charts", _DENIED, "InvalidChart"),
)
"""The first pattern that a message holds says what it is; the order matters."""
KINDS = {
    "HelmChartLoadError": (_DENIED, "InvalidChart"),
    "HelmChartInvalidError": (_DENIED, "InvalidChart"),
    "HelmValuesError": (_DENIED, "InvalidValues"),
    "HelmRenderError": (_DENIED, "RenderFailed"),
}
"""What an error is whose message no rule knows, by the name of its type; all others may pass."""


def fault_from(kind: str, text: str) -> WorkerFault:
    """The fault for an error of Helm of the type named `kind`."""
    message = sentence(text)
    for pattern, found, reason in RULES:
        if re.search(pattern, text):
            return WorkerFault(found, message, reason)
    found, reason = KINDS.get(kind, (_LATER, ""))
    return WorkerFault(found, message, reason)


def sentence(text: str) -> str:
    """One line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
