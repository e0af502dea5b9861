"""Helm releases on a real API server: written once, mended, recovered, bounded and taken away."""

import asyncio
import os
from itertools import count

import pytest

from events.errors import Denied, Fault, NotFound, TryLater
from events.kube.client import Kube
from services.addons.helm import releases as module
from services.addons.objects.faults import MissingPrerequisite
from tests.story.kube.helm_stage import CM, HELD, HelmStage, chart, job, kill_worker, running, with_node

RETRIES = int(os.environ.get("ALATE_TEST_RETRIES", "12"))
"""How often a release that fails is tried again; 1,000 take minutes."""
pytestmark = [pytest.mark.kube, pytest.mark.timeout(max(600, 3 * RETRIES))]
_numbers = count(1)


@pytest.fixture(scope="module")
def helm_plane(tmp_path_factory):
    with running(tmp_path_factory.mktemp("helm")) as plane:
        yield plane


@pytest.fixture
async def stage(helm_plane):
    kube = Kube(helm_plane.transport(), random=lambda: 0.5)
    await with_node(kube)
    it = HelmStage(helm_plane, kube, f"helm-{next(_numbers)}")
    yield it
    await it.forget()
    await kube.close()


@pytest.fixture
def small(tmp_path):
    return chart(tmp_path / "small", one=CM % "one")


async def test_a_release_is_installed_listed_left_alone_and_upgraded(stage, small):
    installed = await stage.ensure(small)
    assert (installed.changed, installed.revision, installed.status) == (True, 1, "deployed")
    assert await stage.releases() == [("one", "1", "deployed")]

    before = await stage.versions()
    again = await stage.ensure(small)
    assert (again.changed, again.revision, again.objects) == (False, 1, installed.objects)
    assert await stage.versions() == before
    assert await stage.helm.is_current(stage.kube, stage.wanted(small))

    upgraded = await stage.ensure(small, values={"size": 2})
    assert (upgraded.changed, upgraded.revision) == (True, 2)
    assert (await stage.get("ConfigMap", "one"))["data"] == {"size": "2"}
    assert await stage.releases() == [("one", "2", "deployed")]
    assert not await stage.helm.is_current(stage.kube, stage.wanted(small))


async def test_another_chart_of_the_same_version_is_an_upgrade(stage, small):
    await stage.ensure(small)
    chart(small, two=CM % "two")
    assert (await stage.ensure(small)).revision == 2
    assert await stage.get("ConfigMap", "two")


async def test_what_the_helm_program_changed_is_brought_back(stage, small):
    await stage.ensure(small)
    await stage.run("helm", "upgrade", "one", str(small), "--set", "size=9")
    assert (await stage.get("ConfigMap", "one"))["data"] == {"size": "9"}
    assert (await stage.ensure(small)).revision == 3
    assert (await stage.get("ConfigMap", "one"))["data"] == {"size": "1"}


async def test_a_value_that_kubectl_changed_does_not_fail_an_upgrade(stage, small):
    await stage.ensure(small)
    await stage.run("kubectl", "patch", "configmap", "one", "-p", '{"data": {"size": "9"}}')
    assert (await stage.ensure(small, values={"size": 2})).revision == 2
    assert (await stage.get("ConfigMap", "one"))["data"] == {"size": "2"}


@pytest.fixture
def slow(tmp_path):
    """A chart whose hook after the objects never ends, unless a value says so."""
    return chart(
        tmp_path / "slow", one=CM % "one", two="{{ if eq (int .Values.size) 2 }}" + CM % "two" + "{{ end }}",
        hook=job("hook", "post-install,post-upgrade", HELD),
    )  # fmt: skip


async def killed(stage, folder, state, **more):
    """End the worker as soon as the release is in a state."""

    async def is_so():
        return state in (await stage.revisions()).values() and await _has_hook(stage)

    call = asyncio.create_task(stage.ensure(folder, **more))
    await stage.until(is_so)
    await kill_worker()
    with pytest.raises(TryLater, match="ended with code -9"):
        await call
    assert state in (await stage.revisions()).values()


async def _has_hook(stage):
    try:
        return (await stage.get("Job", "hook", "batch/v1"))["spec"].get("suspend")
    except NotFound:
        return False


async def test_an_install_that_was_killed_is_installed_by_the_next_call(stage, slow):
    await killed(stage, slow, "pending-install", values={"held": True})
    await stage.ensure(slow)
    assert await stage.releases() == [("one", "1", "deployed")]


async def test_an_upgrade_that_was_killed_is_rolled_back_and_upgraded_by_the_next_call(stage, slow):
    await stage.ensure(slow)
    await killed(stage, slow, "pending-upgrade", values={"held": True, "size": 2})
    assert await stage.get("ConfigMap", "two")
    await stage.ensure(slow, values={"size": 3})
    assert await stage.releases() == [("one", "4", "deployed")]
    assert (await stage.get("ConfigMap", "one"))["data"] == {"size": "3"}
    with pytest.raises(NotFound):
        await stage.get("ConfigMap", "two")


