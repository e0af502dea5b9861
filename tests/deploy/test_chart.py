"""The Helm chart renders what the services need and nothing else, and refuses what means nothing."""

import json

import pytest
import yaml

from services.compose import SERVICES
from services.generate.chart import NAMESPACE, files
from services.process.settings import Settings
from tests.deploy.chart import ROOT, helm, pods, rendered

WHOLE = {
    "image": {"repository": "registry.example.org/alate", "digest": "sha256:" + "0" * 64, "pullSecrets": ["pull"]},
    "priorityClassName": "platform",
    "nats": {"url": "tls://nats.example.org:4222", "keysSecret": "keys", "caSecret": "ca"},
    "settings": {"ALATE_BACKEND": "k0rdent"},
    "catalogConfigMap": "prices",
    "services": {"gateway": {"replicas": 1, "settings": {"ALATE_LOG_LEVEL": "debug"}, "nodeSelector": {"a": "b"}}},
    "edge": {"hooksSecret": "hooks", "ingress": {"enabled": True, "host": "alate.example.org", "tlsSecret": "tls"}},
    "outbound": {"targetsSecret": "targets"},
    "monitoring": {"podMonitor": True, "rules": True, "dashboards": True, "labels": {"release": "prom"}},
}
LEAST = {"nats": {"url": "nats://nats:4222"}}


@pytest.mark.parametrize("values", [LEAST, WHOLE], ids=["least", "whole"])
def test_every_service_runs_as_the_image_runs_it_and_knows_its_own_name(values):
    found = pods(rendered(values))
    assert found.keys() == {*SERVICES, "setup"}
    for name, pod in found.items():
        (container,) = pod["containers"]
        assert container["args"] == [name]
        assert "command" not in container
        env = {each["name"]: each for each in container["env"]}
        known = {f"ALATE_{field}".upper() for field in Settings.model_fields}
        assert env.keys() <= known
        assert ("ALATE_MEMBER" in env) == (name != "setup")
        mounted = {each["mountPath"] for each in container["volumeMounts"]}
        files_ = {each["value"] for each in container["env"] if each.get("value", "").startswith("/run/")}
        assert all(any(one == path or one.startswith(f"{path}/") for path in mounted) for one in files_)
        assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}


def test_a_value_of_one_service_goes_before_that_of_all():
    objects = rendered(WHOLE)
    assert objects["Deployment", "alate-gateway"]["spec"]["replicas"] == 1
    assert objects["Deployment", "alate-edge"]["spec"]["replicas"] == 2
    assert ("PodDisruptionBudget", "alate-gateway") not in objects
    assert ("PodDisruptionBudget", "alate-edge") in objects
    env = {each["name"]: each.get("value") for each in pods(objects)["gateway"]["containers"][0]["env"]}
    assert (env["ALATE_LOG_LEVEL"], env["ALATE_BACKEND"]) == ("debug", "k0rdent")
    assert pods(objects)["gateway"]["nodeSelector"] == {"a": "b"}


def test_rights_and_kinds_are_those_of_the_repository():
    objects = rendered(LEAST)
    shipped = [each for each in yaml.safe_load_all((ROOT / "deploy/rbac.yaml").read_text()) if each]
    for each in shipped:
        if each["kind"] != "Namespace":
            told = json.loads(json.dumps(each).replace('"namespace": "alate"', '"namespace": "house"'))
            assert objects[each["kind"], each["metadata"]["name"]] == told
    for path in (ROOT / "schemas/generated/crds").glob("*.yaml"):
        crd = yaml.safe_load(path.read_text())
        assert objects["CustomResourceDefinition", crd["metadata"]["name"]]["spec"] == crd["spec"]
    assert NAMESPACE not in str([each for each in objects.values() if "CustomResource" not in each["kind"]])


def test_what_is_generated_for_it_is_up_to_date():
    assert {path: (ROOT / path).read_text() for path in files()} == files()


def test_it_renders_the_same_each_time():
    assert helm(WHOLE).stdout == helm(WHOLE).stdout


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "at '/nats/url'"),
        ({"nats": {"url": "nats.example.org"}}, "at '/nats/url'"),
        (LEAST | {"replica": 3}, "additional properties 'replica' not allowed"),
        (LEAST | {"settings": {"BACKEND": "capi"}}, "invalid propertyName 'BACKEND'"),
        (LEAST | {"services": {"gatway": {}}}, "additional properties 'gatway' not allowed"),
        (LEAST | {"edge": {"ingress": {"enabled": True}}}, "edge.ingress.host: must be the name"),
    ],
    ids=["nothing", "no-url", "misspelled", "no-setting", "no-service", "no-host"],
)
def test_a_value_that_means_nothing_is_refused(values, sentence):
    told = helm(values)
    assert told.returncode != 0
    assert sentence in told.stderr
