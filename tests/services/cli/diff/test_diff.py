"""`alate diff` says what manifests would change and what is wrong with them, and changes nothing."""

import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from events.errors import TryLater
from events.kube.client import Kube
from events.kube.resources import COLONIES, CRDS, NAMESPACES
from schemas.crds import CRDS as KINDS
from services.cli.app import app
from services.cli.diff.manifests import read
from services.cli.diff.show import DIFFERENT, EQUAL, INVALID, compared, exit_code, written
from services.errors import BadInput
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal

API = "alate.dev/v1alpha1"
POOL = {"name": "workers", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}
COLONY = {
    "apiVersion": API, "kind": "Colony", "metadata": {"name": "train"},
    "spec": {"clusters": [{"name": "gpu", "pools": [POOL], "timeToLive": "6h"}]},
}  # fmt: skip
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: nfd\ndata:\n  d: '4'\n"
PROFILE = {
    "apiVersion": API, "kind": "AddonProfile", "metadata": {"name": "base", "namespace": "acme"},
    "spec": {"addons": [{"name": "nfd", "manifests": SETTINGS}]},
}  # fmt: skip
TRIGGER = yaml.safe_load((Path(__file__).parents[4] / "deploy" / "triggers" / "github-workflow.yaml").read_text())

CI = TRIGGER["metadata"]["name"]


class Here:
    """A management cluster that knows alate's kinds."""

    def __init__(self, kube: Kube) -> None:
        self.client = kube

    @asynccontextmanager
    async def kube(self):
        yield self.client


@pytest.fixture
async def here():
    uids = count(1)
    api = Api(MemoryJournal(), lambda: datetime(2030, 1, 1, tzinfo=UTC), lambda: f"uid-{next(uids)}")
    await api.start()
    client = Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5)
    for kind in KINDS:
        await client.create(CRDS, kind.manifest())
    await client.create(NAMESPACES, {"metadata": {"name": "acme"}})
    yield Here(client)
    await api.close()


def folder(root, *objects):
    (root / "objects.yaml").write_text(yaml.safe_dump_all(objects))
    return read([root], None)


def with_pool(**fields):
    cluster = {**COLONY["spec"]["clusters"][0], "pools": [POOL | fields]}
    return COLONY | {"spec": {"clusters": [cluster]}}


async def shown(here, found, form="table"):
    results = await compared(here, found)
    return exit_code(found, results), written(found, results, form)


async def applied(here, item, manager="kustomize-controller"):
    meta = {"namespace": "default", **item["metadata"]}
    await here.client.apply(COLONIES, item | {"metadata": meta}, manager=manager)


async def test_what_is_as_it_is_written_is_unchanged_with_the_defaults_of_the_server(here, tmp_path):
    await applied(here, COLONY)
    assert await shown(here, folder(tmp_path, COLONY)) == (EQUAL, "Colony default/train  unchanged\n")


async def test_a_changed_field_is_shown_by_the_names_of_what_it_is_in(here, tmp_path):
    await applied(here, COLONY)
    code, text = await shown(here, folder(tmp_path, with_pool(nodes=4)))
    assert code == DIFFERENT
    assert text.splitlines() == [
        "Colony default/train  changed",
        "  spec.clusters[gpu].pools[workers].nodes: 2 -> 4",
    ]


async def test_a_field_that_the_file_has_no_longer_is_shown_as_removed(here, tmp_path):
    await applied(here, COLONY)
    cluster = {name: value for name, value in COLONY["spec"]["clusters"][0].items() if name != "timeToLive"}
    _, text = await shown(here, folder(tmp_path, COLONY | {"spec": {"clusters": [cluster]}}))
    assert "  - spec.clusters[gpu].timeToLive: 6h" in text.splitlines()


async def test_nothing_is_written(here, tmp_path):
    await applied(here, COLONY)
    before = await here.client.get(COLONIES, "train", "default")
    await shown(here, folder(tmp_path, with_pool(nodes=4), PROFILE))
    assert await here.client.get(COLONIES, "train", "default") == before


async def test_a_new_object_is_shown_with_its_fields(here, tmp_path):
    code, text = await shown(here, folder(tmp_path, PROFILE))
    assert (code, text.splitlines()[0]) == (DIFFERENT, "AddonProfile acme/base  new"), text
    assert any(line.startswith("  + spec.addons[nfd].name: nfd") for line in text.splitlines())


