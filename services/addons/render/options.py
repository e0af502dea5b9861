"""What a renderer is given besides the folder, and where it finds its programs."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from events.errors import Denied
from events.kube.client import Object
from schemas.crds.addons import KustomizePatch, Renderer
from schemas.crds.manifests import parsed
from services.addons.programs import MIB, ProgramBounds

SAID = 500
"""Characters that a message takes from what a program says."""


@dataclass(frozen=True)
class RenderOptions:
    """What an add-on says of its rendering."""

    renderer: Renderer | None = None
    """What renders; None: by what is there."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """External variables of Jsonnet, data values of ytt."""
    components: tuple[str, ...] = ()
    """Folders of Kustomize components, relative to the folder that is rendered."""
    patches: tuple[KustomizePatch, ...] = ()
    """Patches of Kustomize, in their order."""


@dataclass(frozen=True)
class RenderSettings:
    """The programs, and what they may use."""

    kustomize: str = "kustomize"
    ytt: str = "ytt"
    bounds: ProgramBounds = field(default_factory=lambda: ProgramBounds(seconds=30.0, output=16 * MIB))
    text: int = 16 * MIB
    """Characters of all YAML that is read."""
    objects: int = 10_000
    """Kubernetes objects."""


Render = Callable[[Path, Path, RenderOptions, RenderSettings], Awaitable[list[Object]]]
"""Renders a folder or file, the second, that lies in a source, the first. Raises Denied, TryLater, OSError."""


def objects_of(text: str, what: str, settings: RenderSettings) -> list[Object]:
    """The Kubernetes objects of a text, perhaps none. Takes seconds for megabytes. Raises Denied."""
    try:
        return bounded(parsed(text, settings.text), what, settings)
    except ValueError as wrong:
        raise Denied(f"{what} {wrong}", "InvalidManifests") from wrong


def bounded(found: list[Object], what: str, settings: RenderSettings) -> list[Object]:
    """The same objects. Raises Denied if there are too many."""
    if len(found) > settings.objects:
        raise Denied(f"{what} comes to {len(found)} objects: at most {settings.objects} are taken", "TooLarge")
    return found


def told(said: str, *folders: Path) -> str:
    """What a program says of a mistake, on one line, without the folders of this machine."""
    for folder in folders:
        said = said.replace(f"{folder}/", "").replace(str(folder), ".")
    return re.sub(r"\s+", " ", said).strip()[:SAID] or "it said nothing"
