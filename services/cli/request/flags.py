"""The flags of `alate request`, which describe a Colony of one cluster."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer


class SpotFlag(StrEnum):
    """Whether interruptible machines are used."""

    NEVER = "never"
    PREFERRED = "preferred"
    ONLY = "only"


@dataclass(frozen=True)
class ColonyFlags:
    """What a file of Colonies says itself."""

    gpus: Annotated[int, typer.Option(help="How many accelerators, all nodes together.")] = 8
    accelerator: Annotated[str, typer.Option(help="Which accelerator, e.g. H100.")] = "H100"
    per_node: Annotated[int, typer.Option(help="How many accelerators each node has.")] = 8
    spot: Annotated[
        SpotFlag | None, typer.Option(help="Whether to use interruptible machines. [default: preferred]")
    ] = None
    max_price: Annotated[
        float | None, typer.Option(help="Highest price of the whole cluster (USD per hour); it waits for less.")
    ] = None
    ttl: Annotated[str | None, typer.Option(help="Delete the cluster so long after it is first ready, e.g. 6h.")] = None
    idle_after: Annotated[
        str | None, typer.Option(help="Delete the cluster when no accelerator was used for so long, e.g. 30m.")
    ] = None
    cloud: Annotated[list[str] | None, typer.Option(help="Only this cloud; may be repeated.")] = None
    region: Annotated[list[str] | None, typer.Option(help="Only this region; may be repeated.")] = None
