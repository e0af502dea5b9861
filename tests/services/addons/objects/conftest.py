"""One cluster of a sandbox, and what it was sent."""

from tests.services.addons.conftest import house

__all__ = ["house"]
