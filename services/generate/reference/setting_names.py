"""Every setting with its environment variable, default and meaning, from the model that reads them."""

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from schemas.generate.text import table
from services.generate.reference import markdown
from services.generate.reference.markdown import code, text
from services.process.settings import PREFIX, Settings

INTRO = (
    "Every setting is an environment variable, read once when a process starts. A wrong value ends the process with "
    "one sentence that names the variable. An empty variable counts as unset."
)


def page() -> str:
    """The page."""
    rows = [(code(PREFIX + name.upper()), _default(field), text(field.description or "")) for name, field in FIELDS]
    return markdown.page("Settings", INTRO, table(("Variable", "Default", "Meaning"), rows))


FIELDS = tuple(Settings.model_fields.items())


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "depends"
    return "" if field.default is None else code(field.default)
