"""Renders the chart with the real helm."""

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.kube.fixtures import needs
from tests.kube.places import home

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/chart"


def helm(values: dict[str, Any], *words: str) -> subprocess.CompletedProcess[str]:
    needs("helm")
    command = [str(home() / "helm"), "template", "alate", str(CHART), "--namespace", "house", "--values", "-", *words]
    return subprocess.run(
        command, input=json.dumps(values), capture_output=True, text=True, check=False, env={"HOME": "/nonexistent"}
    )


def rendered(values: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Every object, by kind and name."""
    told = helm(values)
    assert told.returncode == 0, told.stderr
    found = [each for each in yaml.safe_load_all(told.stdout) if each]
    assert len({(each["kind"], each["metadata"]["name"]) for each in found}) == len(found)
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def pods(objects: dict[tuple[str, str], Any]) -> dict[str, Any]:
    """The spec of each Pod, by the name of its service."""
    return {
        name.removeprefix("alate-"): each["spec"]["template"]["spec"]
        for (kind, name), each in objects.items()
        if kind in {"Deployment", "Job"}
    }
