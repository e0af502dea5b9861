"""An add-on that names a recipe: its own words go over the recipe's."""

from datetime import timedelta

import pytest

from schemas.crds.addons import AddonSpec
from schemas.crds.model import InvalidResource, read
from services.addons.catalog.build import WEBHOOKS, expand

NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: team}}"


def addon(**fields):
    return read(AddonSpec, {"name": "mine", **fields})


def test_an_add_on_without_a_recipe_stays_as_it_is():
    inline = addon(manifests=NAMESPACE)
    assert expand(inline) is inline


def test_own_values_are_merged_over_the_recipes():
    values = expand(addon(catalog="kuberay", values={"resources": {"limits": {"cpu": "2"}}, "replicas": 2})).values
    assert values["resources"]["limits"] == {"cpu": "2", "memory": "1Gi"}
    assert (values["replicas"], values["reconcileConcurrency"]) == (2, 10)


def test_own_namespace_timeout_and_readiness_take_the_place_of_the_recipes():
    whole = expand(addon(catalog="jobset", namespace="batch", timeout="1h", ready=["true"], mode="Warn"))
    assert (whole.namespace, whole.timeout, whole.ready) == ("batch", timedelta(hours=1), ["true"])
    assert whole.mode == "Warn"
    assert expand(addon(catalog="jobset")).ready == [WEBHOOKS]


def test_own_patches_come_after_the_recipes():
    patches = expand(addon(catalog="mpi-operator", kustomize={"patches": [{"patch": "mine"}]})).kustomize.patches
    assert [each.target.get("kind") for each in patches] == ["Deployment", None]


def test_what_it_depends_on_stays():
    whole = expand(addon(catalog="kueue", dependsOn=[{"name": "other"}], required=False))
    assert ([each.name for each in whole.depends_on], whole.required) == (["other"], False)


def test_a_recipe_that_does_not_exist_is_named_with_the_nearest():
    with pytest.raises(InvalidResource, match=r"add-on mine: the catalog has no kubray: did you mean kuberay"):
        expand(addon(catalog="kubray"))
