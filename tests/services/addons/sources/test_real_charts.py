"""Real charts, packed and listed as Helm does it, come out of a repository as they went in."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from services.addons.render.options import RenderOptions, RenderSettings
from services.addons.render.yaml_files import render_yaml
from services.addons.sources.tree import measure
from tests.services.addons.sources.world import spec, tgz

CHARTS = Path(__file__).parents[5] / "shared" / "data" / "charts"
NAMES = sorted(each.parent.name for each in CHARTS.glob("*/Chart.yaml"))


@pytest.mark.skipif(not NAMES, reason=f"no {CHARTS}: the real charts are not beside this checkout")
async def test_every_real_chart_comes_out_as_it_went_in(world, server):
    entries = {}
    for name in NAMES:
        files = {f"{name}/{each.relative_to(CHARTS / name)}": each.read_bytes() for each in files_of(CHARTS / name)}
        server.files[f"/{name}.tgz"] = packed = tgz(files)
        digest = hashlib.sha256(packed).hexdigest()
        entries[name] = [{"version": "1.0.0", "urls": [f"{name}.tgz"], "digest": digest}]
    server.files["/index.yaml"] = msgspec.json.encode({"apiVersion": "v1", "entries": entries})
    sources = world.sources()
    for name in NAMES:
        chart = {"repository": server.url, "name": name, "version": ">=1"}
        found = await sources.fetch(spec(chart=chart), "acme")
        assert (found.path.name, found.digest) == (name, measure(CHARTS / name).digest)


def files_of(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]


@pytest.mark.skipif(not NAMES, reason=f"no {CHARTS}: the real charts are not beside this checkout")
async def test_the_definitions_of_every_real_chart_are_read():
    files = [each for each in CHARTS.rglob("crds/*.yaml") if "\nkind: CustomResourceDefinition" in each.read_text()]
    assert len(files) > 30
    for file in files:
        found = await render_yaml(CHARTS, file, RenderOptions(), RenderSettings())
        assert "CustomResourceDefinition" in {each["kind"] for each in found}
