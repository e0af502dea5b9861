"""YAML that others wrote is read, or refused by a fault of YAML's own; it never ends the process."""

import pytest
import yaml

from schemas.documents import DEEPEST, TooDeep, documents


def test_every_document_is_read_those_that_say_nothing_too():
    assert documents("a: 1\n---\n---\n[b]\n") == [{"a": 1}, None, ["b"]]


def test_what_is_nested_to_the_limit_is_read():
    (found,) = documents("[" * DEEPEST + "]" * DEEPEST)
    assert isinstance(found, list)


@pytest.mark.parametrize("depth", [DEEPEST + 1, 200_000])
def test_what_is_nested_deeper_is_refused(depth):
    with pytest.raises(TooDeep, match="nested more than 100 deep"):
        documents("[" * depth + "]" * depth)


@pytest.mark.parametrize("text", ["a: [", "!!python/object/apply:os.system [ls]", "a: *b"])
def test_what_is_no_safe_yaml_is_a_yaml_error(text):
    with pytest.raises(yaml.YAMLError):
        documents(text)
