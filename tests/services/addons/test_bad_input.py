"""One table of bad inputs: each is one clear sentence, what does not need it goes on, and what needs it says so.

What Helm says about a chart is in `tests/story/kube/test_profiles.py`, as Helm speaks to a real API server.
"""

import json
import re

import pytest

from events.kube.discovery import find
from events.kube.resources import CONFIGMAPS
from tests.services.addons.fleet import TENANT, config_map, fleet, of_maps

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
GADGET = "apiVersion: example.org/v1\nkind: Gadget\nmetadata: {name: one}\n"
OTHER = "apiVersion: v1\nkind: Secret\nmetadata: {name: one}\n"
SYSTEM = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: kube-system}\n"
ABSENT = {"apiVersion": "v1", "kind": "ConfigMap", "name": "absent"}
FILES = {
    "one.yaml": config_map("one"), "broken.yaml": "a: 1\nb: [1", "bomb.yaml": BOMB, "one.jsonnet": config_map("one"),
    "list": "[1, 2]",
}  # fmt: skip
SIZES = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]"
DEEP = f"{SIZES}.all(a, {SIZES}.all(b, {SIZES}.all(c, {SIZES}.all(d, a+b+c+d > 0))))"
LOOPS = "a: " + "{% for a in range(9999) %}" * 3 + "{% endfor %}" * 3
GONE = "http://127.0.0.1:1"
SERVER = "http://server"
"""Stands for the server of the test."""


def text(manifests, **more):
    return {"manifests": manifests, **more}


def held(path="one.yaml", **more):
    return {"source": {"configMap": {"name": "held"}, "path": path, **more}}


def values_from(kind="ConfigMap", name="held", key="values.yaml"):
    return held("one.jsonnet") | {"valuesFrom": [{"kind": kind, "name": name, "key": key}]}


def template(written):
    return text(written, templated=True)


def ready(rule):
    return text(config_map("one"), ready=[rule])


