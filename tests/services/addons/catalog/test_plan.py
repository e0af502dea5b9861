"""A plan has the fewest add-ons for what is needed, in an order that holds, or says what excludes what."""

from itertools import combinations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from schemas.crds.addons import order_problem
from services.addons.catalog.build import expand
from services.addons.catalog.choices import read_choices
from services.addons.catalog.files import capabilities, recipes
from services.addons.catalog.plan import Overrides, plan
from services.errors import BadInput

TYPICAL = [
    "ray,gpu:nvidia,rwx",
    "train,gpu:nvidia,metrics",
    "train,queue,gang,gpu:nvidia,rdma,metrics,logs,rwx",
    "mpi,rdma,gpu:nvidia,gang",
    "spark,metrics,logs",
    "train-v1,mpi,queue",
    "gpu:amd,train,metrics",
    "lws,gateway,address,dns,certificates,gpu:nvidia",
    "gpu:nvidia,gpu:amd,ray,queue,gpu-metrics",
    "jobset,queue,gpu-metrics,dashboards",
]
SINGLE = sorted(name for name, each in capabilities().items() if each.single)


def names(made):
    return [each.name for each in made.addons]


def before(made):
    """From each add-on to all that come before it by what is depended on."""
    found: dict[str, set[str]] = {}
    for each in made.addons:
        first = {one.name for one in each.depends_on}
        found[each.name] = first.union(*(found[name] for name in first))
    return found


def check(needs, made):
    """No cycle, the order holds, every need is met, nothing is spare, and nothing single is there twice."""
    after = before(made)  # raises KeyError for an add-on that comes too early
    assert order_problem(made.addons) == ""
    provided = {one for name in after for one in recipes()[name].provides}
    assert set(needs) <= provided | after.keys()
    for name, first in after.items():
        recipe = recipes()[name]
        assert {*recipe.needs} <= {one for each in first for one in recipes()[each].provides}
        wanted = {*recipe.after, *recipe.needs}
        comes_first = {other for other in after if other != name and wanted & {other, *recipes()[other].provides}}
        assert comes_first <= first
        others = after.keys() - {name}
        rest = {*others, *(one for other in others for one in recipes()[other].provides)}
        assert {*needs, *(one for other in others for one in recipes()[other].needs)} - rest  # it is not spare
    if "kueue" in after:
        assert after["kueue"] == after.keys() - {"kueue"}


@pytest.mark.parametrize("needs", TYPICAL)
def test_typical_needs_are_planned_without_a_conflict(needs):
    made = plan(needs.split(","))
    check(needs.split(","), made)
    assert all(expand(each).source for each in made.addons)


def test_every_pair_and_triple_of_needs_has_an_ordered_minimal_plan():
    for count in (1, 2, 3):
        for needs in combinations(capabilities(), count):
            check(needs, plan(needs))


@given(st.sets(st.sampled_from(sorted(capabilities()))))
def test_any_set_of_needs_has_an_ordered_minimal_plan(needs):
    check(needs, plan(needs))


@given(st.sets(st.sampled_from(sorted(recipes())), min_size=1, max_size=6), st.randoms())
def test_conflicts_do_not_depend_on_the_order_in_which_needs_are_named(needs, random):
    shuffled = random.sample(sorted(needs), len(needs))

    def outcome(asked):
        try:
            return names(plan(asked))
        except BadInput as refused:
            return str(refused)

    assert outcome(sorted(needs)) == outcome(shuffled)


@given(st.sets(st.sampled_from(sorted(capabilities()))), st.sets(st.sampled_from(sorted(capabilities()))))
def test_what_the_cluster_has_is_not_planned(needs, have):
    if "metrics" in have and "dashboards" in needs - have:  # Grafana comes with a second Prometheus
        with pytest.raises(BadInput, match=r"kube-prometheus-stack and the cluster \(--have metrics\) both provide"):
            plan(needs, have)
        return
    made = plan(needs, have)
    provided = {one for name in names(made) for one in recipes()[name].provides}
    assert not (provided - {"gpu-metrics"}) & have & {*SINGLE}
    assert needs <= provided | have


