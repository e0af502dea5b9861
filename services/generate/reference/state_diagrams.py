"""The page of states with their diagrams; a file per page of the reference, so that pages are found by name."""

from collections.abc import Iterator

from schemas.discover import lifecycles
from schemas.entity import Lifecycle
from schemas.generate.text import table
from schemas.registry import declared
from services.generate.reference import markdown
from services.generate.reference.markdown import code, section, text

INTRO = "Each arrow is a transition that a service may make; any other is refused when it is tried."


def page() -> str:
    """The page."""
    return markdown.page("States", INTRO, *(part for each in lifecycles() for part in _parts(each)))


def _parts(lifecycle: Lifecycle) -> Iterator[str]:
    rows = [(code(it.event), text(it.doc)) for it in map(declared, lifecycle.states)]
    picture = f"```mermaid\n{lifecycle.mermaid()}```"
    yield section(lifecycle.domain.capitalize(), picture, table(("State", "Meaning"), rows))
