"""Real charts beside this checkout, rendered by Helm and Kustomize, and the images that their objects name."""

import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from schemas.crds.addons import AddonSpec
from tests.kube import places

CHARTS = Path(__file__).parents[5] / "shared" / "data" / "charts"
FOLDERS = {
    "cert-manager": "cert-manager",
    "node-feature-discovery": "node-feature-discovery",
    "nvidia-gpu-operator": "gpu-operator",
    "amd-gpu-operator": "rocm-gpu-operator",
    "kube-prometheus-stack": "kube-prometheus-stack",
    "jobset": "jobset",
    "lws": "lws",
    "kubeflow-trainer": "kubeflow-trainer",
    "kuberay": "kuberay-operator",
    "spark-operator": "spark-operator",
    "volcano": "volcano",
    "kueue": "kueue",
    "metallb": "metallb",
}
"""The folder of each recipe's chart."""
BESIDE = {"kube-prometheus-stack": ("kube-state-metrics", "prometheus-node-exporter", "grafana")}
"""Charts that a chart depends on, which lie beside it."""
IMAGE = re.compile(r"(?:--?[\w.-]+=)?((?:[\w-]+\.)+[a-z]{2,}(?:/[\w.-]+)+:[\w.-]+)")
"""An image with its registry and its tag, perhaps as the value of a flag."""


def program(name: str) -> str:
    """A program of the real Kubernetes; skips the test where it is not there."""
    found = places.program(name)
    if found is None:
        pytest.skip(f"no {name} in {places.home()}: make kube builds it")
    return str(found)


def chart(recipe: str, folder: Path) -> Path:
    """The whole chart, in `folder`; skips the test where it is not there."""
    origin = CHARTS / FOLDERS[recipe]
    if not origin.is_dir():
        pytest.skip(f"no {origin}: the real charts are not beside this checkout")
    copy = folder / origin.name
    shutil.copytree(origin, copy)
    for other in BESIDE.get(recipe, ()):
        shutil.copytree(CHARTS / other, copy / "charts" / other)
    for packed in (copy / "charts").glob("*.tgz"):
        with tarfile.open(packed) as archive:
            archive.extractall(copy / "charts", filter="data")
        packed.unlink()
    about = yaml.safe_load((copy / "Chart.yaml").read_text())
    there = {each.name for each in (copy / "charts").iterdir()} if (copy / "charts").is_dir() else set()
    needed = [each for each in about.get("dependencies", ()) if any(name.startswith(each["name"]) for name in there)]
    (copy / "Chart.yaml").write_text(yaml.safe_dump({**about, "dependencies": needed}))
    return copy


def rendered(where: Path, addon: AddonSpec, *apis: str) -> list[Any]:
    """The objects that Helm makes of a chart with the add-on's values, those of hooks too.

    `apis` are served besides those of Kubernetes.
    """
    values = where.parent / "values.yaml"
    values.write_text(yaml.safe_dump(addon.values))
    words = [program("helm"), "template", addon.name, str(where), "-n", addon.namespace or "", "-f", str(values)]
    words += ["--kube-version", "1.36.0", *(word for api in apis for word in ("--api-versions", api))]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.load_all(done.stdout, yaml.CSafeLoader) if each]


def images(node: object) -> Iterator[str]:
    """Every image that an object names: in containers, in flags, and in fields of custom resources."""
    if isinstance(node, list):
        for each in node:
            yield from images(each)
    if not isinstance(node, dict):
        return
    if node.get("kind") in ("CustomResourceDefinition", "ConfigMap"):
        return
    if "repository" in node:  # as the custom resources of the GPU operator have it; empty: there is none
        yield from [f"{node['repository']}/{node['image']}"] if node["repository"] and node.get("image") else []
    for name, value in node.items():
        texts = value if isinstance(value, list) else [value]
        yield from (found[1] for each in texts if isinstance(each, str) and (found := IMAGE.fullmatch(each)))
        if (
            name.lower().endswith("image")
            and isinstance(value, str)
            and re.search("[/:]", value)
            and "repository" not in node
        ):
            yield value
        yield from images(value)


def defaults(where: Path) -> dict[str, Any]:
    """The chart's values, with those of the charts in it."""
    values = (
        yaml.load((where / "values.yaml").read_text(), yaml.CSafeLoader) if (where / "values.yaml").is_file() else {}
    )
    inner = where / "charts"
    for each in inner.iterdir() if inner.is_dir() else ():
        if each.is_dir():
            values = {**values, each.name: _over(defaults(each), (values or {}).get(each.name) or {})}
    return values or {}


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = _over(merged[name], value) if both else value
    return merged


def unknown(values: dict[str, Any], known: dict[str, Any], path: str = "") -> Iterator[str]:
    """The paths of values that a chart's defaults do not have; below an empty default anything may stand."""
    for name, value in values.items():
        if name not in known:
            yield f"{path}{name}"
        elif isinstance(value, dict) and known[name]:
            yield from unknown(value, known[name], f"{path}{name}.") if isinstance(known[name], dict) else [path + name]