async def test_of_a_long_text_only_the_lines_that_differ_are_shown(here, tmp_path):
    found = folder(tmp_path, PROFILE)
    (manifest,) = found.manifests
    await here.client.apply(manifest.resource, manifest.item, manager="flux")
    text = SETTINGS.replace("4", "5")
    _, told = await shown(here, folder(tmp_path, PROFILE | {"spec": {"addons": [{"name": "nfd", "manifests": text}]}}))
    assert told.splitlines()[1:] == [
        "  spec.addons[nfd].manifests:", "       name: nfd", "     data:", "    -  d: '4'", "    +  d: '5'",
    ]  # fmt: skip


async def test_what_the_server_refuses_is_a_mistake(here, tmp_path):
    missing = PROFILE | {"metadata": {"name": "base", "namespace": "nowhere"}}
    code, text = await shown(here, folder(tmp_path, missing, COLONY))
    assert code == INVALID
    assert "the management cluster refuses it" in text
    assert "Colony default/train  new" in text


async def test_json_has_every_field_from_and_to(here, tmp_path):
    await applied(here, COLONY)
    _, text = await shown(here, folder(tmp_path, with_pool(nodes=4)), "json")
    (one,) = json.loads(text)["objects"]
    assert (one["kind"], one["namespace"], one["name"], one["state"]) == ("Colony", "default", "train", "changed")
    assert one["fields"] == [{"path": "spec.clusters[gpu].pools[workers].nodes", "from": 2, "to": 4}]


async def test_a_cluster_that_does_not_answer_is_one_sentence(tmp_path):
    class Away:
        async def get(self, *_):
            raise TryLater("no answer in 5 s")

    with pytest.raises(BadInput, match="does not answer"):
        await compared(Here(Away()), folder(tmp_path, COLONY))


def alate(*words, **how):
    return CliRunner().invoke(app, ["diff", *map(str, words)], **how)


def test_every_mistake_is_a_sentence_with_its_file_and_its_place(tmp_path):
    wrong = with_pool(nodes="two", acelerator="H100")
    (tmp_path / "train.yaml").write_text(yaml.safe_dump(wrong))
    (tmp_path / "broken.yml").write_text("a: [")
    rules = [TRIGGER["spec"]["rules"][0] | {"when": "data."}]
    (tmp_path / "ci.yaml").write_text(yaml.safe_dump(TRIGGER | {"spec": TRIGGER["spec"] | {"rules": rules}}))
    done = alate("--offline", "-f", tmp_path)
    assert done.exit_code == INVALID
    lines = done.output.splitlines()
    assert f'  {tmp_path}/train.yaml: spec.clusters[0].pools[0].nodes is "two": must be a whole number' in lines
    assert any(line.startswith(f"  {tmp_path}/train.yaml: spec.clusters[0].pools[0].acelerator") for line in lines)
    assert any(line.startswith(f"{tmp_path}/broken.yml: is not YAML: at line") for line in lines)
    assert any(line.startswith(f"  {tmp_path}/ci.yaml: ") and "when" in line for line in lines)


def test_valid_manifests_need_no_cluster(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.yaml").write_text("[")
    (tmp_path / "sub" / "all.yaml").write_text(yaml.safe_dump_all([COLONY, PROFILE, TRIGGER]))
    (tmp_path / "kustomization.yaml").write_text("kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\n")
    done = alate("--offline", "-f", tmp_path)
    assert done.exit_code == EQUAL
    assert done.output.splitlines() == [
        "Colony default/train  valid", "AddonProfile acme/base  valid", f"Trigger default/{CI}  valid",
        "1 objects of other kinds are left out",
    ]  # fmt: skip


def test_standard_input_is_read_and_a_namespace_is_given(tmp_path):
    done = alate("--offline", "-f", "-", "-n", "team", input=yaml.safe_dump(COLONY))
    assert done.output == "Colony team/train  valid\n"


def test_an_object_that_is_there_twice_is_a_mistake(tmp_path):
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(yaml.safe_dump(COLONY))
    done = alate("--offline", "-f", tmp_path)
    assert done.exit_code == INVALID
    assert f"{tmp_path}/b.yaml: it is in {tmp_path}/a.yaml already" in done.output


def test_a_kind_that_there_is_not_is_a_mistake(tmp_path):
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(COLONY | {"kind": "Kolony"}))
    done = alate("--offline", "-f", tmp_path)
    assert (done.exit_code, "there is no kind Kolony" in done.output) == (INVALID, True)


@pytest.mark.parametrize("version", ["alate.dev/v1", "alate.dev"])
def test_a_version_that_there_is_not_is_a_mistake(tmp_path, version):
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(COLONY | {"apiVersion": version}))
    done = alate("--offline", "-f", tmp_path)
    assert (done.exit_code, "apiVersion" in done.output) == (INVALID, True)


def test_a_folder_without_manifests_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="holds no object of alate"):
        read([tmp_path], None)
