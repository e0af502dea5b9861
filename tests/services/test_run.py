"""A process is ready once all its services are, and then costs no more than what they do."""

import asyncio
import gc

import pytest
from structlog.testing import capture_logs

from events.meters import Meters
from services.process.health import ProcessHealth
from services.process.settings import Settings
from services.run import PRICED, _all, report_catalog


class Idle:
    """A service that is ready when told, and does nothing."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()

    async def run(self) -> None:
        await asyncio.Event().wait()


@pytest.fixture
async def idle():
    thresholds = gc.get_threshold()
    gc.unfreeze()  # what the collection of tests froze
    service, health = Idle(), ProcessHealth(asyncio.get_running_loop().time)
    running = asyncio.create_task(_all([service], health))
    await asyncio.sleep(0)
    yield service, health
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    gc.unfreeze()
    gc.freeze()
    gc.set_threshold(*thresholds)


async def test_once_all_are_ready_what_is_there_is_looked_at_by_no_collection(idle):
    service, health = idle
    assert (health.ready, gc.get_freeze_count()) == (False, 0)
    service.ready.set()
    for _ in range(3):
        await asyncio.sleep(0)
    assert health.ready
    assert gc.get_freeze_count() > 10_000


@pytest.mark.parametrize(("catalog", "names", "gauges", "warned"), [
    ("", ("inventory", "edge"), [({"service": "inventory"}, 0.0)], ["catalog.missing"]),
    ("/prices", ("provisioning",), [({"service": "provisioning"}, 1.0)], []),
    ("", ("edge",), [], []),
])  # fmt: skip
def test_services_that_work_with_prices_report_when_no_catalog_is_configured(catalog, names, gauges, warned):
    meters = Meters()
    with capture_logs() as logs:
        report_catalog(Settings(catalog=catalog), names, meters)
    assert list(meters.gauges(PRICED)) == gauges
    assert [each["event"] for each in logs] == warned
