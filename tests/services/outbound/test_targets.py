"""The file of targets says who is told; a mistake is one sentence, a change needs no restart."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog
import yaml

from events.telemetry import Meters
from schemas.crds import InvalidResource
from services.outbound.targets import LOOK, TARGETS, TargetFile, read_targets, watch
from tests.services.outbound.world import SECRET, Folder

GOOD = {"name": "ci", "format": "cloudevents", "url": "https://ci.example.com/hooks"}
CHAT = {"name": "team", "format": "apprise"}
SHIPPED = Path(__file__).parents[3] / "deploy" / "outbound.yaml"


def written(*targets: dict) -> str:
    return yaml.safe_dump({"targets": list(targets)})


def test_the_shipped_file_is_read():
    assert list(read_targets(SHIPPED.read_text())) == ["pipeline", "cdevents", "github", "gitlab", "team"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (written(GOOD | {"url": "http://ci.example.com"}), "must be an https:// URL; http:// is for this host alone"),
        (written(GOOD | {"url": "ftp://ci.example.com"}), "must be an https:// URL"),
        (written(GOOD | {"url": "https://"}), "must be an https:// URL"),
        (written(GOOD | {"url": "https://me:s3cret@ci.example.com"}), "must hold no name and no password"),
        (written(GOOD | {"secret": "s"}), "targets[0].secret is no known field"),
        (written(GOOD | {"events": ["ready"]}), "targets[0].events[0]"),
        (written(GOOD | {"name": "../etc"}), "targets[0].name"),
        (written(GOOD, GOOD), "each name must be unique"),
        (written({"name": "ci", "format": "cloudevents"}), "url must be given"),
        (written(GOOD | {"format": "apprise"}), "url must be left out: the URL of apprise is a secret"),
        (written(CHAT | {"url": "slack://s3cret"}), "url must be left out"),
        (written(GOOD | {"url": "slack://s3cret/x"}), "must be an https:// URL"),
        (written(CHAT | {"url": "https://hooks.slack.com/services/s3cret"}), "url must be left out"),
        ("[", "the file of targets is no YAML"),
        ("- a", "must be a mapping with the key targets"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_without_a_secret(text, sentence):
    with pytest.raises(InvalidResource) as wrong:
        read_targets(text)
    assert sentence in str(wrong.value)
    assert "s3cret" not in str(wrong.value)


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]:1"])
def test_this_host_may_be_reached_in_the_clear(host):
    assert read_targets(written(GOOD | {"url": f"http://{host}/"}))["ci"].url == f"http://{host}"


def test_people_are_told_what_they_should_know_unless_a_target_names_other_events():
    said = [("cluster", "ready"), ("cluster", "launching"), ("addon", "degraded"), ("teardown", "stuck")]
    usual = read_targets(written(CHAT))["team"]
    assert [each for each in said if usual.listens(*each, "acme")] == [said[0], said[2], said[3]]
    chosen = read_targets(written(CHAT | {"events": ["*.launching"]}))["team"]
    assert [each for each in said if chosen.listens(*each, "acme")] == [said[1]]


def test_a_target_hears_what_it_asks_for_and_of_its_own_tenant():
    target = read_targets(written(GOOD | {"tenant": "acme", "events": ["cluster.ready", "teardown.*"]}))["ci"]
    said = [("cluster", "ready"), ("cluster", "stalled"), ("teardown", "gone"), ("addon", "ready")]
    assert [each for each in said if target.listens(*each, "acme")] == [("cluster", "ready"), ("teardown", "gone")]
    assert not target.listens("cluster", "ready", "other")


def test_a_changed_file_is_read_anew_and_a_damaged_one_changes_nothing(tmp_path):
    folder = Folder(tmp_path)
    targets = TargetFile(folder.write(GOOD), tmp_path)
    folder.write(GOOD, GOOD | {"name": "more"})
    assert list(targets.now()) == ["ci", "more"]
    folder.file.write_text("[")
    assert list(targets.now()) == ["ci", "more"]
    folder.write(GOOD | {"name": "new"})
    assert list(targets.now()) == ["new"]


def test_a_file_that_is_damaged_from_the_start_is_refused(tmp_path):
    (tmp_path / "targets.yaml").write_text("[")
    with pytest.raises(InvalidResource):
        TargetFile(tmp_path / "targets.yaml", tmp_path)


def test_two_secrets_are_good_at_once_and_none_is_none(tmp_path):
    folder = Folder(tmp_path)
    targets = TargetFile(folder.write(GOOD), tmp_path)
    target = targets.now()["ci"]
    folder.secret("ci", "old", "", " new ")
    assert targets.secrets(target) == (b"old", b"new")
    (tmp_path / "ci").unlink()
    assert targets.secrets(target) == ()
    assert TargetFile(None, None).secrets(target) == ()


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


@pytest.mark.looptime
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


@pytest.mark.looptime
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


@pytest.mark.looptime
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
