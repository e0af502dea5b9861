"""A manifest becomes the objects that Helm applies."""

import yaml

from services.addons.helm.manifest import documents, is_hook, released

MANIFEST = """---
# Source: a.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {a: b}}
data:
  text: |
    first
    ---
    last
---
# nothing but a comment
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
- {apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: three}}]}
---
{apiVersion: example.org/v1, kind: AllowList, metadata: {name: four}}
"""


def read(text):
    return documents(text.replace("    ---", "    -- -"), yaml.safe_load)


def test_lists_are_expanded_and_what_only_sounds_like_one_is_not():
    assert [one["metadata"]["name"] for one in read(MANIFEST)] == ["one", "two", "three", "four"]


def test_an_object_gets_what_helm_writes_on_it_and_keeps_its_own():
    (one, *_) = read(MANIFEST)
    assert released(one, "mine", "here")["metadata"] == {
        "name": "one",
        "labels": {"a": "b", "app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "mine", "meta.helm.sh/release-namespace": "here"},
    }
    assert one["metadata"] == {"name": "one", "labels": {"a": "b"}}


def test_a_hook_is_known_by_its_annotation():
    assert is_hook({"metadata": {"annotations": {"helm.sh/hook": "post-install"}}})
    assert not is_hook({"metadata": {"annotations": None}})
