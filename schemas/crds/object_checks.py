"""Checks of a cluster's objects before an add-on is deployed."""

from typing import Annotated

from pydantic import Field

from schemas.crds.model import CrdModel, Label
from schemas.crds.sources import ObjectName


class ObjectCheckSpec(CrdModel):
    """A check of the objects of one kind in the cluster; of a kind that is not served there are none."""

    api_version: Annotated[str, Field(min_length=1, max_length=253)]
    """Their apiVersion."""
    kind: Annotated[str, Field(min_length=1, max_length=63)]
    """Their kind."""
    namespace: Label | None = None
    """Only those of this namespace; default: all."""
    name: ObjectName | None = None
    """Only those of this name; default: all."""
    condition: Annotated[str, Field(min_length=1, max_length=2048)] | None = None
    """CEL over `objects`, those that are there; it must give true."""
