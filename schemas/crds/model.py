"""The base model of custom resources and the types of their fields, strict as the Kubernetes API."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

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
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

from schemas import accelerators, durations

PLACE = r"^([A-Z]{2}|EEA)$"
_PART = "[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*"  # of a path, and not only dots
COMMIT = rf"^(github|gitlab):{_PART}(/{_PART})+@[0-9a-f]{{40,64}}$"
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