def test_the_plan_of_the_readme_has_four_add_ons():
    made = plan(["ray", "gpu:nvidia", "rwx"])
    assert sorted(names(made)) == ["csi-driver-nfs", "kuberay", "node-feature-discovery", "nvidia-gpu-operator"]
    assert before(made)["nvidia-gpu-operator"] == {"node-feature-discovery"}
    assert made.because["node-feature-discovery"] == "needed by nvidia-gpu-operator"


def test_prometheus_comes_before_the_gpu_operator_whose_exporter_it_scrapes():
    made = plan(["gpu:nvidia", "metrics"])
    assert before(made)["nvidia-gpu-operator"] == {"kube-prometheus-stack", "node-feature-discovery"}
    gpu = next(each for each in made.addons if each.name == "nvidia-gpu-operator")
    assert expand(gpu).values["dcgmExporter"] == {"serviceMonitor": {"enabled": True}}
    assert expand(plan(["gpu:nvidia"]).addons[1]).values["dcgmExporter"] == {"serviceMonitor": {"enabled": False}}


def test_there_is_one_node_feature_discovery():
    made = plan(["gpu:nvidia", "gpu:amd", "rdma"])
    values = {each.name: expand(each).values for each in made.addons}
    assert "node-feature-discovery" in values
    assert values["nvidia-gpu-operator"]["nfd"] == values["network-operator"]["nfd"] == {"enabled": False}
    assert values["amd-gpu-operator"]["node-feature-discovery"] == {"enabled": False}


@pytest.mark.parametrize(
    "given", [{"needs": ["gpu:nvidia", "dcgm-exporter"]}, {"needs": ["gpu:nvidia"], "have": ["gpu-metrics"]}]
)
def test_the_gpu_operator_leaves_metrics_to_an_exporter_that_is_there(given):
    gpu = next(each for each in plan(**given).addons if each.name == "nvidia-gpu-operator")
    assert expand(gpu).values["dcgmExporter"]["enabled"] is False


def test_trainer_leaves_jobset_to_the_catalog():
    made = plan(["train"])
    assert names(made) == ["jobset", "kubeflow-trainer"]
    assert expand(made.addons[1]).values["jobset"] == {"install": False}


def test_the_training_operator_never_brings_an_mpi_job():
    old = expand(plan(["train-v1", "mpi"]).addons[1])
    assert "mpijobs.kubeflow.org" in old.kustomize.patches[0].patch
    assert "mpijob" not in old.kustomize.patches[1].patch


def test_kueue_follows_the_kinds_that_are_planned():
    made = plan(["queue", "ray", "train"])
    values = expand(made.addons[-1]).values
    config = yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"])
    assert made.addons[-1].name == "kueue"
    assert set(config["integrations"]["frameworks"]) == {
        "batch/job", "ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservice", "jobset.x-k8s.io/jobset",
        "trainer.kubeflow.org/trainjob",
    }  # fmt: skip


def test_operators_use_the_gang_scheduler_that_is_planned():
    made = plan(["gang", "ray", "mpi", "train-v1", "spark", "lws"])
    whole = {each.name: expand(each) for each in made.addons}
    assert whole["kuberay"].values["batchScheduler"] == {"name": "volcano"}
    assert "--gang-scheduling=volcano" in whole["mpi-operator"].kustomize.patches[-1].patch
    assert "--gang-scheduler-name=volcano" in whole["training-operator"].kustomize.patches[-1].patch
    with_kai = {each.name: expand(each) for each in plan(["kai", "ray"]).addons}
    assert with_kai["kuberay"].values["batchScheduler"] == {"name": "kai-scheduler"}


@pytest.mark.parametrize("asked", [["volcano", "kai"], ["kai", "volcano", "ray"]])
def test_two_gang_schedulers_are_refused_with_the_way_out(asked):
    with pytest.raises(BadInput, match=r"kai and volcano both provide gang, but .*: ask for one of them alone"):
        plan(asked)


