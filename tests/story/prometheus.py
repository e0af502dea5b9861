"""A real Prometheus that scrapes a running stack every second, for the tests of what is asked of it."""

import json
import math
import shutil
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode

import yaml

from tests.kube.process import Process, free_ports

PROGRAM = shutil.which("prometheus")
NEEDED = "needs prometheus: apt-get install prometheus, or https://prometheus.io/download"
RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "rules.yaml"
STEP = 1
"""Seconds between two scrapes."""


@dataclass(frozen=True)
class Prometheus:
    """A running one."""

    url: str
    began: float

    def get(self, path: str, **asked: object) -> dict:
        """What its API answers."""
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urlencode(asked)}", timeout=30) as answer:  # noqa: S310 - our own
            return json.load(answer)["data"]

    def over_all(self, expr: str) -> list[Mapping[str, str]]:
        """The labels of every series that has had a value since it was started."""
        data = self.get("query_range", query=expr, start=self.began, end=time.time(), step=STEP)
        return [s["metric"] for s in data["result"] if any(not math.isnan(float(value)) for _, value in s["values"])]

    def examples(self, name: str) -> list[Mapping[str, str]]:
        """The labels of all that histograms show as examples."""
        data = self.get("query_exemplars", query=name, start=self.began, end=time.time())
        return [example["labels"] for series in data for example in series["exemplars"]]

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=1) as answer:  # noqa: S310 - our own
                return answer.status == 200
        except (URLError, TimeoutError, ConnectionError):
            return False


@contextmanager
def scraping(folder: Path, targets: list[str]) -> Iterator[Prometheus]:
    """One that scrapes these, with the shipped rules, as the README says."""
    folder.mkdir()
    job = {"job_name": "alate", "static_configs": [{"targets": targets}]}
    config = {
        "global": {"scrape_interval": f"{STEP}s", "evaluation_interval": f"{STEP}s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [job],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    (port,) = free_ports(1)
    command = (
        str(PROGRAM),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--enable-feature=exemplar-storage",
    )
    process, server = Process(command, folder / "log"), Prometheus(f"http://127.0.0.1:{port}", time.time())
    process.start()
    try:
        process.wait(server.ready)
        yield server
    finally:
        process.stop()
