"""A house with a Colony's kind known, and the way to its cluster."""

from datetime import UTC, datetime
from itertools import count

import pytest

from events.kube.resources import CRDS
from schemas.crds import manifest
from services.sandbox.api.server.app import Api
from services.sandbox.api.store.journal import MemoryJournal
from tests.services.addons.house import House

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def house():
    numbers = count(1)
    api = Api(MemoryJournal(), lambda: START, lambda: f"uid-{next(numbers)}")
    await api.start()
    await api.found("w")
    made = House(api)
    await made.management.create(CRDS, manifest())
    await made.secret()
    yield made
    await api.close()
