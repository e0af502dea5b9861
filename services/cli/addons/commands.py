"""The commands of `alate addons`: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from services.cli.help import Commands
from services.cli.options import Report, ReportFormat, grouped

app = typer.Typer(
    cls=Commands,
    name="addons",
    help="Choose add-ons for AI work from the catalog, and plan their order.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class PlanFormat(StrEnum):
    """How a plan is written."""

    YAML = "yaml"
    JSON = "json"


@dataclass(frozen=True)
class ChangeOptions:
    """What shall be otherwise than in the catalog."""

    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME.KEY=VALUE",
            help="A version, an option or a value (values.PATH) of an add-on; may be repeated.",
        ),
    ] = None
    mirror: Annotated[
        str,
        typer.Option(metavar="HOST[/PATH]", help="Take charts and images from this registry instead of the Internet."),
    ] = ""
    pin: Annotated[
        bool,
        typer.Option("--pin", help="Write sources and versions out, so that another release of alate changes nothing."),
    ] = False


@app.callback()
def addons() -> None:
    """Choose add-ons for AI work from the catalog, and plan their order."""


@app.command()
def catalog(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show all about one add-on.")] = None,
    output: Report = ReportFormat.TABLE,
) -> None:
    """List the add-ons of the catalog, or show all about one: version, values, options, order, readiness.

    \b
      alate addons catalog
      alate addons catalog nvidia-gpu-operator
      alate addons catalog kueue -o yaml
    Exit code 0, or 2 if the catalog has no such add-on.
    """
    from services.cli.addons.show import catalog_text, recipe_text

    sys.stdout.write(catalog_text(output.value) if name is None else recipe_text(name, output.value))


@app.command()
@grouped
def plan(
    *,
    needs: Annotated[
        str,
        typer.Option(metavar="NAME[,NAME...]", help="What the cluster shall have: capabilities or add-ons."),
    ],
    have: Annotated[
        str, typer.Option(metavar="NAME[,NAME...]", help="What it has already, and shall not get again.")
    ] = "",
    changes: ChangeOptions,
    output: Annotated[
        PlanFormat, typer.Option("-o", "--output", help="Output format: yaml or json.")
    ] = PlanFormat.YAML,
) -> None:
    """Print the fewest add-ons that give a cluster what it needs, in order, to paste into a Colony or an AddonProfile.

    \b
      alate addons plan --needs ray,gpu:nvidia,rwx
      alate addons plan --needs train,queue,metrics --have certificates
      alate addons plan --needs ray --set kuberay.version=1.6.2 --set kuberay.values.replicas=2
      alate addons plan --needs gpu:nvidia --set nvidia-gpu-operator.mig=mixed --pin
      alate addons plan --needs gpu:nvidia,metrics --mirror registry.example/mirror
    Which needs there are: alate addons catalog. A mirror has what it mirrors under its whole name, as `skopeo sync
    --scoped` writes it: quay.io/a/b is HOST/PATH/quay.io/a/b.
    Exit code 0, or 2 for an unknown need, and for needs that exclude each other.
    """
    from services.cli.addons.show import overrides_of, plan_text

    overrides = overrides_of(changes.setting or (), changes.mirror, pinned=changes.pin)
    sys.stdout.write(plan_text(needs, have, overrides, output.value))
