"""One JSON Schema per message, for validators and code generators that know nothing of us."""

from typing import Any

import msgspec

from schemas.generate.anything import anything
from schemas.generate.text import as_json
from schemas.registry import Declaration

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def files(declarations: tuple[Declaration, ...]) -> dict[str, str]:
    """``jsonschema/<type>.json``."""
    return {f"jsonschema/{declaration.type}.json": as_json(schema(declaration)) for declaration in declarations}


def schema(declaration: Declaration) -> dict[str, Any]:
    """The JSON Schema of one message."""
    name = f"{declaration.type}.json"
    found = {"$schema": DIALECT, "$id": name} | msgspec.json.schema(declaration.struct, schema_hook=anything)
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain
