"""The alerts that are shipped fire when they should, keep quiet otherwise, and ask for what services expose."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from events.meters import DEAD_LETTERS, EXCEEDED, OUTBOUND, Meters
from schemas import addon, cluster, teardown
from schemas.inventory import ClusterSeen, ModelAmount
from schemas.registry import declared
from schemas.wish import Need, Wish
from services.gateway.gauges import ages
from services.inventory.market.loop import AS_OF
from services.inventory.watch.outputs import gauges
from services.process.otel_metrics import exposed

FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
RULES, TESTS = FOLDER / "rules.yaml", FOLDER / "rules_test.yaml"
PROMTOOL = shutil.which("promtool")
NEEDED = "needs promtool: apt-get install prometheus, or https://prometheus.io/download"


def rules() -> list[dict]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


@pytest.mark.skipif(PROMTOOL is None, reason=NEEDED)
@pytest.mark.parametrize("asked", [("check", "rules", RULES), ("test", "rules", TESTS)], ids=["check", "test"])
def test_promtool_agrees(asked):
    done = subprocess.run([PROMTOOL, *asked], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_shown_firing_and_keeping_quiet():
    shown: dict[str, set[bool]] = {}
    for case in yaml.safe_load(TESTS.read_text())["tests"]:
        for each in case["alert_rule_test"]:
            shown.setdefault(each["alertname"], set()).add(bool(each["exp_alerts"]))
    assert shown == {rule["alert"]: {True, False} for rule in rules()}


def exposition() -> str:
    """What services expose that have had all there is to have."""
    meters = Meters()
    for name, value in ((DEAD_LETTERS, "edge-hooks"), (EXCEEDED, "edge-hooks"), (OUTBOUND, "ci.again")):
        meters.count(name, value)
    meters.gauge(AS_OF, "aws", {(("cloud", "aws"), ("freshness", "known")): 1.0})
    wish = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=()))
    whole = ClusterSeen(cluster="train-a", uid="c1", models={"H100": ModelAmount()})
    standing = ages(cluster.LIFECYCLE, [cluster.Pending(uid="c1", wish=wish)])
    ending = ages(teardown.LIFECYCLE, [])
    for of, found in (("cluster", standing), ("teardown", ending), ("acme/train-a", gauges("acme/train-a", whole, ()))):
        for name, series in found.items():
            meters.gauge(name, of, series)
    return exposed("test", meters)("")[0].decode()


def test_the_alerts_ask_for_metrics_and_labels_that_are_exposed():
    found = exposition()
    for rule in rules():
        for metric, labels in re.findall(r"(alate_\w+)(?:\{([^}]*)\})?", rule["expr"]):
            series = re.findall(rf"^{metric}\{{([^}}]*)\}}", found, re.MULTILINE)
            assert series, f"{rule['alert']} asks for {metric}"
            assert set(re.findall(r"(\w+)=", labels)) <= set(re.findall(r"(\w+)=", series[0])), rule["alert"]


def series(metric: str, found: str) -> set[str]:
    """The labels it is exposed with."""
    return {
        label
        for labels in re.findall(rf"^{metric}\{{(.*)\}}", found, re.MULTILINE)
        for label in re.findall(r"(\w+)=", labels)
    }


def test_alerts_are_grouped_by_labels_that_are_exposed_and_told_by_those_they_are_grouped_by():
    found = exposition()
    for rule in rules():
        exposed_ = {label for metric in re.findall(r"alate_\w+", rule["expr"]) for label in series(metric, found)}
        groups = [set(re.split(r",\s*", group)) for group in re.findall(r"by \(([^)]*)\)", rule["expr"])]
        assert set().union(*groups) <= exposed_, rule["alert"]
        told = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
        assert all(told <= group for group in groups or [{"instance"}]), rule["alert"]


def test_the_states_the_alerts_name_are_states():
    named = {
        (domain, state)
        for rule in rules()
        for domain, states in re.findall(r'domain="(\w+)", state=~?"([\w|]+)"', rule["expr"])
        for state in states.split("|")
    }
    lives = (addon.LIFECYCLE, cluster.LIFECYCLE, teardown.LIFECYCLE)
    assert named <= {(life.domain, declared(state).event) for life in lives for state in life.states}
    assert named
