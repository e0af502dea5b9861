"""Finds every module of messages in schemas with its lifecycle, so that no list has to name them."""

import pkgutil
from importlib import import_module

import schemas
from schemas.entity import Lifecycle


def lifecycles() -> tuple[Lifecycle, ...]:
    """The ``LIFECYCLE`` of every module directly in schemas; all of them are imported, and so declared.

    Packages declare no message; the models of custom resources take 0.2 s to load.
    """
    modules_found = (found for found in pkgutil.iter_modules(schemas.__path__) if not found.ispkg)
    names = [found.name for found in modules_found if found.name != "__main__"]
    modules = [import_module(f"schemas.{name}") for name in sorted(names)]
    return tuple(module.LIFECYCLE for module in modules if hasattr(module, "LIFECYCLE"))
