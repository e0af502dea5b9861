"""Loads the kubeconfig reader of kubernetes-asyncio without its 1,200 models, which would cost each service 110 MB."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

_PACKAGE = "kubernetes_asyncio"
_CLIENT = f"{_PACKAGE}.client"
_CONFIG = f"{_PACKAGE}.config"


class ApiClient:
    """Stands where `config` imports a client, which only its ``new_client_from…`` would make."""

    def __init__(self, *_: object, **__: object) -> None:
        """Never made here. Raises RuntimeError."""
        raise RuntimeError("kubernetes_asyncio was borrowed for its configuration only: use events.kube.client.Kube")


def _parent(name: str, where: list[str]) -> ModuleType:
    """A package without its ``__init__``: its modules are found at their real place."""
    package = ModuleType(name)
    package.__path__ = where
    return package


@contextmanager
def _stand_ins() -> Iterator[ModuleType]:
    """Light parents while `config` is loaded; afterwards all of it is taken out of `sys.modules` again.

    So nobody can stumble over half a package: a later ``import kubernetes_asyncio`` loads the whole of it,
    apart from ours.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"{_PACKAGE} is not installed", name=_PACKAGE)
    root = list(spec.submodule_search_locations)
    client = _parent(_CLIENT, [f"{folder}/client" for folder in root])
    sys.modules |= {_PACKAGE: _parent(_PACKAGE, root), _CLIENT: client}
    try:
        yield client
    finally:
        for name in [n for n in sys.modules if n == _PACKAGE or n.startswith(f"{_PACKAGE}.")]:
            del sys.modules[name]


@cache
def borrow() -> tuple[ModuleType, type]:
    """``kubernetes_asyncio.config`` and its ``Configuration``: the package's own if it is already loaded."""
    if _PACKAGE in sys.modules:
        return import_module(_CONFIG), import_module(f"{_CLIENT}.configuration").Configuration
    with _stand_ins() as client:
        configuration: type = import_module(f"{_CLIENT}.configuration").Configuration
        vars(client).update(ApiClient=ApiClient, Configuration=configuration)
        return import_module(_CONFIG), configuration
