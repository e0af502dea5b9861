"""Writes the findings of `alate preflight` for people and programs; apart, so that help loads none of it."""

from collections.abc import Sequence

from services.cli.output.render import Form, document
from services.cli.preflight.checks import CHECKS, PreflightFinding


def written(found: Sequence[PreflightFinding], form: Form) -> str:
    """One line per finding, or the whole report."""
    if form != "table":
        report = {"checks": list(CHECKS), "findings": [each._asdict() for each in found]}
        return document(report, form)
    if not found:
        return f"all {len(CHECKS)} checks passed\n"
    return "".join(f"{each.check}: {each.message}\n" for each in found)
