from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from schemas.generate.example import example


class Step(StrEnum):
    FIRST = "first"


class Part(msgspec.Struct, tag="part"):
    region: str
    at: datetime
    step: Step
    way: Literal["up", "down"]
    some: Annotated[int, msgspec.Meta(ge=3)] = 3


class Whole(msgspec.Struct):
    parts: tuple[Part, ...]
    pair: tuple[int, float]
    maybe: bool | None
    table: dict[str, int]
    anything: object
    snake_case: str = ""


def test_an_example_shows_every_field_and_is_read_as_what_it_is_of():
    made = example(Whole)
    assert made == {
        "parts": [
            {
                "type": "part", "region": "us-east-1", "at": "2026-01-31T12:00:00Z", "step": "first", "way": "down",
                "some": 3,
            }
        ],
        "pair": [1, 1.5],
        "maybe": False,
        "table": {"key": 1},
        "anything": {},
        "snake_case": "snake case",
    }  # fmt: skip
    assert isinstance(msgspec.convert(made, Whole), Whole)
