"""A real API server keeps what profiles had before as bounded ControllerRevisions, and statuses of classifiers."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from events.errors import Denied
from events.kube.client import Kube
from events.kube.resources import ADDONPROFILES, CLUSTERCLASSIFIERS, CONTROLLERREVISIONS, NAMESPACES
from events.kube.resources import CRDS as DEFINITIONS
from schemas.crds import CRDS
from services.addons.classifiers.classifier_store import ClassifierStore
from services.addons.classifiers.status import status
from services.addons.plan.profile_store import KnownProfile, ProfileName, ProfileStore
from services.addons.plan.revisions import KEPT, Revisions
from services.addons.plan.rules import profile_rules
from tests.contracts.api.sides import closing, fresh
from tests.kube.fixtures import plane
from tests.services.addons.fleet import config_map
from tests.services.addons.objects.steps import Counted

__all__ = ["plane"]
pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]


class Keeper:
    """A profile on a real API server, and what keeps its revisions."""

    def __init__(self, kube: Kube, space: str) -> None:
        self.road = Counted(kube.transport)
        self.kube = Kube(self.road, random=lambda: 0.5)
        self.name = ProfileName(space, "base")
        self.profiles = ProfileStore(self.kube, profile_rules(), lambda _: None)
        self.revisions = Revisions(self.kube)

    async def write(self, size: str) -> KnownProfile:
        """The profile, once the change is seen."""
        spec = {"addons": [{"name": "nfd", "manifests": config_map("nfd", size=size)}], "rollout": {}}
        meta = {"name": "base", "namespace": self.name.namespace}
        await self.kube.apply(ADDONPROFILES, {"metadata": meta, "spec": spec}, manager="user")

        async with asyncio.timeout(30):
            while True:
                known = self.profiles.get(self.name)
                if known and f'"{size}"' in str(known.profile.spec.addons[0].manifests):
                    return known
                await asyncio.sleep(0.02)

    async def names(self) -> list[str]:
        listed = await self.kube.list(CONTROLLERREVISIONS, self.name.namespace)
        return [each["metadata"]["name"] for each in listed.items]


@pytest.fixture
async def keeper(plane):
    road = plane.transport(plane.token)
    async with closing({"admin": road}), asyncio.TaskGroup() as group:
        kube = Kube(road, random=lambda: 0.5)
        for crd in CRDS:
            with suppress(Denied):
                await kube.create(DEFINITIONS, crd.manifest())
        made = Keeper(kube, fresh())
        await kube.create(NAMESPACES, {"metadata": {"name": made.name.namespace}})
        running = [group.create_task(each.run()) for each in (made.profiles, made.revisions)]
        async with asyncio.timeout(60):
            await made.profiles.listed.wait()
            await made.revisions.listed.wait()
        yield made
        for task in running:
            task.cancel()
        await kube.delete(NAMESPACES, made.name.namespace)


async def test_a_revision_is_written_once_and_found_by_its_digest_again(keeper):
    known = await keeper.write("1")
    await keeper.revisions.ensure(keeper.name, known)
    keeper.road.forget()
    await keeper.revisions.ensure(keeper.name, known)
    assert keeper.road.writes == []
    newer = await keeper.write("2")
    await keeper.revisions.ensure(keeper.name, newer)
    old = known.profile.spec.addons[0]
    assert keeper.revisions.find(keeper.name, "nfd", old.digest) == old
    assert len(await keeper.names()) == 2


async def test_the_oldest_revisions_are_deleted(keeper):
    for size in range(KEPT + 3):
        known = await keeper.write(str(size))
        await keeper.revisions.ensure(keeper.name, known)
    names = await keeper.names()
    assert f"base-{known.profile.revision}" in names
    assert len(names) == KEPT + 1


async def test_another_process_finds_what_was_written(keeper):
    known = await keeper.write("1")
    await keeper.revisions.ensure(keeper.name, known)
    later = Revisions(keeper.kube)
    await later.ensure(keeper.name, known)
    assert later.find(keeper.name, "nfd", known.profile.spec.addons[0].digest) is not None


async def test_the_status_of_a_classifier_is_kept_as_it_was_written(keeper):
    rule = {"when": "true", "labels": {"example.com/tier": "v{{ cluster.version.minor }}"}}
    made = {"metadata": {"name": keeper.name.namespace}, "spec": {"rules": [rule]}}
    store = ClassifierStore(keeper.kube, lambda _: None)
    store.on_list([await keeper.kube.apply(CLUSTERCLASSIFIERS, made, manager="user")])
    (name,) = store
    written = {"metadata": {"name": name}, "status": status(store.get(name), {}, {}, datetime.now(UTC))}
    store.on_list([await keeper.kube.apply(CLUSTERCLASSIFIERS, written, manager="test", subresource="status")])
    assert store.get(name).item["status"] == status(store.get(name), {}, {}, datetime(2030, 1, 1, tzinfo=UTC))
    with pytest.raises(Denied, match=r"spec\.rules"):
        await keeper.kube.apply(CLUSTERCLASSIFIERS, made | {"spec": {"rules": []}}, manager="user")
    await keeper.kube.delete(CLUSTERCLASSIFIERS, name)
