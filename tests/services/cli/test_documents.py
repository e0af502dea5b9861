import io
from pathlib import Path

import pytest

from services.cli.documents import documents
from services.errors import BadInput

ONE = "{apiVersion: alate.dev/v1alpha1, kind: Colony, metadata: {name: %s}}"


def names(found):
    return [each["metadata"]["name"] for each in found]


def test_what_kubectl_writes_of_several_is_read_one_by_one(tmp_path):
    file = tmp_path / "several.yaml"
    file.write_text(f"{{apiVersion: v1, kind: List, items: [{ONE % 'a'}, {ONE % 'b'}]}}\n---\n{ONE % 'c'}\n---\n")
    assert names(documents(file, "Colony")) == ["a", "b", "c"]


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(ONE % "a"))
    assert names(documents(Path("-"), "Colony")) == ["a"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "standard input is empty: must hold a Colony, as in the README"),
        ("kind: Pod", r"standard input holds a Pod: must be a Colony \(apiVersion alate.dev/v1alpha1\)"),
        ("a: [", "standard input is not YAML .*: must be a Colony, as in the README"),
        ("just words", "standard input holds a text: must be a Colony"),
        ("{a: 1}", "standard input holds an object without a kind: must be a Colony"),
        ("{apiVersion: v1, kind: List, items: 3}", "standard input holds a List: must be a Colony"),
    ],
)
def test_what_is_wrong_with_standard_input_is_told_by_that_name(monkeypatch, text, sentence):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    with pytest.raises(BadInput, match=sentence):
        documents(Path("-"), "Colony")


def test_a_file_that_cannot_be_read_is_told_with_the_systems_own_reason_alone(tmp_path):
    with pytest.raises(BadInput) as told:
        documents(tmp_path, "Colony")
    assert str(told.value) == f"{tmp_path} cannot be read (Is a directory): name a file with a Colony in it"
