"""What real charts render is written once by our own apply: then it is as wanted, and nothing is written again."""

import asyncio
import subprocess
from pathlib import Path

import pytest
import yaml

from events.errors import TryLater
from events.kube.client import Kube
from events.kube.resources import NAMESPACES
from services.addons.objects.apply import apply
from services.addons.objects.compare import compare
from tests.contracts.api.sides import closing
from tests.kube.places import home
from tests.services.addons.objects.steps import Hand

pytestmark = [pytest.mark.kube, pytest.mark.alone, pytest.mark.timeout(600)]

CHARTS = Path(__file__).parents[4] / "shared" / "data" / "charts"
VALUES = {"cert-manager": ("crds.enabled=true",)}
NAMES = ("cert-manager", "gpu-operator", "jobset", "kube-state-metrics", "metallb", "nats", "volcano")
TRIES = 10


async def nobody():
    return {}


def rendered(name):
    chosen = [part for each in VALUES.get(name, ()) for part in ("--set", each)]
    asked = [home() / "helm", "template", name, CHARTS / name, "-n", name, "--include-crds", "--no-hooks", *chosen]
    whole = subprocess.run([*map(str, asked)], capture_output=True, text=True, check=True).stdout
    return [each for each in yaml.load_all(whole, yaml.CSafeLoader) if each]


@pytest.mark.skipif(not CHARTS.is_dir(), reason=f"no charts in {CHARTS}")
async def test_objects_of_real_charts_are_written_once(planes):
    plane = planes()
    road = plane.transport()
    async with closing({"admin": road}):
        hand = Hand(Kube(road, random=lambda: 0.5))
        for name in NAMES:
            await hand.plain.create(NAMESPACES, {"metadata": {"name": name}})
            target, documents = hand.target(name, namespace=name), rendered(name)
            await put(target, documents)
            hand.road.forget()
            again = await apply(target, documents, nobody)
            assert (name, hand.road.writes) == (name, [])
            assert len(again.objects) == len(documents)
            assert (await compare(target, documents)).as_wanted


async def put(target, documents):
    for _ in range(TRIES):
        try:
            return await apply(target, documents, nobody)
        except TryLater as later:  # a webhook of the same chart, which nobody serves here
            last = later
            await asyncio.sleep(1)
    raise last
