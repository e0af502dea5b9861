"""Triggers in files are heard while the edge runs; what is damaged changes nothing but the log and a figure."""

import asyncio
import shutil
from contextlib import asynccontextmanager

import pytest
import structlog
import yaml

from events.telemetry import Meters
from services.edge.triggers.file_source import DAMAGED, LOOK, FileTriggers
from services.edge.triggers.loop import TriggerLoop
from services.expressions.processes import EvaluatorEnded
from tests.services.edge.here import Here
from tests.services.edge.triggers.test_loop import Book, Works, spec
from tests.services.edge.triggers.test_rules import END, START, heard

pytestmark = pytest.mark.looptime


def written(*names: str, rules: tuple[dict, ...] = (START, END)) -> str:
    meta = {"apiVersion": "alate.dev/v1alpha1", "kind": "Trigger"}
    each = ({**meta, "metadata": {"name": name, "namespace": "acme"}, "spec": spec(*rules)} for name in names)
    return yaml.safe_dump_all(each)


class Read:
    """A place of files, read by a running edge."""

    def __init__(self, place) -> None:
        self.meters = Meters()
        self.files = FileTriggers(place, Here(), self.meters)

    @asynccontextmanager
    async def running(self):
        task = asyncio.create_task(self.files.run())
        await self.files.listed.wait()
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def names(self) -> list[str]:
        """Of those that are followed, a look later."""
        await asyncio.sleep(LOOK)
        return [rules.name for rules in self.files.listening_to(heard(b"{}").channel)]

    @property
    def damaged(self) -> float:
        ((_, value),) = self.meters.gauges(DAMAGED)
        return value


async def test_a_folder_is_followed_as_its_files_change(tmp_path):
    (tmp_path / "a.yaml").write_text(written("one", "two"))
    (tmp_path / "notes.txt").write_text("no Trigger")
    async with Read(tmp_path).running() as read:
        assert await read.names() == ["one", "two"]
        (tmp_path / "b.yml").write_text(written("three"))
        (tmp_path / "a.yaml").write_text(written("one"))
        assert await read.names() == ["one", "three"]
        (tmp_path / "a.yaml").unlink()
        assert await read.names() == ["three"]


async def test_one_file_is_a_place_too_and_no_place_holds_none(tmp_path):
    (tmp_path / "a").write_text(written("one"))
    async with Read(tmp_path / "a").running() as read:
        assert await read.names() == ["one"]
    async with Read(None).running() as read:
        assert await read.names() == []


WRONG = {
    "yaml": ("{", "did not find expected node content"),
    "kind": ("kind: Colony", "a Colony is in the file: must be Triggers"),
    "list": ("[1]", "a list is in the file"),
    "rule": (written("one", rules=({**START, "when": "1 +"},)), "spec.rules[0].when is no CEL expression"),
    "deep": ("[" * 500, "nested more than 100 deep"),
    "large": ("#" * 1_000_001, "1000001 bytes: at most 1000000"),
}


@pytest.mark.parametrize(("text", "why"), WRONG.values(), ids=WRONG)
async def test_of_a_damaged_file_what_it_held_before_is_followed_and_it_is_told_once(tmp_path, text, why):
    (tmp_path / "a.yaml").write_text(written("one"))
    (tmp_path / "b.yaml").write_text(written("two"))
    with structlog.testing.capture_logs() as logs:
        async with Read(tmp_path).running() as read:
            (tmp_path / "a.yaml").write_text(text)
            assert await read.names() == ["one", "two"]
            assert await read.names() == ["one", "two"]
            assert read.damaged == 1
            (told,) = [line for line in logs if line["log_level"] == "warning"]
            assert (told["event"], told["file"]) == ("trigger.file_damaged", "a.yaml")
            assert why in told["reason"]
            (tmp_path / "a.yaml").write_text(written("mended"))
            assert await read.names() == ["mended", "two"]
            assert read.damaged == 0


async def test_bytes_that_are_no_text_are_damage_too(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    async with Read(tmp_path).running() as read:
        assert (await read.names(), read.damaged) == ([], 1)


async def test_while_the_folder_is_away_its_triggers_are_followed_as_they_were(tmp_path):
    place = tmp_path / "rules"
    place.mkdir()
    (place / "a.yaml").write_text(written("one"))
    with structlog.testing.capture_logs() as logs:
        async with Read(place).running() as read:
            shutil.rmtree(place)
            assert (await read.names(), await read.names(), read.damaged) == (["one"], ["one"], 1)
            assert [line["event"] for line in logs if line["log_level"] == "warning"] == ["trigger.files_unread"]
            place.mkdir()
            (place / "b.yaml").write_text(written("two"))
            assert (await read.names(), read.damaged) == (["two"], 0)


async def test_a_delivery_is_held_against_files_and_the_management_clusters_and_counts_once(tmp_path):
    works = Works()
    (tmp_path / "a.yaml").write_text(written("t0", "of-the-file", rules=({**START, "when": "true"},)))
    files = FileTriggers(tmp_path, Here(), works.meters)
    triggers = TriggerLoop(works.context, Here(), Book(spec()), files)
    await works.deliver("d-1", "end")
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(each.run()) for each in (files, triggers)]
        await works.worked_off()
        for each in running:
            each.cancel()
    # t0 of the API server lets go, as it says; t0 of the file is not asked.
    assert sorted(await works.wishes()) == ["cluster.requested.acme", "colony.release.acme.job-1"]


async def test_deliveries_wait_at_the_start_for_a_file_that_no_evaluator_could_read(tmp_path):
    class Gone(Here):
        ends = 1

        async def read(self, trigger):
            if self.ends:
                self.ends -= 1
                raise EvaluatorEnded("gone")
            return await super().read(trigger)

    (tmp_path / "a.yaml").write_text(written("one"))
    read = Read(tmp_path)
    read.files = FileTriggers(tmp_path, Gone(), read.meters)
    async with read.running():
        assert [rules.name for rules in read.files.listening_to(heard(b"{}").channel)] == ["one"]