MANIFESTS = r"spec\.addons\[1\]\.manifests"
REFUSED = {
    "yaml that is none": (text("a: [1"), rf"{MANIFESTS} is .*: must be YAML, but at line 2: did not find expected .*"),
    "a yaml bomb": (text(BOMB), rf"{MANIFESTS}: must be YAML, but it comes to more than 1000000 values .*aliases.*"),
    "a document that is no object": (text("- 1\n"), rf"{MANIFESTS}: must hold Kubernetes objects, but document 1 .*"),
    "an object without a kind": (text("apiVersion: v1\nmetadata: {name: one}\n"), rf"{MANIFESTS}: .*1 has no kind"),
    "a dependency that is not there": (
        text(config_map("one"), dependsOn=[{"name": "gone"}]),
        r"add-on bad depends on gone, which is not there: known are bad, good, needing",
    ),
}  # fmt: skip
"""By what it is: an add-on for which the whole profile is refused, and the sentence that tells why."""
BAD = {
    "an object with a name that is none": (text(config_map("No_Name")), r'ConfigMap "No_Name" is invalid: .*'),
    "an object that the api server refuses": (
        text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": [1]}}'),
        r"ConfigMap .*data\.a in body must be of type string.*",
    ),
    "a kind that nobody serves": (
        text(GADGET), r"the API server does not serve example\.org/v1: is its CRD installed\?",
    ),
    "a kind that is not allowed": (text(OTHER), r'secrets "one" is forbidden: User "\S+:deployer" cannot .*'),
    "a namespace that is not allowed": (text(SYSTEM), r'configmaps "one" is forbidden: .*namespace "kube-system".*'),
    "a template with a variable that is not there": (
        template(config_map("one", size="{{ cluster.colour }}")),
        r"bad\.manifests: line 1, column \d+: there is no 'colour'",
    ),
    "a template that is none": (template("a: {{ cluster.name\n"), r"bad\.manifests: line 1, column \d+: .*"),
    "a template that loops": (template(LOOPS), r"bad\.manifests: it takes more than 0\.5 s of a processor"),
    "a template that gives too much": (template("a: {{ 'x' * 99999999 }}"), r"bad\.manifests: it takes more than .*"),
    "a template that gives no yaml": (
        template("a: [{{ cluster.name }}"), r"the manifests of add-on bad must be YAML.*",
    ),
    "an object of its templates that is not there": (
        template(config_map("one")) | {"objects": [ABSENT | {"variable": "held"}]},
        r"its templates need ConfigMap acme/absent of the management cluster, which is not there",
    ),
    "a source that is not there": (
        {"source": {"configMap": {"name": "absent"}}}, r"there is no ConfigMap absent in namespace acme",
    ),
    "a secret source that is not there": (
        {"source": {"secret": {"name": "absent"}}}, r"there is no Secret absent in namespace acme",
    ),
    "a source of another namespace": (
        {"source": {"flux": {"kind": "Bucket", "name": "one", "namespace": "kube-system"}}},
        r"a source of Flux in another namespace is for a ClusterAddonProfile alone",
    ),
    "a source with broken yaml": (held("broken.yaml"), r"broken\.yaml must be YAML, but at line 3: .*"),
    "a source with a yaml bomb": (
        held("bomb.yaml"), r"bomb\.yaml must be YAML, but it comes to more than 1000000 values .*",
    ),
    "a server that cannot be reached": (
        {"source": {"url": f"{GONE}/one.yaml"}}, rf"{GONE}/one\.yaml cannot be reached: .*",
    ),
    "a chart repository that cannot be reached": (
        {"source": {"chart": {"repository": GONE, "name": "web"}}}, rf"{GONE}/index\.yaml cannot be reached: .*",
    ),
    "a path that leads out": (held("../../etc/passwd"), r"the path '../../etc/passwd' leads out .*: name a file .*"),
    "a checksum that differs": (
        {"source": {"url": f"{SERVER}/one.yaml", "sha256": "0" * 64}},
        r".*/one\.yaml has the sha256 [0-9a-f]{64}, not 0{64}",
    ),
    "values that are not there": (
        values_from(name="absent"), r"its values need ConfigMap acme/absent, which is not there",
    ),
    "a secret with values that is not there": (
        values_from("Secret", "absent"), r"its values need Secret acme/absent, which is not there",
    ),
    "values that are no mapping": (
        values_from(key="list"), r"the key list of ConfigMap acme/held must hold one mapping of values",
    ),
    "values that are too large": (
        values_from(key="bomb.yaml"), r"the key bomb.yaml of ConfigMap acme/held .*more than 1000000 values .*",
    ),
    "values with a variable that is not there": (
        held("one.jsonnet") | {"templated": True, "values": {"size": ["{{ cluster.colour }}"]}},
        r"bad\.values\.size\[0\]: line 1, column \d+: there is no 'colour'",
    ),
    "a check that does not hold": (
        text(config_map("one"), preDeployChecks=[ABSENT]),
        r"waits: base\.bad\.preDeployChecks\[0\]: there is no ConfigMap absent",
    ),
    "a rule that does not compile": (
        ready("objects[0]."), r"base\.bad\.ready\[0\] is no CEL expression: line 1, column 12: .*",
    ),
    "a rule that fails": (ready("objects[7].data.size == 'x'"), r"base\.bad\.ready\[0\]: index out of bounds: 7"),
    "a rule that costs too much": (ready(DEEP), r"base\.bad\.ready\[0\] nests 4 loops .*: must nest at most 3"),
}  # fmt: skip
"""By what it is: an add-on that goes wrong on its cluster, and the sentence that tells why."""


def takes_real_time(fields):
    """A process of its own evaluates templates and what may cost much, and a server answers when it can."""
    return "templated" in fields or any(each in str(fields) for each in (SERVER, SIZES))


def cases(table):
    return [
        pytest.param(what, marks=() if takes_real_time(fields) else pytest.mark.looptime)
        for what, (fields, _) in table.items()
    ]


@pytest.fixture
async def clusters(tmp_path, server):
    server.files["/one.yaml"] = config_map("one").encode()
    async with fleet(tmp_path) as made:
        await made.found("train-a")
        meta = {"name": "held", "namespace": TENANT}
        await made.management.apply(CONFIGMAPS, {"metadata": meta, "data": FILES}, manager="user")
        await allow_config_maps(made.clusters["train-a"])
        yield made


async def allow_config_maps(kube):
    """What the account of the profile may write: ConfigMaps of one namespace."""
    about = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "deployer", "namespace": "default"}}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
    account = {"kind": "ServiceAccount", "name": "deployer", "namespace": TENANT}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deployer"}
    for each in ({"kind": "Role", "rules": rules}, {"kind": "RoleBinding", "subjects": [account], "roleRef": ref}):
        await kube.apply(await find(kube, about["apiVersion"], each["kind"]), about | each, manager="admin")


async def profiles(clusters, bad):
    """The bad add-on after one that needs it and before one that does not, and a profile of its own beside it."""
    needing = of_maps("needing", {"needing": "1"}, dependsOn=[{"name": "bad"}])
    good = of_maps("good", {"good": "1"})
    await clusters.profile("base", needing, {"name": "bad"} | bad, good, serviceAccountName="deployer")
    await clusters.profile("other", of_maps("else", {"else": "1"}))


@pytest.mark.parametrize("what", cases(REFUSED))
async def test_a_profile_that_cannot_be_read_says_where_and_stops_no_other(what, clusters):
    fields, sentence = REFUSED[what]
    await profiles(clusters, fields)
    await until_said(clusters, lambda: reason(clusters, "Accepted", "Invalid"), sentence, 900)
    said = {each["message"] for each in await conditions(clusters) if each["reason"] == "Invalid"}
    assert len(said) == 1
    await clusters.has("train-a", "else")
    await mend(clusters)


@pytest.mark.parametrize("what", cases(BAD))
async def test_a_bad_add_on_is_one_sentence_and_stops_nothing_but_what_needs_it(what, clusters, server):
    fields, sentence = BAD[what]
    limit = 30 if takes_real_time(fields) else 900
    await profiles(clusters, json.loads(json.dumps(fields).replace(SERVER, server.url)))
    await until_said(clusters, lambda: clusters.message("train-a", "base.bad"), sentence, limit)
    waits = r"waits for base\.bad \((applying|degraded)\)"
    await until_said(clusters, lambda: clusters.message("train-a", "base.needing"), waits, limit)
    await until_said(clusters, lambda: line(clusters), f"bad: {sentence}", limit)
    await clusters.is_now("train-a", "base.good", "applied")
    await clusters.is_now("train-a", "other.else", "applied")
    assert await clusters.get("train-a", "needing") is None
    await mend(clusters)


async def mend(clusters):
    await profiles(clusters, of_maps("bad", {"mended": "1"}))
    await clusters.has("train-a", "else", "good", "mended", "needing", within=1200)


async def until_said(clusters, look, sentence, within):
    """Wait until the whole of what is said is the sentence."""
    said = ""

    async def told():
        nonlocal said
        said = await look()
        return re.fullmatch(sentence, said)

    try:
        await clusters.until(told, within)
    except TimeoutError:
        raise AssertionError(f"{said!r} is not {sentence}") from None


async def conditions(clusters):
    return (await clusters.status("base")).get("conditions", [])


async def reason(clusters, type_, reason_):
    found = [each for each in await conditions(clusters) if (each["type"], each["reason"]) == (type_, reason_)]
    return found[0]["message"] if found else ""


async def line(clusters):
    """What the profile says of its one cluster."""
    return next((each.get("message", "") for each in (await clusters.status("base")).get("clusters", ())), "")
