"""Finds every module in schemas with its lifecycle, so that no list has to name them."""

import pkgutil
from importlib import import_module

import schemas
from schemas.lifecycle import Lifecycle


def lifecycles() -> tuple[Lifecycle, ...]:
    """The ``LIFECYCLE`` of every module directly in schemas; all of them are imported, and so declared."""
    names = [found.name for found in pkgutil.iter_modules(schemas.__path__) if found.name != "__main__"]
    modules = [import_module(f"schemas.{name}") for name in sorted(names)]
    return tuple(module.LIFECYCLE for module in modules if hasattr(module, "LIFECYCLE"))
