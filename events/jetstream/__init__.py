"""The bus on NATS JetStream, and what its server needs: streams, accounts, keys."""

import sys
from importlib import import_module
from types import ModuleType


class _LoadedOnUse(ModuleType):
    """Stands for a module until something of it is used."""

    def __getattr__(self, name: str) -> object:
        return getattr(import_module(self.__name__), name)


def _load_nats() -> None:
    """Import nats-py without aiohttp, which it uses for WebSockets alone: each command would wait 0.15 s for it."""
    if "aiohttp" in sys.modules:
        return
    sys.modules["aiohttp"] = _LoadedOnUse("aiohttp")
    try:
        import_module("nats.aio.transport")
    finally:
        del sys.modules["aiohttp"]


_load_nats()
