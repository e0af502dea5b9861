"""Every alert with its severity, what fires it and what to do, from the rules that Prometheus loads."""

from pathlib import Path
from typing import Any

import yaml

from schemas.generate.text import table
from services.generate.reference import markdown
from services.generate.reference.markdown import section, text

RULES = Path(__file__).parents[3] / "deploy" / "prometheus" / "rules.yaml"
INTRO = (
    "The rules are in `deploy/prometheus/rules.yaml` and expect the scrape job to be called `alate`. "
    "`deploy/prometheus/rules_test.yaml` tests each of them: `promtool test rules deploy/prometheus/rules_test.yaml`."
)


def page() -> str:
    """The page."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return markdown.page("Alerts", INTRO, *(_section(rule) for group in groups for rule in group["rules"]))


def _section(rule: dict[str, Any]) -> str:
    notes = rule["annotations"]
    facts = (
        ("Severity", rule["labels"]["severity"]),
        ("After", rule.get("for", "at once")),
        ("Summary", text(notes["summary"])),
        ("What to do", text(notes["description"])),
    )
    return section(rule["alert"], table(("", ""), facts), f"```promql\n{rule['expr'].strip()}\n```")
