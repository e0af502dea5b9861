"""A profile of a rule names its clusters, and a Job's profile runs it once."""

import json

import pytest

from schemas.crds import InvalidResource
from services.edge.triggers.profiles import job_profile, named_profile
from services.expressions.cel import NoValue

ADDONS = [{"name": "driver", "manifests": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}]
JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}}


def test_a_profile_is_for_the_cluster_of_the_message_unless_it_names_others():
    spec, names = named_profile("p", {"addons": ADDONS}, "train-gpu")
    assert (spec["clusters"], names) == ({"names": ["train-gpu"]}, ["train-gpu"])
    other = {"clusters": {"names": ["a", "b"]}, "addons": ADDONS}
    assert named_profile("p", other, "train-gpu") == (other, ["a", "b"])


@pytest.mark.parametrize("clusters", [{}, {"matchLabels": {"team": "a"}}, {"names": []}])
def test_a_profile_that_names_no_cluster_is_refused(clusters):
    with pytest.raises(InvalidResource, match=r"profile\.clusters\.names must name a cluster"):
        named_profile("p", {"clusters": clusters, "addons": ADDONS}, "train-gpu")


def test_a_profile_is_checked_as_the_api_server_would():
    with pytest.raises(InvalidResource, match=r"spec\.addons\[0\]"):
        named_profile("p", {"addons": [{"name": "driver"}]}, "train-gpu")
    with pytest.raises(NoValue, match="profile must be a mapping"):
        named_profile("p", "${data}", "train-gpu")


def test_a_job_runs_once_and_its_cluster_is_ready_without_it():
    (addon,) = job_profile("check-1", JOB, "train-gpu")["addons"]
    assert (addon["mode"], addon["required"]) == ("Once", False)
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "check-1"}, "spec": JOB}
    assert json.loads(addon["manifests"]) == manifest


def test_a_job_needs_a_cluster():
    with pytest.raises(NoValue, match="cluster must name the cluster"):
        job_profile("check-1", JOB, "")
