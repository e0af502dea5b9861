"""One table of bad inputs: each is one clear sentence, what does not need it goes on, and what needs it says so.

What is wrong with a chart is in the table of `tests/story/kube/test_helm.py`, as Helm speaks to a real API server.
"""

import re

import pytest

from events.kube.resources import CONFIGMAPS
from tests.services.addons.fleet import TENANT, config_map, fleet, of_maps

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
GADGET = "apiVersion: example.org/v1\nkind: Gadget\nmetadata: {name: one}\n"
HELD = {"apiVersion": "v1", "kind": "ConfigMap", "name": "absent"}
HELD_FILES = {"one.yaml": config_map("one"), "one.jsonnet": config_map("one"), "list": "[1, 2]"}
SIZES = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]"
JSONNET = {"source": {"configMap": {"name": "held"}, "path": "one.jsonnet"}, "renderer": "Jsonnet"}
OF_MAP = {"source": {"configMap": {"name": "held"}}}


def text(manifests, **more):
    return {"manifests": manifests, **more}


BAD = {
    "yaml that is none": (text("a: [1"), r"manifests.*line 1, column 6|manifests.*line 2"),
    "a yaml bomb": (text(BOMB), r"manifests.*(aliases|anchors|too large|too many)"),
    "a document that is no object": (text("- 1\n"), r"manifests.*(list|mapping|object)"),
    "an object without a kind": (text("apiVersion: v1\nmetadata: {name: one}\n"), r"kind"),
    "an object with a name that is none": (text(config_map("No_Name")), r"No_Name"),
    "an object that the api server refuses": (
        text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": [1]}}'), r"data",
    ),
    "a kind that nobody serves": (text(GADGET), r"does not serve example\.org/v1: is its CRD installed\?"),
    "a template with a variable that is not there": (
        text(config_map("one", size="{{ cluster.colour }}"), templated=True), r"line 1, column \d+: .*colour",
    ),
    "a template that is none": (text("a: {{ cluster.name\n", templated=True), r"line \d+, column \d+"),
    "a template that loops": (
        text("a: {% for a in range(99999999) %}{{ a }}{% endfor %}\n", templated=True), r"line 1|range|too (many|long)",
    ),
    "an object of its templates that is not there": (
        text(config_map("one"), templated=True, objects=[HELD | {"variable": "held"}]), r"ConfigMap.*absent",
    ),
    "a source that is not there": ({"source": {"configMap": {"name": "absent"}}}, r"ConfigMap.*absent"),
    "a secret source that is not there": ({"source": {"secret": {"name": "absent"}}}, r"Secret.*absent"),
    "a server that cannot be reached": ({"source": {"url": "http://127.0.0.1:1/one.yaml"}}, r"127\.0\.0\.1:1.*reached"),
    "a path that leads out": (OF_MAP | {"source": OF_MAP["source"] | {"path": "../../etc/passwd"}}, r"etc/passwd"),
    "a checksum that differs": (
        OF_MAP | {"source": OF_MAP["source"] | {"sha256": "0" * 64}}, r"0{64}|sha256",
    ),
    "values that are not there": (
        JSONNET | {"valuesFrom": [{"kind": "ConfigMap", "name": "absent"}]}, r"ConfigMap.*absent",
    ),
    "values that are no mapping": (
        JSONNET | {"valuesFrom": [{"kind": "ConfigMap", "name": "held", "key": "list"}]},
        r"list.*mapping|mapping.*list",
    ),
    "a check that does not hold": (text(config_map("one"), preDeployChecks=[HELD]), r"preDeployChecks\[0\].*absent"),
    "a rule that fails": (text(config_map("one"), ready=["objects[7].data.size == 'x'"]), r"ready\[0\]"),
    "a rule that costs too much": (
        text(config_map("one"), ready=[f"{SIZES}.all(a, {SIZES}.all(b, {SIZES}.all(c, {SIZES}.all(d, a+b+c+d > 0))))"]),
        r"ready\[0\]",
    ),
}  # fmt: skip
"""By what it is: what is wrong of an add-on, and the sentence that tells it."""


def asks_a_process(fields):
    """Templates and what may cost much are evaluated in a process of their own, which has no virtual time."""
    return bool({"templated", "renderer"} & fields.keys()) or SIZES in str(fields)


CASES = [
    pytest.param(what, marks=() if asks_a_process(fields) else pytest.mark.looptime)
    for what, (fields, _) in BAD.items()
]


@pytest.mark.parametrize("what", CASES)
async def test_a_bad_add_on_is_one_sentence_and_stops_nothing_but_what_needs_it(what, tmp_path):
    fields, sentence = BAD[what]
    async with fleet(tmp_path) as clusters:
        await clusters.found("train-a")
        meta = {"name": "held", "namespace": TENANT}
        await clusters.management.apply(CONFIGMAPS, {"metadata": meta, "data": HELD_FILES}, manager="user")
        needing = of_maps("needing", {"needing": "1"}, dependsOn=[{"name": "bad"}])
        await clusters.profile("base", {"name": "bad", **fields}, needing)
        await clusters.profile("other", of_maps("good", {"good": "1"}))

        async def told():
            return re.search(sentence, await everything(clusters)) is not None

        try:
            await clusters.until(told, 30 if asks_a_process(fields) else 900)
        except TimeoutError:
            raise AssertionError(await everything(clusters)) from None
        assert "\n" not in await clusters.message("train-a", "base.bad")
        await clusters.until(lambda: clusters.get("train-a", "good"))
        await clusters.profile("base", of_maps("bad", {"mended": "1"}), needing)
        await clusters.has("train-a", "good", "mended", "needing", within=1200)


async def everything(clusters):
    """What the add-on says, and the profile."""
    status = await clusters.status("base")
    said = [each.get("message", "") for each in status.get("conditions", ())]
    return " | ".join((await clusters.message("train-a", "base.bad"), *said))
