"""Where the real Kubernetes lies is known in one place, for those who build it as for those who run it."""

import os
import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ASSETS = "KUBEBUILDER_ASSETS"
"""The variable that names a folder with kube-apiserver, etcd and kubectl, as everywhere in the field."""

REQUIRED = "ALATE_TEST_KUBE"
"""The variable that says, as ``required``, that no test may skip for want of Kubernetes: set where all must run."""


@cache
def version() -> str:
    """The Kubernetes that is built, e.g. ``v1.36.3``: what its module asks for."""
    asked = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", (HERE / "kubernetes" / "go.mod").read_text(), re.MULTILINE)
    if asked is None:
        raise LookupError("tests/kube/kubernetes/go.mod asks for no k8s.io/kubernetes")
    return asked[1]


def home() -> Path:
    """The user's cache folder for this version: programs, ``crds/`` and ``stages/``."""
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache_home) / "alate" / "kube" / version()


def given(name: str) -> Path | None:
    """A program that the user has already, in the folder that ``KUBEBUILDER_ASSETS`` names."""
    folder = os.environ.get(ASSETS)
    found = Path(folder) / name if folder else None
    return found if found and found.is_file() else None


def program(name: str) -> Path | None:
    """A program that can be run, or None if it is not built yet."""
    built = home() / name
    return given(name) or (built if built.is_file() else None)


def missing(*names: str) -> tuple[str, ...]:
    """Those of the programs that are not there."""
    return tuple(name for name in names if program(name) is None)
