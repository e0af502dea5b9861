"""Each recipe is whole: what it names exists, and its add-on is valid."""

import pytest
import yaml

from schemas.crds.addons import AddonSpec
from schemas.crds.model import read
from services.addons.catalog.build import WEBHOOKS, canaries, expand, whole
from services.addons.catalog.files import FOLDER, capabilities, recipes
from services.expressions.cel import CompiledExpression

NAMES = sorted(recipes())
NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: team}}"
WANTED = {
    "cert-manager", "node-feature-discovery", "nvidia-gpu-operator", "amd-gpu-operator", "network-operator",
    "kube-prometheus-stack", "loki", "dcgm-exporter", "jobset", "lws", "kubeflow-trainer", "training-operator",
    "mpi-operator", "kuberay", "spark-operator", "volcano", "kai", "kueue", "csi-driver-nfs", "metallb",
    "envoy-gateway", "external-dns",
}  # fmt: skip


def test_the_catalog_has_what_ai_clusters_need():
    assert set(NAMES) == WANTED


def test_a_recipe_lies_in_the_file_of_its_name():
    files = {each.name for each in (FOLDER / "recipes").iterdir() if each.name.endswith(".yaml")}
    assert files == {f"{name}.yaml" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_an_add_on_that_names_a_recipe_becomes_whole(name):
    addon = expand(AddonSpec(name="mine", catalog=name))
    assert (addon.name, addon.catalog) == ("mine", None)
    assert addon.source is not None
    assert addon.namespace == recipes()[name].namespace


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_names_nothing_that_does_not_exist(name):
    recipe, known = recipes()[name], {*recipes(), *capabilities(), "*"}
    assert {*recipe.provides, *(one for each in recipe.beside for one in each.drops)} <= capabilities().keys()
    assert {*recipe.needs, *recipe.after, *(each.present for each in recipe.beside)} <= known


def test_every_capability_has_a_recipe():
    assert {one for recipe in recipes().values() for one in recipe.provides} == capabilities().keys()


@pytest.mark.parametrize("name", NAMES)
def test_objects_of_prometheus_are_made_only_after_prometheus(name):
    recipe = recipes()[name]
    if any(each.present == "metrics" for each in recipe.beside):
        assert {"metrics", "*"} & {*recipe.after}


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_of_a_recipe_compile(name):
    for rule in read(AddonSpec, whole(recipes()[name])).ready:
        CompiledExpression(rule, "ready")


def test_a_canary_is_a_whole_object():
    for name in NAMES:
        for one in canaries(AddonSpec(name="mine", catalog=name)):
            assert {"apiVersion", "kind"} <= one.keys()
            assert one["metadata"]["name"] == "alate-canary"
    assert canaries(AddonSpec(name="mine", manifests=NAMESPACE)) == ()


@pytest.mark.parametrize("mirror", ["", "registry.example/mirror"])
@pytest.mark.parametrize("name", NAMES)
def test_a_canary_is_found_of_the_whole_add_on_too(name, mirror):
    addon = read(AddonSpec, whole(recipes()[name], mirror=mirror))
    assert canaries(addon) == recipes()[name].canary
    assert (
        canaries(AddonSpec(name="mine", source={"chart": {"repository": "https://a.example", "name": "other"}})) == ()
    )


def test_webhooks_without_a_canary_are_not_proved():
    assert [name for name in NAMES if recipes()[name].webhooks and not recipes()[name].canary] == []
    assert WEBHOOKS in expand(AddonSpec(name="mine", catalog="jobset")).ready


def test_lists_are_extended_only_where_a_recipe_has_them():
    there = {name for recipe in recipes().values() for name in recipe.lists}
    assert {name for recipe in recipes().values() for name in recipe.extends} == there


def test_a_driver_that_is_compiled_has_more_time_than_its_startup_probe():
    assert expand(AddonSpec(name="mine", catalog="nvidia-gpu-operator")).timeout.total_seconds() > 21 * 60


def test_a_kueue_that_stands_alone_follows_jobs():
    values = expand(AddonSpec(name="mine", catalog="kueue")).values
    config = yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"])
    assert config["integrations"]["frameworks"] == ["batch/job"]
