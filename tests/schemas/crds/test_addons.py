"""What an add-on and a profile may say, and the sentence for what they may not."""

import json

import pytest

from schemas.addon import full_name, profile_of
from schemas.crds import AddonSpec, InvalidResource, addon_ref, read_profile
from schemas.crds.manifests import objects, parsed
from schemas.crds.model import read
from schemas.wish import digest

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
CHART = {"chart": {"repository": "https://charts.example.org", "name": "nfd"}}


def addon(**fields: object) -> AddonSpec:
    return read(AddonSpec, {"name": "a", **fields})


def profile(*addons: dict[str, object], **spec: object):
    return read_profile({"metadata": {"name": "base"}, "spec": {"addons": list(addons), **spec}})


def test_inline_manifests_keep_the_digest_of_their_text():
    assert addon(manifests=CONFIG).digest == digest(CONFIG)


def test_defaults_that_an_api_server_writes_change_no_digest():
    assert addon(manifests=CONFIG, mode="Correct", required=True, deletionLimit=100).digest == digest(CONFIG)


def test_whatever_else_is_written_changes_the_digest_but_not_the_name():
    plain, more = addon(source=CHART), addon(source=CHART, values={"x": 1})
    assert plain.digest != more.digest
    assert read(AddonSpec, {"name": "b", "source": CHART}).digest == plain.digest


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "add-on a must have one of manifests, source and catalog"),
        ({"manifests": CONFIG, "catalog": "kueue"}, "add-on a must have one of manifests, source and catalog"),
        ({"source": {}}, "source: source must have one of chart, url, git, oci, configMap, secret and flux"),
        (
            {"source": {"git": {"url": "https://x/y", "tag": "v1", "branch": "main"}}},
            "source.git: git must have at most one of branch, tag and commit",
        ),
        ({"source": {"url": "file:///etc/passwd"}}, 'source.url is "file:///etc/passwd": must match'),
        ({"catalog": "kueue", "values": [1]}, "values: must be a mapping"),
    ],
)
def test_a_mistake_in_an_add_on_is_one_sentence(fields, sentence):
    with pytest.raises(InvalidResource) as wrong:
        addon(**fields)
    assert sentence in str(wrong.value)


def test_a_circle_is_refused_by_its_names():
    chain = [{"name": a, "catalog": a, "dependsOn": [{"name": b}]} for a, b in ("ab", "bc", "ca")]
    with pytest.raises(InvalidResource, match="in a circle: a -> b -> c -> a"):
        profile({"name": "first", "catalog": "x", "dependsOn": [{"name": "a"}]}, *chain)


def test_a_dependency_that_is_not_there_is_refused_by_its_name():
    with pytest.raises(InvalidResource, match="add-on a depends on b, which is not there: known are a"):
        profile({"name": "a", "catalog": "x", "dependsOn": [{"name": "b"}]})


def test_many_that_depend_on_one_are_no_circle():
    shared = [{"name": n, "catalog": n, "dependsOn": [{"name": "base"}]} for n in "abc"]
    top = {"name": "top", "catalog": "top", "dependsOn": [{"name": n} for n in "abc"]}
    assert len(profile(top, *shared, {"name": "base", "catalog": "base"}).spec.addons) == 5


@pytest.mark.parametrize("of", ["", "base", "all/base"])
def test_a_full_name_can_be_read_back(of):
    assert profile_of(full_name("driver", of)) == of


def test_dependencies_are_named_in_full():
    spec = addon(catalog="x", dependsOn=[{"name": "b"}, {"name": "c", "profile": "all/base"}])
    assert addon_ref(spec, "mine").after == ("mine.b", "all.base.c")


def test_nothing_waits_for_a_dry_run():
    assert addon_ref(addon(catalog="x")).required
    assert not addon_ref(addon(catalog="x", mode="DryRun")).required


def test_values_are_expected_with_in_and_nothing_else():
    wrong = {"matchExpressions": [{"key": "gpu", "operator": "In"}]}
    with pytest.raises(InvalidResource, match="values must be given with In and NotIn, and with nothing else"):
        profile(clusters=wrong)


def test_lists_of_objects_are_written_out():
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    named = {"apiVersion": "example.org/v1", "kind": "AllowList", "metadata": {"name": "mine"}, "items": [1]}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [one, one]})
    assert objects(text) == [one, one]
    assert objects(json.dumps(named)) == [named]
    assert parsed('{"apiVersion": "v1", "kind": "ConfigMapList", "items": []}') == []
    with pytest.raises(ValueError, match=r"document 2 has no kind, metadata.name"):
        objects(json.dumps({"apiVersion": "v1", "kind": "List", "items": [one, {"apiVersion": "v1"}]}))
