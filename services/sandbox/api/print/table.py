"""Lays out objects as a Table for kubectl."""

from collections.abc import Callable, Iterable
from datetime import datetime

from events.kube.client import Object
from services.sandbox.api.print.columns import BUILTIN, Printed
from services.sandbox.api.print.jsonpath import path
from services.sandbox.api.print.times import age
from services.sandbox.api.schema.fields import json_text
from services.sandbox.api.schema.kinds import PrinterColumn, ServedKind

_NAME = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace.",
    "priority": 0,
}


def table(kind: ServedKind, items: Iterable[Object], meta: Object, include: str, now: datetime) -> Object:
    """A ``meta.k8s.io/v1`` Table of some objects."""
    printed = _printed(kind)
    rows = [_row(printed, item, include, now) for item in items]
    head = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
    return {**head, "columnDefinitions": [_NAME, *(_definition(c) for c, _ in printed)], "rows": rows}


def _printed(kind: ServedKind) -> tuple[Printed, ...]:
    if kind.columns:
        return tuple((column, _reader(column)) for column in kind.columns)
    return BUILTIN.get(kind.kind, BUILTIN[""]) if not kind.custom else BUILTIN[""]


def _definition(column: PrinterColumn) -> Object:
    shown = {"name": column.name, "type": column.type, "format": column.format, "description": column.description}
    return {**shown, "priority": column.priority}


def _row(printed: tuple[Printed, ...], item: Object, include: str, now: datetime) -> Object:
    cells = [item["metadata"]["name"], *(read(item, now) for _, read in printed)]
    if include == "None":
        return {"cells": cells}
    if include == "Object":
        return {"cells": cells, "object": item}
    meta = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}
    return {"cells": cells, "object": meta}


def _reader(column: PrinterColumn) -> Callable[[Object, datetime], object]:
    find = path(column.path)

    def read(item: Object, now: datetime) -> object:
        found = find(item)
        value = found[0] if found else None
        if column.type == "date":
            return age(value, now) if isinstance(value, str) else None
        return _cell(column.type, value)

    return read


def _cell(type_: str, value: object) -> object:
    if type_ == "string" and value is not None:
        return value if isinstance(value, str) else _text(value)
    return value


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else json_text(value)
