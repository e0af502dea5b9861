"""What is wrong with the file or the secrets is told when it is saved: in the log, once, and as a figure."""

import asyncio
from contextlib import asynccontextmanager

import pytest
import structlog

from events.telemetry import Meters
from services.outbound.target_checks import LOOK, TARGETS, watch
from services.outbound.targets import TargetFile
from tests.services.outbound.world import SECRET, Folder

pytestmark = pytest.mark.looptime
HOOK = {"name": "ci", "format": "cloudevents", "url": "https://ci.example.com"}


class Watched:
    def __init__(self, targets: TargetFile) -> None:
        self.targets, self.meters = targets, Meters()

    def stands(self) -> dict[str, float]:
        return {labels["state"]: value for labels, value in self.meters.gauges(TARGETS)}


@asynccontextmanager
async def watched(folder: Folder):
    found = Watched(TargetFile(folder.file, folder.root))
    task = asyncio.create_task(watch(found.targets, found.meters))
    await asyncio.sleep(0)
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def told(logs: list, name: str) -> list:
    return [line for line in logs if line["event"] == name]


async def test_a_file_that_is_refused_is_told_when_it_is_saved_and_the_targets_of_before_stay(tmp_path):
    folder = Folder(tmp_path)
    folder.write(HOOK)
    with structlog.testing.capture_logs() as logs:
        async with watched(folder) as found:
            folder.write(HOOK | {"format": "slack"})
            await asyncio.sleep(3 * LOOK)
            (refused,) = told(logs, "outbound.targets_refused")
            assert "format" in refused["reason"]
            assert (refused["targets"], list(found.targets.now())) == (["ci"], ["ci"])
            assert found.stands() == {"told": 1, "secretless": 0, "refused": 1}
            folder.write(HOOK | {"name": "new"})
            await asyncio.sleep(LOOK)
            assert (list(found.targets.now()), found.targets.wrong) == (["new"], "")


async def test_a_target_without_a_secret_is_told_at_once_and_once(tmp_path):
    folder = Folder(tmp_path)
    folder.write(HOOK)
    (tmp_path / "ci").unlink()
    with structlog.testing.capture_logs() as logs:
        async with watched(folder) as found:
            await asyncio.sleep(3 * LOOK)
            assert [line["target"] for line in told(logs, "outbound.secret_missing")] == ["ci"]
            assert found.stands() == {"told": 0, "secretless": 1, "refused": 0}
            folder.secret("ci", SECRET)
            await asyncio.sleep(LOOK)
            assert [line["target"] for line in told(logs, "outbound.secret_found")] == ["ci"]
            assert found.stands() == {"told": 1, "secretless": 0, "refused": 0}


async def test_a_file_that_is_away_is_told_and_is_followed_when_it_is_back(tmp_path):
    folder = Folder(tmp_path)
    folder.write(HOOK)
    with structlog.testing.capture_logs() as logs:
        async with watched(folder) as found:
            folder.file.rename(tmp_path / "away")
            await asyncio.sleep(3 * LOOK)
            assert len(told(logs, "outbound.targets_refused")) == 1
            (tmp_path / "away").rename(folder.file)
            await asyncio.sleep(LOOK)
            assert (list(found.targets.now()), found.targets.wrong) == (["ci"], "")
