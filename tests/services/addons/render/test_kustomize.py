"""Kustomize folders are built by the real program, without network, and what is remote is refused before."""

import asyncio
from pathlib import Path

import pytest

from events.errors import Denied
from schemas.crds.addons import KustomizePatch
from services.addons.programs import ProgramBounds
from services.addons.render.kustomization import refuse_remote
from services.addons.render.options import RenderSettings
from tests.kube.fixtures import needs
from tests.kube.places import program

CHARTS = Path(__file__).parents[4].parent / "shared" / "data" / "charts"
ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {size: small}\n"
TREE = {
    "base/kustomization.yaml": "resources: [one.yaml]\n",
    "base/one.yaml": ONE,
    "over/kustomization.yaml": "resources: [../base]\nnamePrefix: my-\n",
    "extra/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnamespace: extra\n",
}


@pytest.fixture
def settings():
    needs("kustomize")
    return RenderSettings(kustomize=str(program("kustomize")))


@pytest.mark.kube
async def test_an_overlay_is_built_with_the_folders_beside_it(folder, render, settings):
    (found,) = await render(folder(TREE, "over"), settings)
    assert found == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "my-one"}, "data": {"size": "small"}}


@pytest.mark.kube
async def test_components_and_patches_are_added(folder, render, settings):
    merge = KustomizePatch(patch="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: my-one}\ndata: {size: large}\n")
    json = KustomizePatch(patch='[{"op": "add", "path": "/data/more", "value": "1"}]', target={"kind": "ConfigMap"})
    (found,) = await render(folder(TREE, "over"), settings, components=("../extra",), patches=(merge, json))
    assert (found["metadata"], found["data"]) == (
        {"name": "my-one", "namespace": "extra"},
        {"size": "large", "more": "1"},
    )


@pytest.mark.kube
async def test_a_real_tree_is_built_in_all_its_overlays(existing, render, settings):
    root = CHARTS / "training-operator-kustomize"
    if not root.is_dir():
        pytest.skip(f"no {root}: the real charts are not beside this checkout")
    for overlay in ("overlays/standalone", "overlays/kubeflow"):
        found = await render(existing(root.resolve(), overlay), settings)
        assert {"CustomResourceDefinition", "Deployment", "ServiceAccount"} <= {each["kind"] for each in found}
    with pytest.raises(Denied, match=r"v2/overlays/standalone refers to https://github.com/kubernetes-sigs/jobset"):
        await render(existing(root.resolve(), "v2/overlays/standalone"), settings)


@pytest.mark.kube
async def test_what_kustomize_cannot_build_is_one_sentence_without_paths_of_this_machine(folder, render, settings):
    broken = TREE | {"over/kustomization.yaml": "resources: [../base]\npatches: [{patch: 'x: 1'}]\n"}
    made = folder(broken, "over")
    with pytest.raises(Denied, match=r"^kustomize cannot build over: ") as refused:
        await render(made, settings)
    assert refused.value.reason == "RenderFailed"
    assert str(made.tree.root) not in str(refused.value)


@pytest.mark.kube
async def test_a_file_outside_its_folder_is_not_read(folder, render, settings):
    listed = {"over/kustomization.yaml": "configMapGenerator: [{name: x, files: [../base/one.yaml]}]\n"}
    made = folder(TREE | listed, "over")
    with pytest.raises(Denied, match=r"security; file .* is not in or below"):
        await render(made, settings)


@pytest.mark.kube
async def test_programs_of_a_folder_are_not_run(folder, render, settings, tmp_path):
    generator = f"""
apiVersion: v1
kind: Run
metadata:
  name: x
  annotations: {{config.kubernetes.io/function: "exec: {{path: {tmp_path}/run}}"}}
"""
    (tmp_path / "run").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "run").chmod(0o755)
    with pytest.raises(Denied):
        await render(folder({"kustomization.yaml": "generators: [x.yaml]\n", "x.yaml": generator}), settings)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("kustomization", "entry"),
    [
        ("resources: [https://example.org/x.yaml]", "https://example.org/x.yaml"),
        ("resources: [github.com/owner/repo//path?ref=v1]", "github.com/owner/repo//path"),
        ("resources: ['git@github.com:owner/repo.git']", "git@github.com:owner/repo.git"),
        ("bases: [https://example.org/repo]", "https://example.org/repo"),
        ("components: [ssh://git@example.org/x]", "ssh://git@example.org/x"),
        ("resources: [../../../etc]", "../../../etc"),
        ("resources: [/etc]", "/etc"),
        ("crds: [https://example.org/crd.json]", "https://example.org/crd.json"),
        ("patches: [{path: 'https://example.org/p.yaml'}]", "https://example.org/p.yaml"),
        ("patchesStrategicMerge: [https://example.org/p.yaml]", "https://example.org/p.yaml"),
        ("openapi: {path: 'https://example.org/o.json'}", "https://example.org/o.json"),
        ("configMapGenerator: [{name: x, files: [k=https://example.org/f]}]", "https://example.org/f"),
        ("secretGenerator: [{name: x, envs: ['http://169.254.169.254/']}]", "http://169.254.169.254/"),
        ("transformers: [t.yaml]", "https://example.org/t.json"),
        ("generators: ['kind: X\n\n\n  path: https://example.org/g']", "https://example.org/g"),
        ("resources: [deep]", "https://example.org/deep"),
    ],
)
async def test_what_is_remote_or_outside_is_refused_before_anything_runs(folder, render, kustomization, entry):
    made = folder({
        "top/kustomization.yaml": kustomization.replace("\n\n\n  ", "\n\n      "),
        "top/t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: https://example.org/t.json\n",
        "top/deep/kustomization.yaml": "resources: [https://example.org/deep]",
    }, "top")  # fmt: skip
    with pytest.raises(Denied) as refused:
        refuse_remote(made.tree.root, made.path)
    assert (refused.value.reason, entry in str(refused.value)) == ("RemoteRefused", True)


async def test_texts_that_look_like_addresses_are_no_files(folder):
    made = folder({"kustomization.yaml": """
configMapGenerator: [{name: x, literals: ["url=https://example.org"]}]
commonAnnotations: {home: https://example.org}
patches: [{patch: "a: https://example.org"}]
"""})  # fmt: skip
    refuse_remote(made.tree.root, made.path)


@pytest.mark.parametrize("text", ["[", "- 1", "resources: [missing.yaml]"])
async def test_a_kustomization_that_is_none_is_refused(folder, text):
    made = folder({"kustomization.yaml": text})
    with pytest.raises(Denied):
        refuse_remote(made.tree.root, made.path)


async def test_a_machine_without_kustomize_says_so(folder, render):
    with pytest.raises(Denied, match="there is no program kustomize here") as refused:
        await render(folder(TREE, "over"), RenderSettings(kustomize="/nowhere/kustomize"))
    assert refused.value.reason == "Unsupported"


async def test_a_build_that_takes_too_long_is_ended(folder, render, tmp_path):
    (tmp_path / "slow").write_text("#!/bin/sh\nwhile :; do :; done\n")
    (tmp_path / "slow").chmod(0o755)
    slow = RenderSettings(kustomize=str(tmp_path / "slow"), bounds=ProgramBounds(seconds=0.3))
    with pytest.raises(Denied, match=r"^kustomize build of over takes more than 0.3 s$") as refused:
        await asyncio.wait_for(render(folder(TREE, "over"), slow), 10)
    assert refused.value.reason == "TooCostly"
