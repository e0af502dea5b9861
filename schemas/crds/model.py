"""The base model of custom resources, strict as the Kubernetes API: field types, and sentences for what is invalid."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from schemas import accelerators, durations

PLACE = r"^([A-Z]{2}|EEA)$"
_PART = "[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*"  # of a path, and not only dots
COMMIT = rf"^(github|gitlab):{_PART}(/{_PART})+@[0-9a-f]{{40,64}}$"
QUALIFIED = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
VALUE = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


class CrdModel(BaseModel):
    """A part of a custom resource: camelCase outside, nothing unknown, nothing guessed from another type."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: object) -> object:
        # As an API server takes a null in a field that is not nullable.
        if not isinstance(value, Mapping):
            return value
        return {key: item for key, item in value.items() if item is not None}


@dataclass(frozen=True)
class ListMap:
    """A list whose items have a key field; duplicate keys are refused."""

    key: str = "name"

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._distinct, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, object]:
        return handler(schema) | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [self.key]}

    def _distinct(self, items: list[BaseModel]) -> list[BaseModel]:
        _refuse_twice([getattr(item, self.key) for item in items], f"each {self.key} must be unique")
        return items


def _distinct(items: list[str]) -> list[str]:
    _refuse_twice(items, "each item must be unique")
    return items


def _refuse_twice(names: list[str], rule: str) -> None:
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ValueError(f"{rule}, but {', '.join(twice)} is there more than once")


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError("must be a duration such as 90s or 1h30m")  # noqa: TRY004 - pydantic reads ValueError alone
    return durations.parse(value)


def _some_time(value: timedelta) -> timedelta:
    if not value:
        raise ValueError("must be longer than nothing, such as 90s or 1h30m")
    return value


def _known(name: str) -> str:
    if (canonical := accelerators.canonical(name)) is None:
        raise ValueError(f"must be a known accelerator, such as {', '.join(accelerators.nearest(name))}")
    return canonical


def _second(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Label = Annotated[str, Field(min_length=1, max_length=63, pattern=LABEL)]
"""A DNS label."""

Distinct = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=63)]],
    Field(max_length=64, json_schema_extra={"x-kubernetes-list-type": "set"}),
    AfterValidator(_distinct),
]
"""A set of short names."""

Places = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=3, pattern=PLACE)]],
    Field(max_length=64, json_schema_extra={"x-kubernetes-list-type": "set"}),
    AfterValidator(_distinct),
]
"""A set of countries and jurisdictions."""

Duration = Annotated[
    timedelta,
    PlainValidator(_duration),
    PlainSerializer(durations.write),
    WithJsonSchema({"type": "string", "pattern": durations.PATTERN, "maxLength": 64}),
]
"""A Go duration."""

PositiveDuration = Annotated[Duration, AfterValidator(_some_time)]
"""A duration longer than zero."""

Accelerator = Annotated[str, Field(min_length=1, max_length=63), AfterValidator(_known)]
"""The canonical name of an accelerator, read from any of its names."""

Timestamp = Annotated[AwareDatetime, Field(strict=False), PlainSerializer(_second)]
"""A time as Kubernetes writes it: UTC, whole seconds."""


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

    def __init__(self, message: str, mistakes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.mistakes = mistakes or (message,)


def read(model: type[M], written: Mapping[str, object]) -> M:
    """Read a custom resource by its model. Raises `InvalidResource`."""
    try:
        return model.model_validate(dict(written), by_alias=True, by_name=False)
    except ValidationError as error:
        told = _sentences(model, error)
        raise InvalidResource("; ".join(told), told) from error


def _sentences(model: type[BaseModel], error: ValidationError) -> tuple[str, ...]:
    mistakes = error.errors(include_url=False)
    told = [_sentence(model, mistake) for mistake in mistakes[:_MOST]]
    more = len(mistakes) - len(told)
    return (*told, f"and {more} more") if more else tuple(told)


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
