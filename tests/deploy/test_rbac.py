"""The roles in deploy/ are held against every call that the services make through a whole story."""

import pytest

from services.compose import SERVICES
from tests.deploy.record import recorded
from tests.deploy.rights import Right, documents, shipped

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
VERBS = {"clusters": ("get", "create"), "machinetemplates": ("get", "list", "create", "delete")}
"""What is done with the infrastructure of a cloud, by kind."""
ELSEWHERE = (
    {
        Right(
            INFRASTRUCTURE, f"{provider}{kind}", verb
        ): "Cluster API templates for this cloud; the story's are DevClusters"
        for provider in ("aws", "azure", "gcp")
        for kind, verbs in VERBS.items()
        for verb in verbs
    }
    | {
        Right(group, plural, "get"): "what could not be made is looked at: after a crash it is ours, and there already"
        for group, plural in (
            ("cluster.x-k8s.io", "machinehealthchecks"),
            ("bootstrap.cluster.x-k8s.io", "kubeadmconfigtemplates"),
            (INFRASTRUCTURE, "devclusters"),
            (INFRASTRUCTURE, "devmachinetemplates"),
        )
    }
    | {
        Right("controlplane.cluster.x-k8s.io", plural, "get"): "the control planes of k0rdent's own templates"
        for plural in ("k0scontrolplanes", "k0smotroncontrolplanes")
    }
    | {
        **{
            Right("alate.dev", f"{kind}addonprofiles/status", "patch"): "the story has no profiles: "
            "tests/services/addons/plan/test_profiles.py"
            for kind in ("", "cluster")
        },
        Right("alate.dev", "clusterclassifiers/status", "patch"): "the story has no classifiers: "
        "tests/services/addons/classifiers/test_classifiers.py",
        Right("alate.dev", "clusteraddonprofiles", "get"): "the page shows their rollouts: "
        "tests/services/edge/page/test_addons.py",
        **{
            Right("apps", "controllerrevisions", verb): "of a profile with a rollout: "
            "tests/services/addons/plan/test_rollouts.py"
            for verb in ("create", "delete")
        },
        **{
            Right("alate.dev", "addonprofiles", verb): "the story asks for no profile on the bus: "
            "tests/services/gateway/test_profile_requests.py"
            for verb in ("get", "create", "patch", "delete")
        },
        **{
            Right("source.toolkit.fluxcd.io", kind, verb): "no add-on of the story is of Flux: "
            "tests/services/addons/sources/test_flux.py"
            for kind in ("gitrepositories", "ocirepositories", "buckets")
            for verb in ("get", "list", "watch")
        },
        **{
            Right("", "configmaps", verb): "no add-on of the story refers to any: "
            "tests/services/addons/test_references.py"
            for verb in ("list", "watch")
        },
        Right("", "configmaps", "get"): "a template that is not seen yet is asked for by its name",
        Right(
            "cluster.x-k8s.io", "clusters", "patch"
        ): "a topology has its size there: tests/services/clouds/test_topology.py",
        Right(
            "", "configmaps", "create"
        ): "machines of one's own are claimed: tests/contracts/clouds/test_own_machines.py",
        Right("k0rdent.mirantis.com", "credentials", "get"): "of a cluster that is lent: "
        "tests/contracts/clouds/test_lent.py",
        Right(
            "", "events", "patch"
        ): "what happens again is counted: tests/services/gateway/kube_events/test_recorder.py",
    }
)
"""What is shipped and not used in the story, with the reason."""
CHANGES = ("create", "patch", "delete")
"""What the one who keeps Secrets may do with them."""
NOTHING: dict[str, list[Right]] = {name: [] for name in SERVICES}


@pytest.mark.looptime
async def test_every_service_may_do_all_it_does_and_nothing_it_does_not():
    used = {name: each.rights for name, each in (await recorded()).items()}
    assert {name: sorted(used[name] - shipped(name)) for name in SERVICES} == NOTHING
    unused = {name: sorted(shipped(name) - used[name] - set(ELSEWHERE)) for name in SERVICES}
    assert unused == NOTHING


def test_what_the_story_leaves_out_is_shipped_for_its_reason():
    assert set(ELSEWHERE) <= {right for name in SERVICES for right in shipped(name)}


def test_no_role_is_wide():
    rights = {right for name in SERVICES for right in shipped(name)}
    assert not [right for right in rights if "*" in right]
    assert {right.verb for right in rights if right.resource == "secrets"} == {"get", "list", "watch", *CHANGES}
    only = {"list": ["addons", "teardown"], "watch": ["addons"], **{verb: ["gateway"] for verb in CHANGES}}
    for verb, names in only.items():
        assert [name for name in SERVICES if Right("", "secrets", verb) in shipped(name)] == names


def test_nobody_but_the_services_is_bound_to_anything():
    subjects = {each["name"] for one in documents() for each in one.get("subjects", ())}
    accounts = {one["metadata"]["name"] for one in documents() if one["kind"] == "ServiceAccount"}
    assert subjects == accounts == set(SERVICES)
