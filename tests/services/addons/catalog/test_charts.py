"""Every recipe fits its real chart: Helm renders it, each value exists, and a mirror moves every image."""

import subprocess
from contextlib import aclosing

import pytest
import yaml

from schemas.crds.addons import AddonSpec
from schemas.crds.model import read
from services.addons.catalog.build import NO_CHOICES, expand, whole
from services.addons.catalog.choices import read_choices
from services.addons.catalog.files import recipes
from services.addons.catalog.mirror import mirrored_images, mirrored_source
from services.addons.catalog.values import merged
from services.expressions.evaluation import Expression
from services.expressions.evaluators import Evaluators
from tests.services.addons.catalog.charts import CHARTS, FOLDERS, chart, defaults, images, program, rendered, unknown

MIRROR = "registry.example/mirror"
EVERYTHING = {*recipes(), *(one for each in recipes().values() for one in each.provides)}
PLACEHOLDER = "docker.io/myUserName/driverImage"
"""Where the AMD operator's chart would keep the drivers that it builds: a user names a repository of their own."""
APIS = ["monitoring.coreos.com/v1", "monitoring.coreos.com/v1/PodMonitor", "cert-manager.io/v1"]
SAMPLES = {"text": "sample", "number": "2", "switch": "true"}


def addon(name, beside=(), choices=NO_CHOICES, mirror=""):
    return read(AddonSpec, whole(recipes()[name], beside, None, choices, mirror))


def every_option(recipe):
    samples = {key: each.choices[0] if each.choices else SAMPLES[each.type] for key, each in recipe.options.items()}
    return read_choices([f"{recipe.name}.{key}={value}" for key, value in samples.items()], recipes()).get(
        recipe.name, NO_CHOICES
    )


@pytest.mark.parametrize("name", FOLDERS)
def test_a_chart_has_every_value_that_its_recipe_sets(name, tmp_path):
    recipe, known = recipes()[name], defaults(chart(name, tmp_path))
    beside = merged(*(each.values for each in recipe.beside))
    set_somewhere = merged(recipe.values, beside, every_option(recipe).values, mirrored_images(recipe, MIRROR))
    assert list(unknown(set_somewhere, known)) == []


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("beside", [(), EVERYTHING], ids=["alone", "beside all others"])
def test_helm_renders_a_chart_with_its_recipe(name, beside, tmp_path):
    apis = APIS if beside else []
    objects = rendered(chart(name, tmp_path), addon(name, {*beside} - {name}), *apis)
    assert any(each["kind"] in ("Deployment", "DaemonSet") for each in objects)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_mirror_moves_every_image(name, tmp_path):
    where = chart(name, tmp_path)
    choices = every_option(recipes()[name]) if name != "amd-gpu-operator" else NO_CHOICES
    there = set(images(rendered(where, addon(name, choices=choices)))) - {PLACEHOLDER}
    moved = set(images(rendered(where, addon(name, choices=choices, mirror=MIRROR)))) - {PLACEHOLDER}
    assert there
    assert len(moved) == len(there)
    assert {each for each in moved if not each.startswith(f"{MIRROR}/")} == set()
    hosts = {each.removeprefix(f"{MIRROR}/").split("/")[0] for each in moved}
    assert {host for host in hosts if "." not in host} == set()


@pytest.mark.parametrize("name", FOLDERS)
def test_rules_look_at_objects_that_the_chart_has(name, tmp_path):
    """Hooks and definitions are none of a release's objects, as Helm lists them."""
    objects = rendered(chart(name, tmp_path), addon(name))
    kinds = {
        each["kind"]
        for each in objects
        if "helm.sh/hook" not in (each["metadata"].get("annotations") or {})
        and each["kind"] != "CustomResourceDefinition"
    }
    rules = " ".join(addon(name).ready)
    named = {kind for kind in ("ClusterPolicy", "DeviceConfig", "Prometheus", "DaemonSet") if f"'{kind}'" in rules}
    assert named <= kinds
    assert recipes()[name].webhooks == bool({each for each in kinds if each.endswith("WebhookConfiguration")})


def test_nothing_but_the_recipes_own_gpu_operator_brings_node_feature_discovery(tmp_path):
    for name in ("nvidia-gpu-operator", "amd-gpu-operator"):
        objects = rendered(chart(name, tmp_path), addon(name))
        assert [each for each in objects if "node-feature-discovery" in each["metadata"]["name"]] == []


def test_a_rendered_exporter_is_watched_only_beside_prometheus(tmp_path):
    where = chart("nvidia-gpu-operator", tmp_path)
    for beside in ((), {"metrics"}):
        policy = next(
            each for each in rendered(where, addon("nvidia-gpu-operator", beside)) if each["kind"] == "ClusterPolicy"
        )
        assert policy["spec"]["dcgmExporter"]["serviceMonitor"]["enabled"] is bool(beside)


def test_the_training_operator_is_built_without_its_mpi_job(tmp_path):
    origin = CHARTS / "training-operator-kustomize"
    if not origin.is_dir():
        pytest.skip(f"no {origin}: the real charts are not beside this checkout")
    (tmp_path / "tree").symlink_to(origin)
    spec = expand(AddonSpec(name="old", catalog="training-operator"))
    patches = [each.model_dump(by_alias=True) for each in spec.kustomize.patches]
    kustomization = {"resources": ["tree/overlays/standalone"], "patches": patches}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    done = subprocess.run([program("kustomize"), "build", str(tmp_path)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    objects = list(yaml.load_all(done.stdout, yaml.CSafeLoader))
    definitions = {each["metadata"]["name"] for each in objects if each["kind"] == "CustomResourceDefinition"}
    assert "pytorchjobs.kubeflow.org" in definitions
    assert "mpijobs.kubeflow.org" not in definitions
    operator = next(each for each in objects if each["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][
        0
    ]
    assert "--enable-scheme=pytorchjob" in operator["args"]
    assert "--enable-scheme=mpijob" not in operator["args"]


@pytest.mark.parametrize("name", sorted(recipes()))
def test_a_mirror_has_every_chart_and_repository(name):
    source = mirrored_source(recipes()[name].source, MIRROR)
    address = source["chart"]["repository"] if "chart" in source else source["oci"]["url"]
    assert address.startswith(f"oci://{MIRROR}/")
    assert read(AddonSpec, {"name": name, "source": source})


def test_images_that_a_kustomize_tree_names_come_from_the_mirror_too():
    for name in ("training-operator", "mpi-operator"):
        spec = addon(name, mirror=MIRROR)
        named = [
            line.split("value: ")[1]
            for each in spec.kustomize.patches
            for line in each.patch.splitlines()
            if "value: " in line
        ]
        assert any(each.startswith(f"{MIRROR}/") for each in named)
        assert spec.source.path == "manifests/overlays/standalone"


@pytest.mark.parametrize("name", [name for name in FOLDERS if expand(AddonSpec(name="x", catalog=name)).ready])
async def test_rules_over_all_objects_of_a_chart_keep_to_the_budget(name, tmp_path):
    spec = addon(name)
    objects = rendered(chart(name, tmp_path), spec)
    written = [Expression(rule, f"ready[{place}]") for place, rule in enumerate(spec.ready)]
    async with aclosing(Evaluators()) as evaluators:
        values = await evaluators.evaluate(written, {"objects": objects})
    assert {type(value) for value in values} == {bool}
