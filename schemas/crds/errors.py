"""Reads custom resources and says what is invalid: one sentence per mistake with place, value and what is right."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from schemas.crds.model import COMMIT, LABEL, PLACE
from schemas.crds.nodes import QUALIFIED, VALUE

M = TypeVar("M", bound=BaseModel)

_MOST = 10
"""The most mistakes that are listed; further ones are counted, as a status has to hold them."""

OF_A_KEY = "[key]"
"""Pydantic's mark for a mistake in a mapping's key; the key itself is in the path already."""

_WIDEST = 60
"""Characters of a value that are shown."""

_RIGHT: Mapping[str, str] = {
    "missing": "must be given",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be a string",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length} items",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "value_error": "{error}",
    "datetime_from_date_parsing": "must be a time such as 2026-01-31T12:00:00Z",
}
"""What would be right, by pydantic's error type; other errors keep pydantic's message."""

_SHAPES: Mapping[str, str] = {
    LABEL: "must be lower-case letters, digits and hyphens, beginning and ending with a letter or digit",
    QUALIFIED: "must be a name such as team or example.com/team",
    VALUE: "must be letters, digits, hyphens, underscores and dots, beginning and ending with a letter or digit",
    PLACE: "must be a country's two letters, such as DE, or EU or EEA",
    COMMIT: "must be github: or gitlab:, the repository, @ and the commit's whole hash, such as github:acme/models@…",
    r"^v1\.[0-9]+\.[0-9]+$": "must be a Kubernetes version such as v1.34.0",
}
"""What a pattern means, in words."""


class InvalidResource(ValueError):
    """A custom resource is invalid; the message has a sentence for each mistake."""


def read(model: type[M], written: Mapping[str, object]) -> M:
    """Read a custom resource by its model. Raises `InvalidResource`."""
    try:
        return model.model_validate(dict(written), by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidResource(_sentences(model, error)) from error


def _sentences(model: type[BaseModel], error: ValidationError) -> str:
    mistakes = error.errors(include_url=False)
    told = [_sentence(model, mistake) for mistake in mistakes[:_MOST]]
    more = len(mistakes) - len(told)
    return "; ".join((*told, f"and {more} more") if more else told)


def _sentence(model: type[BaseModel], mistake: ErrorDetails) -> str:
    path = _path(mistake["loc"])
    if mistake["type"] == "extra_forbidden":
        return f"{path} is no known field: {_meant(model, mistake['loc'])}"
    if not path:
        return _right(mistake)
    return f"{path}{_is(mistake)}: {_right(mistake)}"


def _right(mistake: ErrorDetails) -> str:
    context: dict[str, Any] = mistake.get("ctx", {})
    if mistake["type"] == "string_pattern_mismatch":
        return _SHAPES.get(context["pattern"], f"must match {context['pattern']}")
    return _RIGHT.get(mistake["type"], mistake["msg"]).format_map(context)


def _is(mistake: ErrorDetails) -> str:
    value = mistake["input"]
    if mistake["type"] == "missing":
        return " is missing"
    if isinstance(value, Mapping | list) or "\n" in str(value):
        return ""
    shown = json.dumps(value, default=str, ensure_ascii=False)
    return f" is {shown[: _WIDEST - 1]}…" if len(shown) > _WIDEST else f" is {shown}"


def _path(place: tuple[int | str, ...]) -> str:
    parts = (part for part in place if part != OF_A_KEY)
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


def _meant(model: type[BaseModel], place: tuple[int | str, ...]) -> str:
    fields = _fields(model, place[:-1])
    alike = get_close_matches(str(place[-1]), fields, n=1, cutoff=0.6)
    return f"did you mean {alike[0]}?" if alike else f"known here are {', '.join(sorted(fields))}"


def _fields(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    for part in place:
        if isinstance(part, str):
            model = next(_model(f.annotation) for f in model.model_fields.values() if f.alias == part)
    return [field.alias or name for name, field in model.model_fields.items()]


def _model(annotation: object) -> type[BaseModel]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(_model(inner) for inner in get_args(annotation) if inner is not type(None))
