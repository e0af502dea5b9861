"""A picture of each entity's life, drawn from the table that the code obeys."""

from collections.abc import Iterable

from schemas.generate.text import as_markdown, table
from schemas.lifecycle import Lifecycle
from schemas.registry import declared


def files(lifecycles: Iterable[Lifecycle]) -> dict[str, str]:
    """``states/<entity>.md``."""
    return {f"states/{lifecycle.domain}.md": _page(lifecycle) for lifecycle in lifecycles}


def _page(lifecycle: Lifecycle) -> str:
    rows = [(f"`{it.event}`", it.doc) for it in map(declared, lifecycle.states)]
    picture = f"```mermaid\n{lifecycle.mermaid()}```"
    return as_markdown(f"The states of {lifecycle.domain}", picture, table(("State", "What it says"), rows))
