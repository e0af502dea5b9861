"""What renders is chosen by what is there; the same is rendered once, and nobody changes another's objects."""

import asyncio
import shutil

import pytest

from events.errors import Denied
from schemas.crds.addons import Renderer
from services.addons.render import renderers as module
from services.addons.render.options import RenderOptions, RenderSettings
from services.addons.render.renderers import Renderers, choose, renderer_of

ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"


@pytest.mark.parametrize(
    ("files", "path", "renderer"),
    [
        ({"Chart.yaml": "", "kustomization.yaml": "", "x.yaml": ""}, "", Renderer.HELM),
        ({"kustomization.yml": "", "x.jsonnet": ""}, "", Renderer.KUSTOMIZE),
        ({"x.jsonnet": "", "x.yaml": ""}, "", Renderer.JSONNET),
        ({"x.jsonnet": "", "x.yaml": ""}, "x.jsonnet", Renderer.JSONNET),
        ({"x.jsonnet": "", "x.yaml": ""}, "x.yaml", Renderer.YAML),
        ({"d/x.yaml": ""}, "", Renderer.YAML),
    ],
)
async def test_the_renderer_is_chosen_by_what_is_there(folder, files, path, renderer):
    made = folder(files, path)
    assert choose(made.path) == renderer
    assert await renderer_of(made, Renderer.YTT) == Renderer.YTT


@pytest.fixture
def counted(monkeypatch):
    """A renderer that counts."""
    seen = []

    async def do(root, path, options, settings):
        seen.append(path)
        await asyncio.sleep(0)
        return [{"kind": "X", "metadata": {"labels": {}}, "values": dict(options.values)}]

    monkeypatch.setattr(module, "RENDERS", {Renderer.YAML: do})
    return seen


async def test_a_thousand_clusters_render_once_and_each_has_its_own_objects(folder, counted):
    renderers, made = Renderers(), folder({"x.yaml": ONE})
    found = await asyncio.gather(*(renderers.render(made) for _ in range(1000)))
    found[0][0]["kind"] = found[0][0]["metadata"]["labels"]["mine"] = "changed"
    assert len(counted) == 1
    assert await renderers.render(made) == [{"kind": "X", "metadata": {"labels": {}}, "values": {}}]
    await renderers.render(made, RenderOptions(values={"a": 1}))
    await renderers.render(folder({"x.yaml": ONE, "y.yaml": ONE}))
    assert len(counted) == 3


async def test_the_last_results_are_remembered_up_to_a_size(folder, counted, monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED", 180)
    renderers, made = Renderers(), folder({"x.yaml": ONE})
    for number in (1, 2, 3, 4, 1):
        await renderers.render(made, RenderOptions(values={"a": number}))
    assert len(counted) == 5
    await renderers.render(made, RenderOptions(values={"a": 1}))
    assert len(counted) == 5


@pytest.fixture
def failing(monkeypatch):
    """A renderer that fails, and the reasons it gives."""
    reasons = []

    async def do(root, path, options, settings):
        reasons.append("TooCostly" if "costly" in options.values else "Unsupported")
        raise Denied("it takes too long", reasons[-1])

    monkeypatch.setattr(module, "RENDERS", {Renderer.YAML: do})
    return reasons


@pytest.mark.looptime
async def test_what_fails_is_tried_once_in_a_while_however_many_ask(folder, failing):
    renderers, made, costly = Renderers(), folder({"x.yaml": ONE}), RenderOptions(values={"costly": 1})
    for _ in range(100):
        with pytest.raises(Denied, match="it takes too long"):
            await renderers.render(made, costly)
    assert len(failing) == 1
    await asyncio.sleep(61)
    for wanted in (costly, RenderOptions(), RenderOptions()):
        with pytest.raises(Denied):
            await renderers.render(made, wanted)
    assert failing == ["TooCostly", "TooCostly", "Unsupported", "Unsupported"]


async def test_a_namespace_that_renders_slowly_delays_no_other(folder, monkeypatch):
    async def do(root, path, options, settings):
        if "slow" in options.values:
            await asyncio.Event().wait()
        return [{"kind": "X", "metadata": {}}]

    monkeypatch.setattr(module, "RENDERS", {Renderer.YAML: do})
    renderers, made = Renderers(), folder({"x.yaml": ONE})
    slow = [
        asyncio.create_task(renderers.render(made, RenderOptions(values={"slow": number}), "slow"))
        for number in range(10)
    ]
    await asyncio.sleep(0)
    assert await asyncio.wait_for(renderers.render(made, RenderOptions(), "acme"), 5)
    for each in slow:
        each.cancel()
    await renderers.close()
    await asyncio.gather(*slow, return_exceptions=True)


async def test_a_chart_is_left_to_helm(folder, render):
    with pytest.raises(Denied, match="a chart is rendered by Helm alone"):
        await render(folder({"Chart.yaml": ""}))


async def test_a_machine_without_ytt_says_so(folder, render):
    with pytest.raises(Denied, match="there is no program ytt here"):
        await render(folder({"x.yaml": ONE}), RenderSettings(ytt="/nowhere/ytt"), renderer=Renderer.YTT)


async def test_ytt_is_given_the_folder_and_the_values(folder, render, tmp_path):
    script = tmp_path / "ytt"
    script.write_text('#!/bin/sh\n[ "$1" = --file ] && cat "$2"/x.yaml && echo "data: $(cat "$4")"\n')
    script.chmod(0o755)
    (found,) = await render(
        folder({"x.yaml": ONE}), RenderSettings(ytt=str(script)), renderer=Renderer.YTT, values={"a": "1"}
    )
    assert found["data"] == {"a": "1"}
    script.write_text("#!/bin/sh\necho 'ytt: Error: no such value' >&2; exit 1\n")
    with pytest.raises(Denied, match=r"^ytt cannot render the source: no such value$"):
        await render(folder({"x.yaml": ONE}), RenderSettings(ytt=str(script)), renderer=Renderer.YTT)


@pytest.mark.skipif(shutil.which("ytt") is None, reason="no ytt on the PATH: its module is on no proxy")
async def test_the_real_ytt_fills_its_templates(folder, render):
    template = f"#@ load('@ytt:data', 'data')\n{ONE}data:\n  size: #@ data.values.size\n"
    files = {"x.yaml": template, "values.yaml": "#@data/values\n---\nsize: small\n"}
    (found,) = await render(folder(files), renderer=Renderer.YTT, values={"size": "large"})
    assert found["data"] == {"size": "large"}
