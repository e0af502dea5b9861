"""One table to look up which subject means what, who says it, and where it is kept."""

from schemas.generate.text import as_markdown, table
from schemas.registry import Declaration

_HEAD = ("Subject", "Type", "Owner", "Stream", "What it says")


def files(declarations: tuple[Declaration, ...]) -> dict[str, str]:
    """``subjects.md``."""
    rows = [row for declaration in declarations for row in _rows(declaration)]
    rows.sort(key=lambda row: row[0].strip("`"))
    return {"subjects.md": as_markdown("Subjects", table(_HEAD, rows))}


def _rows(declaration: Declaration) -> list[tuple[str, ...]]:
    rest = (f"`{declaration.type}`", declaration.owner, declaration.stream.value, declaration.doc)
    return [(f"`{subject}`", *rest) for subject in (declaration.subject, *declaration.aliases)]
