"""The image's own steps run in an empty folder, and what they make serves."""

import json
import os
import re
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.deploy.dockerfile import Played, play, steps

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "Dockerfile"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(DOCKERFILE, tmp_path_factory.mktemp("image"), ROOT / ".dockerignore")


def run(played: Played, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Its entry point with no environment but the image's own, in an empty folder."""
    env = {name: played.here(value) for name, value in played.env.items()} | {"HOME": "/nonexistent"} | more
    command = [*played.entrypoint, *words]
    return subprocess.run(command, check=False, env=env, cwd=played.root, capture_output=True, text=True, timeout=60)


def test_it_runs_as_nobody_and_says_what_it_is():
    said = dict(steps(DOCKERFILE.read_text()))
    assert said["USER"] == "65532:65532"
    assert json.loads(said["ENTRYPOINT"])[-2:] == ["-m", "services"]
    assert f"VERSION={VERSION}" in said["ARG"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_steps_of_the_image_make_a_program_that_runs(played):
    asked = run(played)
    assert (asked.returncode, asked.stdout) == (2, "")
    assert asked.stderr.startswith("no service (none): name one or several of gateway, inventory,")
    away = run(played, "setup", ALATE_NATS_URL="nats://127.0.0.1:1")
    assert away.returncode == 1
    assert "nats://127.0.0.1:1" in away.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_is_in_it_but_what_runs_and_all_of_that_is_on_its_bill_of_materials(played):
    installed = {path.name for path in (played.root / "opt/alate/lib/python3.11/site-packages").glob("*.dist-info")}
    names = {re.sub(r"[-_.]+", "-", each.partition("-")[0]).lower() for each in installed}
    bill = json.loads((played.root / "opt/alate/sbom.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    assert {re.sub(r"[-_.]+", "-", each["name"]).lower() for each in bill["components"]} >= names - {"alate"}
    assert not names & {"pip", "setuptools", "pytest", "hatchling", "cyclonedx-bom", "mypy"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_writes_nothing_where_it_stands(played):
    folder = played.root / "opt/alate"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.pyc")}
    run(played, "gateway", ALATE_NATS_URL="nats://127.0.0.1:1", ALATE_KUBECONFIG=os.devnull)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.pyc")} == before
    modes = (path.stat().st_mode for path in folder.rglob("*") if not path.is_symlink())
    assert not any(mode & stat.S_IWOTH for mode in modes)
