"""`python -m services.generate.reference` writes docs/reference, so that it never differs from the code."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from schemas.generate import folder
from services.generate.reference import (
    alert_rules,
    command_line,
    custom_resources,
    event_types,
    log_events,
    metric_names,
    setting_names,
    state_diagrams,
)

OUT = Path(__file__).parents[3] / "docs" / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "colony.md": custom_resources.colony,
    "trigger.md": custom_resources.trigger,
    "addon-profile.md": custom_resources.addon_profile,
    "cluster-classifier.md": custom_resources.cluster_classifier,
    "commands.md": command_line.page,
    "events.md": event_types.page,
    "states.md": state_diagrams.page,
    "settings.md": setting_names.page,
    "metrics.md": metric_names.page,
    "log-events.md": log_events.page,
    "alerts.md": alert_rules.page,
}


def files() -> dict[str, str]:
    """Every page by its file name."""
    return {name: page() for name, page in PAGES.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages; with ``--check`` name each one that differs, and give 1 if any does."""
    parser = argparse.ArgumentParser(prog="python -m services.generate.reference", description="Write docs/reference.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a page would change")
    return folder.command(OUT, files(), "the code", check=parser.parse_args(arguments).check)


if __name__ == "__main__":
    sys.exit(main())
