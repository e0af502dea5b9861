"""One JSON Schema per message, for validators and code generators that know nothing of us."""

import msgspec

from schemas.generate.anything import anything
from schemas.generate.text import as_json
from schemas.registry import Declaration

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def files(declarations: tuple[Declaration, ...]) -> dict[str, str]:
    """``jsonschema/<type>.json``."""
    return {f"jsonschema/{declaration.type}.json": _file(declaration) for declaration in declarations}


def _file(declaration: Declaration) -> str:
    name = f"{declaration.type}.json"
    return as_json({"$schema": DIALECT, "$id": name} | msgspec.json.schema(declaration.struct, schema_hook=anything))
