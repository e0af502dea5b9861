"""kubectl, the built one and the one on the PATH, is driven against both servers and says the same."""

import asyncio
import json
import os
import re
import shutil
from contextlib import asynccontextmanager

import pytest

from services.sandbox.api.server.http import kubeconfig
from tests.contracts.api import sides
from tests.contracts.api.asking import ask, until
from tests.contracts.api.talk import WIDGETS, widget
from tests.kube.places import program

BUILT, FOUND = program("kubectl"), shutil.which("kubectl")
PROGRAMS = [pytest.param(str(path) if path else None, id=name) for name, path in (("built", BUILT), ("path", FOUND))]
_VARYING = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z"), "<time>"),
    (re.compile(r"(Resource Version:\s+|resourceVersion: \")\d+"), r"\1<version>"),
    (re.compile(r"\b\d+(ms|s|m)\b"), "<age>"),
    (re.compile(r'"\{.*\}": strict decoding'), '"<the whole object>": strict decoding'),  # keys in any order
    (re.compile(r" +"), " "),
)

# What is said in turn: the arguments, what is put in, and what the answer holds.
RED = json.dumps(widget("one", color="red", replicas=2))
SCRIPT = (
    ("apply -f -", RED, "widget.demo.io/one created"),
    ("apply -f -", RED, "widget.demo.io/one unchanged"),
    ("apply -f -", RED.replace("red", "blue"), "widget.demo.io/one configured"),
    ("apply -f -", RED.replace("color", "colour"), 'unknown field "spec.colour"'),
    ("apply -f -", RED.replace("2", "12"), "should be less than or equal to 10"),
    ("get widgets", "", "NAME SIZE READY REPLICAS AGE"),
    ("get widgets -o wide", "", "COLOR"),
    ("get wg one -o yaml", "", "color: blue"),
    ("get widgets none", "", 'widgets.demo.io "none" not found'),
    ("describe widget one", "", "Color: blue"),
    ("patch widget one --type=merge -p", '{"spec":{"size":"M"}}', "patched"),
    ("patch widget one --type=json -p", '[{"op":"remove","path":"/spec/color"}]', "patched"),
    ("patch widget one --type=strategic -p", '{"spec":{"size":"S"}}', "is not supported by demo.io/v1"),
    ("patch widget one --subresource=status --type=merge -p", '{"status":{"phase":"Up"}}', "patched"),
    ("label widget one team=a", "", "labeled"),
    ("annotate widget one why=because", "", "annotated"),
    ("scale widget one --replicas=4", "", "scaled"),
    ("apply --server-side -f -", RED, "conflict"),
    ("apply --server-side --force-conflicts -f -", RED, "serverside-applied"),
    ("apply --server-side --field-manager=other -f -", RED.replace("red", "blue"), "Apply failed with 1 conflict"),
    ("explain widget.spec.parts", "", "weight"),
    ("explain widget.spec", "", "replicas"),
    ("api-resources --api-group=demo.io", "", "widgets"),
    ("create configmap one --from-literal=a=b", "", "configmap/one created"),
    ("get configmaps", "", "NAME DATA AGE"),
    ("create configmap one --from-literal=a=b", "", "already exists"),
    ("create secret generic s --from-literal=a=b", "", "secret/s created"),
    ("describe secret s", "", "a: 1 bytes"),
    ("run p --image=busybox", "", "pod/p created"),
    ("logs p", "", ""),
    ("logs none", "", 'pods "none" not found'),
    ("wait --for=jsonpath={.status.phase}=Up widget/one --timeout=20s", "", "condition met"),
    ("wait --for=condition=Ready widget/one --timeout=1s", "", "timed out"),
    ("delete widget one --timeout=20s", "", 'widget.demo.io "one" deleted'),
    ("delete widget one", "", "not found"),
    ("auth can-i create widgets", "", "yes"),
)


@asynccontextmanager
async def _both(plane, tmp_path):
    """Both servers with a kubeconfig each: [(side, file)]."""
    home = tmp_path / "sandbox"
    home.mkdir()
    async with sides.sandbox(sides.api_of_its_own(), folder=home) as local, sides.real(plane) as real:
        config = home / "kubeconfig"
        config.write_text(kubeconfig(local.url, "management", (home / "tls.crt").read_bytes(), "open"))
        yield (local, config), (real, plane.kubeconfig)


async def _run(binary, config, namespace, line, given, home):  # noqa: PLR0917 - what, where, how
    pipe = asyncio.subprocess.PIPE
    arguments = [binary, f"--kubeconfig={config}", f"--namespace={namespace}", *line.split()]
    arguments += [given] if line.endswith(" -p") else []
    process = await asyncio.create_subprocess_exec(
        *arguments,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        cwd=home,
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(60):
            out, _ = await process.communicate(b"" if line.endswith(" -p") else given.encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, _plain(out.decode())


def _plain(text):
    for pattern, shown in _VARYING:
        text = pattern.sub(shown, text)
    return "\n".join(line.strip() for line in text.splitlines())


@pytest.mark.kube
@pytest.mark.timeout(300)
@pytest.mark.parametrize("binary", PROGRAMS)
async def test_kubectl_says_the_same_of_both(binary, known, tmp_path):
    if binary is None:
        pytest.skip("there is no kubectl on the PATH")
    namespace, told = sides.fresh(), []
    async with _both(known, tmp_path) as both:
        for side, _ in both:
            await ask(side.ways["admin"], "POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        for line, given, holds in SCRIPT:
            ours, theirs = [await _run(binary, config, namespace, line, given, tmp_path) for _, config in both]
            assert holds in theirs[1], (line, theirs)
            told += [(line, ours, theirs)] if ours != theirs and holds not in _known_to_differ(ours[1], line) else []
    assert told == []


def _known_to_differ(text, line):
    """Where the words may differ, what was said; elsewhere nothing."""
    return text if line.startswith(WORDS) else ""


WORDS = (
    "get configmaps",
    "explain",  # descriptions are Kubernetes' own documentation
)


@pytest.mark.kube
@pytest.mark.timeout(120)
@pytest.mark.parametrize("binary", PROGRAMS)
async def test_kubectl_waits_until_the_last_finalizer_is_off(binary, known, tmp_path):
    if binary is None:
        pytest.skip("there is no kubectl on the PATH")
    namespace = sides.fresh()
    async with _both(known, tmp_path) as both:
        for side, config in both:
            way, path = side.ways["admin"], WIDGETS.replace("{ns}", namespace)
            await ask(way, "POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
            await ask(way, "POST", path, widget("one", meta={"finalizers": ["demo.io/hold"]}))
            deleting = asyncio.create_task(_run(binary, config, namespace, "delete widget one", "", tmp_path))
            await until(
                lambda way=way, path=path: ask(way, "GET", f"{path}/one"),
                lambda answer: "deletionTimestamp" in answer.body["metadata"],
            )
            off = {"metadata": {"finalizers": None}}
            await ask(way, "PATCH", f"{path}/one", off, media="application/merge-patch+json")
            assert (await deleting)[0] == 0
