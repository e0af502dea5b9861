"""Who is compared, each with a kind of its own on the same API server and in a process of its own."""

import os
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import run
from typing import Any

from events.kube.client import Object, Resource
from events.kube.resources import COLONIES
from schemas.crds import manifest
from tests.kube.process import Process

HERE = Path(__file__).parent
KOPF = "kopf"
"""What is installed for the third rival, into an environment that goes away; it is no dependency of ours."""


@dataclass(frozen=True)
class Rival:
    """One line of the table."""

    name: str
    resource: Resource
    """The same shape as a Colony, so that the API server has the same work; a group that nobody else watches."""


def _twins(group: str) -> Resource:
    return Resource(f"{group}.bench.alate.dev", "v1alpha1", "colonies", "Colony")


BARE = Rival("bare watch, patch", _twins("bare"))
PUBLISHED = Rival("bare watch, publish, patch", _twins("published"))
OPERATOR = Rival("kopf's smallest operator", _twins("kopf"))
GATEWAY = Rival("alate's gateway", COLONIES)
RIVALS = (BARE, PUBLISHED, OPERATOR, GATEWAY)


def definition(resource: Resource) -> Object:
    """The CRD of a rival's kind."""
    colony: dict[str, Any] = manifest()
    named = {"name": f"{resource.plural}.{resource.group}"}
    return colony | {"metadata": named, "spec": colony["spec"] | {"group": resource.group}}


@contextmanager
def started(name: str, command: Sequence[str], folder: Path, told: Mapping[str, str]):
    """A process of ours for as long as the block lasts; its log stays in `folder` until that goes away."""
    process = Process(command, folder / f"{name}.log", {**os.environ, "PYTHONPATH": str(HERE.parents[2]), **told})
    process.start()
    try:
        yield process
    except BaseException:
        sys.stderr.write(f"{name}: {'runs' if process.alive else 'has ended'}\n{process.tail()}\n")
        raise
    finally:
        process.stop()


def loop(rival: Rival) -> tuple[str, ...]:
    """The command of a bare loop."""
    return (sys.executable, "-m", "tests.bench.kube.loops", rival.resource.group)


def service(name: str) -> tuple[str, ...]:
    """The command of one of our services, as the Procfile has it."""
    return (sys.executable, "-P", "-m", "services", name)


@contextmanager
def kopf():
    """The command of kopf's operator, in an environment that goes away."""
    with tempfile.TemporaryDirectory(prefix="alate-kopf-") as folder:
        venv.create(folder, with_pip=True)
        quiet = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", KOPF, "uvloop")
        run((f"{folder}/bin/python", *quiet), check=True)
        operator = str(HERE / "kopf_operator.py")
        yield (f"{folder}/bin/kopf", "run", "--standalone", "--all-namespaces", "--quiet", operator)
