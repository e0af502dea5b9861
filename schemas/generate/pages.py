"""Writes the small generated files: JSON Schemas, CRD manifests, the table of subjects, state diagrams."""

from collections.abc import Iterable
from typing import Any

import msgspec

from schemas.crds.manifest import Crd
from schemas.entity import Lifecycle
from schemas.generate.anything import anything
from schemas.generate.text import as_json, as_markdown, as_yaml, table
from schemas.registry import Declaration, declared

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SUBJECT_COLUMNS = ("Subject", "Type", "Owner", "Stream", "Meaning")


def json_schemas(declarations: tuple[Declaration, ...]) -> dict[str, str]:
    """One JSON Schema per message, by its path: ``jsonschema/<type>.json``."""
    return {f"jsonschema/{declaration.type}.json": as_json(schema(declaration)) for declaration in declarations}


def schema(declaration: Declaration) -> dict[str, Any]:
    """The JSON Schema of one message."""
    name = f"{declaration.type}.json"
    found = {"$schema": DIALECT, "$id": name} | msgspec.json.schema(declaration.struct, schema_hook=anything)
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain


def crd_manifests(crds: Iterable[Crd]) -> dict[str, str]:
    """One CustomResourceDefinition per kind, by its path: ``crds/<plural>.<group>.yaml``."""
    return {f"crds/{crd.name}.yaml": as_yaml(crd.manifest()) for crd in crds}


def subject_table(declarations: tuple[Declaration, ...]) -> dict[str, str]:
    """All subjects with their messages, owners and streams: ``subjects.md``."""
    rows = [row for declaration in declarations for row in _subject_rows(declaration)]
    rows.sort(key=lambda row: row[0].strip("`"))
    return {"subjects.md": as_markdown("Subjects", table(SUBJECT_COLUMNS, rows))}


def _subject_rows(declaration: Declaration) -> list[tuple[str, ...]]:
    rest = (f"`{declaration.type}`", declaration.owner, declaration.stream.value, declaration.doc)
    return [(f"`{subject}`", *rest) for subject in declaration.subjects]


def state_diagrams(lifecycles: Iterable[Lifecycle]) -> dict[str, str]:
    """One diagram and table of states per entity, by its path: ``states/<entity>.md``."""
    return {f"states/{lifecycle.domain}.md": _diagram(lifecycle) for lifecycle in lifecycles}


def _diagram(lifecycle: Lifecycle) -> str:
    rows = [(f"`{it.event}`", it.doc) for it in map(declared, lifecycle.states)]
    picture = f"```mermaid\n{lifecycle.mermaid()}```"
    return as_markdown(f"The states of {lifecycle.domain}", picture, table(("State", "Meaning"), rows))
