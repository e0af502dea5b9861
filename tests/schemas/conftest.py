"""Tests that declare messages of their own do so in a registry of their own."""

import pytest

from schemas import registry


@pytest.fixture
def own_registry(monkeypatch):
    """A registry with nothing in it, for as long as the test runs."""
    monkeypatch.setattr(registry, "_by_type", {})
    monkeypatch.setattr(registry, "_by_struct", {})
    return registry
