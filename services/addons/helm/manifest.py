"""Makes objects of a rendered manifest as Helm applies them: lists expanded, with Helm's label and annotations."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from events.kube.port import Object

SEPARATOR = re.compile(r"^---[ \t]*(?:#.*)?(?:\n|\Z)", re.MULTILINE)
"""Between two documents: the line alone, since the end of the text before it counts."""
HOOK = "helm.sh/hook"
RELEASE_NAME, RELEASE_NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
MANAGED_BY = {"app.kubernetes.io/managed-by": "Helm"}

ParseYaml = Callable[[str], dict[str, Any]]
"""Reads one document with the rules that Helm has for YAML; empty for one without content."""


def documents(text: str, parse: ParseYaml) -> list[Object]:
    """Every object of a manifest, the members of lists each by itself."""
    return [
        each for part in SEPARATOR.split(text) if part.strip() and (found := parse(part)) for each in _expanded(found)
    ]


def _expanded(document: Object) -> Iterator[Object]:
    items = document.get("items")
    if not str(document.get("kind", "")).endswith("List") or not isinstance(items, list):
        yield document
        return
    for item in items:
        if isinstance(item, dict):
            yield from _expanded(item)


def released(document: Object, release: str, namespace: str) -> Object:
    """An object with what Helm writes on all that belongs to a release."""
    meta = document.get("metadata") or {}
    about = {RELEASE_NAME: release, RELEASE_NAMESPACE: namespace}
    labels = (meta.get("labels") or {}) | MANAGED_BY
    annotations = (meta.get("annotations") or {}) | about
    return document | {"metadata": meta | {"labels": labels, "annotations": annotations}}


def is_hook(document: Object) -> bool:
    """Whether Helm runs it at a point of an operation, instead of keeping it in the release."""
    return HOOK in ((document.get("metadata") or {}).get("annotations") or {})