async def test_an_operation_of_others_is_left_alone(stage, slow):
    call = asyncio.create_task(
        stage.run("helm", "install", "one", str(slow), "--create-namespace", "--set", "held=true", "--timeout", "5s")
    )
    await stage.until(stage.revisions)
    with pytest.raises(TryLater, match="others are changing the release one: pending-install"):
        await stage.ensure(slow)
    await asyncio.gather(call, return_exceptions=True)
    assert (await stage.ensure(slow)).status == "deployed"


async def test_a_hook_that_never_ends_is_a_failure_in_time_and_mended_by_the_next_call(stage, slow):
    with pytest.raises(TryLater, match=r"failed post-install: resource Job/.*/hook not ready"):
        await stage.ensure(slow, values={"held": True}, timeout_seconds=2)
    assert (await stage.ensure(slow)).status == "deployed"


async def test_a_failed_hook_before_the_install_runs_again(stage, tmp_path):
    early = chart(tmp_path / "early", one=CM % "one", hook=job("hook", "pre-install", HELD))
    with pytest.raises(TryLater, match="failed pre-install"):
        await stage.ensure(early, values={"held": True}, timeout_seconds=2)
    assert await stage.revisions() == {}
    assert (await stage.ensure(early)).revision == 1
    assert (await stage.get("Job", "hook", "batch/v1"))["status"]["succeeded"] == 1


async def test_a_failed_upgrade_goes_back_if_that_is_asked_for(stage, slow):
    await stage.ensure(slow)
    with pytest.raises(Fault):
        await stage.ensure(slow, values={"held": True, "size": 2}, roll_back=True, timeout_seconds=3)
    assert (await stage.get("ConfigMap", "one"))["data"] == {"size": "1"}
    assert (await stage.releases())[0][2] == "deployed"


async def test_a_server_that_accepts_and_hangs_ends_by_the_parents_clock(stage, small, monkeypatch):
    monkeypatch.setattr(module, "SPARE", 2.0)

    async def hang(reader, writer):
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    hangs = stage.plane.kubeconfig_for(stage.plane.token).replace(stage.plane.url, f"http://127.0.0.1:{port}")
    with pytest.raises(TryLater, match="did not finish within 3 s and was ended"):
        await stage.ensure(small, kubeconfig=hangs, timeout_seconds=1.0)
    server.close()


async def test_a_server_that_is_not_there_may_come_back(stage, small):
    gone = stage.plane.kubeconfig_for(stage.plane.token).replace(stage.plane.url, "https://127.0.0.1:1")
    with pytest.raises(TryLater, match="connection refused"):
        await stage.ensure(small, kubeconfig=gone)


