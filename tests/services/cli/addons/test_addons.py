"""`alate addons` shows the catalog, and prints plans that a Colony and an AddonProfile take as they are."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from schemas.crds import AddonProfileSpec, AddonSpec
from services.addons.catalog.build import expand
from services.addons.catalog.files import recipes
from services.cli.app import app
from services.errors import BadInput


def alate(*words):
    return CliRunner().invoke(app, ["addons", *words])


def planned(*words):
    done = alate("plan", *words)
    assert done.exit_code == 0, done.output
    return yaml.safe_load(done.output)


def refusal(*words):
    done = alate(*words)
    assert isinstance(done.exception, BadInput)
    return str(done.exception)


def test_the_catalog_lists_every_recipe_with_what_it_provides_and_needs():
    title, *rows = alate("catalog").output.splitlines()
    assert title.split()[:4] == ["NAME", "VERSION", "PROVIDES", "NEEDS"]
    assert [row.split()[0] for row in rows] == sorted(recipes())
    row = next(row for row in rows if row.startswith("nvidia-gpu-operator"))
    assert row.split()[:4] == ["nvidia-gpu-operator", "v26.7.0", "gpu:nvidia,gpu-metrics", "nfd"]


def test_programs_read_the_catalog_with_all_capabilities():
    read = json.loads(alate("catalog", "-o", "json").output)
    assert {each["name"] for each in read["addons"]} == recipes().keys()
    assert read["capabilities"]["rwx"] == {"about": "volumes that many nodes write"}


@pytest.mark.parametrize("name", sorted(recipes()))
def test_one_recipe_is_shown_whole(name):
    read = yaml.safe_load(alate("catalog", name).output)
    assert (read["version"], read["namespace"]) == (recipes()[name].version, recipes()[name].namespace)
    assert json.loads(alate("catalog", name, "-o", "json").output) == read


def test_a_recipe_that_does_not_exist_is_answered_with_the_nearest():
    assert refusal("catalog", "kubray") == "the catalog has no kubray: did you mean kuberay?"


def test_a_plan_is_what_a_profile_takes():
    read = planned("--needs", "ray,gpu:nvidia,rwx,queue,metrics")
    spec = AddonProfileSpec.model_validate(read)
    assert [each.name for each in spec.addons][-1] == "kueue"
    assert all(expand(each).source for each in spec.addons)


def test_a_plan_says_why_each_is_there_and_what_is_left_to_do():
    lines = alate("plan", "--needs", "gpu:nvidia,rwx").output.splitlines()
    assert "# node-feature-discovery: needed by nvidia-gpu-operator" in lines
    assert any(line.startswith("# note: csi-driver-nfs does nothing before --set") for line in lines)


def test_programs_read_the_same_plan():
    read = json.loads(alate("plan", "--needs", "gpu:nvidia", "-o", "json").output)
    assert read["addons"] == planned("--needs", "gpu:nvidia")["addons"]
    assert read["because"] == {
        "node-feature-discovery": "needed by nvidia-gpu-operator",
        "nvidia-gpu-operator": "provides gpu:nvidia",
    }
    assert read["notes"] == []


def test_what_the_cluster_has_is_left_out():
    assert planned("--needs", "jobset", "--have", "jobset") == {"addons": []}
    assert [each["name"] for each in planned("--needs", "gpu:amd", "--have", "nfd, certificates")["addons"]] == [
        "amd-gpu-operator"
    ]


def test_a_text_of_several_lines_stands_as_it_is():
    output = alate("plan", "--needs", "queue,ray").output
    assert "controllerManagerConfigYaml: |" in output
    assert '      integrations: {frameworks: ["batch/job", "ray.io/rayjob"' in output


def test_a_pinned_plan_names_sources_and_versions():
    addon = planned("--needs", "ray", "--pin", "--set", "kuberay.version=1.6.2")["addons"][0]
    assert addon["source"]["chart"]["version"] == "1.6.2"
    assert "catalog" not in addon
    assert AddonSpec.model_validate(addon)


@pytest.mark.parametrize(
    "mirror", ["registry.example/mirror", "oci://registry.example/mirror/", "https://registry.example/mirror"]
)
def test_with_a_mirror_charts_and_images_come_from_there(mirror):
    addon = planned("--needs", "ray", "--mirror", mirror)["addons"][0]
    assert addon["source"]["chart"]["repository"] == "oci://registry.example/mirror/ray-project.github.io/kuberay-helm"
    assert addon["values"]["image"]["repository"] == "registry.example/mirror/quay.io/kuberay/operator"


def test_mistakes_are_one_sentence_each():
    assert refusal("plan", "--needs", "rae").startswith(
        "--needs rae: there is no such capability or add-on: did you mean ray"
    )
    assert refusal("plan", "--needs", " , ").startswith("--needs is empty: name what the cluster shall have")
    assert "ask for one of them alone" in refusal("plan", "--needs", "volcano,kai")
    assert refusal("plan", "--needs", "ray", "--set", "kuberay.size=3").startswith(
        "--set kuberay.size: there is no such option"
    )
