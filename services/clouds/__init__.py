"""The back ends that can create clusters, one file each; a new file adds one."""

import importlib
import pkgutil
from collections.abc import Mapping
from contextlib import suppress

from events.errors import Denied, TryLater
from events.kube.client import Kube
from schemas.wish import Wish
from services.clouds.port import Cloud, backend_of


def backend_types() -> dict[str, type[Cloud]]:
    """Every back end that a file here declares, by the name a Colony uses."""
    names = (info.name for info in pkgutil.iter_modules(__path__))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return {backend.name: backend for module in modules if (backend := backend_of(module)) is not None}


def backends(kube: Kube) -> dict[str, Cloud]:
    """Every back end on one management cluster."""
    return {name: backend(kube) for name, backend in backend_types().items()}


def backend_for(wish: Wish, clouds: Mapping[str, Cloud], named: str = "") -> Cloud:
    """The back end that is named, or that the wish names. Raises Denied("UnknownBackend")."""
    name = named or wish.need.backend
    cloud = clouds.get(name)
    if cloud is None:
        known = ", ".join(sorted(clouds))
        raise Denied(f"there is no back end {name!r}: use one of {known}", "UnknownBackend")
    return cloud


async def reachable_elsewhere(wish: Wish, clouds: Mapping[str, Cloud]) -> dict[str, str]:
    """The clouds that other back ends could serve the wish on, each with the first such back end by name.

    A back end that cannot answer now is skipped: this is advice, and delays nothing.
    """
    found: dict[str, str] = {}
    for name in sorted(clouds.keys() - {wish.need.backend}):
        with suppress(Denied, TryLater):
            found = dict.fromkeys(await clouds[name].reach(wish), name) | found
    return found