def test_an_add_on_beside_another_of_its_kind_in_the_cluster_is_refused():
    with pytest.raises(BadInput, match=r"kai and the cluster \(--have gang\) both provide gang"):
        plan(["kai"], ["gang"])


@pytest.mark.parametrize(("need", "nearest"), [("rae", "ray"), ("gpu", "gpu:amd"), ("kubray", "kuberay")])
def test_an_unknown_need_is_answered_with_the_nearest_names(need, nearest):
    with pytest.raises(BadInput, match=rf"--needs {need}: there is no such capability or add-on.*{nearest}"):
        plan([need])


def test_an_add_on_that_a_plan_writes_whole_is_what_its_short_form_means():
    needs = TYPICAL[2].split(",")
    whole = plan(needs, overrides=Overrides(pinned=True)).addons
    assert [each.catalog for each in whole] == [None] * len(whole)
    assert [expand(each) for each in plan(needs).addons] == list(whole)


def test_another_version_writes_the_source_out():
    made = plan(["ray"], overrides=Overrides(read_choices(["kuberay.version=1.6.2"], recipes())))
    assert made.addons[0].source.chart.version == "1.6.2"
    mpi = plan(["mpi"], overrides=Overrides(read_choices(["mpi-operator.version=v0.8.0"], recipes()))).addons[0]
    assert mpi.source.git.tag == "v0.8.0"
    assert "docker.io/mpioperator/mpi-operator:0.8.0" in mpi.kustomize.patches[0].patch


def test_mig_and_time_slicing_are_options():
    settings = ["mig=mixed", "migConfig=all-1g.10gb", "timeSlicing=4", "driver=false", "rdma=true"]
    choices = read_choices([f"nvidia-gpu-operator.{each}" for each in settings], recipes())
    values = expand(plan(["gpu:nvidia"], overrides=Overrides(choices)).addons[1]).values
    assert values["mig"] == {"strategy": "mixed"}
    assert values["migManager"] == {"config": {"default": "all-1g.10gb"}}
    assert values["driver"] == {"enabled": False, "rdma": {"enabled": True}}
    shared = yaml.safe_load(values["devicePlugin"]["config"]["data"]["any"])
    assert shared["sharing"]["timeSlicing"]["resources"] == [{"name": "nvidia.com/gpu", "replicas": 4}]


def test_a_value_of_the_chart_is_set_by_its_path():
    choices = read_choices(["kuberay.values.image.pullPolicy=Always", "kuberay.values.replicas=2"], recipes())
    values = expand(plan(["ray"], overrides=Overrides(choices)).addons[0]).values
    assert (values["image"], values["replicas"]) == ({"pullPolicy": "Always"}, 2)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("kuberay", "must be NAME.KEY=VALUE"),
        ("kubray.version=1", "the catalog has no kubray: did you mean kuberay"),
        ("nvidia-gpu-operator.mgi=mixed", "there is no such option: did you mean mig"),
        ("nvidia-gpu-operator.mig=all", "must be one of none, single, mixed"),
        ("nvidia-gpu-operator.driver=perhaps", "must be true or false"),
        ("nvidia-gpu-operator.timeSlicing=many", "must be a number"),
        ("csi-driver-nfs.server=", "must not be empty"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(setting, why):
    with pytest.raises(BadInput, match=why):
        read_choices([setting], recipes())


def test_a_plan_says_what_is_left_to_do():
    assert any("csi-driver-nfs.server" in note for note in plan(["rwx"]).notes)
    choices = read_choices(["csi-driver-nfs.server=10.0.0.1", "csi-driver-nfs.share=/data", "kai.version=1"], recipes())
    made = plan(["rwx"], overrides=Overrides(choices))
    assert made.notes == ("--set kai.… changes nothing: kai is not in this plan",)
    assert expand(made.addons[0]).values["storageClass"] == {
        "create": True, "name": "nfs-csi", "parameters": {"server": "10.0.0.1", "share": "/data"},
    }  # fmt: skip