LARGE = (CM % "one-{{ $i }}").replace("{{ .Values.size }}", "{{ randAlphaNum 200000 }}")
BAD = {
    "does not render": ({"one": CM % "{{ .Values.a.b }}"}, "", "RenderFailed", "nil pointer"),
    "asks for a value": ({"one": CM % '{{ required "want a" .Values.a }}'}, "", "RenderFailed", "want a"),
    "is no template": ({"one": "{{ if }}"}, "", "RenderFailed", "missing value for if"),
    "is no YAML": ({"one": "a: {b: c"}, "", "RenderFailed", "YAML parse error on small/templates/one.yaml"),
    "has values that are a list": ({"one": CM % "one"}, "[1, 2]", "InvalidValues", "cannot load values.yaml"),
    "has an unknown field": ({"one": CM % "one" + "spec: {}\n"}, "", "Invalid", ".spec: field not declared"),
    "has an invalid name": ({"one": CM % "No_Name"}, "", "Invalid", 'ConfigMap "No_Name" is invalid'),
    "allocates without end": (
        {"one": '{{ $x := repeat 1000 "a" }}{{ range until 1000 }}{{ $x = print $x $x }}{{ end }}'}, "", "TooCostly",
        "more memory than Helm may use",
    ),
    "gives a release that is too large": (
        {"one": f"{{{{ range $i := until 8 }}}}{LARGE}---\n{{{{ end }}}}"}, "", "TooLarge", "[Tt]oo long|too large",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
async def test_a_chart_that_is_wrong_is_refused_with_one_clear_sentence(stage, tmp_path, what):
    templates, values, reason, sentence = BAD[what]
    folder = chart(tmp_path / "bad", values=values, **templates)
    with pytest.raises(Denied, match=sentence) as caught:
        await stage.ensure(folder)
    assert caught.value.reason == reason
    assert "\n" not in caught.value.message


async def test_values_that_are_no_mapping_are_refused(stage, small):
    with pytest.raises(Denied, match="the values are a list: expected a mapping"):
        await stage.ensure(small, values=[1, 2])


async def test_a_kind_that_is_missing_is_waited_for(stage, tmp_path):
    folder = chart(tmp_path / "early", one="apiVersion: example.org/v1\nkind: Gadget\nmetadata: {name: one}\n")
    with pytest.raises(MissingPrerequisite, match='no matches for kind "Gadget"'):
        await stage.ensure(folder)


async def test_a_kubeconfig_that_runs_a_program_is_refused(stage, small):
    text = stage.plane.kubeconfig_for(stage.plane.token).replace("token:", "tokenFile:")
    with pytest.raises(Denied, match="tokenFile"):
        await stage.ensure(small, kubeconfig=text)


async def test_a_user_without_rights_gets_nothing_and_is_told(stage, small):
    with pytest.raises(Denied, match="is forbidden: User") as caught:
        await stage.ensure(small, as_user="system:serviceaccount:default:tenant")
    assert caught.value.reason == "Forbidden"


async def test_lists_are_expanded_and_every_object_shows_no_drift(stage, tmp_path):
    items = "".join(f"- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {n}}}}}\n" for n in ("two", "three"))
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: helm-test}\nrules: []\n"
    folder = chart(tmp_path / "list", one=CM % "one", more=f"apiVersion: v1\nkind: List\nitems:\n{items}---\n{role}")
    installed = await stage.ensure(folder)
    assert {each["metadata"]["name"]: each["metadata"].get("namespace") for each in installed.objects} == {
        "one": stage.namespace, "two": stage.namespace, "three": stage.namespace, "helm-test": None,
    }  # fmt: skip
    assert await stage.drifted(installed.objects) == {}
    await stage.run("kubectl", "patch", "configmap", "one", "-p", '{"data": {"size": "9"}}')
    (changed,) = (await stage.drifted(installed.objects))["ConfigMap", "one"]
    assert (changed.path, changed.live, changed.wanted) == ("/data/size", "9", "1")
    await stage.uninstall()


async def test_failed_retries_leave_at_most_the_history_that_was_asked_for(stage, tmp_path):
    folder = chart(tmp_path / "named", values="name: one\n", one=CM % "{{ .Values.name }}")
    await stage.ensure(folder)
    for size in range(RETRIES):
        with pytest.raises(Denied, match="is invalid"):
            await stage.ensure(folder, values={"name": "No_Name", "size": size}, max_history=3)
        assert len(await stage.revisions()) == min(3, size + 2)
    assert (await stage.ensure(folder, values={"size": 5}, max_history=3)).status == "deployed"
    assert len(await stage.revisions()) == 3


async def test_failed_first_installs_leave_at_most_the_history_that_was_asked_for(stage, tmp_path):
    folder = chart(tmp_path / "named", one=CM % "No_Name")
    for size in range(6):
        with pytest.raises(Denied, match="is invalid"):
            await stage.ensure(folder, values={"size": size}, max_history=1)
        assert len(await stage.revisions()) == min(2, size + 1)


async def test_two_calls_at_once_on_one_release_follow_each_other(stage, small):
    done = await asyncio.gather(*(stage.ensure(small, values={"size": size}) for size in (1, 2, 3)))
    assert sorted(each.revision for each in done) == [1, 2, 3]
    assert {each.status for each in done} == {"deployed"}


async def test_uninstall_leaves_nothing_but_what_annotations_keep(stage, tmp_path):
    kept = (CM % "kept").replace("kept}", "kept, annotations: {helm.sh/resource-policy: keep}}")
    folder = chart(
        tmp_path / "hooks",
        one=CM % "one",
        kept=kept,
        early=job("early", "pre-install"),
        late=job("late", "post-delete"),
    )
    before = set(await stage.versions())
    await stage.ensure(folder)
    assert await stage.uninstall()
    new = {"ConfigMap/kept", f"Namespace/{stage.namespace}", "ServiceAccount/default"}

    async def is_left():
        return {f"{kind}/{name}" for kind, _, name in set(await stage.versions()) - before} == new

    await stage.until(is_left)
    assert not await stage.uninstall()


async def test_a_dry_run_gives_objects_hooks_and_definitions_as_the_cluster_sees_them(stage, tmp_path):
    text = (CM % "one").replace(
        "{{ .Values.size }}", '{{ .Capabilities.KubeVersion }} {{ .Capabilities.APIVersions.Has "batch/v1/Job" }}'
    )
    hook = (
        (CM % "hook")
        .replace("hook}", "hook, annotations: {helm.sh/hook: pre-install}}")
        .replace(
            "{{ .Values.size }}", '{{ .Capabilities.KubeVersion }} {{ .Capabilities.APIVersions.Has "batch/v1/Job" }}'
        )
    )
    folder = chart(tmp_path / "dry", one=text, hook=hook)
    (folder / "templates" / "NOTES.txt").write_text("a: b: c helm.sh/hook")
    (folder / "crds").mkdir()
    (folder / "crds" / "a.yaml").write_text(
        "\n---\n".join(f"kind: CustomResourceDefinition\nmetadata: {{name: {name}}}" for name in "ab")
    )
    before = await stage.versions()
    found = await stage.helm.render(stage.kube, stage.wanted(folder))
    seen = {"size": f"{(await stage.kube.read('/version'))['gitVersion']} true"}
    assert [each["data"] for each in (*found.objects, *found.hooks)] == [seen, seen]
    assert [each["metadata"]["name"] for each in found.crds] == ["a", "b"]
    assert await stage.versions() == before
